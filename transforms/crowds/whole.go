package crowds

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/spool"
	"github.com/neardup/neardup/transforms/verify"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[wholeFn]()) }

// ToldWhole is what a sample tells of all documents.
type ToldWhole struct {
	// Batches are where the sets are that are to be joined; none of a crowd.
	Batches flow.Batches
	// Wanted say which documents of each batch are to be read again.
	Wanted flow.Wanted
	// Found are the pairs if the sample is all there is, and no crowd.
	verify.Found
}

// TellWhole tells whether all documents together are a crowd, as Tell does of a large component. They are in batches by the sizes of
// their sets; a crowd is read again, for the order of preference.
//
//	KV<spool.Whole, batches>, KV<spool.Whole, set part> → KV<spool.Whole, batches>, KV<batch, sets of the crowd or 0>,
//	KV<component shard, near pairs>, facts
//
// One CoGroupByKey, which holds the sample.
func TellWhole(s beam.Scope, batches flow.Batches, samples flow.Samples, p Params) ToldWhole {
	s = s.Scope("crowds.TellWhole")
	joined, wanted, pairs, facts := beam.ParDo4(s, &wholeFn{Params: p}, beam.CoGroupByKey(s, beam.PCollection(batches), beam.PCollection(samples)))
	return ToldWhole{
		Batches: flow.Batches(joined), Wanted: flow.Wanted(wanted),
		Found: verify.Found{Pairs: flow.NearPairs(pairs), Facts: flow.Facts(facts)},
	}
}

// wholeFn tells whether all documents are a crowd; see TellWhole for the shapes.
type wholeFn struct {
	Params Params

	estimator *estimate.Estimator
}

func (f *wholeFn) Setup() { f.estimator = f.Params.Estimator() }

func (f *wholeFn) ProcessElement(_ context.Context, _ int64, batches, samples func(*[]byte) bool, joined, wanted, pairs func(int64, []byte), facts func([]byte)) error {
	var all []blocks.Batch
	sets := 0
	err := gather.Each(batches, func(d *blocks.Decoder) {
		all = append(all, d.Batch())
		sets += all[len(all)-1].Sets
	})
	if err != nil {
		return err
	}
	sample, err := smallest(samples, sets, sampleBytes)
	if err != nil {
		return err
	}
	found, crowded := f.Params.crowded(sample.Sets, sets)
	crowd := 0
	if crowded {
		crowd = sets
	}
	for _, b := range all {
		wanted(int64(b.Number), blocks.AppendUint32(nil, uint32(crowd)))
	}
	switch {
	case crowded:
		return nil
	case len(sample.Sets) == sets:
		return f.Params.emit(spool.Whole, f.estimator, sample, found, pairs, facts)
	}
	for _, b := range all {
		joined(int64(spool.Whole), blocks.AppendBatch(nil, b))
	}
	return nil
}
