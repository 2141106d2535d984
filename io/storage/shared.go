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

// WriteShared writes value as a small file for Shared to load, in the
// folder of a run that lasts: as JSON, unless it has a binary form.
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

// WriteBytes writes a small file for others to read, in the folder of a run that lasts.
func WriteBytes(ctx context.Context, path string, data []byte) error {
	_, err := WriteBelow(ctx, Dir(path), path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return err
}

// askEvery is how long a shared file on an object store counts as there: each split asks, and there that is a request.
const askEvery = 5 * time.Second

var shared = struct {
	sync.Mutex
	values map[string]any
	there  map[string]time.Time // when a file on an object store was last there
}{values: map[string]any{}, there: map[string]time.Time{}}

// Shared returns the value of type T that the small file path holds, loaded once per process:
// this is how all workers come to know what the launcher decided. Callers must not change it. It
// fails when the file is gone, as after the run, on an object store
// within some seconds: a worker of a cancelled job then ends.
func Shared[T any](ctx context.Context, path string) (*T, error) {
	return Loaded(ctx, path, func(value *T) (*T, error) { return value, nil })
}

// Loaded is Shared of a value that load makes of the one of type F that the file holds, and of further files.
func Loaded[F, T any](ctx context.Context, path string, load func(*F) (*T, error)) (*T, error) {
	if err := there(ctx, path); err != nil {
		return nil, err
	}
	return loaded(ctx, path, load)
}

// there returns an error if a shared file is gone. On an object store a process asks once in a while.
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

// due reports whether it is to be asked for a file. Then others need not, unless it is gone.
func due(path string, now time.Time) bool {
	shared.Lock()
	defer shared.Unlock()
	if last, ok := shared.there[path]; ok && now.Sub(last) < askEvery {
		return false
	}
	shared.there[path] = now
	return true
}

// gone has it asked again whether what is at path, or below, is there: this process has removed it.
func gone(path string) {
	shared.Lock()
	defer shared.Unlock()
	maps.DeleteFunc(shared.there, func(file string, _ time.Time) bool {
		_, below := Rel(path, file)
		return below
	})
}

// SharedBeside is Shared of a file that was written with another, which
// Shared has just returned: it is not asked whether it is still there.
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

// Forget drops what Shared keeps of path.
func Forget(path string) {
	shared.Lock()
	defer shared.Unlock()
	delete(shared.values, path)
	delete(shared.there, path)
}
