package storage

import (
	"context"
	"io"
)

// Syncer is a Store that may lose what it has written in a power failure until it is synced. Other stores acknowledge a
// write only once it is safe.
type Syncer interface {
	// Syncing opens a Syncing on folder. Call it before anything is written below folder: a disk reports an error only to
	// those who had it open at the time.
	Syncing(ctx context.Context, folder string) (Syncing, error)
	// Sync returns once the file that was written at path is safe.
	Sync(ctx context.Context, path string) error
}

// Syncing makes writes safe.
type Syncing interface {
	// Sync returns once the files and folders at paths are safe: the bytes of a file, and the names in a folder. It syncs
	// them in the order given, which must have files before the folders that name them. It returns the error of any write
	// since the Syncing was opened.
	Sync(ctx context.Context, paths ...string) error
	io.Closer
}

// Holder is a Store that knows whether the holder of an object is alive.
type Holder interface {
	// Hold holds the object at path, if it has this version, until the Hold is closed or the process ends in any way.
	// Until then, no other Hold of the object succeeds, and no conditional request of others. The error is ErrPrecondition
	// if the object has another version, or is held.
	Hold(ctx context.Context, path, version string) (Hold, error)
	// Domain names the processes whose holds at path exclude each other; "": all that can reach it.
	Domain(ctx context.Context, path string) (string, error)
}

// Hold is an object held by this process alone.
type Hold interface {
	// Replace writes another object in its place, and holds that. The error is ErrPrecondition if the object no longer has
	// its path.
	Replace(ctx context.Context, write func(io.Writer) error) (Info, error)
	// Remove removes the object, under the same condition, and releases it.
	Remove(ctx context.Context) error
	// Moved says that the object now has another path, because its folder was exchanged with another.
	Moved(path string)
	// Close releases the object.
	Close() error
}

// NewSyncing opens a Syncing on a folder. On a store that needs no syncing, the Syncing does nothing.
func NewSyncing(ctx context.Context, folder string) (Syncing, error) {
	store, err := At(folder)
	if err != nil {
		return nil, err
	}
	if s, ok := store.(Syncer); ok {
		return s.Syncing(ctx, folder)
	}
	return synced{}, nil
}

// synced is the Syncing of stores that need none.
type synced struct{}

func (synced) Sync(context.Context, ...string) error { return nil }

func (synced) Close() error { return nil }

// Sync calls the Sync of a Syncer. It does nothing on other stores.
func Sync(ctx context.Context, path string) error {
	store, err := At(path)
	if err != nil {
		return err
	}
	if s, ok := store.(Syncer); ok {
		return s.Sync(ctx, path)
	}
	return nil
}
