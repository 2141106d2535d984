package job

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOutputInInput: an output below an input folder is refused, be its name what it may; one beside or
// above is not.
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
