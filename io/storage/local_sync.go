package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// Syncing syncs the folder's whole file system at once if that reports errors, or else file by file.
func (local) Syncing(ctx context.Context, folder string) (Syncing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if s, ok := syncsWhole(f); ok {
		return s, nil
	}
	return fileSyncs((*os.File).Sync), f.Close()
}

func (local) Sync(ctx context.Context, path string) error {
	return fileSyncs((*os.File).Sync).Sync(ctx, path)
}

// fileSyncs syncs one path after another by this function.
type fileSyncs func(*os.File) error

// syncsAtOnce is the number of concurrent syncs: on ext4, 10,000 files of 4 KB take 0.7 s, and 1.9 s one by one.
const syncsAtOnce = 16

// Sync syncs successive files concurrently, and each folder after all paths before it.
func (s fileSyncs) Sync(ctx context.Context, paths ...string) error {
	for len(paths) > 0 {
		files, going := errgroup.WithContext(ctx)
		files.SetLimit(syncsAtOnce)
		folder := ""
		for len(paths) > 0 && folder == "" && going.Err() == nil {
			path := paths[0]
			paths = paths[1:]
			info, err := os.Stat(path)
			switch {
			case err != nil:
				files.Go(func() error { return err })
			case info.IsDir():
				folder = path
			default:
				files.Go(func() error { return s.path(path) })
			}
		}
		if err := errors.Join(files.Wait(), ctx.Err()); err != nil {
			return err
		}
		if folder != "" {
			if err := s.path(folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// path syncs one path. Some FUSE and network file systems cannot sync folders, nor can a user who may not read them.
func (s fileSyncs) path(path string) error {
	f, err := os.Open(path)
	if err == nil {
		err = errors.Join(s(f), f.Close())
	}
	if err != nil && (errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrPermission)) {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil
		}
	}
	return err
}

func (fileSyncs) Close() error { return nil }
