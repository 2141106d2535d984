package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// beingWritten is the prefix of the names of files being written.
const beingWritten = ".neardup-"

// Removing is the suffix of the names of folders that RemoveAll is removing, unless the name is in use.
const Removing = "~"

// local is the Store of local file systems. A Version is size, modification time and inode.
type local struct{}

func (local) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) { listLocal(ctx, folder, "", enter, infoAt, yield) }
}

// localTypes is a local whose List asks the disk for no file's details: an Info has only Path and Type.
type localTypes struct{ local }

func (localTypes) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) { listLocal(ctx, folder, "", enter, typeAt, yield) }
}

func infoAt(path string, e fs.DirEntry) (Info, error) {
	info, err := e.Info()
	if err != nil {
		return Info{}, err
	}
	return infoOf(path, info), nil
}

func typeAt(path string, e fs.DirEntry) (Info, error) { return Info{Path: path, Type: e.Type()}, nil }

// listLocal yields an Info, made by tell, of each file below the folder rel of root, and reports whether to go on. It
// goes on after an error, whose fs.PathError names the folder or file that is left out.
func listLocal(
	ctx context.Context, root, rel string, enter func(string) bool, tell func(path string, e fs.DirEntry) (Info, error),
	yield func(Info, error) bool,
) bool {
	top := strings.TrimSuffix(root, "/") + "/"
	entries, err := readFolder(root, rel)
	if errors.Is(err, fs.ErrNotExist) && rel != "" {
		return true // removed meanwhile
	}
	if err != nil {
		return yield(Info{}, err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return yield(Info{}, err)
		}
		name := e.Name()
		if rel != "" {
			name = rel + "/" + name
		}
		if e.IsDir() {
			if (enter == nil || enter(name)) && !listLocal(ctx, root, name, enter, tell, yield) {
				return false
			}
			continue
		}
		info, err := tell(top+name, e)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if !yield(info, err) {
			return false
		}
	}
	return true
}

// readFolder returns the entries of the folder rel of root, sorted by name.
func readFolder(root, rel string) ([]fs.DirEntry, error) {
	if root == "" { // not the root of the disk
		return nil, &fs.PathError{Op: "open", Path: root, Err: fs.ErrNotExist}
	}
	entries, err := os.ReadDir(strings.TrimSuffix(root, "/") + "/" + rel)
	if errors.Is(err, syscall.ENOTDIR) && rel == "" {
		err = &fs.PathError{Op: "open", Path: root, Err: notFolder}
	}
	return entries, unread(err)
}

// unread gives the error of reading a file or folder an operation that is not the name of a system call.
func unread(err error) error {
	if failed, ok := err.(*fs.PathError); ok { //nolint:errorlint // bare
		if errors.Is(err, syscall.ENAMETOOLONG) { // no file has such a name
			failed.Err = fs.ErrNotExist
		}
		return &fs.PathError{Op: "cannot read", Path: failed.Path, Err: failed.Err}
	}
	return err
}

func infoOf(path string, info fs.FileInfo) Info {
	var buffer [96]byte
	identity := append(strconv.AppendUint(buffer[:0], uint64(device(info)), 10), '-')
	version := len(identity)
	identity = append(strconv.AppendInt(identity, info.Size(), 10), '-')
	identity = append(strconv.AppendInt(identity, info.ModTime().UnixNano(), 10), '-')
	found := Info{
		Path: path, Size: info.Size(), Modified: info.ModTime(), Type: info.Mode().Type(),
		Identity: string(strconv.AppendUint(identity, uint64(inode(info)), 10)),
	}
	found.Version = found.Identity[version:] // a shared string: memory counts with a million files
	if inode(info) == 0 {                    // some network file systems have no inodes
		found.Identity = ""
	}
	return found
}

// missingError is the fs.ErrNotExist of a path where something else is.
type missingError string

const (
	notFolder missingError = "not a folder" // a folder's path is that of a file, or below one
	isFolder  missingError = "is a folder"  // a file's path is that of a folder
)

func (e missingError) Error() string { return string(e) }

func (missingError) Is(target error) bool { return target == fs.ErrNotExist }

func (local) Stat(ctx context.Context, path string) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "stat", Path: path, Err: isFolder}
	}
	if errors.Is(err, syscall.ENOTDIR) {
		err = &fs.PathError{Op: "stat", Path: path, Err: notFolder}
	}
	if errors.Is(err, syscall.ELOOP) {
		err = fmt.Errorf("%w; remove the link, or give another path", leadsBack(path))
	}
	if err != nil {
		return Info{}, unread(err)
	}
	return infoOf(path, info), nil
}

