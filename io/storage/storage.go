// Package storage is neardup's access to files: it lists inputs, reads files that must not change, writes files that
// are whole or absent, shares small files among workers and locks an output.
//
// All of it works on any Store. A path is a local path, or a URL whose scheme names a registered store. A new store is
// therefore one package, which registers itself, and an import in cmd.
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
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Store keeps objects under paths: the files of a disk, or the objects of a bucket. Folders are the parts of paths
// between slashes; a store makes them as needed, and may have none. Paths are given whole, with their scheme. A Store
// is safe for concurrent use, and every method ends with the context's error once the context is done. storagetest.Run
// checks all these promises.
type Store interface {
	// List yields the objects below folder, at any depth and in any order, but no folders; paths begin with folder. It
	// enters a subfolder if enter, called with its path relative to folder, returns true; a nil enter enters all. The
	// error is fs.ErrNotExist if there is no such folder; in a store without folders, that is a prefix of no object. If an
	// error is fs.ErrPermission and an *fs.PathError, it may name a subfolder that cannot be read, and the listing goes
	// on.
	List(ctx context.Context, folder string, enter func(rel string) bool) iter.Seq2[Info, error]
	// Stat describes the object at path, following links. The error is fs.ErrNotExist if there is none, or a folder.
	Stat(ctx context.Context, path string) (Info, error)
	// Open opens the object at path. ctx applies to all reads.
	Open(ctx context.Context, path string) (Reader, error)
	// Create writes an object that is whole or absent: if write fails or panics, or ctx is done before its end, path keeps
	// its object. Create calls write at most once. It checks cond when write has returned, and may check it before. The
	// error is ErrPrecondition if cond does not hold.
	Create(ctx context.Context, path string, cond If, write func(io.Writer) error) (Info, error)
	// Remove removes the object at path if it has cond.Version; it ignores cond.Absent. The error is ErrPrecondition if
	// the object has another version, and errors.ErrUnsupported if the store cannot compare. Without a Version, a missing
	// object is no error.
	Remove(ctx context.Context, path string, cond If) error
	// RemoveAll removes the object at path and all objects below the folder path; neither need exist.
	RemoveAll(ctx context.Context, path string) error
	// Move gives another path to an object, or to all objects below a folder. It replaces an object at to, but a folder
	// there must be missing or empty. It works by path, even while the source is open. The error is fs.ErrNotExist if, and
	// only if, the source is missing. The objects of a folder may move one after another.
	Move(ctx context.Context, from, to string) error
}

// Info describes an object when it was listed, opened or written.
type Info struct {
	Path     string
	Size     int64 // bytes
	Modified time.Time
	// Version differs between any two states of a path, as far as the store can tell.
	Version string
	// Identity is equal for paths that are hard or symbolic links to one object, and for no others; "" if the store has no
	// links.
	Identity string
	// Type is 0 except on a disk, where links, pipes and devices have names, too.
	Type fs.FileMode
}

// If is a precondition. The zero If always holds.
type If struct {
	Absent  bool   // nothing is at the path
	Version string // the object at the path has this version; "": any
	// Root is a folder above path that must exist: it is not made, and the error is fs.ErrNotExist. Files and folders made
	// below it are as private as it is. Remove, and stores without folders, ignore it.
	Root string
	// Unseen says that nobody reads the path before Create has returned, and whoever else writes it writes the same. Below
	// a Root, if the path does not exist, a Store may then write the file in place; a process that is killed may leave it
	// incomplete.
	Unseen bool
	// Until is the time, by the store's clock, after which Remove has no effect, even if the request is under way. The
	// zero Until means never. Other methods, and stores whose versions never come back, ignore it.
	Until time.Time
}

// Late is a Store in which requests of a process that has lost its lock may still take effect.
type Late interface {
	// Abort ends the unfinished uploads to paths below folder, so that nobody can finish them. The error is an
	// *UnlistedError if the store does not list them.
	Abort(ctx context.Context, folder string) error
	// Within returns how long after the last proof of a lock a Remove with Until may take effect; 0: its version suffices.
	Within() time.Duration
}

// Retaining is a Store that keeps removed objects for a while.
type Retaining interface {
	// Retains returns for how long, for the bucket or disk of path; 0: not at all, or unknown.
	Retains(ctx context.Context, path string) time.Duration
}

// UnlistedError says that a store does not list unfinished uploads.
type UnlistedError struct {
	Err error // the store's error
	// Whole is the maximum size that Move moves by one request instead of an upload that somebody could finish later.
	Whole int64
}

func (e *UnlistedError) Error() string { return e.Err.Error() }

func (e *UnlistedError) Unwrap() error { return e.Err }

