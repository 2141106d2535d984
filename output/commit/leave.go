package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
)

// leftFile is the file in the staging folder of a run that ends before its job does.
const leftFile = "left"

// Left is a run that ended before its job, for another process to finish.
type Left struct {
	Run     string          `json:"run"`
	To      string          `json:"to"` // the job that continues
	Temp    string          `json:"temp,omitempty"`
	Removes bool            `json:"removes"` // the store has conditional DELETE
	Whole   int64           `json:"whole,omitempty"`
	State   json.RawMessage `json:"state"` // for the process that finishes the run

	staging string
}

// Leave ends the run's hold on the output. It passes the lock to a job that continues, with the staged files, and saves
// state for the process that finishes the run. After an error the run is unchanged.
func (c *Commit) Leave(ctx context.Context, to string, state any) error {
	if c.swaps {
		return fmt.Errorf("%s: %w", c.o.Dir, errors.ErrUnsupported) // only the run's own process can exchange folders
	}
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	path := storage.Join(c.staging, leftFile)
	if err := storage.WriteShared(ctx, path, Left{Run: c.o.Run, To: to, Temp: c.o.Temp, Removes: c.removes,
		Whole: c.movable, State: text}); err != nil {
		return err
	}
	if err := storage.Sync(ctx, path); err != nil {
		return err
	}
	return errors.Join(c.syncing.Close(), c.lock.Pass(to))
}

// FindLeft returns the run that was left in an output, or nil.
func FindLeft(ctx context.Context, dir string) (*Left, error) {
	runs, err := leftovers(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		data, _, ok, err := readSmall(ctx, storage.Join(run.folder, leftFile), maxRecord)
		if err != nil {
			return nil, err
		}
		left := &Left{staging: run.folder}
		if ok && json.Unmarshal(data, left) == nil && left.Run == run.run {
			return left, nil
		}
	}
	return nil, nil
}

// Resume takes over a run that was left. Run and Temp of the Options are set to the run's. The error is a
// *storage.LockedError if another process is doing so, and a *RefusedError if the run no longer exists.
func Resume(ctx context.Context, o Options, left *Left) (*Commit, error) {
	store, err := storage.At(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Run, o.Temp, o.Lock.From = left.Run, left.Temp, left.To
	c := &Commit{o: o, store: store}
	if c.lock, _, err = storage.Acquire(ctx, storage.Join(o.Dir, output.LockFile), o.Run, o.Lock); err != nil {
		return nil, err
	}
	c.lock.Keep(!left.Removes)
	err = c.resume(ctx, left)
	if err == nil {
		return c, nil
	}
	// The staged files stay, for the next attempt.
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		return nil, errors.Join(err, c.lock.Release(ctx, false))
	}
	return nil, errors.Join(err, c.lock.Pass(left.To))
}

func (c *Commit) resume(ctx context.Context, left *Left) error {
	// Another process may have finished it meanwhile.
	if now, err := FindLeft(ctx, c.o.Dir); err != nil || now == nil || now.Run != left.Run {
		return errors.Join(err, &RefusedError{fmt.Sprintf("%s: run %s was finished, or removed, by "+
			"another process", c.o.Dir, left.Run)})
	}
	sealed, err := readSeal(ctx, left.staging)
	if err != nil {
		return err
	}
	if sealed != nil { // only its publishing was interrupted
		if err := c.recover(ctx); err != nil || c.recovered != nil {
			return err
		}
		return &RefusedError{fmt.Sprintf("%s: run %s cannot be finished, because files that it wrote were deleted; run its "+
			"command again", c.o.Dir, left.Run)}
	}
	if c.seen, err = look(ctx, c.o.Dir); err != nil {
		return err
	}
	if err := c.seen.refuse(c.o.Overwrite); err != nil {
		return err
	}
	c.staging, c.removes, c.movable = left.staging, left.Removes, left.Whole
	// A killed process may have ended the writing of the run.
	if err := storage.BeginIn(ctx, c.staging, workDir, false); err != nil {
		return err
	}
	c.syncing, err = storage.NewSyncing(ctx, c.staging)
	return err
}
