package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/spool"
)

func init() {
	flow.Register[cutFn]()
	flow.Register[cellPairFn]()
	flow.Register[estimateFn]()
}

var (
	cellsCut  = beam.NewCounter("cells", "cells")
	cellPairs = beam.NewCounter("cells", "pairs_of_cells")
	cellBytes = beam.NewCounter("cells", "bytes")      // of sets of large components
	leftBytes = beam.NewCounter("cells", "left_bytes") // of sets that may have a partner
	readBytes = beam.NewCounter("cells", "read_bytes") // of sets read by pairs of cells
	largest   = beam.NewDistribution("cells", "component_bytes")
)

// Large joins the sets of large components, which are in files in the order of their sizes.
//
//	KV<component, batches> → KV<component shard, near pairs>, facts
//
// One call per component removes the sets that cannot have a partner, and divides the others into cells. One call per
// pair of cells that may hold similar sets joins the two cells or, where that costs less, compares candidates found by
// rare shingles. Four GroupByKeys: the sets stay in files.
func Large(s beam.Scope, batches flow.Batches, p Params) Found {
	s = s.Scope("verify.Large")
	pairs, estimates := beam.ParDo2(s, &cellPairFn{Params: p}, pairsOfCells(s, batches, p))
	facts := beam.ParDo(s, &estimateFn{}, beam.GroupByKey(s, estimates))
	return Found{Pairs: flow.NearPairs(pairs), Facts: flow.Facts(facts)}
}

// pairsOfCells divides components into cells, and groups the pairs of cells that may hold similar sets by hash.
func pairsOfCells(s beam.Scope, batches flow.Batches, p Params) beam.PCollection {
	whole, postings := beam.ParDo2(s, &cutFn{Params: p}, beam.GroupByKey(s, beam.PCollection(batches)))
	some := beam.ParDo(s, &rareFn{Params: p}, beam.GroupByKey(s, postings))
	return beam.GroupByKey(s, beam.Flatten(s, whole, some))
}

// cutFn divides components into cells.
//
//	KV<component, batches> → KV<cell pair's hash, cell pair>, KV<range's hash, postings>
//
// It holds a batch, a cell, and either a sketch of at most 16 MB and its successor, or frequencies of at most 64 MB.
type cutFn struct{ Params Params }

