package dedup

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/pipelines/job"
)

// lock returns how to take the output's lock.
func (c *Config) lock() storage.LockOptions {
	return storage.LockOptions{Force: c.ForceUnlock, Wait: c.WaitLock, Ended: c.Ended,
		Waiting: func(held *storage.LockedError) {
			if held.Owner.To != "" {
				slog.Warn(fmt.Sprintf("waiting for %s, which holds %s", held.Owner.To, held.Path))
				return
			}
			slog.Warn(fmt.Sprintf("waiting for job %s (process %d on %s), which holds %s", held.Owner.Job, held.Owner.PID,
				held.Owner.Host, held.Path))
		}}
}

// checkOutput returns an error if the output may not be written.
func (r *run) checkOutput(ctx context.Context) error {
	for _, dir := range []string{r.output, commit.FailedDir(r.output)} {
		if err := job.CheckOutputNotInInput(ctx, slices.Concat(r.config.Inputs, r.config.Against), dir); err != nil {
			return err
		}
	}
	return job.Refused(commit.Check(ctx, r.output, r.config.Replaces()))
}
