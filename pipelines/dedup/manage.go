package dedup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// background is setsim.Background of prose: 100,000 reviews by shingles of five words. An index is created before there
// is a document to measure.
var background = []float64{1, 1.1e-5, 1.3e-7, 3.3e-8, 1.3e-8, 5.1e-9, 2.0e-9, 8.2e-10, 3.3e-10,
	1.3e-10, 5.2e-11, 2.1e-11}

// CreateIndex makes an index at dir for runs with these settings, with bands for expect documents. The error is a
// *job.UsageError for settings that an index cannot have.
func CreateIndex(
	ctx context.Context, dir string, spec records.Spec, expect int64, given ...string,
) (*index.Index, error) {
	_, first, err := firstGeneration(spec, expect, given)
	if err != nil {
		return nil, err
	}
	if dir, err = job.OutputPath(dir); err != nil {
		return nil, err
	}
	return index.Create(ctx, dir, first)
}

// firstGeneration returns the generation of an index without documents.
func firstGeneration(
	spec records.Spec, expect int64, given []string,
) (asked *job.Asked, g index.Generation, err error) {
	if asked, err = job.Compile(spec, given...); err != nil {
		return nil, g, err
	}
	if err := checkIndexed(asked); err != nil {
		return nil, g, err
	}
	g = index.Generation{Formats: job.Formats(asked.Texts, asked.Family), Asked: map[string]json.RawMessage{}}
	if asked.Method == job.MinHash {
		if expect < 1 {
			return nil, g, job.Usage("--expect %d: must be at least 1", expect)
		}
		in := lsh.Input{Threshold: asked.Threshold.Float(), Recall: asked.Recall, Documents: expect,
			Background: background, Indexed: true}
		choice, err := lsh.Solve(in)
		if asked.Bands > 0 {
			choice, err = lsh.Assess(in, asked.Bands, asked.Rows)
		}
		if err != nil {
			return nil, g, &job.UsageError{Reason: err}
		}
		g.Expect, asked.Bands, asked.Rows = expect, choice.Bands, choice.Rows
	}
	fields := records.Fields(asked.Spec)
	for _, name := range shared() {
		if g.Asked[name], err = json.Marshal(fields[name].Interface()); err != nil {
			return nil, g, err
		}
	}
	return asked, g, nil
}

// RebuildIndex makes an index at dir from the documents that another index kept. Settings that are not given are the
// other's, except bands and rows. The error is a *job.UsageError for settings that need more than the other index
// stores.
func RebuildIndex(
	ctx context.Context, dir, from string, spec records.Spec, expect int64, given []string,
	running job.Running, launch job.Launch,
) (*index.Index, error) {
	old, err := OpenIndex(ctx, from)
	if err != nil {
		return nil, err
	}
	if err := CheckAdded(ctx, old); err != nil {
		return nil, err
	}
	text := spec.Text
	if spec, err = asIndexed(spec, old, given); err != nil {
		return nil, err
	}
	if slices.Contains(given, "text") && !slices.Equal(text, spec.Text) {
		return nil, job.Usage("--text %s: %s stores only the text of column %s; drop this flag", strings.Join(text, ","),
			from, strings.Join(spec.Text, ","))
	}
	if old.Expect > 0 && !slices.Contains(given, "expect") {
		expect = old.Expect
	}
	asked, first, err := firstGeneration(spec, expect, given)
	if err != nil {
		return nil, err
	}
	if dir, err = job.OutputPath(dir); err != nil {
		return nil, err
	}
	if err := index.Vacant(ctx, dir); err != nil {
		return nil, err
	}
	config := Config{Spec: asked.Spec, How: job.How{Running: running}}
	r := &run{config: config, asked: asked, index: &index.Index{Dir: dir, Generation: first}, launch: launch,
		record: records.Run{Job: commit.NewRun()}}
	if r.segment, err = old.Copy(ctx, dir, r.record.Job); err == nil {
		first.Segments, err = r.signAgain(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, storage.RemoveAll(context.WithoutCancel(ctx), r.index.Folder(r.record.Job).Dir))
	}
	return index.Create(ctx, dir, first)
}

// asIndexed returns spec with the index's values in all fields that are not given, except bands and rows, and settings
// that the given method does not have.
func asIndexed(spec records.Spec, x *index.Index, given []string) (records.Spec, error) {
	usual, err := job.Compile(records.Default())
	if err != nil {
		return spec, err
	}
	skip := append([]string{"bands", "rows"}, given...)
	switch {
	case !slices.Contains(given, "method"):
	case spec.Method == job.Exact:
		skip = append(skip, "threshold", "recall", "pair_budget")
	default:
		skip = append(skip, "same")
	}
	defaults, values := records.Fields(usual.Spec), map[string]any{"text": x.Asked["text"]}
	for name, value := range x.Asked {
		same, err := json.Marshal(defaults[name].Interface())
		if err != nil {
			return spec, err
		}
		if !slices.Contains(skip, name) && string(same) != string(value) {
			values[name] = value
		}
	}
	return replaced(spec, values)
}

// signAgain writes the keys of the segment that becomes the first of an index.
func (r *run) signAgain(ctx context.Context) ([]index.Segment, error) {
	r.index.Segments = []index.Segment{r.segment}
	if kept, _ := r.index.Rows(); kept == 0 || !r.index.HasKeys() {
		return r.index.Segments, nil
	}
	err := job.InTempFolder(ctx, r.config.TempDir, func(temp string) error {
		plan, err := job.PlanIndex(ctx, job.Request{Asked: r.asked, Running: r.config.Running, Index: r.index})
		if err != nil {
			return err
		}
		plan.Layout.ShardBits, plan.Layout.HashShards = r.segment.ShardBits, 1
		r.temp, r.plan = temp, &Plan{Plan: plan, Config: r.config}
		return r.storeKeys(ctx, r.index.Folder(r.segment.Name))
	})
	return []index.Segment{r.segment}, err
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

// AskedOf returns the settings of runs with the index.
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

// DropFromIndex removes from the index at dir what a run added.
func DropFromIndex(ctx context.Context, dir, run string) (index.Dropped, error) {
	return changeIndex(ctx, dir, func(w *index.Writer) (index.Dropped, error) { return w.Drop(ctx, run) })
}

// PruneIndex merges segments of the index at dir, and removes generations that are older than age.
func PruneIndex(ctx context.Context, dir string, age time.Duration) (index.Pruned, error) {
	return changeIndex(ctx, dir, func(w *index.Writer) (index.Pruned, error) { return w.Prune(ctx, age) })
}

// changeIndex locks the index at dir and returns what do does with it.
func changeIndex[T any](ctx context.Context, dir string, do func(*index.Writer) (T, error)) (done T, err error) {
	x, err := OpenIndex(ctx, dir)
	if err != nil {
		return done, err
	}
	ending, ended := commit.Ending(ctx)
	defer ended()
	w, err := index.Lock(ctx, x.Dir, commit.NewRun(), storage.LockOptions{})
	if err != nil {
		return done, job.Refused(err)
	}
	if err = w.Recover(ctx); err == nil {
		done, err = do(w)
	}
	return done, cmp.Or(err, w.Close(ending))
}
