// Package lossy is a file system in memory, for tests, that can show at any moment what a loss of power would leave.
// Data survive once their file is synced, names once their folder is. It is mounted by FUSE, so that whole programs can
// run on it.
package lossy

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Names says which names survive a loss of power. Both kinds of disk keep the data that were synced.
type Names string

// A program must be safe on both: the first loses more than usual, the second keeps the names of lost files.
const (
	// Synced names survive: those that were in a folder when it was synced. If a file moved between two folders of which
	// only one was synced, it is in both, or in neither.
	Synced Names = "synced names"
	// All names survive at once, as they usually do on ext4 and xfs, including those of files without data.
	All Names = "all names"
)

// Tree is what a loss of power leaves: files and folders by their path below the root.
type Tree map[string]File

// File is a file or a folder, which has no Content.
type File struct {
	Mode fs.FileMode
	*Content
}

// Content is the content of a file. It is immutable, so that Contents can be compared by address.
type Content struct {
	Bytes []byte
	// Sum returns the SHA-256 of Bytes in hex, which it computes once.
	Sum func() string
	// modified is the modification time of the file.
	modified time.Time
}

func newContent(data []byte, modified time.Time) *Content {
	return &Content{Bytes: data, modified: modified,
		Sum: sync.OnceValue(func() string { return fmt.Sprintf("%x", sha256.Sum256(data)) })}
}

// ReadTree reads the folder dir into a Tree.
func ReadTree(dir string) (Tree, error) {
	tree := Tree{}
	return tree, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		file := File{Mode: info.Mode()}
		if !entry.IsDir() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			file.Content = newContent(data, info.ModTime())
		}
		rel, err := filepath.Rel(dir, name)
		tree[rel] = file
		return err
	})
}

// Options say how a System behaves.
type Options struct {
	// Holds is the initial content, which is already synced.
	Holds Tree
	// NoFlags: renameat2 supports no flags, as on many FUSE file systems, so folders cannot be exchanged.
	NoFlags bool
	// Busy: a folder that is not empty cannot be exchanged, as if another file system were mounted in it.
	Busy bool
	// Changed, if set, is called after each operation that changes what a loss of power would leave, which left returns.
	// Nothing else happens meanwhile.
	Changed func(operation string, left func(Names) Tree)
}

// System is a file system.
type System struct {
	options Options
	mu      sync.Mutex
	inodes  []*inode // by number, from 1 (the root); numbers are not reused
	listed  map[uint64][]entry
	handles uint64
	ahead   time.Duration // of this machine's clock, to simulate the time without power
}

func (s *System) now() time.Time { return time.Now().Add(s.ahead) }

// inode is a file or a folder: what processes see, and what is synced.
type inode struct {
	now      func() time.Time
	number   uint64
	path     string // its latest path, for messages
	mode     uint32 // as in stat; survives without a sync
	uid, gid uint32
	links    uint32
	modified time.Time
	changed  time.Time

	data   []byte
	synced *Content // data at the last sync; nil if there was none

	names       map[string]*inode // nil for a file
	syncedNames map[string]*inode // names at the last sync
}

type entry struct {
	name string
	node *inode
}

// New returns a System.
func New(options Options) *System {
	s := &System{options: options, listed: map[uint64][]entry{}}
	s.add(syscall.S_IFDIR | 0o777).path = "."
	planted := map[string]*inode{".": s.inodes[0]}
	for _, name := range slices.Sorted(maps.Keys(options.Holds)) { // folders before their content
		file, kind := options.Holds[name], uint32(syscall.S_IFDIR)
		if !file.Mode.IsDir() {
			kind = syscall.S_IFREG
		}
		node := s.add(kind | uint32(file.Mode.Perm()))
		if file.Content != nil {
			node.data, node.synced = bytes.Clone(file.Bytes), file.Content
			if !file.modified.IsZero() {
				node.modified = file.modified
			}
		}
		planted[path.Dir(name)].name(path.Base(name), node)
		planted[name] = node
	}
	last := time.Now()
	for _, node := range s.inodes {
		node.sync()
		if node.modified.After(last) {
			last = node.modified
		}
	}
	// The power was off for a while: the content is older than any running process.
	s.ahead = time.Until(last) + time.Hour
	return s
}

// add makes an inode without a name.
func (s *System) add(mode uint32) *inode {
	now := s.now()
	node := &inode{
		now: s.now, number: uint64(len(s.inodes) + 1), mode: mode, links: 1, modified: now, changed: now,
		uid: uint32(os.Getuid()), gid: uint32(os.Getgid()),
	}
	if mode&syscall.S_IFMT == syscall.S_IFDIR {
		node.names, node.syncedNames = map[string]*inode{}, map[string]*inode{}
	}
	s.inodes = append(s.inodes, node)
	return node
}

func (n *inode) sync() {
	if n.names != nil {
		n.syncedNames = maps.Clone(n.names)
	} else if n.synced == nil || !bytes.Equal(n.synced.Bytes, n.data) {
		n.synced = newContent(bytes.Clone(n.data), n.modified)
	}
}

// name gives node a name in the folder n.
func (n *inode) name(name string, node *inode) {
	n.names[name] = node
	node.path = path.Join(n.path, name)
	n.touch()
	node.changed = n.changed
}

// touch updates the times after a change of data or names.
func (n *inode) touch() {
	n.modified = n.now()
	n.changed = n.modified
}

// Left returns what a loss of power would leave now.
func (s *System) Left(names Names) Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left(names)
}

func (s *System) left(names Names) Tree {
	tree := Tree{}
	s.inodes[0].collect(tree, "", names)
	return tree
}

var empty = newContent(nil, time.Time{})

func (n *inode) collect(tree Tree, folder string, names Names) {
	there := n.syncedNames
	if names == All {
		there = n.names
	}
	for name, node := range there {
		name = path.Join(folder, name)
		file := File{Mode: fs.FileMode(node.mode & 0o777)}
		if node.names != nil {
			file.Mode |= fs.ModeDir
			node.collect(tree, name, names)
		} else if file.Content = node.synced; file.Content == nil {
			file.Content = empty
		}
		tree[name] = file
	}
}

// tell calls Options.Changed.
func (s *System) tell(format string, args ...any) {
	if s.options.Changed != nil {
		s.options.Changed(fmt.Sprintf(format, args...), s.left)
	}
}
