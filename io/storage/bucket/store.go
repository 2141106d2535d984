package bucket

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/io/storage"
)

// atOnce is how many requests run concurrently while many objects are removed or moved.
const atOnce = 16

// Store is a storage.Store of the buckets that a client reaches. It has no folders: a folder exists if an object is
// below it.
type Store struct {
	scheme string
	client Client
}

// New returns the store of all paths that begin with scheme, such as "gs://".
func New(scheme string, client Client) *Store { return &Store{scheme, client} }

// key returns the Key of a path scheme://bucket/name.
func (s *Store) key(path string) Key {
	bucket, name, _ := strings.Cut(strings.TrimPrefix(path, s.scheme), "/")
	return Key{bucket, name}
}

// below returns the Key of all objects below a folder.
func (s *Store) below(folder string) Key {
	at := s.key(folder)
	if at.Name != "" && !strings.HasSuffix(at.Name, "/") {
		at.Name += "/"
	}
	return at
}

// complete completes the path of a client's Info.
func (s *Store) complete(at Key, info storage.Info) storage.Info {
	info.Path = s.scheme + at.Bucket + "/" + info.Path
	return info
}

func missing(op, path string) error { return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist} }

// List lists all objects below folder, one page at a time. A folder that is not entered costs at most one request.
func (s *Store) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		at := s.below(folder)
		asked := folders{enter: enter}
		found, after, more := false, "", ""
		for at.Bucket != "" {
			page, err := s.client.List(ctx, at, after, more)
			if err != nil {
				yield(storage.Info{}, err)
				return
			}
			passed := false // the last object is in a folder that is not entered
			for _, info := range page.Objects {
				found = true
				rel := strings.TrimPrefix(info.Path, at.Name)
				passed = !asked.enters(rel)
				if passed || rel == "" || strings.HasSuffix(rel, "/") { // how consoles represent an empty folder
					continue
				}
				if !yield(s.complete(at, info), nil) {
					return
				}
			}
			if page.More == "" {
				break
			}
			more = page.More
			if last := at.Name + asked.refused + "/" + string(utf8.MaxRune); passed && last > after {
				after, more = last, ""
			}
		}
		if !found {
			yield(storage.Info{}, missing("list", folder))
		}
	}
}

// folders tracks the folders that contain names, which must come in order.
type folders struct {
	enter   func(rel string) bool // nil: all are entered
	entered []string              // folders that contain the last name, the outermost first
	refused string                // the last folder not entered; "": none
}

// enters reports whether all folders that contain the next name are entered. It calls enter once per folder.
func (f *folders) enters(name string) bool {
	if f.enter == nil {
		return true
	}
	if f.refused != "" && strings.HasPrefix(name, f.refused+"/") {
		return false
	}
	depth := 0
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		folder := name[:i]
		if depth == len(f.entered) || f.entered[depth] != folder {
			f.entered = f.entered[:depth]
			if !f.enter(folder) {
				f.refused = folder
				return false
			}
			f.entered = append(f.entered, folder)
		}
		depth++
	}
	return true
}

// Stat describes an object.
func (s *Store) Stat(ctx context.Context, path string) (storage.Info, error) {
	at := s.key(path)
	if at.Name == "" || strings.HasSuffix(at.Name, "/") {
		return storage.Info{}, missing("stat", path)
	}
	info, err := s.client.Stat(ctx, at)
	if err != nil {
		return storage.Info{}, err
	}
	return s.complete(at, info), nil
}

// Open opens the current version of the object at path, by a request for its first bytes.
func (s *Store) Open(ctx context.Context, path string) (storage.Reader, error) {
	at := s.key(path)
	if at.Name == "" || strings.HasSuffix(at.Name, "/") {
		return nil, missing("open", path)
	}
	r := newReader(ctx, s, at, storage.Info{Path: path})
	body, info, err := s.client.Read(r.ctx, at, "", 0, jumpBytes)
	if errors.Is(err, io.EOF) { // it is empty
		info, err = s.client.Stat(r.ctx, at)
	}
	if err != nil {
		r.cancel()
		return nil, err
	}
	r.version, r.info = info.Version, s.complete(at, info)
	if body != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.fetch(0, jumpBytes, body)
	}
	return r, nil
}