func (f *cutFn) ProcessElement(
	ctx context.Context, component int64, batches func(*[]byte) bool, emit, postings func(int64, []byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	if err != nil {
		return err
	}
	tables := memory.NewHold(ctx)
	defer tables.Free()
	c := cells{
		Params: &f.Params, in: in, verifier: f.Params.Verifier.New(), component: blocks.Key(component), tables: tables,
	}
	if err := gather.Each(batches, func(d *blocks.Decoder) { c.cells = append(c.cells, d.Batch()) }); err != nil {
		return err
	}
	slices.SortFunc(c.cells, func(a, b blocks.Batch) int { return cmp.Compare(a.Number, b.Number) })
	cellBytes.Inc(ctx, int64(blocks.ShingleBytes*c.shingles()))
	largest.Update(ctx, int64(blocks.ShingleBytes*c.shingles()))
	if err := c.prune(ctx); err != nil {
		return err
	}
	leftBytes.Inc(ctx, int64(blocks.ShingleBytes*c.shingles()))
	cellsCut.Inc(ctx, int64(len(c.cells)))
	if rare, err := c.rare(ctx, postings); rare || err != nil {
		return err
	}
	cut := cut(c.cells)
	readBytes.Inc(ctx, blocks.ShingleBytes*setsim.CellCost(cut, c.verifier.MinWords))
	setsim.CellPairs(cut, c.verifier.MinWords, func(i, j int) {
		cellPairs.Inc(ctx, 1)
		pair := cellPair{component: c.component, round: c.round, first: c.cells[i].Number, second: c.cells[j].Number}
		emit(pair.hash(), pair.append(nil, nil))
	})
	return nil
}

func cut(batches []blocks.Batch) (cells []setsim.Cell) {
	for _, b := range batches {
		cells = append(cells, setsim.Cell{Smallest: b.Smallest, Largest: b.Largest, Elements: b.Shingles})
	}
	return cells
}

// cells is the sets of a component, in files in the order of their sizes.
type cells struct {
	*Params
	in        *blocks.Inputs
	verifier  verifier.Verifier
	component blocks.Key
	round     int // number of times that sets were removed
	cells     []blocks.Batch
	tables    *memory.Hold
}

// file returns the path of a cell after this many rounds.
func (p *Params) file(component blocks.Key, round, cell int) string {
	if round == 0 {
		return spool.BatchFile(p.Temp, component, cell)
	}
	return spool.File(p.Temp, component, fmt.Sprint("left", round), cell)
}

func (c *cells) shingles() (n int) {
	for _, cell := range c.cells {
		n += cell.Shingles
	}
	return n
}

func (c *cells) sets() (n int) {
	for _, cell := range c.cells {
		n += cell.Sets
	}
	return n
}

// each calls do with the sets of each cell, in order.
func (c *cells) each(ctx context.Context, do func(blocks.Sets) error) error {
	for _, cell := range c.cells {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.visit(ctx, cell.Number, do); err != nil {
			return err
		}
	}
	return nil
}

func (c *cells) visit(ctx context.Context, cell int, do func(blocks.Sets) error) error {
	hold := memory.NewHold(ctx)
	defer hold.Free()
	sets, err := spool.Pick(ctx, c.file(c.component, c.round, cell), nil, hold)
	if err != nil {
		return err
	}
	return do(sets)
}

// worthARound is the inverse of the fraction of sets that a round must remove to be followed by another.
const worthARound = 10

// prune removes the sets that have too few shingles in common with all others together. It works in rounds, because a
// removed set may leave others alone. The first round samples the shingles, which is usually enough. Features that are
// not sets stay.
func (c *cells) prune(ctx context.Context) error {
	v, ok := c.verifier.(verifier.Sets)
	tooLarge := func() bool { return blocks.ShingleBytes*c.shingles() > c.PruneBytes }
	if !ok || !tooLarge() {
		return nil
	}
	err := c.tables.Add(ctx, 2*min(int64(c.shingles()), 16<<20))
	for parts := v.Jaccard().Parts(); err == nil && tooLarge(); parts = 1 {
		alone := setsim.NewAlone(c.shingles(), parts)
		err = c.each(ctx, func(g blocks.Sets) error {
			for _, set := range g.Sets {
				alone.Count(set)
			}
			return nil
		})
		if err != nil {
			break
		}
		leaves, leaving := make([]bool, 0, c.sets()), 0
		err = c.each(ctx, func(g blocks.Sets) error {
			for _, set := range g.Sets {
				lonely := alone.Lonely(set, v.Jaccard())
				if leaves = append(leaves, lonely); lonely {
					leaving++
				}
			}
			return nil
		})
		few := worthARound*leaving < len(leaves)
		if err != nil || few && parts == 1 {
			break
		}
		if !few {
			err = c.leave(ctx, leaves)
		}
	}
	return err
}

// leave removes the sets whose numbers are marked in leaves.
func (c *cells) leave(ctx context.Context, leaves []bool) error {
	var cells []blocks.Batch
	var cell blocks.Sets
	staying, reading := memory.NewHold(ctx), memory.NewHold(ctx)
	defer staying.Free()
	defer reading.Free()
	bytes := 0
	write := func() error {
		if len(cell.Sets) == 0 {
			return nil
		}
		full := cell
		b := spool.Describe(len(cells), full)
		cells, cell, bytes = append(cells, b), blocks.Sets{}, 0
		defer staying.Free()
		return spool.Write(ctx, c.Temp, c.file(c.component, c.round+1, b.Number), full)
	}
	stay := func(g blocks.Sets, wanted []int) error {
		for _, i := range wanted {
			set := g.Sets[i]
			size := blocks.ShingleBytes * len(set)
			if bytes > 0 && bytes+size > c.CellBytes {
				if err := write(); err != nil {
					return err
				}
			}
			if err := staying.Add(ctx, int64(size)); err != nil {
				return err
			}
			// Clone, so that the whole cell is not retained.
			cell.Keys, cell.Sets = append(cell.Keys, g.Keys[i]), append(cell.Sets, slices.Clone(set))
			bytes += size
		}
		return nil
	}
	var err error
	for _, of := range c.cells {
		wanted := make([]int, 0, of.Sets)
		for i, leaves := range leaves[:of.Sets] {
			if !leaves {
				wanted = append(wanted, i)
			}
		}
		leaves = leaves[of.Sets:]
		if err = ctx.Err(); err != nil {
			break
		}
		var g blocks.Sets
		if g, err = spool.Pick(ctx, c.file(c.component, c.round, of.Number), wanted, reading); err == nil {
			err = stay(g, wanted)
		}
		reading.Free()
		if err != nil {
			break
		}
	}
	if err == nil {
		err = write()
	}
	c.cells, c.round = cells, c.round+1
	return err
}

// cellPair names two cells of a component after round rounds, first ≤ second.
type cellPair struct {
	component            blocks.Key
	round, first, second int
}

// candidate is a set of the first cell and a set of the second, by index.
type candidate struct{ i, j uint32 }

// append appends a pair of cells and its candidates; without candidates, all sets are to be compared.
func (c cellPair) append(block []byte, candidates []candidate) []byte {
	block = blocks.AppendKey(block, c.component)
	for _, n := range []int{c.round, c.first, c.second, len(candidates)} {
		block = blocks.AppendUint32(block, uint32(n))
	}
	for _, p := range candidates {
		block = blocks.AppendUint32(blocks.AppendUint32(block, p.i), p.j)
	}
	return block
}

// decodeCellPair decodes a pair of cells, and appends its candidates to dst.
func decodeCellPair(d *blocks.Decoder, dst []candidate) (c cellPair, candidates []candidate) {
	c = cellPair{component: d.Key(), round: int(d.Uint32()), first: int(d.Uint32()), second: int(d.Uint32())}
	for range d.Uint32() {
		dst = append(dst, candidate{d.Uint32(), d.Uint32()})
		if d.Err() != nil {
			break
		}
	}
	return c, dst
}

// hash returns the key that spreads pairs of cells over workers. Different pairs may have the same key.
func (c cellPair) hash() int64 {
	h := hash.Mix(hash.Mix(hash.Mix(uint64(c.component))+uint64(c.first)) + uint64(c.second))
	return int64(h >> 1)
}

// cellPairFn joins the two cells of each pair, or a cell with itself.
//
//	KV<cell pair's hash, cell pairs> → KV<component shard, near pairs>, KV<component, estimate>
type cellPairFn struct {
	Params Params

	in        *blocks.Inputs
	verifier  verifier.Verifier
	estimator *estimate.Estimator
}

func (f *cellPairFn) Setup(ctx context.Context) (err error) {
	f.verifier, f.estimator = f.Params.Verifier.New(), f.Params.Estimator()
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

// mostCandidates bounds the memory of candidates below that of the sets of two cells. Above it, all pairs of sets are
// compared.
const mostCandidates = 1 << 20

func (f *cellPairFn) ProcessElement(
	ctx context.Context, _ int64, values func(*[]byte) bool, emit, estimates func(int64, []byte),
) error {
	return eachPair(values, func(c cellPair, candidates []candidate) error {
		return f.join(ctx, c,
			candidates, emit, estimates)
	})
}

// eachPair calls do with each pair of cells of a group and its candidates, sorted by the second set. Without
// candidates, all sets are to be compared.
func eachPair(values func(*[]byte) bool, do func(cellPair, []candidate) error) error {
	pairs := map[cellPair][]candidate{} // more than one only if hashes collide
	var read []candidate
	err := gather.Each(values, func(d *blocks.Decoder) {
		var c cellPair
		c, read = decodeCellPair(d, read[:0])
		known, ok := pairs[c]
		switch {
		case len(read) == 0 || ok && len(known) == 0 || len(known)+len(read) > mostCandidates:
			pairs[c] = nil
		default:
			pairs[c] = append(known, read...)
		}
	})
	if err != nil {
		return err
	}
	for c, candidates := range pairs {
		slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.j, b.j), cmp.Compare(a.i, b.i)) })
		if err := do(c, slices.Compact(candidates)); err != nil { // several ranges may find one
			return err
		}
	}
	return nil
}

