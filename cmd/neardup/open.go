package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/neardup/neardup/pipelines/job"
)

// open opens the file, pipe or object that a flag names. If it does not exist, the error is a *job.UsageError.
func open(ctx context.Context, flag, path string) (r io.ReadCloser, err error) {
	if job.IsLocal(path) {
		r, err = os.Open(path)
	} else {
		r, err = job.OpenObject(ctx, path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, job.Usage("%s %s: %w; check the path", flag, path, fs.ErrNotExist)
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = &fs.PathError{Op: flag, Path: path, Err: failed.Err}
	}
	return r, err
}
