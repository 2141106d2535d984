package query

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/nearest"
)

// ofIndex is a query of the documents kept in an index, which are found by its keys.
type ofIndex struct {
	config Config
	asked  *job.Asked
	index  *index.Index
}

// openIndex returns a query of the index; the error of a wrong config is a *job.UsageError.
func openIndex(ctx context.Context, c Config) (*ofIndex, error) {
	switch {
	case c.File == "":
		return nil, job.Usage("--against %s: give the text to look for with --file FILE (- is standard input)", c.Against)
	case len(c.Inputs) > 0:
		return nil, job.Usage("--against %s and an input conflict: give one", c.Against)
	}
	ofRuns := records.Fields(records.Default())
	for _, name := range c.Given {
		if ofRuns[name].IsValid() && name != "against" || name == "output" || name == "sort" {
			return nil, job.Usage("--against %s: the index says what is compared, and how; drop --%s", c.Against,
				strings.ReplaceAll(name, "_", "-"))
		}
	}
	if err := c.checkListed(); err != nil {
		return nil, err
	}
	x, err := dedup.OpenIndex(ctx, c.Against)
	if err != nil {
		return nil, err
	}
	if !x.HasKeys() {
		return nil, job.Usage("--against %s: the index has no keys to find documents by; only --method minhash makes them",
			c.Against)
	}
	asked, err := dedup.AskedOf(x)
	if err != nil {
		return nil, err
	}
	return &ofIndex{c, asked, x}, nil
}

// run finds the nearest of the documents that share a key with the text.
func (q *ofIndex) run(ctx context.Context) (*records.Answer, error) {
	plan, err := job.PlanIndex(ctx, job.Request{Asked: q.asked, Running: q.config.Running, Index: q.index})
	if err != nil {
		return nil, err
	}
	r := &run{config: q.config, plan: plan}
	r.config.MaxDocBytes = q.asked.MaxDocBytes
	if r.config.MinSimilarity == nil {
		r.config.MinSimilarity = &q.asked.Spec.Threshold
	}
	text, err := r.textOfFile(ctx)
	if err != nil {
		return nil, err
	}
	query, err := r.query(ctx, nearest.None, text)
	if err != nil {
		return nil, err
	}
	keys, err := q.candidates(ctx, plan, text)
	if err != nil {
		return nil, err
	}
	r.answer = records.Answer{
		Of: q.config.File, Buckets: true, MinSimilarity: *r.config.MinSimilarity, Asked: q.config.Most,
		Neighbours: []records.Neighbour{}, Parameters: plan.Metadata(nil),
	}
	compare, err := r.comparer(ctx, query.Features)
	if err != nil {
		return nil, err
	}
	in := plan.Listing.Inputs
	var failed error
	err = source.Lookup(ctx, in, keys, plan.Reading(), func(doc blocks.Document) {
		row, ok := compare(doc.Text)
		if !ok {
			return
		}
		name, err := in.Stored(doc.Key, doc.ID)
		failed = errors.Join(failed, err)
		row.ID, row.Source, row.Position = name.ID, name.Source, name.Position
		r.answer.Neighbours = append(r.answer.Neighbours, row)
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	near := r.answer.Neighbours // in the order of the index
	slices.SortStableFunc(near, func(a, b records.Neighbour) int { return cmp.Compare(b.Similarity, a.Similarity) })
	r.answer.Candidates = int64(len(near))
	r.answer.Neighbours = near[:min(len(near), q.config.Most)]
	return &r.answer, nil
}

// candidates returns the kept documents that share a key with a text.
func (q *ofIndex) candidates(ctx context.Context, plan *job.Plan, text []byte) (keys []blocks.Key, err error) {
	signing := plan.Signature("")
	values, err := signing.Of(ctx, text)
	if err != nil {
		return nil, err
	}
	lookup := q.index.Lookup()
	for band, key := range signing.Keyer().Keys(nil, values) {
		wanted := []int64{int64(key >> (64 - blocks.BandKeyBits))}
		err := lookup.Find(ctx, band, 0, 0, wanted, func(_ int64, file int, row int64) {
			keys = append(keys, blocks.NewKey(file, row))
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}