// join joins two cells or, if there are candidates, compares these.
func (f *cellPairFn) join(
	ctx context.Context, c cellPair, candidates []candidate, emit, estimates func(int64, []byte),
) error {
	hold := memory.NewHold(ctx)
	defer hold.Free()
	first, second, err := f.Params.sets(ctx, c, candidates, hold)
	if err != nil {
		return err
	}
	out := blocks.PairWriter{Key: f.Params.Shards.Shard(c.component), Emit: emit}
	keys, sets := slices.Concat(first.Keys, second.Keys), slices.Concat(first.Sets, second.Sets)
	apart := f.in.Apart(keys)
	f.estimator.Begin(sets)
	take := func(i, j, score int) bool {
		out.Add(keys[i], keys[j], score, f.verifier.Shared(score, sets[i], sets[j]),
			verifier.Matches(f.verifier, score, sets[i], sets[j]))
		f.estimator.Pair(i, j, score)
		return true
	}
	switch {
	case len(candidates) > 0:
		for _, p := range candidates {
			i, j := int(p.i), len(first.Sets)+int(p.j)
			if score, ok := f.verifier.Compare(sets[i], sets[j]); ok {
				take(i, j, score)
			}
			if f.in.IsReference(keys[i]) && f.in.IsReference(keys[j]) {
				referencesCompared.Inc(ctx, 1)
			}
		}
		pairsCompared.Inc(ctx, int64(len(candidates)))
	case c.first == c.second:
		representatives.Inc(ctx, int64(len(sets)))
		if countSelf(ctx, membersOf(f.in, f.verifier, second, apart)) {
			verifier.SelfJoin(f.verifier, sets, apart, take)
		}
	default:
		n := len(first.Sets)
		ofFirst, ofSecond := apart, apart
		if apart != nil {
			ofFirst, ofSecond = apart[:n], apart[n:]
		}
		if countCross(ctx, membersOf(f.in, f.verifier, first, ofFirst), membersOf(f.in, f.verifier, second, ofSecond)) {
			verifier.CrossJoin(f.verifier, first.Sets, second.Sets, apart,
				func(i, j, score int) bool { return take(i, n+j, score) })
		}
	}
	out.Flush()
	pairsFound.Inc(ctx, out.Written)
	estimates(int64(c.component), blocks.AppendEstimate(nil, EstimateOf(c.component, f.estimator)))
	return nil
}

