package storage_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/io/storage"
)

// open writes a file on disk, and opens it as it is then listed.
func open(t *testing.T, content string) (file *storage.File, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	listed, err := storage.Stat(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if file, err = storage.Open(t.Context(), path, listed.Version); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file, path
}

// TestChanged checks that a change of an open file is noticed.
func TestChanged(t *testing.T) {
	file, path := open(t, "the content")
	p := make([]byte, 3)
	if n, err := file.ReadAt(p, 0); n != 3 || err != nil {
		t.Fatalf("the head: %d bytes, %v", n, err)
	}
	for _, at := range []int64{11, 12, 1 << 40} {
		if n, err := file.ReadAt(p, at); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("at %d, behind the end: %d bytes, %v", at, n, err)
		}
	}
	if err := file.Unchanged(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("other"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := file.Unchanged(); !errors.As(err, new(*storage.ChangedError)) {
		t.Errorf("it changed: error %v", err)
	}
}

// TestOnceOnDisk checks that opening a file again returns the one opened first, whatever has its path by now.
func TestOnceOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("first"), 0o666); err != nil {
		t.Fatal(err)
	}
	listed, err := storage.Stat(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, done := storage.Once(t.Context())
	defer done()
	for _, state := range []string{"as listed", "gone"} {
		file, err := storage.Open(ctx, path, listed.Version)
		if err != nil {
			t.Fatalf("%s: %v", state, err)
		}
		got, err := io.ReadAll(io.NewSectionReader(file, 0, 100))
		if err = errors.Join(err, file.Unchanged(), file.Close()); string(got) != "first" || err != nil {
			t.Errorf("%s: read %q, %v", state, got, err)
		}
		os.Remove(path)
	}
}

// TestResolver checks that Resolver resolves each file as Resolve does.
func TestResolver(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1", "a/2", "b/3"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("a", filepath.Join(dir, "link")), os.Symlink("../b/3", filepath.Join(dir, "a", "3"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	resolve := storage.Resolver()
	for _, path := range []string{"a/1", "a/2", "a/3", "a/missing", "b/3", "link/1", "link/3", filepath.Join(dir, "link/2"), "a", "gs://b/a/1"} {
		want, err := storage.Resolve(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := resolve(path); got != want || err != nil {
			t.Errorf("%s is %s, %v, want %s", path, got, err, want)
		}
	}
}
