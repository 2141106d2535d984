package storage_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/internal/notroot"
	"github.com/neardup/neardup/io/storage"
)

// TestRemoveAllInUnlistedFolder checks that a folder can be removed from one that may not be listed.
func TestRemoveAllInUnlistedFolder(t *testing.T) {
	if notroot.Ran(t) { // root may list any folder
		return
	}
	parent := t.TempDir()
	t.Cleanup(func() { os.Chmod(parent, 0o700) })
	if err := os.MkdirAll(filepath.Join(parent, "a/b/c"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o300); err != nil {
		t.Fatal(err)
	}
	if err := storage.RemoveAll(t.Context(), filepath.Join(parent, "a")); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
