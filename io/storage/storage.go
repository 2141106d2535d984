// Package storage is how neardup touches files: it lists inputs, reads files that must not change,
// writes files that are whole or absent, shares small files among workers and locks an output.
//
// All of it works on any Store. A path is a local path, or a URL whose scheme names a registered
// store. So a new store is one package, which registers itself, and an import in cmd.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Store keeps objects under paths: the files of a disk, or the objects of a bucket. Folders are
// the parts of paths between slashes; a store makes those that it needs, and may have none. Paths
// are given whole, with their scheme. A Store is used by many goroutines at once, and every method
// ends with the context's error once that is done. storagetest.Run checks all that is said here.
type Store interface {
	// List yields what lies below folder, at any depth and in any order: all names but folders, with
	// paths that begin with folder. It looks into a subfolder if enter, called with its path
	// relative to folder, returns true; nil enters all. The error is fs.ErrNotExist if there is no
	// such folder; without folders, a prefix of no object is none. An error that is fs.ErrPermission and an
	// *fs.PathError may name a subfolder that cannot be looked into: the listing then goes on.
	List(ctx context.Context, folder string, enter func(rel string) bool) iter.Seq2[Info, error]
	// Stat tells of the object at path, following links. The error is fs.ErrNotExist if there is
	// none, or a folder.
	Stat(ctx context.Context, path string) (Info, error)
	// Open opens the object at path. The context is that of all reads.
	Open(ctx context.Context, path string) (Reader, error)
	// Create writes an object that is whole or absent: if write fails or panics, or ctx is done
	// before its end, what was at path stays. Write is called at most once, and cond is checked
	// when it has returned, and may be before. The error is ErrPrecondition if cond does not hold.
	Create(ctx context.Context, path string, cond If, write func(io.Writer) error) (Info, error)
	// Remove removes the object at path if it has cond.Version; cond.Absent means nothing here. The
	// error is ErrPrecondition if it has another, and errors.ErrUnsupported if the store cannot
	// compare. Without a Version, a missing object is no error.
	Remove(ctx context.Context, path string, cond If) error
	// RemoveAll removes the object at path and all below the folder path; neither need be there.
	RemoveAll(ctx context.Context, path string) error
	// Move gives an object, or all below a folder, another path. It replaces an object there, but a
	// folder must not be there yet, or be empty. It works by path, also while the source is open. The error is
	// fs.ErrNotExist if the source is missing, and only then. Objects of a folder may move one after another.
	Move(ctx context.Context, from, to string) error
}

// Info tells of an object as it was listed, opened or written.
type Info struct {
	Path     string
	Size     int64 // bytes
	Modified time.Time
	// Version differs between any two states of one path, as far as the store can tell.
	Version string
	// Identity is the same for paths that are links to one object, hard or symbolic, and for no others; ""
	// where a store has no links.
	Identity string
	// Type is 0 but on a disk, where links, pipes and devices have names too.
	Type fs.FileMode
}

// If is a precondition. The zero If always holds.
type If struct {
	Absent  bool   // nothing is at the path
	Version string // what is at the path has this version; "" for any
	// Root is the folder that path lies below, which must be there: it is not made, and the error is
	// fs.ErrNotExist. What is made below it is as private as it is. It means nothing to Remove, and to
	// stores without folders.
	Root string
	// Unseen: nobody looks at the path before Create has returned, and whoever else
	// writes it writes the same. Below a Root, if nothing is there, a Store may fill
	// the file in its place; a process that is killed may then leave it incomplete.
	Unseen bool
	// Until is the time, by the store's clock, after which Remove does nothing any more, also if the request is under
	// way. The zero Until is never. It means nothing to other methods, and to stores whose versions never come back.
	Until time.Time
}

// Late is a Store in which requests of a process that has lost its lock may still take effect.
type Late interface {
	// Abort ends the uploads to paths below folder that nobody has finished, so that nobody can. The error is an
	// *UnlistedError if the store does not tell which these are.
	Abort(ctx context.Context, folder string) error
	// Within is how long a Remove with Until may take effect after the last proof of a lock; 0: its version will do.
	Within() time.Duration
}

// Retaining is a Store that keeps what is removed for a while.
type Retaining interface {
	// Retains is how long, for the bucket or disk of path; 0: not at all, or that is not told.
	Retains(ctx context.Context, path string) time.Duration
}

// UnlistedError says that a store does not list unfinished uploads.
type UnlistedError struct {
	Err error // what it said
	// Whole is the size of what Move moves by one request, and not by an upload that somebody could finish later.
	Whole int64
}

func (e *UnlistedError) Error() string { return e.Err.Error() }

func (e *UnlistedError) Unwrap() error { return e.Err }

// Status is the exit status.
func (*UnlistedError) Status() int { return 2 }

