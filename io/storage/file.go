package storage

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
)

// Versioned is a Store that can read one version of an object and never returns data of another.
type Versioned interface {
	// OpenVersion opens the object at path as long as it has version. It sends no request: reading reports that the object
	// is missing, or by a *ChangedError that it has another version.
	OpenVersion(ctx context.Context, path, version string) (Reader, error)
}

// ChangedError says that an input file has changed since it was listed.
type ChangedError struct{ Path string }

func (e *ChangedError) Error() string {
	return e.Path + " changed since it was listed; run again once nothing writes to it"
}

// File is an input file open for reading.
type File struct {
	Reader
	ctx           context.Context
	path, version string
	versioned     bool // all data read is of version
	shared        bool // the first to open it closes it
	reached       *atomic.Int64
}

type reachedKey struct{}

// Watched returns a context in which the files that Open opens raise reached to the furthest end of any read.
func Watched(ctx context.Context, reached *atomic.Int64) context.Context {
	return context.WithValue(ctx, reachedKey{}, reached)
}

// once holds the objects opened with a context of Once.
type once struct {
	mu    sync.Mutex
	files map[[2]string]Reader    // by path and version
	kept  map[[2]string]io.Closer // values that Keep keeps for them
}

type onceKey struct{}

// Once returns a context in which Open opens each version of an object only once, until done is called. A second Open
// finds the data fetched before.
func Once(ctx context.Context) (opening context.Context, done func()) {
	o := &once{files: map[[2]string]Reader{}, kept: map[[2]string]io.Closer{}}
	return context.WithValue(ctx, onceKey{}, o), func() {
		for _, made := range o.kept {
			made.Close()
		}
		for _, r := range o.files {
			r.Close()
		}
	}
}

