package job

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestOutputInInput: an output below an input folder is refused, whatever its name; one beside or above is not.
func TestOutputInInput(t *testing.T) {
	root := t.TempDir()
	input := filepath.Join(root, "in")
	if err := os.Mkdir(input, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(input, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for output, refused := range map[string]bool{
		"in": true, "in/out": true, "in/..out": true, "in/...": true, "in/no/such/out": true, "link/out": true,
		"out": false, "in-out": false, "..in": false, "in/../out": false, ".": false,
	} {
		if err := CheckOutputNotInInput(t.Context(), []string{input}, filepath.Join(root, output)); (err != nil) != refused {
			t.Errorf("output %s: error %v, refused should be %v", output, err, refused)
		}
	}
}

// TestOutputBehindLink: an output below the target of a link in an input folder is refused, however the path is
// written; one above or beside the target is not.
func TestOutputBehindLink(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"in/a", "in/.hidden", "other/deep", "far", "unread", "out"} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"in/a/link": "../../other/deep", "other/deep/on": "../../far", "in/.hidden/link": "../../unread", "in/up": "..", "to-in": "in", "to-far": "far", "out/in": "../in",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for output, refused := range map[string]bool{
		"other/deep": true, "other/deep/out": true, "in/a/link/out": true, "far/no/such": true, "to-far/out": true, "to-in/a/link/on": true,
		"other": false, "other/out": false, "unread/out": false, "out": false, "out/new": false, "out/in/x": true, ".": false, "new": false,
	} {
		for _, input := range []string{"in", "to-in", "./in/", "i[n]"} {
			err := CheckOutputNotInInput(t.Context(), []string{"missing", input}, output)
			if usage := (*UsageError)(nil); errors.As(err, &usage) != refused || err != nil != refused {
				t.Errorf("input %s, output %s: error %v, refused should be %v", input, output, err, refused)
			}
		}
	}
}

// TestOutputInPattern: outputs and temporary files are refused where a pattern of any depth matches, unless there is a
// file or folder of its name.
func TestOutputInPattern(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"in/a", "in/[x]", "name/**"} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("in", "link"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		input, path string
		refused     bool
	}{
		{"in/**", "in/out", true}, {"in/**", "in", true}, {"in/**", "link/out", true}, {"link/**/*.jsonl", "in/out", true}, {"in/**", "out", false},
		{"in/**/*.jsonl", "in/a/out", true}, {"**", "out", true}, {"**/*.jsonl", "in/out", true}, {"./in/**/", "in/out", true}, {`in/\[x]/**`, "in/[x]/out", true},
		{"in/a*/**", "in/out", false}, {"in/a*/**", "in/a1/out", true}, {"in/a/**", "in/out", false}, {"in/a*/**/x", "in", true},
		{"in/*.jsonl", "in/out", false}, {"in/*", "in/out", false}, {"in/*", "in/a/out", true}, {"missing/**", "out", false},
		{"name/**", "name/out", false}, {"name/**", "name/**/out", true},
	} {
		err := CheckOutputNotInInput(t.Context(), []string{"missing", tt.input}, tt.path)
		if usage := (*UsageError)(nil); errors.As(err, &usage) != tt.refused || err != nil != tt.refused {
			t.Errorf("input %s, output %s: error %v, refused should be %v", tt.input, tt.path, err, tt.refused)
		}
		err = CheckTempNotInInput(t.Context(), []string{"missing", tt.input}, tt.path)
		if usage := (*UsageError)(nil); errors.As(err, &usage) != tt.refused || err != nil != tt.refused {
			t.Errorf("input %s, temporary files in %s: error %v, refused should be %v", tt.input, tt.path, err, tt.refused)
		}
	}
}
