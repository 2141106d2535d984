package job

import (
	"context"
	"errors"

	"github.com/neardup/neardup/io/storage"
)

// Status returns the exit status for an error: the one that it, or an error it wraps, returns from a method Status,
// else 1, or 2 if permission was denied or the file system is read-only.
func Status(err error) int {
	var stated interface{ Status() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &stated):
		return stated.Status()
	case storage.Denied(err):
		return 2
	default:
		return 1
	}
}

// InterruptedError says that a signal ended a job.
type InterruptedError struct {
	Signal string // name, such as SIGTERM
	Number int
}

func (e *InterruptedError) Error() string { return "interrupted by " + e.Signal }

// Status returns 128 plus the signal's number, as shells report a process that a signal ended.
func (e *InterruptedError) Status() int { return 128 + e.Number }

// Cause returns why ctx ended if err only says that it did. It returns other errors, and those that say why, unchanged.
func Cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, ctx.Err()) && !errors.As(err, new(*InterruptedError)) {
		return context.Cause(ctx)
	}
	return err
}