// ErrPrecondition says that an If did not hold, or that another request was deciding it.
var ErrPrecondition = errors.New("the object is not in the expected state")

// Reader reads an open object. ReadAt may be called by many goroutines at once.
type Reader interface {
	io.ReaderAt
	io.Closer
	// Stat tells of the open object, not of what has its path by now.
	Stat(ctx context.Context) (Info, error)
}

// stores are the registered ones by scheme.
var stores = map[string]Store{}

// Register makes s the store of all paths that begin with scheme, such as "gs://". Call it from
// init: it must not run while paths are looked up.
func Register(scheme string, s Store) { stores[scheme] = s }

// schemeOf returns what a URL begins with, as in gs://, and "" for a local path. It is asked often.
func schemeOf(path string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	end := strings.Index(path, "://")
	if end < 2 || path[0] < 'a' || path[0] > 'z' || strings.Trim(path[:end], letters+"0123456789+.-") != "" {
		return ""
	}
	return path[:end+len("://")]
}

// At returns the store of path. The error names the scheme if no store has it.
func At(path string) (Store, error) {
	scheme := schemeOf(path)
	if scheme == "" {
		return local{}, nil
	}
	s, ok := stores[scheme]
	if !ok {
		supported := strings.Join(append([]string{"local paths"}, slices.Sorted(maps.Keys(stores))...), ", ")
		return nil, fmt.Errorf("%s: paths that begin with %s are not supported, but these are: %s", path, scheme, supported)
	}
	if rest := path[len(scheme):]; rest == "" || rest[0] == '/' {
		return nil, fmt.Errorf("%s: give the name of a bucket, as in %sBUCKET/FOLDER", path, scheme)
	}
	return s, nil
}

// Outlive returns a context with the values of ctx that ends some time after it, and not before: for what must be ended
// in good order, and not last for ever. Call it before ctx ends, and done at the end.
func Outlive(ctx context.Context, by time.Duration) (longer context.Context, done context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if pause(longer, by) == nil {
			cancel()
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// Failed reports whether a store could not do what it was asked: a disk that cannot
// be read, a file that the user may not read, a service that refuses or does not
// answer. A path that names nothing, or what is no folder, is not its failure.
func Failed(err error) bool {
	var disk *fs.PathError
	if errors.As(err, &disk) {
		return !slices.ContainsFunc([]error{fs.ErrNotExist, fs.ErrInvalid, syscall.ENOTDIR, syscall.EISDIR,
			syscall.ENAMETOOLONG, syscall.ELOOP}, func(path error) bool {
			return errors.Is(disk, path)
		})
	}
	var service interface{ Failed() bool }
	return errors.As(err, &service) && service.Failed()
}

// Stat tells of the object at path. The error is fs.ErrNotExist if there is none.
func Stat(ctx context.Context, path string) (Info, error) {
	store, err := At(path)
	if err != nil {
		return Info{}, err
	}
	return store.Stat(ctx, path)
}

// RemoveAll removes the object at path and all below the folder path, if there is anything.
func RemoveAll(ctx context.Context, path string) error {
	store, err := At(path)
	if err != nil {
		return err
	}
	err = store.RemoveAll(ctx, path)
	gone(path)
	return err
}

// RemoveEmpty removes a folder that nothing is in. Others, and stores without folders, stay as they are.
func RemoveEmpty(folder string) {
	if IsLocal(folder) {
		_ = syscall.Rmdir(folder)
	}
}

// SameOwner reports whether what two paths name belongs to one user. On stores without owners it does.
func SameOwner(a, b string) bool { return !IsLocal(a) || sameOwner(a, b) }

// BeingWritten reports whether a name is that of a file that is, or was when its writer died, being
// written.
func BeingWritten(name string) bool { return written.MatchString(name) }

var written = regexp.MustCompile(`^` + regexp.QuoteMeta(beingWritten) + `[A-Z2-7]{26}$`) // as rand.Text is

var retries atomic.Int64

// Retried counts a request that a store sends again because of err, which is nil if its connection broke. A store that
// accepts no connection may be tried for a minute, so the log names it, twice a minute at most.
func Retried(err error) {
	retries.Add(1)
	var failed *net.OpError
	if !errors.As(err, &failed) || failed.Op != "dial" {
		return
	}
	last, now := dialed.Load(), time.Now().UnixNano()
	if now-last >= int64(30*time.Second) && dialed.CompareAndSwap(last, now) {
		slog.Warn(fmt.Sprintf("a store cannot be reached: %v; trying again", failed))
	}
}

// dialed is when the log last named a store that accepts no connection, in nanoseconds of the Unix time.
var dialed atomic.Int64

// Retries returns how many requests the stores of this process have sent again.
func Retries() int64 { return retries.Load() }
