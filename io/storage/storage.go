// Package storage is how the rest of neardup touches files: list, read a file whose content
// must not change, write one that is either whole or absent, share a small file among workers,
// and lock an output. Paths are local; a path of another scheme is refused by name.
package storage

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
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
	"slices"
	"strings"
	"syscall"
)

// Entry is a file as listed.
type Entry struct {
	Path     string
	Folder   string // the folder it was found below; "": it was named itself
	Size     int64
	Identity string
}

// List returns the files that arg names, by path: a file itself, the files below a folder, or
// the matches of a pattern, which may be folders too. Names that begin with a dot or an
// underscore are left out unless they are given, as data lakes use them for what is not data;
// so are links to folders below a folder, which could lead in circles.
func List(ctx context.Context, arg string) (entries []Entry, err error) {
	if err := local(arg); err != nil {
		return nil, err
	}
	names := []string{arg}
	_, err = os.Stat(arg)
	switch {
	case err == nil: // a name, not a pattern, even if it has a star in it
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(arg, "*?["):
		if names, err = match(arg); err != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		var found []Entry
		if info.IsDir() {
			found, err = listFolder(name)
		} else {
			found = make([]Entry, 1)
			found[0], err = newEntry(name, info)
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, found...)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return entries, nil
}

// match returns the names that match pattern, at least one.
func match(pattern string) ([]string, error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", pattern, err)
	}
	asked := strings.Split(filepath.Clean(pattern), "/")
	names = slices.DeleteFunc(names, func(name string) bool {
		for i, element := range strings.Split(filepath.Clean(name), "/") {
			if hidden(element) && asked[i][0] != element[0] {
				return true
			}
		}
		return false
	})
	if len(names) == 0 {
		return nil, fmt.Errorf("pattern %s: %w", pattern, fs.ErrNotExist)
	}
	return names, nil
}

// hidden names are what users and data lakes keep beside their data: those that begin with a dot,
// or with an underscore and have no ending (_SUCCESS, _temporary, but not __init__.py).
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") && filepath.Ext(name) == ""
}

func listFolder(root string) (entries []Entry, err error) {
	// The slash makes WalkDir follow root itself if it is a link.
	top := strings.TrimSuffix(root, "/") + "/"
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != top && hidden(d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		info, err := os.Stat(path) // follows links, as opening does
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: the link leads nowhere; mend or remove it", path)
		}
		if err != nil || !info.Mode().IsRegular() {
			return err // pipes and sockets hold no documents
		}
		entry, err := newEntry(path, info)
		entry.Folder = root
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
func Open(ctx context.Context, path, identity string) (*File, error) {
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
		return fmt.Errorf("%s changed since it was listed; run again once nothing writes to it", f.path)
	}
	return nil
}

// Written tells what WriteFile wrote.
type Written struct {
	Bytes  int64
	SHA256 string
}

// ReadFile reads a file that WriteFile wrote.
func ReadFile(ctx context.Context, path string) ([]byte, error) {
	if err := local(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// OpenFile opens a file that WriteFile wrote, to be read from its start.
func OpenFile(ctx context.Context, path string) (*os.File, error) {
	if err := local(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// WriteFile writes a file that is either whole or absent: write fills a hidden file beside it,
// which takes the name only when it is complete. A retry, or two workers at once, are harmless.
func WriteFile(ctx context.Context, path string, write func(io.Writer) error) (written Written, err error) {
	if err := local(path); err != nil {
		return Written{}, err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return Written{}, err
	}
	// Not os.CreateTemp, whose files are private: outputs are to be as readable as any file the
	// user makes. The name does not hold path's, which may be as long as a name can be.
	temp := filepath.Join(dir, ".neardup-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return Written{}, fmt.Errorf("writing %s: %w", path, err)
	}
	sum := &summed{file: f, hash: sha256.New()}
	buffer := bufio.NewWriterSize(sum, writeBytes)
	if err = write(buffer); err == nil {
		err = buffer.Flush()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return Written{}, fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(temp)))
	}
	return Written{Bytes: sum.bytes, SHA256: hex.EncodeToString(sum.hash.Sum(nil))}, nil
}

// WriteBelow is WriteFile for workers: it fails if root, a folder above path, is gone. Then the run
// has ended, and whoever still works for it must not leave anything.
func WriteBelow(ctx context.Context, root, path string, write func(io.Writer) error) (Written, error) {
	if _, err := os.Stat(root); err != nil {
		return Written{}, fmt.Errorf("writing %s: the run has ended: %w", path, err)
	}
	return WriteFile(ctx, path, write)
}

// Corpora are written a record at a time.
const writeBytes = 128 << 10

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