func (local) Open(ctx context.Context, path string) (Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, syscall.ENOTDIR) {
		err = &fs.PathError{Op: "open", Path: path, Err: notFolder}
	}
	if err != nil {
		return nil, unread(err)
	}
	return localFile{ctx, f}, nil
}

// localFile is an open file with the methods of a Reader only.
type localFile struct {
	ctx  context.Context
	file *os.File
}

func (f localFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.file.ReadAt(p, offset)
	return n, unread(err)
}

func (f localFile) Close() error { return f.file.Close() }

func (f localFile) Stat(context.Context) (Info, error) {
	info, err := f.file.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(f.file.Name(), info), nil
}

// Create fills a hidden file beside path and renames it once it is complete. An unseen file has its name from the
// start, unless the name is in use.
func (local) Create(ctx context.Context, path string, cond If, write func(io.Writer) error) (Info, error) {
	if cond.Unseen && cond.Root != "" {
		if info, taken, err := fill(ctx, path, cond.Root, write); !taken {
			return info, err
		}
	}
	return place(ctx, path, cond.Root, write, func(temp string) (info Info, err error) {
		switch {
		case cond.Absent:
			if info, err = rename(temp, path, nil, renameNew); errors.Is(err, fs.ErrExist) {
				err = ErrPrecondition
			}
		case cond.Version != "":
			err = withVersion(path, cond.Version, func(old fs.FileInfo) error {
				info, err = rename(temp, path, old, os.Rename)
				return err
			})
		default:
			info, err = rename(temp, path, nil, os.Rename)
		}
		return info, err
	})
}

