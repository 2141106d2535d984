package dedup_test

import (
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/internal/corpusgen"
)

// TestBracketsInNames: neither the output nor the folder for temporary files is a pattern.
func TestBracketsInNames(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "in[1]", "a*b.jsonl.gz")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := gzip.NewWriter(f) // large enough for its plain bytes to be kept
	if err := errors.Join(corpusgen.Write(w, corpusgen.Spec{Documents: 6000}), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() <= 1<<20 {
		t.Fatalf("%v, %v", info, err)
	}
	temp := filepath.Join(root, "tmp[x]")
	config := ask(t, path, "--temp-dir", temp, "--overwrite")
	config.Output = filepath.Join(root, "out[1]")
	for range 2 {
		run(t, config)
		if _, err := os.Stat(filepath.Join(config.Output, tempLeft)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what an earlier run left: %v", err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
			t.Errorf("%v, %v is left in the folder for temporary files", left, err)
		}
		if err := os.MkdirAll(filepath.Join(config.Output, tempLeft), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// tempLeft is what a killed run leaves in its output.
const tempLeft = ".tmp-killed"
