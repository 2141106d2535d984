package crowds

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/transforms/sets"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[tellFn]()) }

// Told is what samples tell of large components.
type Told struct {
	// Others are the profiles of the components that are no crowds.
	Others flow.LargeProfiles
	// Turns are those of the representatives of crowds.
	Turns flow.Turns
	// Facts name the crowds.
	Facts flow.Facts
}

// Tell tells crowds before their sets are joined, by the pairs in a sample.
//
//	KV<component, profiles>, KV<component, set part> → KV<component, profiles>, KV<document, turn>, facts
//
// The sample is the sets of smallest hash; of most components all sets. One CoGroupByKey, which holds the profiles of
// a component and its sample.
func Tell(s beam.Scope, profiles flow.LargeProfiles, samples flow.Samples, p Params) Told {
	s = s.Scope("crowds.Tell")
	others, turns, facts := beam.ParDo3(s, &tellFn{Params: p}, beam.CoGroupByKey(s, beam.PCollection(profiles), beam.PCollection(samples)))
	return Told{Others: flow.LargeProfiles(others), Turns: flow.Turns(turns), Facts: flow.Facts(facts)}
}

// tellFn tells whether a component is a crowd; see Tell for the shapes.
type tellFn struct {
	Params Params

	in *blocks.Inputs
}

func (f *tellFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *tellFn) ProcessElement(ctx context.Context, component int64, profiles, samples func(*[]byte) bool, others, turns func(int64, []byte), facts func([]byte)) error {
	var held [][]byte
	var block []byte
	for profiles(&block) {
		held, block = append(held, block), nil
	}
	next := 0
	all, documents, err := sets.Representatives(func(block *[]byte) bool {
		if next == len(held) {
			return false
		}
		*block = held[next]
		next++
		return true
	}, f.in.Preferred)
	if err != nil {
		return err
	}
	sample, err := smallest(samples, documents, sampleBytes)
	if err != nil {
		return err
	}
	if !f.Params.crowded(sample, len(all)) {
		for _, block := range held {
			others(component, block)
		}
		return nil
	}
	return f.giveTurns(ctx, blocks.Key(component), all, turns, facts)
}

// sampleBytes is the size of the sets that tell of a component. It is not a matter of memory: what is listed of
// a component must not depend on that.
const sampleBytes = 16 << 20

// leastSampled is how many pairs of a sample tell something of those that there are.
const leastSampled = 8

// giveTurns gives the representatives of a crowd their turns, in the order of preference, and names it.
func (f *tellFn) giveTurns(ctx context.Context, crowd blocks.Key, order []sets.Representative, turns func(int64, []byte), facts func([]byte)) error {
	slices.SortFunc(order, func(a, b sets.Representative) int {
		return f.in.Preferred(&blocks.Profile{Key: a.Best, Rank: a.Rank}, &blocks.Profile{Key: b.Best, Rank: b.Rank})
	})
	crowdsFound.Inc(ctx, 1)
	sent := 0
	for i, r := range order {
		turns(int64(r.Key), blocks.AppendTurn(nil, blocks.Turn{Crowd: crowd, Batch: sent / f.Params.ChunkBytes, Number: i}))
		sent += blocks.ShingleBytes * r.Size
	}
	return blocks.Fact{
		Kind: blocks.FactCrowd, Name: fmt.Sprint(int64(crowd)),
		Counts: map[string]int64{blocks.CountRepresentatives: int64(len(order))},
	}.Emit(facts)
}

// crowded reports whether a component of so many sets has more pairs than the budget, as a sample of them tells.
func (p *Params) crowded(sample [][]uint64, of int) bool {
	n := len(sample)
	if n < 2 {
		return false
	}
	// Pairs of a sample are to those of all as their numbers squared.
	limit := float64(p.PairBudget) * (float64(n) * float64(n-1)) / (float64(of) * float64(of-1))
	if n < of {
		limit = max(limit, leastSampled-1)
	}
	pairs := 0
	setsim.SelfJoin(sample, p.Threshold, func(_, _, _ int) bool {
		pairs++
		return float64(pairs) <= limit
	})
	return float64(pairs) > limit
}

// smallest assembles those of the sets that are sampled of so many documents, up to a number of bytes: the ones of smallest
// hash. Which they are does not depend on the order of their parts, nor on what else was sent.
func smallest(parts func(*[]byte) bool, documents, bytes int) ([][]uint64, error) {
	type sampled struct {
		hash  blocks.Hash
		first blocks.Key
		parts [][]byte
		bytes int // of the whole set
	}
	var kept []*sampled // by hash
	held := 0
	beyond := blocks.Hash{Hi: 1<<64 - 1, Lo: 1<<64 - 1}
	var block []byte
	for parts(&block) {
		d := blocks.NewDecoder(block)
		part := d.SetPart()
		if err := d.Err(); err != nil {
			return nil, err
		}
		if part.Hash.Compare(beyond) < 0 && sets.Sampled(part.Hash, documents) {
			i, ok := slices.BinarySearchFunc(kept, part.Hash, func(s *sampled, h blocks.Hash) int { return s.hash.Compare(h) })
			if !ok {
				kept = slices.Insert(kept, i, &sampled{hash: part.Hash, first: part.Key, bytes: blocks.ShingleBytes * part.Total})
				held += kept[i].bytes
			}
			// Copies have the same set; one of them will do.
			if kept[i].first == part.Key {
				kept[i].parts = append(kept[i].parts, block)
			}
		}
		block = nil
		for held > bytes && len(kept) > 0 {
			last := kept[len(kept)-1]
			kept, beyond = kept[:len(kept)-1], last.hash
			held -= last.bytes
		}
	}
	var all [][]byte
	for _, s := range kept {
		all = append(all, s.parts...)
	}
	assembled, err := blocks.AssembleSets(all)
	return assembled.Sets, err
}
