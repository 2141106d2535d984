package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// WriteShared writes value as a small file for Shared to load, in the folder of a run that lasts.
func WriteShared(ctx context.Context, path string, value any) error {
	_, err := WriteBelow(ctx, Dir(path), path, func(w io.Writer) error { return json.NewEncoder(w).Encode(value) })
	return err
}

var shared struct {
	sync.Mutex
	values map[string]any
}

// Shared returns the value of type T that the small file path holds, loaded once per process:
// this is how all workers come to know what the launcher decided. Callers must not change it. It
// fails when the file is gone, as after the run: a worker of a cancelled job then ends.
func Shared[T any](ctx context.Context, path string) (*T, error) {
	return Loaded(ctx, path, func(value *T) (*T, error) { return value, nil })
}

// Loaded is Shared of a value that load makes of the one of type F that the file holds, and of further files.
func Loaded[F, T any](ctx context.Context, path string, load func(*F) (*T, error)) (*T, error) {
	if _, err := Stat(ctx, path); err != nil {
		return nil, err
	}
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
	if err := json.Unmarshal(data, held); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	value, err := load(held)
	if err != nil {
		return nil, err
	}
	if shared.values == nil {
		shared.values = map[string]any{}
	}
	shared.values[path] = value
	return value, nil
}

// Forget drops what Shared keeps of path.
func Forget(path string) {
	shared.Lock()
	defer shared.Unlock()
	delete(shared.values, path)
}
