package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// TestCurrent checks that a process stops if a file that it locked has since lost its name, or was written.
func TestCurrent(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"replaced": func(path string) error {
			if err := os.WriteFile(path+"new", []byte("text"), 0o666); err != nil {
				return err
			}
			return os.Rename(path+"new", path)
		},
		"removed": os.Remove,
		"written": func(path string) error { return os.WriteFile(path, []byte("other text"), 0) },
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		version := infoOf(path, info).Version
		if _, ok := current(f, path, version); !ok {
			t.Errorf("%s: not current before", name)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if _, ok := current(f, path, version); ok {
			t.Errorf("%s: still current", name)
		}
	}
}

// TestStatFolder checks that a folder is distinguished from a missing file, and is not an object.
func TestStatFolder(t *testing.T) {
	_, err := local{}.Stat(t.Context(), t.TempDir())
	if !errors.Is(err, isFolder) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder: error %v", err)
	}
	if _, err := (local{}).Stat(t.Context(), "missing"); errors.Is(err, isFolder) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: error %v", err)
	}
}

// TestMakeBelow checks that nothing is made below a root that comes and goes, and that the root is never made again.
func TestMakeBelow(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o777); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var makers sync.WaitGroup
	for maker := range 2 {
		makers.Go(func() {
			for i := 0; !done.Load(); i++ {
				if _, err := makeBelow(root, filepath.Join(root, fmt.Sprint(maker), fmt.Sprint(i), "a/b/c/d/e/f")); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			}
		})
	}
	for range 2000 {
		if err := errors.Join(os.Rename(root, root+"2"), os.Rename(root+"2", root)); err != nil {
			t.Error("it was made:", err)
			break
		}
	}
	done.Store(true)
	makers.Wait()
}
