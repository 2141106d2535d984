package dedup_test

import (
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/internal/corpusgen"
)

// TestBracketsInNames: brackets in the names of the output and of the temporary folder are not patterns.
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
	w := gzip.NewWriter(f) // large enough for its decompressed bytes to be kept
	if err := errors.Join(corpusgen.Write(w, corpusgen.Spec{Documents: 6000}), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() <= 1<<20 {
		t.Fatalf("%v, %v", info, err)
	}
	temp := filepath.Join(root, "tmp[x]")
	if err := os.Mkdir(temp, 0o777); err != nil {
		t.Fatal(err)
	}
	config := ask(t, path, "--temp-dir", temp, "--overwrite")
	config.Output = filepath.Join(root, "out[1]")
	const left = ".out[1].neardup-20260102-030405-0a1b2c3d" // left by a killed run
	for range 2 {
		run(t, config)
		if _, err := os.Stat(filepath.Join(root, left)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what an earlier run left: %v", err)
		}
		if names, err := os.ReadDir(temp); err != nil || len(names) != 0 {
			t.Errorf("%v, %v is left in the folder for temporary files", names, err)
		}
		if err := os.Mkdir(filepath.Join(root, left), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}
