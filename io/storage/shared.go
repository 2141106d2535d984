package storage

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

// WriteShared writes value as a small file for Shared to load.
func WriteShared(path string, value any) error {
	_, err := WriteFile(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(value) })
	return err
}

var shared struct {
	sync.Mutex
	values map[string]any
}

// Shared returns the value of type T that the small file path holds, loaded once per process:
// this is how all workers come to know what the launcher decided. Callers must not change it.
func Shared[T any](path string) (*T, error) {
	shared.Lock()
	defer shared.Unlock()
	if value, ok := shared.values[path].(*T); ok {
		return value, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	value := new(T)
	if err := json.Unmarshal(data, value); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
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
