package storagetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/neardup/neardup/io/storage"
)

// Memory is a Store like an object store: it has neither folders nor renames, writes are conditional, listings are
// strongly consistent, and versions are generations, which never come back. Register it under a scheme. The zero Memory
// is empty and ready to use.
type Memory struct {
	// NoConditionalRemove makes Remove refuse conditions, as some object stores do.
	NoConditionalRemove bool
	// ETags makes the version of an object depend only on its content.
	ETags bool
	// Now is its clock; nil: this machine's.
	Now func() time.Time

	mu         sync.Mutex
	objects    map[string]object
	generation int64
}

type object struct {
	info storage.Info
	data []byte
}

// List visits the objects in order, and calls enter once per subfolder.
func (m *Memory) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		below := m.below(folder)
		if len(below) == 0 {
			yield(storage.Info{}, missing("list", folder))
			return
		}
		entered := map[string]bool{}
		for _, o := range below {
			if err := ctx.Err(); err != nil {
				yield(storage.Info{}, err)
				return
			}
			rel := strings.TrimPrefix(o.info.Path, prefix(folder))
			if enters(rel, enter, entered) && !yield(o.info, nil) {
				return
			}
		}
	}
}

// enters reports whether enter accepts all folders that contain rel; entered caches its answers.
func enters(rel string, enter func(string) bool, entered map[string]bool) bool {
	for i, c := range rel {
		if c != '/' || enter == nil {
			continue
		}
		if _, asked := entered[rel[:i]]; !asked {
			entered[rel[:i]] = enter(rel[:i])
		}
		if !entered[rel[:i]] {
			return false
		}
	}
	return true
}

// below returns the objects below folder, sorted by path.
func (m *Memory) below(folder string) (found []object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(m.objects)) {
		if strings.HasPrefix(path, prefix(folder)) {
			found = append(found, m.objects[path])
		}
	}
	return found
}

func prefix(folder string) string { return strings.TrimSuffix(folder, "/") + "/" }

func missing(op, path string) error { return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist} }

func (m *Memory) get(ctx context.Context, op, path string) (object, error) {
	if err := ctx.Err(); err != nil {
		return object{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[path]
	if !ok {
		return object{}, missing(op, path)
	}
	return o, nil
}

// Stat describes an object.
func (m *Memory) Stat(ctx context.Context, path string) (storage.Info, error) {
	o, err := m.get(ctx, "stat", path)
	return o.info, err
}

// Open opens one generation, which does not change.
func (m *Memory) Open(ctx context.Context, path string) (storage.Reader, error) {
	o, err := m.get(ctx, "open", path)
	if err != nil {
		return nil, err
	}
	return opened{bytes.NewReader(o.data), o.info}, nil
}

type opened struct {
	io.ReaderAt
	info storage.Info
}

func (o opened) Stat(context.Context) (storage.Info, error) { return o.info, nil }

func (opened) Close() error { return nil }

// holds reports whether the precondition holds. m is locked.
func (m *Memory) holds(path string, cond storage.If) bool {
	o, ok := m.objects[path]
	return (!cond.Absent || !ok) && (cond.Version == "" || ok && o.info.Version == cond.Version)
}

// Create collects the data and stores it in one step.
func (m *Memory) Create(
	ctx context.Context, path string, cond storage.If, write func(io.Writer) error,
) (storage.Info, error) {
	if err := ctx.Err(); err != nil {
		return storage.Info{}, err
	}
	var data bytes.Buffer
	if err := write(&data); err != nil {
		return storage.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return storage.Info{}, err
	}
	return m.put(path, cond, data.Bytes())
}

func (m *Memory) put(path string, cond storage.If, data []byte) (storage.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.holds(path, cond) {
		return storage.Info{}, storage.ErrPrecondition
	}
	m.generation++
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	info := storage.Info{Path: path, Size: int64(len(data)), Modified: now(), Version: strconv.FormatInt(m.generation, 10)}
	if m.ETags {
		info.Version = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	if m.objects == nil {
		m.objects = map[string]object{}
	}
	m.objects[path] = object{info, data}
	return info, nil
}

// Remove removes an object.
func (m *Memory) Remove(ctx context.Context, path string, cond storage.If) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if cond.Version != "" && m.NoConditionalRemove {
		return errors.ErrUnsupported
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.holds(path, storage.If{Version: cond.Version}) {
		return storage.ErrPrecondition
	}
	delete(m.objects, path)
	return nil
}

// RemoveAll removes one object after another.
func (m *Memory) RemoveAll(ctx context.Context, path string) error {
	for _, o := range m.below(path) {
		if err := m.Remove(ctx, o.info.Path, storage.If{}); err != nil {
			return err
		}
	}
	return m.Remove(ctx, path, storage.If{})
}

// Move copies and deletes one object after another.
func (m *Memory) Move(ctx context.Context, from, to string) error {
	found := m.below(from)
	if o, err := m.get(ctx, "move", from); err == nil {
		found = append(found, o)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(found) == 0 {
		return missing("move", from)
	}
	for _, o := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := m.put(to+strings.TrimPrefix(o.info.Path, from), storage.If{}, o.data); err != nil {
			return err
		}
		if err := m.Remove(ctx, o.info.Path, storage.If{}); err != nil {
			return err
		}
	}
	return nil
}
