package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
)

// Writer is an index whose lock is held.
type Writer struct {
	*Index
	lock *storage.Lock
	run  string
}

// pending is the content of a file of pendings.
type pending struct {
	Segment Segment `json:"segment"`
}

// Lock takes the index's lock for a run. The error is a *storage.LockedError if another run holds it.
func Lock(ctx context.Context, dir, run string, o storage.LockOptions) (*Writer, error) {
	lock, _, err := storage.Acquire(ctx, storage.Join(dir, output.LockFile), run, o)
	if err != nil {
		return nil, err
	}
	w := &Writer{lock: lock, run: run}
	if w.Index, err = Open(ctx, dir); err != nil {
		return nil, errors.Join(err, lock.Release(context.WithoutCancel(ctx), false))
	}
	return w, nil
}

// Recover completes what earlier runs left: it adds a segment whose output is published to the index, and removes any
// other. The error is an *UnfinishedError if an output is sealed but not published yet.
func (w *Writer) Recover(ctx context.Context) error {
	for s, err := range w.pending(ctx) {
		if err != nil {
			return err
		}
		published, err := publishes(ctx, &s.Runs[0])
		switch {
		case err != nil:
		case published:
			err = w.add(ctx, s)
		default:
			err = storage.RemoveAll(ctx, w.Folder(s.Name).Dir)
		}
		if err == nil {
			err = storage.RemoveAll(ctx, w.pendingFile(s.Name))
		}
		if err != nil {
			return err
		}
	}
	runs, err := storage.NamesIn(ctx, storage.Join(w.Dir, segments))
	if err != nil {
		return err
	}
	for _, run := range runs { // segments without a pending file
		if slices.ContainsFunc(w.Segments, func(s Segment) bool { return s.Name == run }) {
			continue
		}
		folder := w.Folder(run).Dir
		lasts, err := storage.Lasts(ctx, folder)
		if err == nil && lasts {
			err = storage.RemoveAll(ctx, folder)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pending yields the segments that runs have recorded by Pend and not added.
func (x *Index) pending(ctx context.Context) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		left, err := storage.NamesIn(ctx, storage.Join(x.Dir, pendings))
		for _, name := range left {
			run, ok := strings.CutSuffix(name, ".json")
			if !ok {
				continue
			}
			var p pending
			data, err := storage.ReadFile(ctx, x.pendingFile(run))
			if errors.Is(err, fs.ErrNotExist) { // a writer has just added it
				continue
			}
			if err == nil {
				err = json.Unmarshal(data, &p)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", x.pendingFile(run), err)
			}
			if !yield(p.Segment, err) {
				return
			}
		}
		if err != nil {
			yield(Segment{}, err)
		}
	}
}

// Waiting returns the runs whose output is published but not in the index, which could not be changed then. Only a
// Writer adds them; to others, their documents are missing.
func (x *Index) Waiting(ctx context.Context) (runs []Added, err error) {
	for s, err := range x.pending(ctx) {
		if err != nil {
			return nil, err
		}
		if published, _ := publishes(ctx, &s.Runs[0]); published && !x.has(s.Name) {
			runs = append(runs, s.Runs[0])
		}
	}
	return runs, nil
}

// publishes reports whether a run has published its output, and no other has replaced it.
func publishes(ctx context.Context, s *Added) (bool, error) {
	data, err := storage.ReadFile(ctx, storage.Join(s.Output, output.SuccessFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	var success output.Success
	if err == nil && json.Unmarshal(data, &success) == nil && success.Run == s.Run {
		return true, nil
	}
	sealed, err := commit.Sealed(ctx, s.Output, s.Run)
	if err == nil && sealed {
		err = &UnfinishedError{*s}
	}
	return false, err
}

// UnfinishedError says that a run was killed while it published its output.
type UnfinishedError struct{ Added Added }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("run %s was killed while it was publishing %s; run its command again to add it to the index",
		e.Added.Run, e.Added.Output)
}

// Status returns the exit status.
func (*UnfinishedError) Status() int { return 3 }

// has reports whether a run has added to the index.
func (x *Index) has(run string) bool {
	return slices.ContainsFunc(slices.Collect(x.Added()), func(of Added) bool { return of.Run == run })
}

// Begin makes the folder of the run's segment.
func (w *Writer) Begin(ctx context.Context) (output.Folder, error) {
	folder := w.Folder(w.run)
	return folder, storage.Begin(ctx, folder.Dir, false)
}

// Prove returns a *storage.FencedError if another writer has taken over the index.
func (w *Writer) Prove(ctx context.Context) error { return w.lock.Prove(ctx) }

// Pend records that the segment becomes part of the index once the output of its run is published.
func (w *Writer) Pend(ctx context.Context, s Segment) error {
	if err := w.syncFolders(ctx, &s); err != nil {
		return err
	}
	if err := w.Prove(ctx); err != nil { // another writer has removed the files
		return err
	}
	data, err := json.MarshalIndent(pending{s}, "", "  ")
	if err != nil {
		return err
	}
	if err := put(ctx, w.pendingFile(w.run), data, storage.If{}); err != nil {
		return err
	}
	return storage.End(ctx, w.Folder(w.run).Dir)
}

// syncFolders syncs the folders of a segment's files, which are already synced.
func (x *Index) syncFolders(ctx context.Context, s *Segment) error {
	folder := x.Folder(s.Name).Dir
	var folders []string
	for _, f := range s.Files {
		folders = append(folders, storage.Dir(storage.Join(x.Dir, f.Path)))
	}
	return sync(ctx, append(slices.Compact(folders), folder, storage.Dir(folder), x.Dir)...)
}

// finish marks a segment as complete, so that nothing more is written to it.
func (x *Index) finish(ctx context.Context, s *Segment) error {
	if err := x.syncFolders(ctx, s); err != nil {
		return err
	}
	return storage.End(ctx, x.Folder(s.Name).Dir)
}

// add makes a segment part of the index.
func (w *Writer) add(ctx context.Context, s Segment) error {
	if w.has(s.Name) {
		return nil
	}
	return w.change(ctx, append(slices.Clip(w.Segments), s))
}

// change makes the next generation, with the given segments. Those just made by rewrite are complete only now: had the
// run ended before, Recover would have removed them.
func (w *Writer) change(ctx context.Context, segments []Segment, made ...Segment) error {
	for i := range made {
		if err := w.finish(ctx, &made[i]); err != nil {
			return err
		}
	}
	if err := w.Prove(ctx); err != nil {
		return err
	}
	next := &Index{Dir: w.Dir, Generation: w.Generation}
	next.Number, next.Made, next.Segments = w.Number+1, time.Now().UTC(), segments
	if err := next.write(ctx, storage.If{Version: w.version}); err != nil {
		return err
	}
	return w.reopen(ctx)
}

// reopen reads the generation in force.
func (w *Writer) reopen(ctx context.Context) error {
	now, err := Open(ctx, w.Dir)
	if err == nil {
		w.Index = now
	}
	return err
}

// Close adds the run's segment to the index if the output of the run is published, else removes it, and releases the
// index.
func (w *Writer) Close(ctx context.Context) error {
	err := w.Prove(ctx)
	if err == nil {
		err = w.reopen(ctx) // a change that failed may be in force
	}
	if err == nil {
		err = w.Recover(ctx)
	}
	if errors.As(err, new(*UnfinishedError)) { // the next run finishes it
		err = nil
	}
	return errors.Join(err, w.lock.Release(ctx, false))
}
