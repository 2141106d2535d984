package verify

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/verifier"
)

func init() { flow.Register[rareFn]() }

var (
	rarePostings   = beam.NewCounter("rare", "postings")
	rareCandidates = beam.NewCounter("rare", "candidates")
)

const (
	candidateBytes = 8
	postingBytes   = 20
	heldPosting    = 80 // memory of one that is being sorted
	// Making, sending and sorting a byte of postings costs as much as joining postingWeight bytes of sets. Reading
	// readWeight bytes of sets only for their candidates costs as much as joining one.
	postingWeight = 8
	readWeight    = 4
	// rangeBytes is the size of the postings that one call sorts.
	rangeBytes = 8 << 20
	// Up to fewCells cells are joined without estimating the costs, which would cost as much.
	fewCells = 16
)

// rare sends the postings of the sets' rare shingles if it costs less to find candidates by them than to join cells. It
// decides by a sample of shingles, and by cells of the usual size, so that the decision depends only on the input.
// Features that are not sets are joined in cells.
func (c *cells) rare(ctx context.Context, emit func(int64, []byte)) (bool, error) {
	usual := c.usual()
	v, ok := c.verifier.(verifier.Sets)
	if !ok || c.Way == Cells || c.Way == "" && len(usual) <= fewCells {
		return false, nil
	}
	if err := c.tables.Add(ctx, min(6*int64(c.shingles()), 64<<20)); err != nil {
		return false, err
	}
	common, sizes := setsim.NewFrequencies(c.shingles()), new(setsim.Sizes)
	err := c.numbered(ctx, func(_ uint32, _ blocks.Key, set []uint64) {
		common.Count(set)
		sizes.Add(len(set))
	})
	if err != nil {
		return false, err
	}
	prefixes := setsim.NewPrefixes(v.Jaccard(), common, sizes)
	cost := blocks.ShingleBytes * setsim.CellCost(usual, v.MinWords)
	most := cost / candidateBytes
	var sample setsim.RareSample
	err = c.numbered(ctx, func(number uint32, key blocks.Key, set []uint64) {
		sample.Add(prefixes, number, set, c.in.IsReference(key))
	})
	if err != nil {
		return false, err
	}
	work := sample.Work(v.Jaccard(), most)
	sets := min(cost, 2*work.Candidates*int64(blocks.ShingleBytes*c.shingles()/max(1, c.sets())))
	if c.Way == "" && postingWeight*postingBytes*work.Postings+candidateBytes*work.Candidates+sets/readWeight > cost {
		return false, nil
	}
	return true, c.send(ctx, prefixes, int(postingBytes*work.Postings/rangeBytes)+1, emit)
}

// usual returns the cells that there would be at the usual size.
func (c *cells) usual() (usual []setsim.Cell) {
	for _, cell := range cut(c.cells) {
		last := len(usual) - 1
		if last < 0 || blocks.ShingleBytes*(usual[last].Elements+cell.Elements) > c.PruneBytes {
			usual = append(usual, cell)
			continue
		}
		usual[last].Largest = cell.Largest
		usual[last].Elements += cell.Elements
	}
	return usual
}

// numbered calls do with all sets, numbered in the order of the cells.
func (c *cells) numbered(ctx context.Context, do func(number uint32, key blocks.Key, set []uint64)) error {
	number := uint32(0)
	return c.each(ctx, func(g blocks.Sets) error {
		for i, set := range g.Sets {
			do(number, g.Keys[i], set)
			number++
		}
		return nil
	})
}

// Kinds of values in a range.
const (
	rangeCells    = byte(iota) // numbers of cells, and of their first sets
	rangePostings              // postings of some sets
)

// send sends the postings of all sets, divided into this many ranges of hashes.
func (c *cells) send(ctx context.Context, prefixes *setsim.Prefixes, ranges int, emit func(int64, []byte)) error {
	keys, room := make([]int64, ranges), make([][]byte, ranges)
	for r := range ranges {
		keys[r] = int64(hash.Mix(hash.Mix(uint64(c.component))+uint64(r)) >> 1)
		block := blocks.AppendUint32(c.header(rangeCells), uint32(len(c.cells)))
		first := 0
		for _, cell := range c.cells {
			block = blocks.AppendUint32(blocks.AppendUint32(block, uint32(cell.Number)), uint32(first))
			first += cell.Sets
		}
		emit(keys[r], block)
	}
	flush := func(r int) {
		if room[r] != nil {
			emit(keys[r], room[r])
			room[r] = nil
		}
	}
	sent := int64(0)
	add := func(p setsim.RarePosting) {
		sent++
		r, _ := bits.Mul64(p.Hash, uint64(ranges))
		if room[r] == nil {
			room[r] = c.header(rangePostings)
		}
		block := blocks.AppendUint64(room[r], p.Hash)
		place := p.Place << 1
		if p.Apart {
			place |= 1
		}
		for _, n := range []uint32{p.Set, p.Size, place} {
			block = blocks.AppendUint32(block, n)
		}
		if room[r] = block; len(block) >= rangeBlock {
			flush(int(r))
		}
	}
	err := c.numbered(ctx, func(number uint32, key blocks.Key, set []uint64) {
		prefixes.Postings(number, set, c.in.IsReference(key), add)
	})
	for r := range ranges {
		flush(r)
	}
	rarePostings.Inc(ctx, sent)
	return err
}