// Keep keeps a value made from a version of an object, for Take with the same context of Once, and reports whether it
// does: in other contexts nobody could take it. A value that nobody takes is closed.
func Keep(ctx context.Context, path, version string, made io.Closer) bool {
	o, ok := ctx.Value(onceKey{}).(*once)
	if !ok {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept[[2]string{path, version}] = made
	return true
}

// Take removes and returns the value that Keep keeps for a version of an object, or nil if there is none.
func Take(ctx context.Context, path, version string) io.Closer {
	o, ok := ctx.Value(onceKey{}).(*once)
	if !ok {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := [2]string{path, version}
	made := o.kept[key]
	delete(o.kept, key)
	return made
}

// open opens a version of an object, or returns its reader if it is open.
func (o *once) open(ctx context.Context, store Store, path, version string) (Reader, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := [2]string{path, version}
	if r, ok := o.files[key]; ok {
		return r, ctx.Err()
	}
	r, err := openVersion(ctx, store, path, version)
	if err != nil {
		return nil, err
	}
	o.files[key] = r
	return r, nil
}

// Open opens the input file path, which must still have the version that was listed.
func Open(ctx context.Context, path, version string) (*File, error) {
	store, err := At(path)
	if err != nil {
		return nil, err
	}
	file := &File{ctx: ctx, path: path, version: version}
	file.reached, _ = ctx.Value(reachedKey{}).(*atomic.Int64)
	_, file.versioned = store.(Versioned)
	var o *once
	if o, file.shared = ctx.Value(onceKey{}).(*once); file.shared {
		file.Reader, err = o.open(ctx, store, path, version)
	} else {
		file.Reader, err = openVersion(ctx, store, path, version)
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

// openVersion opens the object at path if it has version. If the store is not Versioned, File.Unchanged tells whether
// the object still had this version when it was read.
func openVersion(ctx context.Context, store Store, path, version string) (Reader, error) {
	if store, ok := store.(Versioned); ok {
		return store.OpenVersion(ctx, path, version)
	}
	r, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	info, err := r.Stat(ctx)
	if err == nil && info.Version != version {
		err = &ChangedError{path}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close closes the file, unless it is shared and may be opened again.
func (f *File) Close() error {
	if f.shared {
		return nil
	}
	return f.Reader.Close()
}

// ReadAt reads as the store does, and reports the end of the read to Watched.
func (f *File) ReadAt(p []byte, at int64) (n int, err error) {
	n, err = f.Reader.ReadAt(p, at)
	if f.reached == nil {
		return n, err
	}
	for end := at + int64(n); ; {
		if last := f.reached.Load(); end <= last || f.reached.CompareAndSwap(last, end) {
			return n, err
		}
	}
}

// Ahead says that the bytes between from and to are about to be read in order. If a read is a request, the reader then
// fetches more with each.
func (f *File) Ahead(from, to int64) {
	if r, ok := f.Reader.(fetching); ok {
		r.Ahead(from, to)
	}
}

// Fetches reports whether each read is a request.
func (f *File) Fetches() bool {
	_, ok := f.Reader.(fetching)
	return ok
}

// fetching is a Reader whose reads are requests.
type fetching interface{ Ahead(from, to int64) }

// Unchanged returns an error if the file has changed since it was listed. Call it after reading the last byte: nil then
// means that all data read is of one state.
func (f *File) Unchanged() error {
	if f.versioned {
		return nil
	}
	// A cancelled job asks, too, whether the data it read was sound.
	info, err := f.Stat(context.WithoutCancel(f.ctx))
	if err != nil {
		return err
	}
	if info.Version != f.version {
		return &ChangedError{f.path}
	}
	return nil
}

// Content is an open file written by WriteFile.
type Content struct {
	*io.SectionReader
	io.Closer
}

// Fetches reports whether each read is a request.
func (c *Content) Fetches() bool {
	_, ok := c.Closer.(fetching)
	return ok
}

// OpenFile opens a file written by WriteFile.
func OpenFile(ctx context.Context, path string) (*Content, error) {
	store, err := At(path)
	if err != nil {
		return nil, err
	}
	r, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	info, err := r.Stat(ctx)
	if err != nil {
		r.Close()
		return nil, err
	}
	return &Content{io.NewSectionReader(r, 0, info.Size), r}, nil
}

// ReadFile reads a file written by WriteFile.
func ReadFile(ctx context.Context, path string) ([]byte, error) {
	content, err := OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	data := make([]byte, content.Size())
	return data, content.fill(path, data, 0)
}

// ReadRange fills data from a file written by WriteFile, from offset on.
func ReadRange(ctx context.Context, path string, data []byte, offset int64) error {
	content, err := OpenFile(ctx, path)
	if err != nil {
		return err
	}
	defer content.Close()
	return content.fill(path, data, offset)
}

// fill reads len(data) bytes of the file path from offset on.
func (c *Content) fill(path string, data []byte, offset int64) error {
	if n, err := c.ReadAt(data, offset); n < len(data) {
		return fmt.Errorf("%s: %d of %d bytes: %w", path, n, len(data), err)
	}
	return nil
}

// writeBytes is the size of the write buffers: files are written in small pieces, one record at a time.
const writeBytes = 128 << 10

// buffers holds the buffers of finished files for reuse: a corpus may have many small files.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, writeBytes) }}

// Buffered calls write with a buffered writer on w, and flushes it.
func Buffered(w io.Writer, write func(io.Writer) error) error {
	buffer := buffers.Get().(*bufio.Writer)
	buffer.Reset(w)
	defer func() {
		buffer.Reset(nil) // it holds w, and may hold an error
		buffers.Put(buffer)
	}()
	if err := write(buffer); err != nil {
		return err
	}
	return buffer.Flush()
}

// WriteFile writes a file that is either whole or absent. A retry, or two workers that write it at once, do no harm.
func WriteFile(ctx context.Context, path string, write func(io.Writer) error) (Info, error) {
	return create(ctx, path, If{}, write)
}

func create(ctx context.Context, path string, cond If, write func(io.Writer) error) (Info, error) {
	store, err := At(path)
	if err != nil {
		return Info{}, err
	}
	return store.Create(ctx, path, cond, func(w io.Writer) error {
		return Buffered(w, write)
	})
}

// mark is the name of a file in each folder of an active run.
const mark = ".running"

// Marks reports whether path is that of its folder's mark.
func Marks(path string) bool { return relative(Dir(path), path) == mark }

// Begin makes a folder and marks it as that of a run, which is active until the folder is removed. If private, only the
// user can open the folder on a disk, and it must not exist yet; the folders above it are ordinary ones.
func Begin(ctx context.Context, folder string, private bool) error {
	if IsLocal(folder) {
		if err := makeFolder(folder, private); err != nil {
			return err
		}
	}
	return begin(ctx, folder)
}

// BeginIn is like Begin, for a folder below that of a run. It fails with fs.ErrNotExist if the run has ended and its
// folder was removed.
func BeginIn(ctx context.Context, run, name string, private bool) error {
	folder := Join(run, name)
	if IsLocal(folder) {
		if err := makeIn(folder, private); err != nil {
			return err
		}
	}
	return begin(ctx, folder)
}

// begin marks a folder.
func begin(ctx context.Context, folder string) error {
	_, err := create(ctx, Join(folder, mark), If{Root: folder}, nothing)
	return err
}

func nothing(io.Writer) error { return nil }

// WriteBelow is WriteFile for workers: it fails with fs.ErrNotExist if the run of the folder root, which is above path,
// has ended before the file is whole, so that a late worker leaves nothing behind. On an object store, a process checks
// this only every few seconds: late files are possible there anyway, and the next run removes them. The file is as
// private as root.
func WriteBelow(ctx context.Context, root, path string, write func(io.Writer) error) (Info, error) {
	return writeBelow(ctx, path, If{Root: root}, write)
}

// WriteStaged is WriteBelow for the files of an output, which nobody reads before all are written and counted: see
// If.Unseen. On a disk, that saves a rename, a tenth of the cost of a small file.
func WriteStaged(ctx context.Context, root, path string, write func(io.Writer) error) (Info, error) {
	return writeBelow(ctx, path, If{Root: root, Unseen: true}, write)
}

func writeBelow(ctx context.Context, path string, cond If, write func(io.Writer) error) (Info, error) {
	lasts := func() error {
		if err := there(ctx, Join(cond.Root, mark)); err != nil {
			return fmt.Errorf("cannot write %s: the run has ended: %w", path, err)
		}
		return nil
	}
	if err := lasts(); err != nil {
		return Info{}, err // before any folder is made
	}
	return create(ctx, path, cond, func(w io.Writer) error {
		if err := write(w); err != nil {
			return err
		}
		return lasts()
	})
}

// TempFolder makes a folder with a unique name for a run's temporary files in the folder parent, which must exist; ""
// is the system's folder. On a disk, only the user can open the new folder, because it will hold texts. The folder's
// run begins.
func TempFolder(ctx context.Context, parent string) (folder string, err error) {
	folder = Join(parent, "neardup-"+rand.Text())
	if IsLocal(parent) {
		if folder, err = privateFolder(parent); err != nil {
			return "", err
		}
	}
	if err := begin(ctx, folder); err != nil {
		return "", errors.Join(err, RemoveAll(context.WithoutCancel(ctx), folder))
	}
	return folder, nil
}

// regular returns an error if info is not that of a regular file.
func regular(info Info) error {
	if info.Type&fs.ModeType != 0 {
		return fmt.Errorf("%s: not a regular file; give - to read standard input", info.Path)
	}
	return nil
}

// Lasts reports whether the run of a folder that Begin has marked is active.
func Lasts(ctx context.Context, folder string) (bool, error) { return Exists(ctx, Join(folder, mark)) }

// End removes the mark of a folder, which ends its run.
func End(ctx context.Context, folder string) error { return RemoveAll(ctx, Join(folder, mark)) }
