package storage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/neardup/neardup/io/storage"
)

// TestRemoveAllBeforeWriters checks that a process that writes by path while a folder is removed leaves nothing behind,
// and that nobody finds a half-removed folder.
func TestRemoveAllBeforeWriters(t *testing.T) {
	for round := range 5 {
		parent := t.TempDir()
		folder := filepath.Join(parent, "folder")
		for i := range 200 {
			if err := os.MkdirAll(filepath.Join(folder, fmt.Sprint(i%7)), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i%7), fmt.Sprint(i)), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var writers sync.WaitGroup
		begun := make(chan bool)
		for w := range 4 {
			writers.Go(func() {
				for i := 0; ; i++ {
					err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i%7), fmt.Sprintf("late-%d-%d", w, i)), nil, 0o666)
					if errors.Is(err, fs.ErrNotExist) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					if i == 0 {
						begun <- true
					}
				}
			})
		}
		for range 4 {
			<-begun
		}
		writers.Go(func() {
			for {
				names, err := os.ReadDir(folder)
				if errors.Is(err, fs.ErrNotExist) {
					return
				}
				if len(names) < 7 {
					if _, err := os.Lstat(folder); err == nil { // otherwise it was opened just before
						t.Errorf("round %d: there is half of it", round)
					}
					return
				}
			}
		})
		if err := storage.RemoveAll(t.Context(), folder); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		writers.Wait()
		nothingElse(t, parent)
	}
}

// TestRemoveAll checks that what somebody else has put at the name of a folder being removed is not touched.
func TestRemoveAll(t *testing.T) {
	plant(t, "a/x/y", "a~/old/z", "b/x", "b~", "c/x", "d~/x", "e/x", "file", "file~/x", "g~/x/y")
	link(t, "c", "link")
	link(t, "nowhere", "dangling")
	for _, path := range []string{"a", "b/", "d", "e/x", "link", "dangling", "file", "g~"} {
		if err := storage.RemoveAll(t.Context(), path); err != nil {
			t.Error(err)
		}
	}
	nothingElse(t, ".", "a~", "b~", "c", "d~", "e", "file~")
	nothingElse(t, "a~", "old")
	nothingElse(t, "c", "x")
	nothingElse(t, "e")
}

// TestRoot checks that everything made below a private folder is just as private, and that nothing is made once the
// folder is gone.
func TestRoot(t *testing.T) {
	plant(t)
	defer syscall.Umask(syscall.Umask(0o022))
	store, err := storage.At(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ root, folder, file fs.FileMode }{{0o700, 0o700, 0o600}, {0o750, 0o755, 0o644}, {0o755, 0o755, 0o644}} {
		root := fmt.Sprintf("root-%o", tt.root)
		if err := os.Mkdir(root, tt.root); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"x", "a/b/x", "a/b/y"} {
			if _, err := store.Create(t.Context(), filepath.Join(root, name), storage.If{Root: root}, nothing); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string]fs.FileMode{".": tt.root, "x": tt.file, "a": tt.folder, "a/b": tt.folder, "a/b/y": tt.file} {
			if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("below mode %o, %s has mode %v, %v, want %o", tt.root, name, info.Mode(), err, want)
			}
		}
		for _, name := range []string{"elsewhere/x", root + "2/x", root + "/../elsewhere/x"} {
			if _, err := store.Create(t.Context(), name, storage.If{Root: root}, nothing); err == nil {
				t.Errorf("%s is not below %s, and was made", name, root)
			}
		}
	}
	for _, name := range []string{"no/root/x", "no/root/a/x"} {
		if _, err := store.Create(t.Context(), name, storage.If{Root: "no/root"}, nothing); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no root: error %v", err)
		}
	}
	nothingElse(t, ".", "root-700", "root-750", "root-755")
}

// TestRootIsNotMadeAgain checks that a folder that is removed while others write below it stays removed.
func TestRootIsNotMadeAgain(t *testing.T) {
	plant(t)
	store, err := storage.At(".")
	if err != nil {
		t.Fatal(err)
	}
	for round := range 20 {
		root := fmt.Sprint(round)
		if err := os.Mkdir(root, 0o777); err != nil {
			t.Fatal(err)
		}
		var writers sync.WaitGroup
		begun := make(chan bool)
		for w := range 4 {
			writers.Go(func() {
				for i := 0; ; i++ {
					_, err := store.Create(t.Context(), filepath.Join(root, "a", fmt.Sprint(w), fmt.Sprint(i), "x"), storage.If{Root: root}, nothing)
					if err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Error(err)
					}
					if i == 0 {
						begun <- true
					}
					if err != nil {
						return
					}
				}
			})
		}
		for range 4 {
			<-begun
		}
		if err := storage.RemoveAll(t.Context(), root); err != nil {
			t.Error(err)
		}
		writers.Wait()
		nothingElse(t, ".")
	}
}

// TestBeginIn checks that a folder is made inside a run's folder, even if it exists, but not once the run's folder is
// removed.
func TestBeginIn(t *testing.T) {
	plant(t, "run/there/", "run/file")
	for name, private := range map[string]bool{"open": false, "private": true, "there": false} {
		if err := storage.BeginIn(t.Context(), "run", name, private); err != nil {
			t.Error(err)
		}
		if _, err := storage.WriteBelow(t.Context(), "run/"+name, "run/"+name+"/x", nothing); err != nil {
			t.Error(err)
		}
	}
	for name, private := range map[string]bool{"file": false, "there": true} {
		if err := storage.BeginIn(t.Context(), "run", name, private); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: error %v, want fs.ErrExist", name, err)
		}
	}
	if err := storage.RemoveAll(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	for _, private := range []bool{false, true} {
		if err := storage.BeginIn(t.Context(), "run", "x", private); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("private %v: error %v, want fs.ErrNotExist", private, err)
		}
	}
	nothingElse(t, ".")
}

// TestPrivate checks that everything in the folder of a private run is private, and that the folders of other runs are
// not.
func TestPrivate(t *testing.T) {
	plant(t, "there/")
	defer syscall.Umask(syscall.Umask(0o022))
	if err := storage.Begin(t.Context(), "there", true); !errors.Is(err, fs.ErrExist) {
		t.Errorf("another's folder: error %v, want fs.ErrExist", err)
	}
	temp, err := storage.TempFolder(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []struct {
		folder  string
		private bool
	}{{"private/run", true}, {"open/run", false}, {temp, true}} {
		if run.folder != temp {
			if err := storage.Begin(t.Context(), run.folder, run.private); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := storage.WriteBelow(t.Context(), run.folder, filepath.Join(run.folder, "a", "x"), nothing); err != nil {
			t.Fatal(err)
		}
		if err := storage.WriteShared(t.Context(), filepath.Join(run.folder, "y"), 7); err != nil {
			t.Fatal(err)
		}
		count := 0
		err := filepath.WalkDir(run.folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			count++
			info, err := e.Info()
			want := fs.FileMode(0o644)
			if e.IsDir() {
				want = 0o755
			}
			if run.private {
				want &= 0o700
			}
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, %v, want %o", path, info.Mode(), err, want)
			}
			return nil
		})
		if err != nil || count != 5 { // including the mark
			t.Errorf("%s: %d names, %v", run.folder, count, err)
		}
	}
	if info, err := os.Stat("private"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder above has mode %v, %v", info.Mode(), err)
	}
}