// fill writes the file path in place; taken reports that something is there already. If fill fails, it leaves only
// folders, and any file that another writer has put there meanwhile.
func fill(ctx context.Context, path, root string, write func(io.Writer) error) (info Info, taken bool, err error) {
	defer func() {
		if err != nil {
			err = unwritten(path, err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return Info{}, false, err
	}
	mode, _, err := modesBelow(root)
	if err != nil {
		return Info{}, false, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrNotExist) { // the first file of its folder
		if _, err := makeBelow(root, filepath.Dir(path)); err != nil {
			return Info{}, false, err
		}
		f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	}
	if errors.Is(err, fs.ErrExist) {
		return Info{}, true, nil
	}
	if err != nil {
		return Info{}, false, err
	}
	var made fs.FileInfo
	whole := false
	defer func() { // also after a panic
		if whole {
			return
		}
		if made == nil {
			made, _ = f.Stat()
		}
		f.Close()
		if made != nil {
			removeOwn(path, made)
		}
	}()
	if err := write(f); err != nil {
		return Info{}, false, err
	}
	made, err = f.Stat()
	if err := errors.Join(err, f.Close(), ctx.Err()); err != nil {
		return Info{}, false, err
	}
	whole = true
	return infoOf(path, made), false, nil
}

// NotFolder reports whether an error is that of a path where something else than a folder is.
func NotFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// advised is the error of writing a file, and says what to do.
type advised struct{ error }

func (e advised) Unwrap() error { return e.error }

// Advised reports whether an error of writing a file says what to do.
func Advised(err error) bool { return errors.As(err, &advised{}) }

// unwritten returns the error of writing the file path in words that name no system call.
func unwritten(path string, err error) error {
	var failed *fs.PathError
	var renamed *os.LinkError
	switch {
	case errors.As(err, &renamed):
		err = renamed.Err
	case errors.As(err, &failed) &&
		(strings.HasPrefix(path, failed.Path) || strings.HasPrefix(filepath.Base(failed.Path), beingWritten)):
		err = failed.Err
	default: // also an error of a file that was read in order to write
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		err = advised{fmt.Errorf("%w; free some space there, or use another folder", err)}
	case Denied(err):
		err = advised{fmt.Errorf("%w; use another folder", err)}
	}
	return &fs.PathError{Op: "cannot write", Path: path, Err: err}
}

// removeOwn removes the file path if it is the file made. Another writer may put its own file there at any moment, so
// removeOwn first renames the file, and gives the name back if the file turns out to be another's.
func removeOwn(path string, made fs.FileInfo) {
	own := func(path string) bool {
		there, err := os.Lstat(path)
		return err == nil && os.SameFile(there, made)
	}
	if !own(path) {
		return
	}
	temp := filepath.Join(filepath.Dir(path), beingWritten+rand.Text())
	if os.Rename(path, temp) != nil {
		return
	}
	if own(temp) {
		os.Remove(temp)
	} else {
		os.Rename(temp, path) // it is complete, unlike any file that a third writer has begun there
	}
}

// place fills a hidden file beside path and calls give, which gives it that name. If place fails, it leaves only
// folders.
func place(
	ctx context.Context, path, root string, write func(io.Writer) error, give func(temp string) (Info, error),
) (info Info, err error) {
	defer func() {
		if err != nil {
			err = unwritten(path, err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	dir, mode := filepath.Dir(path), fs.FileMode(0o666)
	if root == "" {
		err = os.MkdirAll(dir, 0o777)
	} else {
		mode, err = makeBelow(root, dir)
	}
	if err != nil {
		return Info{}, err
	}
	// Not os.CreateTemp, whose files are private: outputs must be as readable as any file that the user makes. The name
	// does not contain path's, which may be as long as a name can be.
	temp := filepath.Join(dir, beingWritten+rand.Text())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return Info{}, err
	}
	given := false
	defer func() { // also after a panic
		f.Close()
		if !given {
			os.Remove(temp)
		}
	}()
	if err := write(f); err != nil {
		return Info{}, err
	}
	if err := f.Close(); err != nil {
		return Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	info, err = give(temp)
	given = err == nil
	return info, err
}

// modesBelow returns the modes for files and folders below root: private if root is.
func modesBelow(root string) (files, folders fs.FileMode, err error) {
	info, err := os.Stat(root)
	if err != nil {
		return 0, 0, err
	}
	if info.Mode().Perm()&0o077 == 0 {
		return 0o600, 0o700, nil
	}
	return 0o666, 0o777, nil
}

// makeBelow makes the folder dir and missing folders above it, but not root, and returns the mode of files in it. It
// makes one level at a time, so once root is renamed, it makes nothing.
func makeBelow(root, dir string) (mode fs.FileMode, err error) {
	mode, folders, err := modesBelow(root)
	if err != nil {
		return 0, err
	}
	rel, below := Rel(root, dir)
	if !below {
		return 0, fmt.Errorf("not below %s", root)
	}
	if rel == "." {
		return mode, nil
	}
	for _, name := range strings.Split(rel, "/") {
		root = filepath.Join(root, name)
		if err := os.Mkdir(root, folders); err != nil && !errors.Is(err, fs.ErrExist) {
			return 0, err
		}
	}
	return mode, nil
}

// rename renames temp to path by do. If old is not nil, it first makes temp newer than old: file systems have
// timestamps in steps of milliseconds and reuse inodes, so a version could come back.
func rename(temp, path string, old fs.FileInfo, do func(temp, path string) error) (Info, error) {
	info, err := os.Lstat(temp)
	if err != nil {
		return Info{}, err
	}
	if old != nil && !info.ModTime().After(old.ModTime()) {
		if err := os.Chtimes(temp, time.Time{}, old.ModTime().Add(time.Microsecond)); err != nil {
			return Info{}, err
		}
		if info, err = os.Lstat(temp); err != nil {
			return Info{}, err
		}
	}
	return infoOf(path, info), do(temp, path)
}

// withVersion calls do, which replaces or removes path, if path has the version, while nobody else can. It does not
// wait for others. On a file system without locks, a race of microseconds remains.
func withVersion(path, version string, do func(old fs.FileInfo) error) error {
	f, old, err := lockVersion(path, version)
	if f != nil {
		defer f.Close() // releases the lock
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return do(old)
}

func (local) Remove(ctx context.Context, path string, cond If) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if cond.Version != "" {
		return withVersion(path, cond.Version, func(fs.FileInfo) error { return os.Remove(path) })
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveAll renames a folder first, so that writes below its path fail from then on.
func (local) RemoveAll(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // nothing is below a file
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return os.RemoveAll(path)
	}
	if going := filepath.Clean(path) + Removing; !strings.HasSuffix(path, Removing) && renameNew(path, going) == nil {
		path = going
	}
	for tries := 0; ; tries++ {
		err := removeAll(path)
		// A file may have been created while the folder was renamed.
		if tries == 100 || !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// removeAll is like os.RemoveAll, but also removes a folder inside one that cannot be listed, and needs only one spare
// descriptor: os.RemoveAll keeps one open per level.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return err
	}
	entries, readErr := os.ReadDir(path)
	if readErr != nil {
		return err
	}
	for _, e := range entries {
		remove := os.RemoveAll
		if e.IsDir() { // do not follow links
			remove = removeAll
		}
		if err := remove(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

func (local) Move(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(from); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if _, gone := os.Lstat(from); gone == nil {
			return fmt.Errorf("moving %s: the folder of %s was removed meanwhile; run again", from, to)
		}
	}
	return err
}

// Abs returns the absolute path of a local path, and a URL unchanged.
func Abs(path string) (string, error) {
	if !IsLocal(path) {
		return path, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", placeError{
			fmt.Errorf("%s: the working folder was removed or cannot be read: %w; change to another folder, or give an "+
				"absolute path", path, err),
		}
	}
	return abs, nil
}

// placeError says what to mend on the way to a path.
type placeError struct{ error }

func (e placeError) Unwrap() error { return e.error }

// Status returns the exit status.
func (placeError) Status() int { return 2 }

// pathError is the error of a path that no file can have.
type pathError struct{ error }

func (e pathError) Unwrap() error { return e.error }

func (pathError) Is(target error) bool { return target == fs.ErrInvalid }

// Status returns the exit status.
func (pathError) Status() int { return 2 }

func leadsBack(path string) error {
	return pathError{fmt.Errorf("%s: a link in it leads back to itself", path)}
}

// Resolve returns the absolute path without links, as far as path exists. It returns a URL unchanged. The error is
// fs.ErrInvalid if no file can have the path.
func Resolve(path string) (string, error) {
	if !IsLocal(path) {
		return path, nil
	}
	given := path
	path, err := Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if errors.Is(err, syscall.ENOTDIR) {
			return "", pathError{fmt.Errorf("%s is %w", path, notFolder)} // the error names no path
		}
		if errors.Is(err, syscall.ENAMETOOLONG) {
			return "", pathError{err}
		}
		if named := (*fs.PathError)(nil); !errors.As(err, &named) { // too many links
			return "", leadsBack(given)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", unread(err)
		}
		if target, err := os.Readlink(path); err == nil {
			return "", placeError{
				fmt.Errorf("%s is a link to %s, which does not exist; create that folder, or remove the link", path, target),
			}
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

// Resolver returns a Resolve for many files, which assumes that a file's folder does not change until the next call.
func Resolver() func(path string) (string, error) {
	var folder, resolved string
	return func(path string) (string, error) {
		if !IsLocal(path) {
			return path, nil
		}
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return Resolve(path)
		}
		if dir := filepath.Dir(path); resolved == "" || dir != folder {
			real, err := Resolve(dir)
			if err != nil {
				return "", err
			}
			folder, resolved = dir, real
		}
		return filepath.Join(resolved, filepath.Base(path)), nil
	}
}

// FreeSpace returns how many bytes a user may still write at path, or at the nearest existing folder above it. ok is
// false if that is unknown, as for a store.
func FreeSpace(path string) (bytes int64, ok bool) {
	if !IsLocal(path) {
		return 0, false
	}
	for {
		bytes, err := freeBytes(path)
		if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
			path = parent
			continue
		}
		return bytes, err == nil
	}
}

// TempParent returns folder or, if that is "", the system's folder for temporary files.
func TempParent(folder string) string {
	if folder == "" {
		return os.TempDir()
	}
	return folder
}

// makeFolder makes a folder and the missing folders above it. A private one, which only the user can open, must not
// exist yet: it could be another user's.
func makeFolder(folder string, private bool) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return err
	}
	return makeIn(folder, private)
}

// makeIn makes a folder in one that exists.
func makeIn(folder string, private bool) error {
	if private {
		return os.Mkdir(folder, 0o700)
	}
	err := os.Mkdir(folder, 0o777)
	if info, statErr := os.Stat(folder); errors.Is(err, fs.ErrExist) && statErr == nil && info.IsDir() {
		return nil
	}
	return err
}

// privateFolder makes a folder with a unique name in parent that only the user can open.
func privateFolder(parent string) (string, error) {
	folder, err := os.MkdirTemp(parent, "neardup-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(folder)
}

// self returns the host name and process id of this process.
func self() (host string, pid int) {
	host, _ = os.Hostname()
	return host, os.Getpid()
}
