package storage

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"
)

// WriteShared writes value as a small file for Shared to load, in the folder of an active run. It writes JSON unless
// the value has a binary form.
func WriteShared(ctx context.Context, path string, value any) error {
	marshal := func() ([]byte, error) { return json.Marshal(value) }
	if binary, ok := value.(encoding.BinaryMarshaler); ok {
		marshal = binary.MarshalBinary
	}
	data, err := marshal()
	if err != nil {
		return err
	}
	return WriteBytes(ctx, path, data)
}

// WriteBytes writes a small file for others to read, in the folder of an active run.
func WriteBytes(ctx context.Context, path string, data []byte) error {
	_, err := WriteBelow(ctx, Dir(path), path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return err
}

// askEvery is how long a shared file on an object store is assumed to exist: each split asks, by a request.
const askEvery = 5 * time.Second

var shared = struct {
	sync.Mutex
	values map[string]any
	there  map[string]time.Time // when a file on an object store last existed
}{values: map[string]any{}, there: map[string]time.Time{}}

// Shared returns the value of type T that the small file path holds, loaded once per process: by it, the launcher tells
// the workers what it has decided. Callers must not change it. Shared fails when the file is gone, as it is after the
// run (on an object store, within some seconds): a worker of a cancelled job then ends.
func Shared[T any](ctx context.Context, path string) (*T, error) {
	return Loaded(ctx, path, func(value *T) (*T, error) { return value, nil })
}

// Loaded is Shared for a value that load makes from the value of type F in the file, and from other files.
func Loaded[F, T any](ctx context.Context, path string, load func(*F) (*T, error)) (*T, error) {
	if err := there(ctx, path); err != nil {
		return nil, err
	}
	return loaded(ctx, path, load)
}

// there returns an error if a shared file is gone. On an object store, a process checks that only every askEvery.
func there(ctx context.Context, path string) error {
	if !IsLocal(path) && !due(path, time.Now()) {
		return ctx.Err()
	}
	_, err := Stat(ctx, path)
	if err != nil {
		shared.Lock()
		defer shared.Unlock()
		delete(shared.there, path)
	}
	return err
}

// due reports whether the caller must check that a file exists; other callers then need not.
func due(path string, now time.Time) bool {
	shared.Lock()
	defer shared.Unlock()
	if last, ok := shared.there[path]; ok && now.Sub(last) < askEvery {
		return false
	}
	shared.there[path] = now
	return true
}

// gone makes there check again for the files at path or below it, which this process has removed.
func gone(path string) {
	shared.Lock()
	defer shared.Unlock()
	maps.DeleteFunc(shared.there, func(file string, _ time.Time) bool {
		_, below := Rel(path, file)
		return below
	})
}

// SharedBeside is Shared for a file written together with another that Shared has just returned: it does not check that
// the file still exists.
func SharedBeside[T any](ctx context.Context, path string) (*T, error) {
	return loaded(ctx, path, func(value *T) (*T, error) { return value, nil })
}

func loaded[F, T any](ctx context.Context, path string, load func(*F) (*T, error)) (*T, error) {
	shared.Lock()
	defer shared.Unlock()
	if value, ok := shared.values[path].(*T); ok {
		return value, nil
	}
	data, err := ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	held := new(F)
	if binary, ok := any(held).(encoding.BinaryUnmarshaler); ok {
		err = binary.UnmarshalBinary(data)
	} else {
		err = json.Unmarshal(data, held)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	value, err := load(held)
	if err != nil {
		return nil, err
	}
	shared.values[path] = value
	return value, nil
}

// Forget drops what Shared has cached for path.
func Forget(path string) {
	shared.Lock()
	defer shared.Unlock()
	delete(shared.values, path)
	delete(shared.there, path)
}