// OpenVersion opens a version of an object without a request. Reading tells whether the object still has it.
func (s *Store) OpenVersion(ctx context.Context, path, version string) (storage.Reader, error) {
	return newReader(ctx, s, s.key(path), storage.Info{Path: path, Size: -1, Version: version}), ctx.Err()
}

// Create writes an object.
func (s *Store) Create(
	ctx context.Context, path string, cond storage.If, write func(io.Writer) error,
) (storage.Info, error) {
	if err := ctx.Err(); err != nil {
		return storage.Info{}, err
	}
	at := s.key(path)
	info, err := s.client.Create(ctx, at, cond, write)
	if err != nil {
		return storage.Info{}, err
	}
	return s.complete(at, info), nil
}

// Remove removes an object.
func (s *Store) Remove(ctx context.Context, path string, cond storage.If) error {
	at := s.key(path)
	if at.Name == "" {
		return ctx.Err()
	}
	return s.client.Remove(ctx, at, cond)
}

// RemoveAll removes an object and all objects below the folder, several at once.
func (s *Store) RemoveAll(ctx context.Context, path string) error {
	_, err := s.each(ctx, path, func(ctx context.Context, at Key) error { return s.client.Remove(ctx, at, storage.If{}) })
	return errors.Join(err, s.Remove(ctx, path, storage.If{}))
}

// Move moves an object, or all objects below a folder, several at once.
func (s *Store) Move(ctx context.Context, from, to string) error {
	source, target := s.key(from), s.key(to)
	err := missing("move", from)
	if source.Name != "" {
		err = s.client.Move(ctx, source, target)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	below, there := s.below(from), s.below(to)
	n, failed := s.each(ctx, from, func(ctx context.Context, at Key) error {
		return s.client.Move(ctx, at, Key{there.Bucket, there.Name + strings.TrimPrefix(at.Name, below.Name)})
	})
	if failed == nil && n == 0 {
		return err
	}
	return failed
}

// each calls do for all objects below folder, several at once, and returns their number. It stops at the first error.
func (s *Store) each(ctx context.Context, folder string, do func(context.Context, Key) error) (n int, err error) {
	at := s.below(folder)
	for more := ""; ; {
		page, err := s.client.List(ctx, at, "", more)
		if err != nil {
			return n, err
		}
		n += len(page.Objects)
		working, ctx := errgroup.WithContext(ctx)
		working.SetLimit(atOnce)
		for _, info := range page.Objects {
			working.Go(func() error { return do(ctx, Key{at.Bucket, info.Path}) })
		}
		if err := working.Wait(); err != nil {
			return n, err
		}
		if more = page.More; more == "" {
			return n, nil
		}
	}
}

// late is a Client for a store in which unfinished uploads stay and versions come back.
type late interface {
	// Abort ends the unfinished uploads to names that begin with at.Name.
	Abort(ctx context.Context, at Key) error
	// Within is storage.Late's.
	Within() time.Duration
}

// Abort ends the unfinished uploads below folder.
func (s *Store) Abort(ctx context.Context, folder string) error {
	if c, ok := s.client.(late); ok {
		return c.Abort(ctx, s.below(folder))
	}
	return ctx.Err()
}

// Within returns how long after a proof of the lock a removal may take effect.
func (s *Store) Within() time.Duration {
	if c, ok := s.client.(late); ok {
		return c.Within()
	}
	return 0
}

// Retains returns how long the bucket of path keeps removed objects.
func (s *Store) Retains(ctx context.Context, path string) time.Duration {
	c, ok := s.client.(interface {
		Retains(ctx context.Context, bucket string) time.Duration
	})
	if !ok {
		return 0
	}
	return c.Retains(ctx, s.key(path).Bucket)
}
