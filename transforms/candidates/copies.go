package candidates

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/radix"
	"github.com/neardup/neardup/transforms/exchange"
)

func init() { flow.Register[copiesFn]() }

var (
	firstsSeen  = beam.NewCounter("copies", "firsts")
	copiesFound = beam.NewCounter("copies", "found")
)

// Copies finds documents of different blocks that have the same hash: each is a copy of the first in input order. The
// first one's member counts its copies unless they are listed, since only unlisted copies have edges. Among references,
// the first one stands for all: the others are omitted, and so is the first if no input is a copy of it.
//
//	KV<hash shard, group of firsts> → KV<split, members>
//
// A shard's firsts are held in memory, 56 bytes each. Counters: copies/firsts, copies/found.
func Copies(s beam.Scope, firsts exchange.Groups, p Params) flow.Members {
	s = s.Scope("candidates.Copies")
	return flow.Members(beam.ParDo(s, &copiesFn{Params: p, In: firsts.In}, firsts.All))
}

// copiesFn finds the copies of a shard; see Copies for the shapes.
type copiesFn struct {
	Params Params
	In     exchange.In

	in     *blocks.Inputs
	firsts []blocks.First
	halves []half
	sorter radix.Sorter[half, uint32]
}

// half is the upper half of a hash, with the index of its document.
type half struct {
	Key      uint64
	Document uint32
}

func (f *copiesFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *copiesFn) ProcessElement(
	ctx context.Context, key int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	return f.In.Each(ctx, key, packed, func(_ int64, packed func(*[]byte) bool) error { return f.find(ctx, packed, emit) })
}

// find finds the copies of a group.
func (f *copiesFn) find(ctx context.Context, packed func(*[]byte) bool, emit func(int64, []byte)) (err error) {
	f.firsts = f.firsts[:0]
	var block []byte
	for packed(&block) {
		if f.firsts, err = blocks.DecodeFirsts(f.firsts, block); err != nil {
			return err
		}
	}
	f.halves = f.halves[:0]
	for i, first := range f.firsts {
		f.halves = append(f.halves, half{first.Hash.Hi, uint32(i)})
	}
	var out blocks.Buffers
	found := 0
	var alike []blocks.First
	halves := f.sorter.Sort(f.halves, 0, radix.ByKey)
	for start, end := 0, 0; start < len(halves); start = end {
		for end = start + 1; end < len(halves) && halves[end].Key == halves[start].Key; end++ {
		}
		if end-start == 1 {
			continue
		}
		alike = alike[:0]
		for _, h := range halves[start:end] {
			alike = append(alike, f.firsts[h.Document])
		}
		found += f.tell(alike, &out, emit)
	}
	out.Flush(emit)
	firstsSeen.Inc(ctx, int64(len(f.firsts)))
	copiesFound.Inc(ctx, int64(found))
	return nil
}

// tell emits the members of the copies among documents that may share a hash, and returns the number of copies.
func (f *copiesFn) tell(alike []blocks.First, out *blocks.Buffers, emit func(int64, []byte)) (found int) {
	slices.SortFunc(alike, func(a, b blocks.First) int {
		return cmp.Or(a.Hash.Compare(b.Hash), cmp.Compare(a.Key, b.Key))
	})
	for start, end := 0, 0; start < len(alike); start = end {
		for end = start + 1; end < len(alike) && alike[end].Hash == alike[start].Hash; end++ {
		}
		same := alike[start:end]
		if references := sort.Search(len(same), func(i int) bool { return !f.in.IsReference(same[i].Key) }); references > 1 {
			same = slices.Delete(same, 1, references)
		}
		if len(same) == 1 {
			continue
		}
		for i, first := range same {
			m := blocks.Member{Key: first.Key, Component: same[0].Key}
			if i == 0 && f.Params.List == "" {
				m.Of = -int32(len(same) - 1)
			}
			out.Add(int64(f.in.Split(m.Key)), func(block []byte) []byte { return blocks.AppendMember(block, m) }, emit)
		}
		found += len(same) - 1
	}
	return found
}
