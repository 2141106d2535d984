package candidates

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[copiesFn]()) }

var (
	firstsSeen  = beam.NewCounter("copies", "firsts")
	copiesFound = beam.NewCounter("copies", "found")
)

// Copies finds the documents of different blocks that have the same hash: each is a copy of the first of them in
// input order, which has copies. inputs is the path of the shared blocks.Inputs.
//
//	KV<hash shard, firsts> → KV<split, members>
//
// One GroupByKey; the firsts of a shard are held in memory, 24 bytes each. Counters: copies/firsts, copies/found.
func Copies(s beam.Scope, firsts flow.Firsts, inputs string) flow.Members {
	s = s.Scope("candidates.Copies")
	return flow.Members(beam.ParDo(s, &copiesFn{Inputs: inputs}, beam.GroupByKey(s, beam.PCollection(firsts))))
}

// copiesFn finds the copies of a shard; see Copies for the shapes.
type copiesFn struct {
	Inputs string

	in     *blocks.Inputs
	firsts []blocks.First
}

func (f *copiesFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Inputs)
	return err
}

func (f *copiesFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte)) (err error) {
	f.firsts = f.firsts[:0]
	var block []byte
	for packed(&block) {
		if f.firsts, err = blocks.DecodeFirsts(f.firsts, block); err != nil {
			return err
		}
	}
	slices.SortFunc(f.firsts, func(a, b blocks.First) int { return cmp.Or(a.Hash.Compare(b.Hash), cmp.Compare(a.Key, b.Key)) })
	out := blocks.NewBuffers()
	found := 0
	for same := f.firsts; len(same) > 0; {
		n := 1
		for n < len(same) && same[n].Hash == same[0].Hash {
			n++
		}
		if n > 1 {
			for _, first := range same[:n] {
				m := blocks.Member{Key: first.Key, Component: same[0].Key}
				out.Add(int64(f.in.Split(m.Key)), func(block []byte) []byte { return blocks.AppendMember(block, m) }, emit)
			}
			found += n - 1
		}
		same = same[n:]
	}
	out.Flush(emit)
	firstsSeen.Inc(ctx, int64(len(f.firsts)))
	copiesFound.Inc(ctx, int64(found))
	return nil
}
