package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[cutFn]())
	beam.RegisterDoFn(reflect.TypeFor[routeFn]())
	beam.RegisterDoFn(reflect.TypeFor[cellPairFn]())
}

var (
	cellsCut    = beam.NewCounter("cells", "cells")
	cellPairs   = beam.NewCounter("cells", "pairs_of_cells")
	cellBytes   = beam.NewCounter("cells", "bytes")        // of the sets of large components
	routedBytes = beam.NewCounter("cells", "routed_bytes") // of those sent to pairs of cells
	largest     = beam.NewDistribution("cells", "component_bytes")
)

// cells joins the sets of large components.
//
//	KV<document, set part>, KV<component, profiles> → KV<component, near pairs>, KV<component, estimate>
//
// The representatives of a component are ordered by size and cut into cells; each pair of cells
// that may hold similar sets is a group. One that has more pairs than the budget sends instead
// pairs that connect what all would, after a mark: a pair of a document with itself.
func cells(s beam.Scope, sets, profiles beam.PCollection, p Params) (pairs, estimates beam.PCollection) {
	s = s.Scope("Cells")
	places := beam.ParDo(s, &cutFn{Threshold: p.Threshold, CellBytes: p.CellBytes, WorkBytes: p.WorkBytes}, beam.GroupByKey(s, profiles))
	routed := beam.ParDo(s, &routeFn{}, beam.CoGroupByKey(s, sets, places))
	return beam.ParDo2(s, &cellPairFn{Threshold: p.Threshold, PairBudget: p.PairBudget, Banding: p.Banding}, beam.GroupByKey(s, routed))
}

// cutFn cuts components into cells.
//
//	KV<component, profiles> → KV<document, place>
type cutFn struct {
	Threshold setsim.Threshold
	CellBytes int
	WorkBytes int64
}

// shingleBytes is the size of a shingle in a set.
const shingleBytes = 8

func (f *cutFn) ProcessElement(ctx context.Context, component int64, profiles func(*[]byte) bool, emit func(int64, []byte)) error {
	none := func(a, b *blocks.Profile) int { return 0 }
	ordered, documents, err := distinct(profiles, none)
	if err != nil {
		return err
	}
	slices.SortFunc(ordered, func(a, b representative) int {
		return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.key, b.key))
	})
	sizes := make([]int, len(ordered))
	for i, r := range ordered {
		sizes[i] = r.size
	}
	// Whether it is too much depends on the input alone, and not on the memory there is.
	usual := setsim.Cost(sizes, setsim.Cells(sizes, DefaultCellBytes/shingleBytes, f.Threshold))
	if shingleBytes*usual.Routed > f.WorkBytes {
		return fmt.Errorf("%d documents (%d different ones, %d MB of shingles) hang together as candidates, and comparing them all would move %d GB: "+
			"longer shingles (--shingle), a higher --threshold or more --rows separate documents that are not alike",
			documents, len(sizes), shingleBytes*usual.Elements>>20, shingleBytes*usual.Routed>>30)
	}
	cut := setsim.Cells(sizes, f.CellBytes/shingleBytes, f.Threshold)
	w := setsim.Cost(sizes, cut)
	cellsCut.Inc(ctx, int64(len(cut)))
	cellPairs.Inc(ctx, w.Pairs)
	cellBytes.Inc(ctx, shingleBytes*w.Elements)
	routedBytes.Inc(ctx, shingleBytes*w.Routed)
	largest.Update(ctx, shingleBytes*w.Elements)
	for c, cell := range cut {
		place := place{component: blocks.Key(component), lowest: cell.Lowest, cell: c, last: cell.Last}
		for _, r := range ordered[cell.First:cell.End] {
			emit(int64(r.key), place.append(nil))
		}
	}
	return nil
}

// representative is the first document of a copy group.
type representative struct {
	key  blocks.Key
	size int
	best blocks.Profile // of the group, to be kept rather than the others
}

