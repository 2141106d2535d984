package verify

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/exchange"
)

func init() {
	flow.Register[joinFn]()
}

var (
	representatives = beam.NewCounter("verify", "representatives")
	pairsFound      = beam.NewCounter("verify", "pairs")
)

// Small joins the sets of each small component.
//
//	KV<component shard, group of component parts> → KV<component shard, near pairs> and facts,
//	KV<document, set part>, KV<component, profiles>
//
// Components whose sets exceed a cell are passed on as large ones; the others of a shard are held in memory.
func Small(s beam.Scope, small exchange.Groups, p Params) (Found, flow.LargeSets, flow.LargeProfiles) {
	s = s.Scope("verify.Small")
	pairs, large, profiles, facts := beam.ParDo4(s, &joinFn{Params: p, In: small.In}, small.All)
	return Found{Pairs: flow.NearPairs(pairs), Facts: flow.Facts(facts)},
		flow.LargeSets(large), flow.LargeProfiles(profiles)
}

// joinFn joins the components of a shard; see Small for the shapes.
type joinFn struct {
	Params Params
	In     exchange.In

	in        *blocks.Inputs
	verifier  verifier.Verifier
	estimator *estimate.Estimator
	assembler blocks.SetAssembler
	held      []componentPart
}

func (f *joinFn) Setup(ctx context.Context) (err error) {
	f.verifier, f.estimator = f.Params.Verifier.New(), f.Params.Estimator()
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

// componentPart is a part of the set of a component's document.
type componentPart struct {
	component, key blocks.Key
	part           []byte
}

func (f *joinFn) ProcessElement(
	ctx context.Context, key int64, packed func(*[]byte) bool, pairs, sets,
	profiles func(int64, []byte), facts func([]byte),
) error {
	return f.In.Each(ctx, key, packed, func(shard int64, packed func(*[]byte) bool) error {
		return f.joinAll(ctx, shard, packed, pairs, sets, profiles, facts)
	})
}

// joinAll joins the components of a shard.
func (f *joinFn) joinAll(
	ctx context.Context, shard int64, packed func(*[]byte) bool, pairs, sets,
	profiles func(int64, []byte), facts func([]byte),
) error {
	if err := f.hold(packed, sets, profiles); err != nil {
		return err
	}
	defer func() { clear(f.held) }() // releases their blocks
	slices.SortFunc(f.held, func(a, b componentPart) int {
		return cmp.Or(cmp.Compare(a.component, b.component), cmp.Compare(a.key, b.key))
	})
	out := blocks.PairWriter{Key: shard, Emit: pairs}
	var parts [][]byte
	var estimates blocks.Estimate
	sum := 0
	for left := f.held; len(left) > 0; left = left[len(parts):] {
		component := left[0].component
		parts = parts[:0]
		for _, m := range left {
			if m.component != component {
				break
			}
			parts = append(parts, m.part)
		}
		sets, err := f.assembler.Assemble(parts)
		if err != nil {
			return err
		}
		estimates.Add(f.join(ctx, component, sets, &out))
		sum += len(sets.Sets)
	}
	out.Flush()
	representatives.Inc(ctx, int64(sum))
	pairsFound.Inc(ctx, out.Written)
	return estimates.EmitFact(facts)
}

// hold holds the parts of components that one call can join, and passes on the parts of other components.
func (f *joinFn) hold(packed func(*[]byte) bool, sets, profiles func(int64, []byte)) error {
	f.held = f.held[:0]
	sizes := map[blocks.Key]int{}
	var buffers blocks.Buffers
	var block []byte
	for packed(&block) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			var m componentPart
			m.component, m.part = d.ComponentPart()
			m.key = blocks.NewDecoder(m.part).Key()
			if err := d.Err(); err != nil {
				return err
			}
			before := sizes[m.component]
			sizes[m.component] += len(m.part)
			if before > f.Params.CellBytes {
				if err := passOn(m, &buffers, sets, profiles); err != nil {
					return err
				}
				continue
			}
			f.held = append(f.held, m)
			if sizes[m.component] <= f.Params.CellBytes {
				continue
			}
			kept := f.held[:0]
			for _, held := range f.held {
				if held.component != m.component {
					kept = append(kept, held)
				} else if err := passOn(held, &buffers, sets, profiles); err != nil {
					return err
				}
			}
			clear(f.held[len(kept):])
			f.held = kept
		}
		block = nil // held parts are in it
	}
	buffers.Flush(profiles)
	return nil
}

// join joins the sets of a component, and estimates its number of pairs.
func (f *joinFn) join(
	ctx context.Context, component blocks.Key, g blocks.Sets, out *blocks.PairWriter,
) blocks.Estimate {
	f.estimator.Begin(g.Sets)
	apart := f.in.Apart(g.Keys)
	if countSelf(ctx, membersOf(f.in, f.verifier, g, apart)) {
		verifier.SelfJoin(f.verifier, g.Sets, apart, func(i, j, score int) bool {
			out.Add(g.Keys[i], g.Keys[j], score, f.verifier.Shared(score, g.Sets[i], g.Sets[j]),
				verifier.Matches(f.verifier, score, g.Sets[i], g.Sets[j]))
			f.estimator.Pair(i, j, score)
			return true
		})
	}
	f.countMissed(ctx, g)
	return EstimateOf(component, f.estimator)
}

// mostSettled is the maximum number of settled documents per component that are compared for the count.
const mostSettled = 256

// countMissed counts the pairs of similar documents in a component that an index has kept both: earlier runs missed
// these pairs.
func (f *joinFn) countMissed(ctx context.Context, g blocks.Sets) {
	var settled [][]uint64
	for i, key := range g.Keys {
		if f.in.IsReference(key) && f.in.Standing(key.File()) == blocks.Settled && len(settled) < mostSettled {
			settled = append(settled, g.Sets[i])
		}
	}
	if len(settled) < 2 {
		return
	}
	settledCompared.Inc(ctx, choose2(int64(len(settled))))
	verifier.SelfJoin(f.verifier, settled, nil, func(int, int, int) bool {
		indexMissed.Inc(ctx, 1)
		return true
	})
}

// EstimateOf returns the estimate of a component whose pairs were added to the estimator.
func EstimateOf(component blocks.Key, e *estimate.Estimator) blocks.Estimate {
	sum := e.End()
	return blocks.Estimate{Component: component, Found: sum.Found, Millionths: sum.Millionths[:]}
}

// passOn sends a set part of a component that is too large, and a profile with the first part of a set.
func passOn(m componentPart, buffers *blocks.Buffers, sets, profiles func(int64, []byte)) error {
	d := blocks.NewDecoder(m.part)
	part := d.SetPart()
	if err := d.Err(); err != nil {
		return err
	}
	if part.First == 0 {
		buffers.Add(int64(m.component), func(b []byte) []byte {
			return blocks.AppendProfile(b, &blocks.Profile{Key: part.Key, Hash: part.Hash, Words: part.Total})
		}, profiles)
	}
	sets(int64(part.Key), bytes.Clone(m.part))
	return nil
}
