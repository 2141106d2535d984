package storage

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSystemSync checks that the file system is opened before anything is written, so that all errors are reported.
func TestSystemSync(t *testing.T) {
	parent := t.TempDir()
	folder := filepath.Join(parent, "a")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if known, err := onOwnDisk(folder); err != nil || !known || !syncfsTells() {
		t.Skip("this file system is synced file by file")
	}
	s, err := local{}.Syncing(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.(systemSync); !ok {
		t.Fatalf("a %T", s)
	}
	if err := os.Rename(folder, folder+"2"); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(t.Context(), folder+"2", parent); err != nil {
		t.Errorf("the folder has another name: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Sync(t.Context(), parent); err == nil {
		t.Error("closed, and no error")
	}
}

func TestSince58(t *testing.T) {
	for release, want := range map[string]bool{
		"5.8.0": true, "5.7.19-generic": false, "5.10.0-9-amd64": true, "6.1": true, "4.18.0": false, "10.0.1": true, "": false,
	} {
		if got := since58(release); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}

func TestUnknownFileSystem(t *testing.T) {
	s, err := local{}.Syncing(t.Context(), "/proc")
	if err != nil {
		t.Skip(err)
	}
	if _, ok := s.(fileSyncs); !ok {
		t.Errorf("a %T", s)
	}
}
