// Package storage is how the rest of neardup touches files: list, read a file whose content
// must not change, write one that is either whole or absent, share a small file among workers,
// and lock an output. Paths are local; a path of another scheme is refused by name.
package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// Entry is a file as listed.
type Entry struct {
	Path     string
	Size     int64
	Identity string
}

// List returns the files that arg names: a file itself, the files below a folder (in path
// order; names that begin with a dot or an underscore are left out, as data lakes use them for
// what is not data), or the matches of a pattern.
func List(arg string) ([]Entry, error) {
	if err := local(arg); err != nil {
		return nil, err
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return listFolder(arg)
	case err == nil:
		entry, err := newEntry(arg, info)
		return []Entry{entry}, err
	case !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(arg, "*?["):
		return nil, err
	}
	matches, err := filepath.Glob(arg)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", arg, err)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("pattern %s: %w", arg, fs.ErrNotExist)
	}
	var entries []Entry
	for _, match := range matches {
		// A match is a name, not a pattern, even if it has a star in it.
		info, err := os.Stat(match)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			below, err := listFolder(match)
			if err != nil {
				return nil, err
			}
			entries = append(entries, below...)
			continue
		}
		entry, err := newEntry(match, info)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func listFolder(root string) (entries []Entry, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != root && strings.ContainsRune("._", rune(d.Name()[0])) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		info, err := os.Stat(path) // follows links, as opening does
		if err != nil {
			return err
		}
		if info.IsDir() {
			return nil // a link to a folder could lead in circles
		}
		entry, err := newEntry(path, info)
		entries = append(entries, entry)
		return err
	})
	return entries, err
}

var scheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]+://`)

func local(path string) error {
	if s := scheme.FindString(path); s != "" {
		return fmt.Errorf("%s: paths that begin with %s are not supported; copy the files to a local disk first", path, s)
	}
	return nil
}

func newEntry(path string, info fs.FileInfo) (Entry, error) {
	if !info.Mode().IsRegular() {
		return Entry{}, fmt.Errorf("%s: not a regular file; give - to read standard input", path)
	}
	return Entry{Path: path, Size: info.Size(), Identity: identity(info)}, nil
}

// identity tells two states of a local file apart: size, modification time, inode.
func identity(info fs.FileInfo) string {
	var inode uint64
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = stat.Ino
	}
	return fmt.Sprintf("%d-%d-%d", info.Size(), info.ModTime().UnixNano(), inode)
}

// File is an input file open for reading.
type File struct {
	*os.File
	path, identity string
}

// Open opens the input file path and checks that it is still the one that was listed.
func Open(path, identity string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	file := &File{File: f, path: path, identity: identity}
	if err := file.Unchanged(); err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}

// Unchanged returns an error if the file is not what it was when it was listed. Call it after
// the last byte was read: what was read before is then known to be of one state.
func (f *File) Unchanged() error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if identity(info) != f.identity {
		return fmt.Errorf("%s changed while it was read; run again once nothing writes to it", f.path)
	}
	return nil
}

// Written tells what WriteFile wrote.
type Written struct {
	Bytes  int64
	SHA256 string
}

// WriteFile writes a file that is either whole or absent: write fills a hidden file beside it,
// which takes the name only when it is complete. A retry, or two workers at once, are harmless.
func WriteFile(path string, write func(io.Writer) error) (Written, error) {
	if err := local(path); err != nil {
		return Written{}, err
	}
	dir, name := filepath.Split(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return Written{}, err
	}
	f, err := os.CreateTemp(dir, "."+name+".tmp-*")
	if err != nil {
		return Written{}, err
	}
	sum := &summed{file: f, hash: sha256.New()}
	err = write(sum)
	if err == nil {
		err = f.Chmod(0o666 &^ umask)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return Written{}, fmt.Errorf("writing %s: %w", path, err)
	}
	return Written{Bytes: sum.bytes, SHA256: hex.EncodeToString(sum.hash.Sum(nil))}, nil
}

// umask is read once: os.CreateTemp makes private files, and outputs are to be as readable as
// any file the user makes.
var umask = func() os.FileMode {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return os.FileMode(mask)
}()

// summed writes to a file and sums up what it writes.
type summed struct {
	file  *os.File
	hash  hash.Hash
	bytes int64
}

func (s *summed) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.hash.Write(p[:n])
	s.bytes += int64(n)
	return n, err
}
