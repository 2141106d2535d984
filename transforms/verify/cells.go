package verify

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/sets"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[cutFn]())
	beam.RegisterDoFn(reflect.TypeFor[routeFn]())
	beam.RegisterDoFn(reflect.TypeFor[cellPairFn]())
	beam.RegisterDoFn(reflect.TypeFor[estimateFn]())
}

var (
	cellsCut    = beam.NewCounter("cells", "cells")
	cellPairs   = beam.NewCounter("cells", "pairs_of_cells")
	cellBytes   = beam.NewCounter("cells", "bytes")        // of the sets of large components
	routedBytes = beam.NewCounter("cells", "routed_bytes") // of those sent to pairs of cells
	largest     = beam.NewDistribution("cells", "component_bytes")
)

// routes are KV<document, route>.
type routes beam.PCollection

// joinCells joins the sets of large components, and sends those of crowds to the pass.
//
//	KV<document, set part>, KV<component, profiles>, KV<document, turn> →
//	KV<component shard, near pairs>, KV<batch's hash, turn and set part>, facts
//
// The representatives of a component are ordered by size and cut into cells; each pair of cells
// that may hold similar sets is joined by one call.
func joinCells(s beam.Scope, large flow.LargeSets, profiles flow.LargeProfiles, turns flow.Turns, p Params) Found {
	s = s.Scope("Cells")
	routes := routes(beam.ParDo(s, &cutFn{Params: p}, beam.GroupByKey(s, beam.PCollection(profiles))))
	routed, crowds := beam.ParDo2(s, &routeFn{}, beam.CoGroupByKey(s, beam.PCollection(large), beam.PCollection(routes), beam.PCollection(turns)))
	pairs, estimates := beam.ParDo2(s, &cellPairFn{Params: p}, beam.GroupByKey(s, routed))
	facts := beam.ParDo(s, &estimateFn{}, beam.GroupByKey(s, estimates))
	return Found{Pairs: flow.NearPairs(pairs), CrowdSets: flow.CrowdSets(crowds), Facts: []flow.Facts{flow.Facts(facts)}}
}

// cutFn cuts components into cells.
//
//	KV<component, profiles> → KV<document, route>
type cutFn struct{ Params Params }

func (f *cutFn) ProcessElement(ctx context.Context, component int64, profiles func(*[]byte) bool, emit func(int64, []byte)) error {
	ordered, documents, err := sets.Representatives(profiles, nil)
	if err != nil {
		return err
	}
	slices.SortFunc(ordered, func(a, b sets.Representative) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Key, b.Key))
	})
	sizes := make([]int, len(ordered))
	for i, r := range ordered {
		sizes[i] = r.Size
	}
	// Whether it is too much depends on the input alone, and not on the memory there is.
	usual := setsim.Cost(sizes, setsim.Cells(sizes, DefaultCellBytes/blocks.ShingleBytes, f.Params.Threshold))
	if blocks.ShingleBytes*usual.Routed > f.Params.WorkBytes {
		return fmt.Errorf("%d documents (%d different ones, %d MB of shingles) form one candidate component; comparing them would shuffle %d GB. "+
			"A higher --threshold or more --rows separate documents that are not alike; "+
			"of those that are, fewer are left once parts of the input are deduplicated",
			documents, len(sizes), blocks.ShingleBytes*usual.Elements>>20, blocks.ShingleBytes*usual.Routed>>30)
	}
	cut := setsim.Cells(sizes, f.Params.CellBytes/blocks.ShingleBytes, f.Params.Threshold)
	w := setsim.Cost(sizes, cut)
	cellsCut.Inc(ctx, int64(len(cut)))
	cellPairs.Inc(ctx, w.Pairs)
	cellBytes.Inc(ctx, blocks.ShingleBytes*w.Elements)
	routedBytes.Inc(ctx, blocks.ShingleBytes*w.Routed)
	largest.Update(ctx, blocks.ShingleBytes*w.Elements)
	for c, cell := range cut {
		route := route{component: blocks.Key(component), lowest: cell.Lowest, cell: c, last: cell.Last}
		for _, r := range ordered[cell.First:cell.End] {
			emit(int64(r.Key), route.append(nil))
		}
	}
	return nil
}

// route says to which pairs of cells a representative's set goes: those of its cell with the cells
// from lowest to last.
type route struct {
	component          blocks.Key
	lowest, cell, last int
}

func (r route) append(block []byte) []byte {
	block = blocks.AppendKey(block, r.component)
	for _, n := range []int{r.lowest, r.cell, r.last} {
		block = binary.AppendUvarint(block, uint64(n))
	}
	return block
}

func decodeRoute(d *blocks.Decoder) route {
	return route{component: d.Key(), lowest: int(d.Uvarint()), cell: int(d.Uvarint()), last: int(d.Uvarint())}
}

// routeFn sends each set to the pairs of cells of its document, or to its batch of a crowd. A document
// with neither route nor turn is a copy.
//
//	KV<document, set parts, routes, turns> → KV<cell pair's hash, cell pair and set part>, KV<batch's hash, turn and set part>
type routeFn struct{}