// rangeBlock is the size of an element with postings.
const rangeBlock = 16 << 10

func (c *cells) header(kind byte) []byte {
	return blocks.AppendUint32(blocks.AppendKey([]byte{kind}, c.component), uint32(c.round))
}

// rareFn finds candidates by rare shingles.
//
//	KV<range's hash, postings> → KV<cell pair's hash, cell pair and candidates>
//
// It holds the postings of a range, and a bounded number of candidates.
type rareFn struct{ Params Params }

// rangeOf names the sets of a component after round rounds.
type rangeOf struct {
	component blocks.Key
	round     int
}

func (f *rareFn) ProcessElement(
	ctx context.Context, _ int64, values func(*[]byte) bool, emit func(int64, []byte),
) error {
	cells := map[rangeOf][]numberedCell{} // more than one only if hashes collide
	postings := map[rangeOf][]setsim.RarePosting{}
	hold := memory.NewHold(ctx)
	defer hold.Free()
	var block []byte
	for values(&block) {
		if err := hold.Add(ctx, heldPosting/postingBytes*int64(len(block))); err != nil {
			return err
		}
		d := blocks.NewDecoder(block)
		kind := d.Fixed(1)
		of := rangeOf{component: d.Key(), round: int(d.Uint32())}
		if d.Err() == nil && kind[0] == rangeCells {
			all := make([]numberedCell, 0, d.Left()/8)
			for range d.Uint32() {
				all = append(all, numberedCell{int(d.Uint32()), d.Uint32()})
			}
			cells[of] = all
		}
		for !d.Done() {
			p := setsim.RarePosting{Hash: d.Uint64(), Set: d.Uint32(), Size: d.Uint32()}
			place := d.Uint32()
			p.Place, p.Apart = place>>1, place&1 == 1
			postings[of] = append(postings[of], p)
		}
		if err := d.Err(); err != nil {
			return err
		}
	}
	t := f.Params.Verifier.New().(verifier.Sets).Jaccard() // only sets have postings
	for of, some := range postings {
		found := candidatesOf{of: of, cells: cells[of], pairs: map[cellPair][]candidate{}, emit: emit}
		setsim.Candidates(some, t, found.add)
		found.flush()
		rareCandidates.Inc(ctx, found.count)
	}
	return nil
}

// numberedCell is the number of a cell, and the number of its first set.
type numberedCell struct {
	number int
	first  uint32
}

// candidatesOf collects candidates by pair of cells.
type candidatesOf struct {
	of    rangeOf
	cells []numberedCell
	pairs map[cellPair][]candidate
	held  int
	count int64
	emit  func(int64, []byte)
}

const (
	// heldCandidates is the number of candidates of a range that are held before they are sent.
	heldCandidates = 1 << 19
	// sentCandidates is the maximum number in one element.
	sentCandidates = blocks.BlockBytes / candidateBytes
)

func (c *candidatesOf) add(i, j uint32) bool {
	first, second := c.cell(i), c.cell(j)
	if first.first > second.first { // sets of one size may come in either order
		first, second, i, j = second, first, j, i
	}
	pair := cellPair{component: c.of.component, round: c.of.round, first: first.number, second: second.number}
	c.pairs[pair] = append(c.pairs[pair], candidate{i - first.first, j - second.first})
	c.count++
	if c.held++; c.held == heldCandidates {
		c.flush()
	}
	return true
}

// cell returns the cell that contains a set.
func (c *candidatesOf) cell(set uint32) numberedCell {
	i, ok := slices.BinarySearchFunc(c.cells, set,
		func(c numberedCell, set uint32) int { return cmp.Compare(c.first, set) })
	if !ok {
		i--
	}
	return c.cells[i]
}

func (c *candidatesOf) flush() {
	for pair, candidates := range c.pairs {
		for some := range slices.Chunk(candidates, sentCandidates) {
			c.emit(pair.hash(), pair.append(nil, some))
		}
	}
	clear(c.pairs)
	c.held = 0
}