// distinct returns the representatives of a component, in no order, and how many documents it has.
func distinct(profiles func(*[]byte) bool, preferred func(a, b *blocks.Profile) int) (all []representative, documents int, err error) {
	first := map[blocks.SetHash]representative{}
	var block []byte
	for profiles(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			p := d.Profile()
			documents++
			r, ok := first[p.Hash]
			if !ok || p.Key < r.key {
				r.key, r.size = p.Key, p.Size
			}
			if !ok || preferred(&p, &r.best) < 0 {
				r.best = blocks.Profile{Key: p.Key, Rank: bytes.Clone(p.Rank)} // and not the block
			}
			first[p.Hash] = r
		}
		if err := d.Err(); err != nil {
			return nil, 0, err
		}
	}
	for _, r := range first {
		all = append(all, r)
	}
	return all, documents, nil
}

// place says to which pairs of cells a representative belongs: those of its cell with the cells
// from lowest to last.
type place struct {
	component          blocks.Key
	lowest, cell, last int
}

func (p place) append(block []byte) []byte {
	block = blocks.AppendKey(block, p.component)
	for _, n := range []int{p.lowest, p.cell, p.last} {
		block = binary.AppendUvarint(block, uint64(n))
	}
	return block
}

func decodePlace(block []byte) (p place, err error) {
	d := blocks.NewDecoder(block)
	p = place{component: d.Key(), lowest: int(d.Uvarint()), cell: int(d.Uvarint()), last: int(d.Uvarint())}
	return p, d.Err()
}

// routeFn sends each set to the pairs of cells of its document. A document without a place is a
// copy.
//
//	KV<document, set parts, places> → KV<pair of cells, cell pair and set part>
type routeFn struct{}

func (f *routeFn) ProcessElement(_ int64, parts, places func(*[]byte) bool, emit func(int64, []byte)) error {
	var at []place
	var block []byte
	for places(&block) {
		p, err := decodePlace(block)
		if err != nil {
			return err
		}
		at = append(at, p)
	}
	for parts(&block) {
		for _, p := range at {
			for other := p.lowest; other <= p.last; other++ {
				c := cellPair{p.component, min(p.cell, other), max(p.cell, other)}
				value := append(make([]byte, 0, 24+len(block)), c.append(nil)...)
				value = append(value, boolByte(p.cell == c.second))
				emit(c.group(), append(value, block...))
			}
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

// group is the key of the pair's group. Others may have the same one.
func (c cellPair) group() int64 {
	h := hash.Mix(hash.Mix(hash.Mix(uint64(c.component))+uint64(c.first)) + uint64(c.second))
	return int64(h >> 1)
}

// cellPairFn joins the two cells of each pair in a group, or a cell with itself.
type cellPairFn struct {
	Threshold  setsim.Threshold
	PairBudget int
	Banding    Banding

	estimator *estimate.Estimator
}

func (f *cellPairFn) Setup() { f.estimator = f.Banding.estimator() }

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
	out := pairWriter{key: int64(c.component)}
	var packed [][]byte
	out.emit = func(_ int64, block []byte) { packed = append(packed, block) }
	crowd := false
	keys, sets := slices.Concat(first.Keys, second.Keys), slices.Concat(first.Sets, second.Sets)
	f.estimator.Begin(sets)
	take := func(i, j, shared int) bool {
		crowd = out.written == int64(f.PairBudget)
		out.add(keys[i], keys[j], shared)
		f.estimator.Pair(i, j, shared)
		return !crowd
	}
	if c.first == c.second {
		setsim.SelfJoin(second.Sets, f.Threshold, take)
	} else {
		setsim.CrossJoin(first.Sets, second.Sets, f.Threshold, func(i, j, shared int) bool { return take(i, len(first.Sets)+j, shared) })
	}
	out.flush()
	pairsFound.Inc(ctx, out.written)
	if c.first == c.second {
		representatives.Inc(ctx, int64(len(second.Sets)))
	}
	if crowd {
		packed = nil
		out.add(c.component, c.component, 0)
		setsim.Connect(sets, f.Threshold, func(i, j int) { out.add(keys[i], keys[j], 0) })
		out.flush()
	}
	for _, block := range packed {
		emit(int64(c.component), block)
	}
	estimates(int64(c.component), appendEstimate(nil, f.estimator.Sum()))
	return nil
}
