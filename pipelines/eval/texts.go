package eval

import (
	"context"
	"errors"
	"fmt"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// list adds the pairs to the result by their ids, and the first of them with their texts.
func (e *evaluation) list(ctx context.Context, plan *job.Plan, temp string, missed, apart []blocks.Edge) error {
	for _, list := range []struct {
		pairs []blocks.Edge
		ids   *[][2]string
		texts *[]records.Example
	}{{missed, &e.result.Missed, &e.result.MissedTexts}, {apart, &e.result.False, &e.result.FalseTexts}} {
		for i, pair := range list.pairs {
			shown, err := example(ctx, plan, temp, pair)
			if err != nil {
				return err
			}
			*list.ids = append(*list.ids, [2]string{shown.Pair.IDA, shown.Pair.IDB})
			if i < e.Texts {
				*list.texts = append(*list.texts, *shown)
			}
		}
	}
	return nil
}

// example reads two documents again, and compares them by the run's measure.
func example(ctx context.Context, plan *job.Plan, temp string, pair blocks.Edge) (*records.Example, error) {
	spec := plan.Verifier(temp)
	spec.Threshold, spec.Rules = setsim.Any, nil // a missed pair may not satisfy them
	e, _, err := plan.Example(ctx, spec, pair)
	return e, err
}

// textsOfIDs adds the texts of the first pairs that are listed.
func (e *evaluation) textsOfIDs(ctx context.Context) error {
	missed, apart := e.result.Missed[:min(len(e.result.Missed), e.Texts)],
		e.result.False[:min(len(e.result.False), e.Texts)]
	wanted := map[string]bool{}
	for _, pairs := range [][][2]string{missed, apart} {
		for _, pair := range pairs {
			wanted[pair[0]], wanted[pair[1]] = true, true
		}
	}
	return e.again(ctx, nil, func(plan *job.Plan, temp string) error {
		found, several := map[string]blocks.Key{}, map[string]bool{}
		key := plan.Keys()
		for row, err := range output.Rows[records.Clustered](ctx, e.f, output.Clusters) {
			if err != nil {
				return err
			}
			if wanted[row.ID] {
				_, several[row.ID] = found[row.ID]
				found[row.ID] = key(row.Source, row.Position)
			}
		}
		for id := range found {
			delete(wanted, id)
		}
		_, err := eachID(ctx, plan, func(id string, key blocks.Key) bool {
			if wanted[id] {
				found[id] = key
				delete(wanted, id)
			}
			return len(wanted) > 0
		})
		if err != nil {
			return err
		}
		for _, list := range []struct {
			pairs [][2]string
			texts *[]records.Example
		}{{missed, &e.result.MissedTexts}, {apart, &e.result.FalseTexts}} {
			for _, pair := range list.pairs {
				a, okA := found[pair[0]]
				b, okB := found[pair[1]]
				why := ""
				switch {
				case !okA || !okB:
					why = "at least one is not in the input"
				case several[pair[0]] || several[pair[1]]:
					why = "several documents share one of these ids"
				}
				if why != "" {
					e.result.Warnings = append(e.result.Warnings, fmt.Sprintf("cannot show the pair of %q and "+
						"%q: %s", pair[0], pair[1], why))
					continue
				}
				shown, err := example(ctx, plan, temp, blocks.Edge{A: a, B: b})
				if err != nil {
					return err
				}
				*list.texts = append(*list.texts, *shown)
			}
		}
		return nil
	})
}

// eachID calls see with the id of each document of the input, in order, while see returns true. It returns the number
// of documents seen.
func eachID(
	ctx context.Context, plan *job.Plan, see func(id string, key blocks.Key) (more bool),
) (documents int64, err error) {
	in, more := plan.Listing.Inputs, true
	for number := 0; number < in.Splits.Len() && more; number++ {
		span := in.Splits.At(number)
		_, err := source.Records(ctx, in, []blocks.Span{span}, plan.Reading(), func(record *reading.Record) error {
			if record.Err != nil || record.Long {
				return nil
			}
			documents++
			key := blocks.NewKey(span.File, record.Position)
			if more = see(in.ID(key, record.Doc.ID, record.Doc.HasID), key); !more {
				return reading.ErrStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, reading.ErrStop) {
			return documents, err
		}
	}
	return documents, nil
}
