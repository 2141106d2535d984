package storage_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/io/storage"
)

const expiry = 5 * time.Minute

func init() {
	for scheme, domain := range map[string]string{"mount-a://": "a", "mount-b://": "b", "no-locks://": "c", "no-locks-disk://": ""} {
		local, err := storage.At("/")
		if err != nil {
			panic(err)
		}
		storage.Register(scheme, mounted{local, scheme, domain, nil})
	}
}

// onMounts runs a test on the local store, on that store as a mount whose locks only reach some machines, and as one
// without locks.
func onMounts(t *testing.T, test func(t *testing.T, folder string)) {
	for name, scheme := range map[string]string{"disk": "", "mount": "mount-a://", "mount without locks": "no-locks://", "disk without locks": "no-locks-disk://"} {
		t.Run(name, func(t *testing.T) { test(t, onMount(scheme, t.TempDir())) })
	}
}

// onDisk returns the path on disk of a file on a mount.
func onDisk(path string) string {
	if _, file, ok := strings.Cut(path, "://"); ok {
		return "/" + file
	}
	return path
}

// onMount returns the path on a mount of a file on disk.
func onMount(scheme, path string) string {
	if scheme == "" {
		return path
	}
	return scheme + strings.TrimPrefix(path, "/")
}

// holder returns the local store as a storage.Holder.
func holder(t *testing.T) storage.Holder {
	t.Helper()
	local, err := storage.At("/")
	if err != nil {
		t.Fatal(err)
	}
	return local.(storage.Holder)
}

// mounted is the local store as it behaves on a file system such as FUSE's.
type mounted struct {
	local          storage.Store
	scheme, domain string
	beforeHold     func(path string) // may be nil
}

func (m mounted) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		for info, err := range m.local.List(ctx, onDisk(folder), enter) {
			info.Path = onMount(m.scheme, info.Path)
			if !yield(info, err) {
				return
			}
		}
	}
}

func (m mounted) Stat(ctx context.Context, path string) (storage.Info, error) {
	return m.local.Stat(ctx, onDisk(path))
}

func (m mounted) Open(ctx context.Context, path string) (storage.Reader, error) {
	return m.local.Open(ctx, onDisk(path))
}

func (m mounted) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (storage.Info, error) {
	if cond.Root != "" {
		cond.Root = onDisk(cond.Root)
	}
	return m.local.Create(ctx, onDisk(path), cond, write)
}

func (m mounted) Remove(ctx context.Context, path string, cond storage.If) error {
	return m.local.Remove(ctx, onDisk(path), cond)
}

func (m mounted) RemoveAll(ctx context.Context, path string) error {
	return m.local.RemoveAll(ctx, onDisk(path))
}

func (m mounted) Move(ctx context.Context, from, to string) error {
	return m.local.Move(ctx, onDisk(from), onDisk(to))
}

func (m mounted) Hold(ctx context.Context, path, version string) (storage.Hold, error) {
	if strings.HasPrefix(m.scheme, "no-locks") {
		return nil, errors.ErrUnsupported
	}
	if m.beforeHold != nil {
		m.beforeHold(onDisk(path))
	}
	return m.local.(storage.Holder).Hold(ctx, onDisk(path), version)
}

func (m mounted) Domain(context.Context, string) (string, error) { return m.domain, nil }