func (f *routeFn) ProcessElement(_ int64, parts, routes, turns func(*[]byte) bool, toCells, toBatch func(int64, []byte)) error {
	var all []route
	if err := gather.Each(routes, func(d *blocks.Decoder) { all = append(all, decodeRoute(d)) }); err != nil {
		return err
	}
	var turn, block []byte
	batch := int64(0)
	if turns(&turn) {
		d := blocks.NewDecoder(turn)
		t := d.Turn()
		if err := d.Err(); err != nil {
			return err
		}
		batch = int64(hash.Mix(hash.Mix(uint64(t.Crowd))+uint64(t.Batch)) >> 1)
	}
	for parts(&block) {
		for _, r := range all {
			for other := r.lowest; other <= r.last; other++ {
				c := cellPair{r.component, min(r.cell, other), max(r.cell, other)}
				value := append(make([]byte, 0, 24+len(block)), c.append(nil)...)
				value = append(value, boolByte(r.cell == c.second))
				toCells(c.hash(), append(value, block...))
			}
		}
		if turn != nil {
			toBatch(batch, slices.Concat(turn, block))
		}
	}
	return nil
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// cellPair names two cells of a component, first ≤ second.
type cellPair struct {
	component     blocks.Key
	first, second int
}

func (c cellPair) append(block []byte) []byte {
	block = blocks.AppendKey(block, c.component)
	return blocks.AppendUint32(blocks.AppendUint32(block, uint32(c.first)), uint32(c.second))
}

// hash is the key that the pair's sets are grouped by. Other pairs may have the same one.
func (c cellPair) hash() int64 {
	h := hash.Mix(hash.Mix(hash.Mix(uint64(c.component))+uint64(c.first)) + uint64(c.second))
	return int64(h >> 1)
}

// cellPairFn joins the two cells of each pair in a group, or a cell with itself.
//
//	KV<cell pair's hash, cell pairs and set parts> → KV<component shard, near pairs>, KV<component, estimate>
type cellPairFn struct {
	Params Params

	estimator *estimate.Estimator
}

func (f *cellPairFn) Setup() { f.estimator = f.Params.estimator() }

// halves are the parts of the sets of a pair of cells.
type halves [2][][]byte

func (f *cellPairFn) ProcessElement(ctx context.Context, _ int64, values func(*[]byte) bool, emit, estimates func(int64, []byte)) error {
	pairs := map[cellPair]*halves{}
	var block []byte
	for values(&block) {
		d := blocks.NewDecoder(block)
		c := cellPair{component: d.Key(), first: int(d.Uint32()), second: int(d.Uint32())}
		half := d.Fixed(1)
		if err := d.Err(); err != nil {
			return err
		}
		if pairs[c] == nil {
			pairs[c] = &halves{}
		}
		pairs[c][half[0]] = append(pairs[c][half[0]], block[len(block)-d.Left():])
		block = nil
	}
	for _, c := range sortedPairs(pairs) {
		if err := f.join(ctx, c, pairs[c], emit, estimates); err != nil {
			return err
		}
	}
	return nil
}

func sortedPairs(pairs map[cellPair]*halves) (sorted []cellPair) {
	for c := range pairs {
		sorted = append(sorted, c)
	}
	slices.SortFunc(sorted, func(a, b cellPair) int {
		return cmp.Or(cmp.Compare(a.component, b.component), cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second))
	})
	return sorted
}

func (f *cellPairFn) join(ctx context.Context, c cellPair, h *halves, emit, estimates func(int64, []byte)) error {
	// A cell with itself comes as second half only.
	first, err := blocks.AssembleSets(h[0])
	if err != nil {
		return err
	}
	second, err := blocks.AssembleSets(h[1])
	if err != nil {
		return err
	}
	out := blocks.PairWriter{Key: f.Params.Shards.Shard(c.component), Emit: emit}
	keys, sets := slices.Concat(first.Keys, second.Keys), slices.Concat(first.Sets, second.Sets)
	f.estimator.Begin(sets)
	take := func(i, j, shared int) bool {
		out.Add(keys[i], keys[j], shared)
		f.estimator.Pair(i, j, shared)
		return true
	}
	if c.first == c.second {
		setsim.SelfJoin(second.Sets, f.Params.Threshold, take)
		representatives.Inc(ctx, int64(len(second.Sets)))
	} else {
		setsim.CrossJoin(first.Sets, second.Sets, f.Params.Threshold, func(i, j, shared int) bool { return take(i, len(first.Sets)+j, shared) })
	}
	out.Flush()
	pairsFound.Inc(ctx, out.Written)
	estimates(int64(c.component), blocks.AppendEstimate(nil, estimateOf(c.component, f.estimator)))
	return nil
}

// estimateFn adds up the estimates of the pairs of cells of a component.
//
//	KV<component, estimates> → facts
type estimateFn struct{}

func (f *estimateFn) ProcessElement(_ int64, estimates func(*[]byte) bool, facts func([]byte)) error {
	var sum blocks.Estimate
	if err := gather.Each(estimates, func(d *blocks.Decoder) { sum.Add(d.Estimate()) }); err != nil {
		return err
	}
	return sum.Whole().EmitFact(facts)
}
