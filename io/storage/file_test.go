package storage_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/io/storage"
)

func nothing(io.Writer) error { return nil }

// TestWriteBelow checks that a worker can write as long as its run lasts, and leaves nothing after that.
func TestWriteBelow(t *testing.T) {
	t.Run("below", func(t *testing.T) { testWriteBelow(t, storage.WriteBelow) })
	t.Run("staged", func(t *testing.T) { testWriteBelow(t, storage.WriteStaged) })
}

func testWriteBelow(
	t *testing.T, write func(ctx context.Context, root, path string, write func(io.Writer) error) (storage.Info, error),
) {
	onStores(t, func(t *testing.T, root string) {
		run := storage.Join(root, "run")
		file := storage.Join(run, "sub", "file")
		ended := func(when string, err error) {
			t.Helper()
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: error %v, want fs.ErrNotExist", when, err)
			}
			if entries, err := storage.List(t.Context(), run); len(entries) > 0 || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: left %v, %v", when, entries, err)
			}
		}
		_, err := write(t.Context(), run, file, nothing)
		ended("before it began", err)
		if err := storage.Begin(t.Context(), run, false); err != nil {
			t.Fatal(err)
		}
		if _, err := write(t.Context(), run, file, nothing); err != nil {
			t.Error(err)
		}
		if err := storage.WriteShared(t.Context(), storage.Join(run, "shared"), 7); err != nil {
			t.Error(err)
		}
		if n, err := storage.Shared[int](t.Context(), storage.Join(run, "shared")); err != nil || *n != 7 {
			t.Errorf("shared %v, %v", n, err)
		}
		_, err = write(t.Context(), run, file, func(w io.Writer) error {
			if _, err := io.WriteString(w, "late"); err != nil {
				return err
			}
			return storage.RemoveAll(t.Context(), run)
		})
		ended("while it wrote", err)
		_, err = write(t.Context(), run, file, func(io.Writer) error { t.Error("it wrote"); return nil })
		ended("after it", err)
		ended("after it, shared", storage.WriteShared(t.Context(), storage.Join(run, "shared"), 8))
		storage.Later(storage.Join(run, "shared"))
		for range 2 {
			if _, err := storage.Shared[int](t.Context(), storage.Join(run, "shared")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("known from before: error %v", err)
			}
		}
		storage.Forget(storage.Join(run, "shared"))
	})
}

// TestUnseen checks that a file that is not staged does not exist before it is complete.
func TestUnseen(t *testing.T) {
	onStores(t, func(t *testing.T, root string) {
		file := storage.Join(root, "run", "file")
		if err := storage.Begin(t.Context(), storage.Dir(file), false); err != nil {
			t.Fatal(err)
		}
		_, err := storage.WriteBelow(t.Context(), storage.Dir(file), file, func(w io.Writer) error {
			if _, err := storage.Stat(t.Context(), file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is there: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestStagedTwice checks that when two write the same file at once, and one fails in any way, what the other has
// written stays.
func TestStagedTwice(t *testing.T) {
	whole := func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("whole", 1000))
		return err
	}
	broken := errors.New("broken")
	for name, end := range map[string]error{"both end": nil, "the first fails": broken} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, root string) {
				run := storage.Join(root, "run")
				if err := storage.Begin(t.Context(), run, false); err != nil {
					t.Fatal(err)
				}
				file := storage.Join(run, "sub", "file")
				_, err := storage.WriteStaged(t.Context(), run, file, func(w io.Writer) error {
					if _, err := io.WriteString(w, "who"); err != nil {
						return err
					}
					if _, err := storage.WriteStaged(t.Context(), run, file, whole); err != nil {
						t.Error(err)
					}
					if end != nil {
						return end
					}
					_, err := io.WriteString(w, strings.Repeat("whole", 1000)[3:])
					return err
				})
				if !errors.Is(err, end) {
					t.Errorf("error %v, want %v", err, end)
				}
				if got, err := storage.ReadFile(t.Context(), file); err != nil || string(got) != strings.Repeat("whole", 1000) {
					t.Errorf("left %d bytes, %v", len(got), err)
				}
				if names, err := storage.Names(t.Context(), storage.Join(run, "sub")); err != nil || len(names) != 1 {
					t.Errorf("left %q, %v", names, err)
				}
			})
		})
	}
}

