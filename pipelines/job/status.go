package job

import (
	"context"
	"errors"
	"io/fs"
)

// Status returns the exit status that an error stands for: the one that it, or an error in it, states by
// a method Status, else 1, but 2 where a person must give access.
func Status(err error) int {
	var stated interface{ Status() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &stated):
		return stated.Status()
	case errors.Is(err, fs.ErrPermission):
		return 2
	default:
		return 1
	}
}

// InterruptedError says that a signal ended a job.
type InterruptedError struct {
	Signal string // its name, such as SIGTERM
	Number int
}

func (e *InterruptedError) Error() string { return "interrupted by " + e.Signal }

// Status is 128 and the signal's number, as shells tell of a process that a signal ended.
func (e *InterruptedError) Status() int { return 128 + e.Number }

// Cause returns why ctx ended in place of an error that says no more than that it did. Other errors, and those that say why, are
// returned as they are.
func Cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, ctx.Err()) && !errors.As(err, new(*InterruptedError)) {
		return context.Cause(ctx)
	}
	return err
}
