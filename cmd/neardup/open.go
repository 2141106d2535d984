package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/neardup/neardup/pipelines/job"
)

// open opens what a flag names: a file, also a pipe, or an object. The error of one that is not there is of usage.
func open(ctx context.Context, flag, path string) (r io.ReadCloser, err error) {
	if job.IsLocal(path) {
		r, err = os.Open(path)
	} else {
		r, err = job.OpenObject(ctx, path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, job.Usage("%s %s: %w; check the path", flag, path, fs.ErrNotExist)
	}
	return r, err
}