// TestStagedRace checks that a writer that fails at the moment when another finishes does not remove the other's file.
func TestStagedRace(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	if err := storage.Begin(t.Context(), run, false); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for n := range 500 {
		file := filepath.Join(run, strconv.Itoa(n))
		begun, ends, failed := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			_, err := storage.WriteStaged(t.Context(), run, file, func(io.Writer) error {
				close(begun)
				<-ends
				return broken
			})
			failed <- err
		}()
		<-begun
		_, err := storage.WriteStaged(t.Context(), run, file, func(io.Writer) error { close(ends); return nil })
		if other := <-failed; err != nil || !errors.Is(other, broken) {
			t.Fatal(err, other)
		}
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("file %d: %v", n, err)
		}
	}
	if names, err := storage.Names(t.Context(), run); err != nil || len(names) != 501 { // including the mark
		t.Errorf("left %d files, %v", len(names), err)
	}
}

func TestReadFile(t *testing.T) {
	onStores(t, func(t *testing.T, folder string) {
		path := storage.Join(folder, "file")
		for _, content := range []string{"", "some bytes"} {
			if _, err := storage.WriteFile(t.Context(), path, func(w io.Writer) error { _, err := io.WriteString(w, content); return err }); err != nil {
				t.Fatal(err)
			}
			if got, err := storage.ReadFile(t.Context(), path); err != nil || string(got) != content {
				t.Errorf("ReadFile: %q, %v", got, err)
			}
			r, err := storage.OpenFile(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || string(got) != content {
				t.Errorf("OpenFile: %q, %v", got, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, err := range []error{
			errOf(storage.ReadFile(t.Context(), storage.Join(folder, "no"))), errOf(storage.OpenFile(t.Context(), storage.Join(folder, "no"))),
		} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("error %v, want fs.ErrNotExist", err)
			}
		}
	})
}

func errOf[T any](_ T, err error) error { return err }

func TestOpenOnStores(t *testing.T) {
	onStores(t, func(t *testing.T, folder string) {
		path := storage.Join(folder, "file")
		first, err := storage.WriteFile(t.Context(), path, nothing)
		if err != nil {
			t.Fatal(err)
		}
		f, err := storage.Open(t.Context(), path, first.Version)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := storage.WriteFile(t.Context(), path, nothing); err != nil {
			t.Fatal(err)
		}
		if err := f.Unchanged(); err != nil {
			t.Errorf("what is open: %v", err)
		}
		if _, err := storage.Open(t.Context(), path, first.Version); err == nil {
			t.Error("another version was opened")
		}
	})
}

func TestTempFolder(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	seen := map[string]bool{}
	if folder, err := storage.TempFolder(t.Context(), filepath.Join(parent, "missing")); err == nil {
		t.Errorf("%s was made in a folder that is not there", folder)
	}
	for _, in := range []string{"", "", parent} {
		folder, err := storage.TempFolder(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if rel, ok := storage.Rel(parent, folder); !ok || rel == "." || seen[folder] {
			t.Errorf("TempFolder(%q) = %s", in, folder)
		}
		seen[folder] = true
		// The folder contains users' texts.
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, %v", folder, info.Mode(), err)
		}
		if _, err := storage.WriteBelow(t.Context(), folder, filepath.Join(folder, "x"), nothing); err != nil {
			t.Error(err)
		}
	}
}

// TestLocalCreate checks that a file that has the name but cannot be replaced causes an error, and that nothing is left
// behind.
func TestLocalCreate(t *testing.T) {
	plant(t, "folder/x", "file")
	store, err := storage.At("folder")
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"a folder's name": func() error { return errOf(store.Create(t.Context(), "folder", storage.If{}, nothing)) },
		"a folder's name, if absent": func() error {
			return errOf(store.Create(t.Context(), "folder", storage.If{Absent: true}, nothing))
		},
		"below a file":     func() error { return errOf(store.Create(t.Context(), "file/x", storage.If{}, nothing)) },
		"a folder, moved":  func() error { return store.Move(t.Context(), "file", "folder") },
		"to below a file":  func() error { return store.Move(t.Context(), "folder", "file/x") },
		"to below itself":  func() error { return store.Move(t.Context(), "folder", "folder/y/z") },
		"removed, is full": func() error { return store.Remove(t.Context(), "folder", storage.If{}) },
	} {
		if err := try(); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	nothingElse(t, ".", "file", "folder")
}

func TestPaths(t *testing.T) {
	for _, tt := range []struct{ folder, name, joined, dir string }{
		{"a", "b", "a/b", "a"}, {"/", "b", "/b", "/"}, {"a/", "./b", "a/b", "a"}, {"", "b", "b", "."},
		{"gs://bucket", "a b", "gs://bucket/a b", "gs://bucket"}, {"s3://b/x/", "y/z", "s3://b/x/y/z", "s3://b/x/y"},
	} {
		if got := storage.Join(tt.folder, tt.name); got != tt.joined {
			t.Errorf("Join(%q, %q) = %q, want %q", tt.folder, tt.name, got, tt.joined)
		}
		if got := storage.Dir(tt.joined); got != tt.dir {
			t.Errorf("Dir(%q) = %q, want %q", tt.joined, got, tt.dir)
		}
	}
	for _, tt := range []struct {
		folder, name, want string
		ok                 bool
	}{
		{"/a", "/a/b/c", "b/c", true}, {"/a/", "/a", ".", true}, {"/", "/a", "a", true}, {"/a", "/ab", "", false}, {"/a/b", "/a", "", false},
		{"gs://b", "gs://b/x", "x", true}, {"gs://b", "gs://bc/x", "", false}, {"gs://b", "/b/x", "", false}, {"/", "gs://b", "", false},
	} {
		if got, ok := storage.Rel(tt.folder, tt.name); ok != tt.ok || ok && got != tt.want {
			t.Errorf("Rel(%q, %q) = %q, %v", tt.folder, tt.name, got, ok)
		}
	}
	for _, path := range []string{"a://b", "1x://b", "A-b://c", "g s://b", "g/s://b", "x/gs://b", "://b", "gs:/b", "gs", ""} {
		if !storage.IsLocal(path) {
			t.Errorf("%q is a URL", path)
		}
	}
	for _, url := range []string{"gs://bucket/a//b", "s3://b/../c", "x-1.a+b://c", "gs://b://c"} {
		abs, err := storage.Abs(url)
		resolved, err2 := storage.Resolve(url)
		if abs != url || resolved != url || err != nil || err2 != nil || storage.IsLocal(url) {
			t.Errorf("%s: %s, %s, %v, %v", url, abs, resolved, err, err2)
		}
	}
	if _, ok := storage.FreeSpace("gs://bucket"); ok {
		t.Error("a bucket has free space")
	}
}

func TestResolve(t *testing.T) {
	plant(t, "real/x")
	link(t, "real", "alias")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if here, err = filepath.EvalSymlinks(here); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"alias/x": "real/x", "alias": "real", "alias/new/deep": "real/new/deep", "none/../alias": "real", "none": "none",
	} {
		if got, err := storage.Resolve(path); err != nil || got != filepath.Join(here, want) {
			t.Errorf("Resolve(%s) = %s, %v, want %s", path, got, err, want)
		}
	}
	link(t, "loop", "loop")
	for _, path := range []string{"loop", "loop/x"} {
		if _, err := storage.Resolve(path); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), path+": a link in it leads back to itself") {
			t.Errorf("Resolve(%s): error %v", path, err)
		}
		if _, err := storage.Stat(t.Context(), path); err == nil || !strings.Contains(err.Error(), path+": a link in it leads back to itself; remove") {
			t.Errorf("Stat(%s): error %v", path, err)
		}
	}
	for _, path := range []string{".", "none/at/all"} {
		if n, ok := storage.FreeSpace(path); !ok || n <= 0 {
			t.Errorf("FreeSpace(%s) = %d, %v", path, n, ok)
		}
	}
}

