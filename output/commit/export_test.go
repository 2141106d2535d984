package commit

import (
	"context"
	"time"

	"github.com/neardup/neardup/io/storage"
)

// OnSync makes the run call do instead of each sync, with the sync as argument.
func (c *Commit) OnSync(do func(sync func() error) error) { c.syncing = watched{c.syncing, do} }

type watched struct {
	storage.Syncing
	do func(sync func() error) error
}

func (w watched) Sync(ctx context.Context, paths ...string) error {
	return w.do(func() error { return w.Syncing.Sync(ctx, paths...) })
}

// SetWarn makes c report warnings to warn.
func (c *Commit) SetWarn(warn func(format string, args ...any)) { c.o.Warn = warn }

// Run returns the run's id.
func (c *Commit) Run() string { return c.o.Run }

// Hurry shortens the times that a run has after an interruption.
func Hurry(publish, end time.Duration) (undo func()) {
	publishWas, endWas := publishTime, endTime
	publishTime, endTime = publish, end
	return func() { publishTime, endTime = publishWas, endWas }
}