// Status returns the exit status.
func (*UnlistedError) Status() int { return 2 }

// ErrPrecondition says that an If did not hold, or that another request was just deciding it.
var ErrPrecondition = errors.New("the object is not in the expected state")

// Reader reads an open object. ReadAt is safe for concurrent use.
type Reader interface {
	io.ReaderAt
	io.Closer
	// Stat describes the open object, not another that may have its path by now.
	Stat(ctx context.Context) (Info, error)
}

// stores are the registered stores by scheme.
var stores = map[string]Store{}

// Register makes s the store of all paths that begin with scheme, such as "gs://". Call it from init: it must not run
// while paths are looked up.
func Register(scheme string, s Store) { stores[scheme] = s }

// schemeOf returns the scheme of a URL, such as gs://, and "" for a local path. It must be fast.
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
		supported := strings.Join(slices.Sorted(maps.Keys(stores)), " or ")
		const text = "%s: paths that begin with %s are not supported; use a local path, %s"
		return nil, nowhereError(fmt.Sprintf(text, path, scheme, supported))
	}
	if rest := path[len(scheme):]; rest == "" || rest[0] == '/' {
		return nil, nowhereError(fmt.Sprintf("%s: give the name of a bucket, as in %sBUCKET/FOLDER", path, scheme))
	}
	return s, nil
}

// nowhereError says that a path is in no store.
type nowhereError string

func (e nowhereError) Error() string { return string(e) }

// Status returns the exit status.
func (nowhereError) Status() int { return 2 }

// Outlive returns a context with the values of ctx that ends some time after ctx, for work that must end in good order
// but not last for ever. Call it before ctx ends, and done at the end.
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

// Failed reports whether a store failed: a disk that cannot be read, a file that the user may not read, or a service
// that refuses or does not answer. A path that names nothing, or not a folder, is not a failure of the store.
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

// Denied reports whether err says that a permission is missing or a file system is read-only.
func Denied(err error) bool { return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) }

// Stat describes the object at path. The error is fs.ErrNotExist if there is none.
func Stat(ctx context.Context, path string) (Info, error) {
	store, err := At(path)
	if err != nil {
		return Info{}, err
	}
	return store.Stat(ctx, path)
}

// RemoveAll removes the object at path and all objects below the folder path, if there are any.
func RemoveAll(ctx context.Context, path string) error {
	store, err := At(path)
	if err != nil {
		return err
	}
	err = store.RemoveAll(ctx, path)
	gone(path)
	return err
}

// RemoveEmpty removes a folder if it is empty. Other folders, and stores without folders, stay as they are.
func RemoveEmpty(folder string) {
	if IsLocal(folder) {
		_ = syscall.Rmdir(folder)
	}
}

// SameOwner reports whether the files at two paths belong to one user. It returns true for stores without owners.
func SameOwner(a, b string) bool { return !IsLocal(a) || sameOwner(a, b) }

// BeingWritten reports whether a name is that of a file that is being written, or was when its writer died.
func BeingWritten(name string) bool { return written.MatchString(name) }

var written = regexp.MustCompile(`^` + regexp.QuoteMeta(beingWritten) + `[A-Z2-7]{26}$`) // as rand.Text is

var retries atomic.Int64

// Retried counts a request that a store sends again because of err, or, if err is nil, because its connection broke. A
// store that accepts no connection may be tried for a minute, so the log names it, at most twice a minute.
func Retried(err error) {
	retries.Add(1)
	var failed *net.OpError
	if !errors.As(err, &failed) || failed.Op != "dial" {
		return
	}
	last, now := dialed.Load(), time.Now().UnixNano()
	if now-last >= int64(30*time.Second) && dialed.CompareAndSwap(last, now) {
		slog.Warn(fmt.Sprintf("cannot reach a store: %s; trying again", Plain(failed)))
	}
}

// Plain returns the text of a request's error in words that name no system call.
func Plain(err error) string {
	var unknown *net.DNSError
	var broken *net.OpError
	var system *os.SyscallError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return "no host is called " + unknown.Name
	case errors.As(err, &system) && errors.As(err, &broken) && broken.Addr != nil:
		return fmt.Sprintf("%s: %v", broken.Addr, system.Err)
	case errors.As(err, &broken) && broken.Op == "dial" && broken.Timeout() && broken.Addr != nil:
		return fmt.Sprintf("%s does not answer", broken.Addr)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the store closed the connection too early"
	}
	return err.Error()
}

// dialed is when the log last named a store that accepts no connection, in Unix nanoseconds.
var dialed atomic.Int64

// Retries returns how many requests the stores of this process have sent again.
func Retries() int64 { return retries.Load() }