// TestNoWorkingFolder checks that the error for a relative path names it and says what to do.
func TestNoWorkingFolder(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.Remove(folder); err != nil {
		t.Skip(err)
	}
	for name, abs := range map[string]func(string) (string, error){"Abs": storage.Abs, "Resolve": storage.Resolve} {
		if _, err := abs("out"); err == nil || !strings.HasPrefix(err.Error(), "out: the working folder was removed") {
			t.Errorf("%s: error %v", name, err)
		} else if stated, ok := err.(interface{ Status() int }); !ok || stated.Status() != 2 {
			t.Errorf("%s: error %v states no exit status, or another than 2", name, err)
		}
	}
}

// TestVersionsDoNotComeBack checks that versions are not reused, although inodes are and clocks stand still or go back.
func TestVersionsDoNotComeBack(t *testing.T) {
	plant(t, "x")
	store, err := storage.At("x")
	if err != nil {
		t.Fatal(err)
	}
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes("x", ahead, ahead); err != nil {
		t.Fatal(err)
	}
	old, err := store.Stat(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		info, err := store.Create(t.Context(), "x", storage.If{Version: old.Version}, nothing)
		if err != nil || !info.Modified.After(old.Modified) {
			t.Fatalf("%+v after %+v, %v", info, old, err)
		}
		old = info
	}
}

// TestRemoveEmpty checks that a file that somebody put into the folder stays.
func TestRemoveEmpty(t *testing.T) {
	plant(t, "full/x")
	if err := os.Mkdir("empty", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"full", "empty", "missing"} {
		storage.RemoveEmpty(folder)
	}
	if _, err := os.Stat("full/x"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("empty"); err == nil {
		t.Error("the empty folder is there")
	}
}
