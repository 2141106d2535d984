package storage

import (
	"context"
	"io"
)

// Syncer is a Store that may lose what it has written with the power, until it is synced. Other stores
// acknowledge only what is safe.
type Syncer interface {
	// Syncing is opened on a folder before anything is written below it: an error of the disk is told
	// only to those who were there.
	Syncing(ctx context.Context, folder string) (Syncing, error)
	// Sync returns once the file that was written at path is safe.
	Sync(ctx context.Context, path string) error
}

// Syncing makes writes safe.
type Syncing interface {
	// Sync returns once files and folders are safe, with all that was written to them: of a file its
	// bytes, of a folder the names in it. It takes them in the order given, files before the folders
	// that name them. The error is that of any write since the Syncing was opened.
	Sync(ctx context.Context, paths ...string) error
	io.Closer
}

// Holder is a Store that knows whether the holder of an object lives.
type Holder interface {
	// Hold holds the object at path, if it has the version, until the Hold is closed or the process ends
	// in any way. While it does, no other Hold of the object is given, and no conditional request of others
	// goes through. The error is ErrPrecondition if it has another version, or is held.
	Hold(ctx context.Context, path, version string) (Hold, error)
	// Domain names those whose holds at path exclude each other; "" are all who can reach it.
	Domain(ctx context.Context, path string) (string, error)
}

// Hold is an object that nobody else may hold.
type Hold interface {
	// Replace writes another object in its place, and holds that. The error is ErrPrecondition if
	// the object has lost its path.
	Replace(ctx context.Context, write func(io.Writer) error) (Info, error)
	// Remove removes the object, under the same condition, and lets it go.
	Remove(ctx context.Context) error
	// Moved says that the object has another path by now, as its folder was exchanged with another.
	Moved(path string)
	// Close lets the object go.
	Close() error
}

// NewSyncing opens a Syncing on a folder. It does nothing on stores that need none.
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

// synced is a Syncing of what is safe anyway.
type synced struct{}

func (synced) Sync(context.Context, ...string) error { return nil }

func (synced) Close() error { return nil }

// Sync is that of the Syncer. Stores that are none have nothing to do.
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
