package verify

import (
	"context"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/verifier"
)

func init() { flow.Register[connectFn]() }

// Connect finds edges that connect sets as all pairs would, without finding all pairs. The sets are in files, like
// those that Large joins.
//
//	KV<component, batches> → [] edges
//
// Each pair of cells has fewer edges than sets. Three GroupByKeys: the sets stay in files.
func Connect(s beam.Scope, batches flow.Batches, p Params) flow.Edges {
	s = s.Scope("verify.Connect")
	return flow.Edges(beam.ParDo(s, &connectFn{Params: p}, pairsOfCells(s, batches, p)))
}

// connectFn connects the sets of a pair of cells.
//
//	KV<cell pair's hash, cell pairs> → [] edges
type connectFn struct{ Params Params }

func (f *connectFn) ProcessElement(ctx context.Context, _ int64, values func(*[]byte) bool, emit func([]byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	v := f.Params.Verifier.New()
	edges := blocks.EdgeWriter{Emit: emit}
	err = eachPair(values, func(c cellPair, candidates []candidate) error {
		hold := memory.NewHold(ctx)
		defer hold.Free()
		first, second, err := f.Params.sets(ctx, c, candidates, hold)
		if err != nil {
			return err
		}
		keys, sets := slices.Concat(first.Keys, second.Keys), slices.Concat(first.Sets, second.Sets)
		trees := make(unionfind.Parents, len(sets))
		for i := range trees {
			trees[i] = uint32(i)
		}
		link := func(i, j, _ int) bool {
			if a, b := trees.Root(uint32(i)), trees.Root(uint32(j)); a != b {
				trees[b] = a
				edges.Add(keys[i], keys[j])
			}
			return true
		}
		apart := in.Apart(keys)
		_, fast := verifier.AsSets(v)
		switch {
		case len(candidates) > 0:
			for _, p := range candidates {
				i, j := int(p.i), len(first.Sets)+int(p.j)
				if trees.Root(uint32(i)) == trees.Root(uint32(j)) {
					continue
				}
				if score, ok := v.Compare(sets[i], sets[j]); ok {
					link(i, j, score)
				}
			}
		case fast:
			if apart == nil {
				apart = make([]bool, len(sets))
			}
			verifier.Connect(v, sets, trees, apart, func(i, j int) { edges.Add(keys[i], keys[j]) })
		case c.first == c.second:
			verifier.SelfJoin(v, sets, apart, link)
		default:
			verifier.CrossJoin(v, first.Sets, second.Sets, apart,
				func(i, j, score int) bool { return link(i, len(first.Sets)+j, score) })
		}
		return nil
	})
	edges.Flush()
	return err
}
