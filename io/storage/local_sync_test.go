package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// TestFileSyncs checks that many files are synced at once, and a folder only after everything before it.
func TestFileSyncs(t *testing.T) {
	folder := t.TempDir()
	var paths []string
	for _, sub := range []string{"a", "b"} {
		sub = filepath.Join(folder, sub)
		if err := os.Mkdir(sub, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			file := filepath.Join(sub, fmt.Sprint(i))
			if err := os.WriteFile(file, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, file)
		}
		paths = append(paths, sub)
	}
	paths = append(paths, folder)

	var mu sync.Mutex
	var done []string
	under, most := 0, 0
	full := make(chan bool)
	s := fileSyncs(func(f *os.File) error {
		mu.Lock()
		if under++; under > most {
			if most = under; most == syncsAtOnce {
				close(full)
			}
		}
		mu.Unlock()
		if info, err := f.Stat(); err == nil && !info.IsDir() {
			<-full // this many run at once
		}
		mu.Lock()
		defer mu.Unlock()
		under--
		done = append(done, f.Name())
		return nil
	})
	if err := s.Sync(t.Context(), paths...); err != nil {
		t.Fatal(err)
	}
	if most != syncsAtOnce {
		t.Errorf("%d at once", most)
	}
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() && done[i] != path {
			t.Errorf("%s is number %d, not %d", path, slices.Index(done, path), i)
		}
	}
	slices.Sort(done)
	slices.Sort(paths)
	if !slices.Equal(done, paths) {
		t.Errorf("synced %q", done)
	}
}

func TestFileSyncsErrors(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "x")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		at   string
		err  error
		want error
	}{
		{folder, syscall.EINVAL, nil}, {folder, syscall.EIO, syscall.EIO}, {file, syscall.EINVAL, syscall.EINVAL}, {file, syscall.EIO, syscall.EIO},
	} {
		folders := 0
		s := fileSyncs(func(f *os.File) error {
			if f.Name() == folder {
				folders++
			}
			if f.Name() == tt.at {
				return &fs.PathError{Op: "sync", Path: tt.at, Err: tt.err}
			}
			return nil
		})
		if err := s.Sync(t.Context(), file, folder); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.at, err, tt.want)
		}
		if wanted := tt.at == folder; wanted != (folders == 1) {
			t.Errorf("%s: %v, and then %d folders", tt.at, tt.err, folders)
		}
	}
}

// TestSyncing checks that both ways sync existing files, and report missing ones.
func TestSyncing(t *testing.T) {
	folder := t.TempDir()
	whole, err := NewSyncing(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "x")
	if err := os.WriteFile(file, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Syncing{whole, fileSyncs((*os.File).Sync)} {
		if err := s.Sync(t.Context(), file, folder); err != nil {
			t.Error(err)
		}
		if err := s.Sync(t.Context(), file, filepath.Join(folder, "missing"), folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing path: error %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := NewSyncing(t.Context(), filepath.Join(folder, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: error %v", err)
	}
}
