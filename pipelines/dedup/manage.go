package dedup

import (
	"context"
	"encoding/json"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// background is that of prose, as setsim.Background has it: 100,000 reviews by shingles of five words. An index is made
// before there is a document.
var background = []float64{1, 1.1e-5, 1.3e-7, 3.3e-8, 1.3e-8, 5.1e-9, 2.0e-9, 8.2e-10, 3.3e-10, 1.3e-10, 5.2e-11, 2.1e-11}

// CreateIndex makes an index at dir for runs that are asked so, with bands for that many documents. The error is a
// *job.UsageError for what an index cannot keep.
func CreateIndex(ctx context.Context, dir string, spec records.Spec, expect int64, given ...string) (*index.Index, error) {
	asked, err := job.Compile(spec, given...)
	if err != nil {
		return nil, err
	}
	if err := checkIndexed(asked); err != nil {
		return nil, err
	}
	g := index.Generation{Formats: job.Formats(asked.Texts, asked.Family), Asked: map[string]json.RawMessage{}}
	if asked.Method == job.MinHash {
		if expect < 1 {
			return nil, job.Usage("--expect %d: must be at least 1", expect)
		}
		in := lsh.Input{Threshold: asked.Threshold.Float(), Recall: asked.Recall, Documents: expect, Background: background}
		choice, err := lsh.Solve(in)
		if asked.Bands > 0 {
			choice, err = lsh.Assess(in, asked.Bands, asked.Rows)
		}
		if err != nil {
			return nil, &job.UsageError{Reason: err}
		}
		g.Expect, asked.Bands, asked.Rows = expect, choice.Bands, choice.Rows
	}
	fields := records.Fields(asked.Spec)
	for _, name := range shared() {
		if g.Asked[name], err = json.Marshal(fields[name].Interface()); err != nil {
			return nil, err
		}
	}
	if dir, err = job.OutputPath(dir); err != nil {
		return nil, err
	}
	return index.Create(ctx, dir, g)
}

// OpenIndex opens the index at dir. The error is a *job.UsageError if there is none.
func OpenIndex(ctx context.Context, dir string) (*index.Index, error) {
	dir, err := job.OutputPath(dir)
	if err != nil {
		return nil, err
	}
	x, err := index.Open(ctx, dir)
	if err != nil {
		return nil, job.Usage("%w", err)
	}
	return x, nil
}

// AskedOf returns what runs of an index are asked.
func AskedOf(x *index.Index) (*job.Asked, error) {
	values := map[string]any{}
	for name, value := range x.Asked {
		values[name] = value
	}
	spec, err := replaced(records.Default(), values)
	if err != nil {
		return nil, err
	}
	return job.Compile(spec)
}

// DropFromIndex takes out of the index at dir what a run has added.
func DropFromIndex(ctx context.Context, dir, run string) (dropped index.Dropped, err error) {
	err = changeIndex(ctx, dir, func(w *index.Writer) error {
		dropped, err = w.Drop(ctx, run)
		return err
	})
	return dropped, err
}

// PruneIndex makes fewer segments of the index at dir, and removes its generations that are older than an age.
func PruneIndex(ctx context.Context, dir string, age time.Duration) (pruned index.Pruned, err error) {
	err = changeIndex(ctx, dir, func(w *index.Writer) error {
		pruned, err = w.Prune(ctx, age)
		return err
	})
	return pruned, err
}

// changeIndex calls do with an index whose lock is held.
func changeIndex(ctx context.Context, dir string, do func(*index.Writer) error) error {
	x, err := OpenIndex(ctx, dir)
	if err != nil {
		return err
	}
	w, err := index.Lock(ctx, x.Dir, commit.NewRun(), storage.LockOptions{})
	if err != nil {
		return job.Refused(err)
	}
	if err = w.Recover(ctx); err == nil {
		err = do(w)
	}
	if closing := w.Close(ctx); err == nil {
		err = closing
	}
	return err
}