// sets reads the sets of a pair of cells, or only those of candidates. If both cells are the same, its sets are
// returned as second, and also as first only if there are candidates.
func (p *Params) sets(
	ctx context.Context, c cellPair, candidates []candidate, hold *memory.Hold,
) (first, second blocks.Sets, err error) {
	var ofFirst, ofSecond []int
	for _, pair := range candidates {
		ofFirst, ofSecond = append(ofFirst, int(pair.i)), append(ofSecond, int(pair.j))
	}
	read := func(cell int, wanted []int) (blocks.Sets, error) {
		slices.Sort(wanted)
		return spool.Pick(ctx, p.file(c.component, c.round, cell), slices.Compact(wanted), hold)
	}
	if second, err = read(c.second, ofSecond); err == nil && (c.first != c.second || len(candidates) > 0) {
		first, err = read(c.first, ofFirst)
	}
	return first, second, err
}

// estimateFn adds up the estimates of a component's pairs of cells.
//
//	KV<component, estimates> → facts
type estimateFn struct{}

func (f *estimateFn) ProcessElement(_ int64, estimates func(*[]byte) bool, facts func([]byte)) error {
	var sum blocks.Estimate
	if err := gather.Each(estimates, func(d *blocks.Decoder) { sum.Add(d.Estimate()) }); err != nil {
		return err
	}
	return sum.EmitFact(facts)
}
