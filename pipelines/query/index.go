package query

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/nearest"
)

// openIndex opens the index to search, and returns its settings; the error of a wrong config is a *job.UsageError.
func (c *Config) openIndex(ctx context.Context) (*job.Asked, *index.Index, error) {
	switch {
	case c.Of != "":
		return nil, nil, job.Usage("--of %s: a search of an index begins with a text; drop --of, and use --file FILE "+
			"(- is standard input)", c.Of)
	case c.File == "":
		return nil, nil, job.Usage("--against %s: name the text to look for with --file FILE (- is standard input)",
			c.Against)
	case len(c.Inputs) > 0:
		return nil, nil, job.Usage("--against %s and an input cannot be used together; use one", c.Against)
	}
	ofRuns := records.Fields(records.Default())
	for _, name := range c.Given {
		if ofRuns[name].IsValid() && name != "against" || name == "output" || name == "sort" {
			return nil, nil, job.Usage("--against %s: the index determines what is compared and how; drop --%s", c.Against,
				strings.ReplaceAll(name, "_", "-"))
		}
	}
	if err := c.checkListed(); err != nil {
		return nil, nil, err
	}
	x, err := dedup.OpenIndex(ctx, c.Against)
	if err != nil {
		return nil, nil, err
	}
	if !x.HasKeys() {
		return nil, nil, job.Usage("--against %s: the index has no keys to find documents by; "+
			"create it with --method minhash", c.Against)
	}
	asked, err := dedup.AskedOf(x)
	return asked, x, err
}

// ofIndex finds the nearest of the documents kept in the index that share a key with the text.
func (r *Job) ofIndex(ctx context.Context) (answer *records.Answer, err error) {
	r.plan, err = job.PlanIndex(ctx, job.Request{Asked: r.asked, Running: r.config.Running, Index: r.index})
	if err != nil {
		return nil, err
	}
	r.config.MaxDocBytes = r.asked.MaxDocBytes
	if r.config.MinSimilarity == nil {
		r.config.MinSimilarity = &r.asked.Spec.Threshold
	}
	r.answer = records.Answer{
		Buckets: true, MinSimilarity: *r.config.MinSimilarity, Asked: r.config.Most,
		Neighbours: []records.Neighbour{}, Parameters: r.plan.Metadata(nil),
	}
	if err := dedup.CheckAdded(ctx, r.index); errors.As(err, new(*job.UsageError)) {
		r.answer.Warnings = append(r.answer.Warnings, err.Error())
	} else if err != nil {
		return nil, err
	}
	text, err := r.textOfFile(ctx)
	if err != nil {
		return nil, err
	}
	query, err := r.query(ctx, nearest.None, text)
	if err != nil {
		return nil, err
	}
	keys, err := r.candidates(ctx, text)
	if err != nil {
		return nil, err
	}
	if err := r.list(ctx, query, keys); err != nil {
		return nil, err
	}
	near := r.answer.Neighbours // in the order of the index
	slices.SortStableFunc(near, func(a, b records.Neighbour) int { return cmp.Compare(b.Similarity, a.Similarity) })
	r.answer.Candidates = int64(len(near))
	r.answer.Neighbours = near[:min(len(near), r.config.Most)]
	return &r.answer, nil
}

// candidates returns the kept documents that share a key with a text.
func (r *Job) candidates(ctx context.Context, text []byte) (keys []blocks.Key, err error) {
	signing := r.plan.Signature("")
	values, err := signing.Of(ctx, text)
	if err != nil {
		return nil, err
	}
	lookup := r.index.Lookup()
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
