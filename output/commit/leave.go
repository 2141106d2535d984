package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
)

// leftFile is what a run leaves in its staging folder that ends before its job does.
const leftFile = "left"

// Left is a run that has ended before its job did, and is to be finished by another process.
type Left struct {
	Run     string          `json:"run"`
	To      string          `json:"to"` // the job
	Temp    string          `json:"temp,omitempty"`
	Removes bool            `json:"removes"` // the store can remove on condition
	Whole   int64           `json:"whole,omitempty"`
	State   json.RawMessage `json:"state"` // what the run left for who finishes it

	staging string
}

// Leave ends the run's hold on the output, and leaves what is staged to a job that goes on: its lock, and state for who
// finishes the run. After an error the run is as it was.
func (c *Commit) Leave(ctx context.Context, to string, state any) error {
	if c.swaps {
		return fmt.Errorf("%s: %w", c.o.Dir, errors.ErrUnsupported) // a folder takes its place only as its own process sees it
	}
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	path := storage.Join(c.staging, leftFile)
	if err := storage.WriteShared(ctx, path, Left{Run: c.o.Run, To: to, Temp: c.o.Temp, Removes: c.removes, Whole: c.movable, State: text}); err != nil {
		return err
	}
	if err := storage.Sync(ctx, path); err != nil {
		return err
	}
	return errors.Join(c.syncing.Close(), c.lock.Pass(to))
}

// FindLeft returns the run of an output that was left, nil if there is none.
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

// Resume takes up a run that was left, with Options of which Run and Temp are the run's. The error is a
// *storage.LockedError if another process does so, and a *RefusedError if the run is no more.
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
	// What is staged stays, for who tries again.
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		return nil, errors.Join(err, c.lock.Release(ctx, false))
	}
	return nil, errors.Join(err, c.lock.Pass(left.To))
}

func (c *Commit) resume(ctx context.Context, left *Left) error {
	// Another process may have finished it meanwhile.
	if now, err := FindLeft(ctx, c.o.Dir); err != nil || now == nil || now.Run != left.Run {
		return errors.Join(err, &RefusedError{fmt.Sprintf("%s: run %s was finished, or removed, by another process", c.o.Dir, left.Run)})
	}
	sealed, err := readSeal(ctx, left.staging)
	if err != nil {
		return err
	}
	if sealed != nil { // and only its publishing was interrupted
		return c.recover(ctx)
	}
	if c.seen, err = look(ctx, c.o.Dir); err != nil {
		return err
	}
	if err := c.seen.refuse(c.o.Overwrite); err != nil {
		return err
	}
	c.staging, c.removes, c.movable = left.staging, left.Removes, left.Whole
	// One that was killed may have ended the run's writing.
	if err := storage.BeginIn(ctx, c.staging, workDir, false); err != nil {
		return err
	}
	c.syncing, err = storage.NewSyncing(ctx, c.staging)
	return err
}
