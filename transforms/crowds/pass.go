package crowds

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/spool"
)

// passFn visits the sets of a crowd in the order of preference, lists pairs of each document with documents kept before
// it, and connects the clusters.
//
//	KV<component, batches> → KV<component shard, near pairs>, KV<component shard, links>
//
// It holds in memory a batch, a chunk of kept sets with their hits, a chunk of removed sets, and 16 bytes per set, or
// 32 with Nearest; to connect trees or find the nearest, it also holds two chunks and their index.
type passFn struct{ Params Params }

func (f *passFn) ProcessElement(
	ctx context.Context, component int64, batches func(*[]byte) bool, pairs, links func(int64, []byte),
) error {
	var order []int
	all, largest := 0, 0 // shingles
	err := gather.Each(batches, func(d *blocks.Decoder) {
		b := d.Batch()
		order, all, largest = append(order, b.Number), all+b.Shingles, max(largest, b.Largest)
	})
	if err != nil {
		return err
	}
	hold := memory.NewHold(ctx)
	defer hold.Free()
	const held = 4 // a batch, two chunks and an index
	chunk := min(blocks.ShingleBytes*all, f.Params.ChunkBytes+blocks.ShingleBytes*largest)
	if err := hold.Add(ctx, held*int64(chunk)); err != nil {
		return err
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(b/standingBatches, a/standingBatches), cmp.Compare(a, b))
	})
	crowd := blocks.Key(component)
	p := pass{Params: f.Params, verifier: f.Params.Verifier.New(), crowd: crowd, batches: order,
		out: blocks.PairWriter{Key: f.Params.Shards.Shard(crowd), Emit: pairs}}
	p.chunk = p.newChunk(blocks.Sets{})
	err = p.each(ctx, func(batch int, g blocks.Sets) error {
		switch standing := blocks.Standing(batch / standingBatches); standing {
		case blocks.Recalled:
			p.recalled(g)
			return nil
		case blocks.Reference, blocks.Settled:
			return p.references(ctx, g, standing == blocks.Reference)
		default:
			return p.batch(ctx, g, standing == blocks.Protected)
		}
	})
	if err == nil {
		err = p.connect(ctx)
	}
	if err == nil && p.Nearest {
		err = p.compareRemoved(ctx)
	}
	if err != nil {
		return err
	}
	p.out.Flush()
	crowdKept.Inc(ctx, int64(len(p.kept)))
	crowdChunks.Inc(ctx, int64(len(p.ends)))
	pairsListed.Inc(ctx, p.out.Written)
	pairsCompared.Inc(ctx, p.compared)
	p.link(links)
	return nil
}

// pass is the state of a pass over a crowd. Its sets are numbered in the order of preference.
type pass struct {
	Params
	verifier verifier.Verifier
	crowd    blocks.Key
	batches  []int
	out      blocks.PairWriter
	common   setsim.Frequencies // of the elements of the whole crowd, set once someKept sets are kept

	keys  []blocks.Key      // by number
	trees unionfind.Parents // by number: the trees that pairs connect

	nearest []nearest // by number: the most similar other set; nil if not wanted

	kept      []uint32 // numbers of the kept sets
	protected int      // number of sets, at the start of kept, that are kept in any case
	ends      []int    // for each chunk of kept sets in a file, the number of sets kept up to its end
	chunk     chunk    // sets kept since the last of these

	compared int64 // pairs of a document and a kept one

	removed numbered   // sets that are similar to a kept one, except those in files
	spooled [][]uint32 // for each file, the numbers of its sets
}

// each calls do with the sets of each batch.
func (p *pass) each(ctx context.Context, do func(batch int, g blocks.Sets) error) error {
	for _, b := range p.batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		g, err := spool.Read(ctx, spool.BatchFile(p.Temp, p.crowd, b))
		if err == nil {
			err = do(b, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chunk is an indexed group of kept sets.
type chunk struct {
	kept    blocks.Sets
	unlike  map[uint64]int // number of kept sets by the value that a rule forbids similar documents to share
	index   verifier.Index
	finders []verifier.Finder // one per core
}

func (p *pass) newChunk(kept blocks.Sets) chunk {
	c := chunk{kept: kept, unlike: map[uint64]int{}}
	c.setIndex(verifier.NewIndex(p.verifier, &p.common))
	for _, set := range kept.Sets {
		c.count(p.verifier, set)
	}
	return c
}

func (c *chunk) count(v verifier.Verifier, set []uint64) {
	if value, ok := verifier.Unlike(v, set); ok {
		c.unlike[value]++
	}
}

// compared returns the number of kept sets that a set is compared with.
func (c *chunk) compared(v verifier.Verifier, set []uint64) int64 {
	same := 0
	if value, ok := verifier.Unlike(v, set); ok {
		same = c.unlike[value]
	}
	return int64(len(c.kept.Keys) - same)
}

// setIndex sets the chunk's index, and adds the kept sets to it.
func (c *chunk) setIndex(index verifier.Index) {
	c.index = index
	for _, set := range c.kept.Sets {
		index.Add(set)
	}
	c.finders = c.finders[:0]
	for range runtime.GOMAXPROCS(0) {
		c.finders = append(c.finders, index.Finder())
	}
}

// aheadPerCore is the number of sets per core that are compared with the kept sets before the pass decides which of
// them to keep.
const aheadPerCore = 16

// hit is a kept set of the chunk that is similar to the set compared.
type hit struct{ kept, score int }

const hitBytes = 16

// similar yields the hits of sets, several sets at a time, with the index of the first of them. It compares each group
// with the sets that the chunk holds by then.
func (c *chunk) similar(sets [][]uint64, mostHits int) iter.Seq2[int, [][]hit] {
	return func(yield func(int, [][]hit) bool) {
		for start := 0; start < len(sets); {
			hits := c.compare(sets[start:min(start+aheadPerCore*len(c.finders), len(sets))], mostHits)
			if !yield(start, hits) {
				return
			}
			start += len(hits)
		}
	}
}

// compare returns the hits of the first sets: of all, unless there are very many hits. All cores take part, and none
// begins another set once there are mostHits.
func (c *chunk) compare(sets [][]uint64, mostHits int) [][]hit {
	hits := make([][]hit, len(sets))
	var begun, found atomic.Int64
	var group parallel.Group
	for _, finder := range c.finders {
		group.Go(func() {
			for found.Load() < int64(mostHits) {
				i := int(begun.Add(1)) - 1
				if i >= len(sets) {
					return
				}
				finder.Similar(sets[i], 0, func(k, score int) { hits[i] = append(hits[i], hit{k, score}) })
				found.Add(int64(len(hits[i])))
			}
		})
	}
	group.Wait()
	return hits[:min(int(begun.Load()), len(sets))]
}

// bytes returns the approximate size of the chunk and its finders. Each finder may find all kept sets at once.
func (c *chunk) bytes() int {
	n := c.index.Bytes() + len(c.finders)*hitBytes*len(c.kept.Keys)
	for _, finder := range c.finders {
		n += finder.Bytes()
	}
	return n
}

func (c *chunk) add(key blocks.Key, set []uint64) {
	set = slices.Clone(set) // so that its whole batch is not retained
	c.kept.Keys, c.kept.Sets = append(c.kept.Keys, key), append(c.kept.Sets, set)
	c.index.Add(set)
}

// numbered is sets with their numbers.
type numbered struct {
	sets    blocks.Sets
	numbers []uint32
	bytes   int // of the sets
}

// only returns the sets whose numbers satisfy asked.
func (n numbered) only(asked func(number uint32) bool) (some numbered) {
	for i, number := range n.numbers {
		if asked(number) {
			some.numbers, some.sets.Sets = append(some.numbers, number), append(some.sets.Sets, n.sets.Sets[i])
		}
	}
	return some
}

// maxListed is the maximum number of kept neighbours listed per document: the first ones in the order of preference.
// The most similar one is always listed.
const maxListed = 64

// match describes a document's pairs with kept documents.
type match struct {
	pairs         int
	key           blocks.Key // of the most similar kept document
	score, shared int
	rules         []float64 // similarities by the rules
	similarity    float64
	protected     bool
	unlisted      bool
}

// nearest is a set that is similar to another.
type nearest struct {
	number     uint32
	similarity float64
}

// note records that two sets are similar, if Nearest is set.
func (p *pass) note(a, b uint32, similarity float64) {
	if !p.Nearest {
		return
	}
	for _, of := range [][2]uint32{{a, b}, {b, a}} {
		if n := &p.nearest[of[0]]; similarity > n.similarity {
			*n = nearest{of[1], similarity}
		}
	}
}

func (p *pass) similarity(a, b []uint64, score int, rules []float64) float64 {
	return p.Verifier.Similarity(p.verifier, score, p.verifier.Size(a), p.verifier.Size(b), rules)
}

// number gives a set the next number.
func (p *pass) number(key blocks.Key) uint32 {
	number := uint32(len(p.keys))
	p.keys, p.trees = append(p.keys, key), append(p.trees, number)
	if p.Nearest {
		p.nearest = append(p.nearest, nearest{})
	}
	return number
}

// recalled numbers the sets of the next batch, which are compared with none.
func (p *pass) recalled(g blocks.Sets) {
	for _, key := range g.Keys {
		p.number(key)
	}
}

// references keeps all sets of the next batch, which are not compared with one another.
func (p *pass) references(ctx context.Context, g blocks.Sets, protected bool) error {
	for i, key := range g.Keys {
		number := p.number(key)
		if protected {
			p.protected++
		}
		if err := p.keep(ctx, number, key, g.Sets[i]); err != nil {
			return err
		}
		if err := p.spill(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isFull reports whether the chunk must be written to a file.
func (p *pass) isFull() bool { return p.chunk.bytes() >= p.ChunkBytes }

// spill writes the chunk to a file if it is full.
func (p *pass) spill(ctx context.Context) error {
	if !p.isFull() {
		return nil
	}
	if err := spool.Write(ctx, p.Temp, p.chunkFile("kept", len(p.ends)), p.chunk.kept); err != nil {
		return err
	}
	p.ends = append(p.ends, len(p.kept))
	p.chunk = p.newChunk(blocks.Sets{})
	return nil
}

// batch visits the sets of the next batch; protected says whether they are all protected.
func (p *pass) batch(ctx context.Context, g blocks.Sets, protected bool) error {
	matches := make([]match, len(g.Keys))
	first := len(p.keys) // number of the batch's first set
	for _, key := range g.Keys {
		p.number(key)
	}
	before := 0 // sets kept in earlier chunks
	add := func(c *chunk, i, k, score int) {
		m := &matches[i]
		m.pairs++
		p.unite(p.kept[before+k], uint32(first+i))
		kept, set := c.kept.Sets[k], g.Sets[i]
		shared, rules := p.verifier.Shared(score, kept, set), verifier.Matches(p.verifier, score, kept, set)
		if m.pairs <= maxListed {
			p.out.Add(c.kept.Keys[k], g.Keys[i], score, shared, rules)
		}
		s := p.similarity(kept, set, score, rules)
		p.note(p.kept[before+k], uint32(first+i), s)
		if p.Verifier.LargerStays() && p.verifier.Size(kept) < p.verifier.Size(set) { // kept is a smaller reference
			return
		}
		// Decide as survivors.Star does: protected documents precede others, and the earliest of equals wins.
		isProtected := before+k < p.protected
		if s > m.similarity && (isProtected || !m.protected) {
			*m = match{pairs: m.pairs, protected: isProtected, key: c.kept.Keys[k], score: score, shared: shared, rules: rules,
				similarity: s, unlisted: m.pairs > maxListed}
		}
	}
	// against adds the pairs of the sets, starting at from, with the kept sets of a complete chunk.
	against := func(c *chunk, from int) error {
		for start, some := range c.similar(g.Sets[from:], p.mostHits()) {
			if err := ctx.Err(); err != nil {
				return err
			}
			for i, hits := range some {
				p.compared += c.compared(p.verifier, g.Sets[from+start+i])
				for _, h := range hits {
					add(c, from+start+i, h.kept, h.score)
				}
			}
		}
		before += len(c.kept.Keys)
		return nil
	}
	for n := range p.ends {
		kept, err := spool.Read(ctx, p.chunkFile("kept", n))
		if err != nil {
			return err
		}
		c := p.newChunk(kept)
		if err := against(&c, 0); err != nil {
			return err
		}
	}
	for start, some := range p.chunk.similar(g.Sets, p.mostHits()) {
		if err := ctx.Err(); err != nil {
			return err
		}
		known := len(p.chunk.kept.Keys)
		for i, hits := range some {
			i += start
			for _, h := range hits {
				add(&p.chunk, i, h.kept, h.score)
			}
			p.chunk.finders[0].Similar(g.Sets[i], known, func(k, score int) { add(&p.chunk, i, k, score) })
			p.compared += p.chunk.compared(p.verifier, g.Sets[i])
			key, m := g.Keys[i], &matches[i]
			if m.unlisted {
				p.out.Add(m.key, key, m.score, m.shared, m.rules)
			}
			settle := p.remove
			if m.similarity == 0 || protected {
				settle = p.keep
			}
			if protected {
				p.protected++
			}
			if err := settle(ctx, uint32(first+i), key, g.Sets[i]); err != nil {
				return err
			}
		}
		if !p.isFull() {
			continue
		}
		if err := against(&p.chunk, start+len(some)); err != nil {
			return err
		}
		if err := p.spill(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mostHits returns the number of hits at which a comparison of several sets stops.
func (p *pass) mostHits() int { return max(1, p.ChunkBytes/8/hitBytes) }

// someKept is the number of kept sets at which the common elements of the crowd are counted. A crowd around one
// template keeps fewer, and needs no count.
const someKept = 4

// keep adds a set to the kept ones.
func (p *pass) keep(ctx context.Context, number uint32, key blocks.Key, set []uint64) error {
	p.chunk.add(key, set)
	p.chunk.count(p.verifier, set)
	p.kept = append(p.kept, number)
	if _, sets := verifier.AsSets(p.verifier); !sets || len(p.kept) != someKept {
		return nil
	}
	err := p.each(ctx, func(_ int, g blocks.Sets) error {
		for _, set := range g.Sets {
			p.common.Count(verifier.Own(p.verifier, set))
		}
		return nil
	})
	var kept [][]uint64
	for _, set := range p.chunk.kept.Sets {
		kept = append(kept, verifier.Own(p.verifier, set))
	}
	p.common.Template(kept)
	p.chunk.setIndex(verifier.NewIndex(p.verifier, &p.common))
	return err
}

// unite joins the trees of two sets; the smaller number becomes the root.
func (p *pass) unite(a, b uint32) {
	a, b = p.trees.Root(a), p.trees.Root(b)
	p.trees[max(a, b)] = min(a, b)
}

// remove sets aside a set that is similar to a kept one.
func (p *pass) remove(ctx context.Context, number uint32, key blocks.Key, set []uint64) error {
	r := &p.removed
	r.sets.Keys, r.sets.Sets, r.numbers = append(r.sets.Keys, key), append(r.sets.Sets, slices.Clone(set)),
		append(r.numbers, number)
	if r.bytes += blocks.ShingleBytes * len(set); r.bytes < p.ChunkBytes {
		return nil
	}
	if err := spool.Write(ctx, p.Temp, p.chunkFile("removed", len(p.spooled)), r.sets); err != nil {
		return err
	}
	p.spooled = append(p.spooled, r.numbers)
	p.removed = numbered{}
	return nil
}

// smallTree is the maximum size of a small tree, whose sets are compared with all others one by one.
const smallTree = 64

// connect finds the pairs that connect the trees left so far: pairs of two removed sets, or of a removed set and one
// kept later. In many crowds, a single tree is left and there is nothing to do. A crowd of variants below the threshold
// has one large tree and many small ones.
func (p *pass) connect(ctx context.Context) error {
	sizes := make([]int, len(p.trees))
	largest := uint32(0)
	for n := range p.trees {
		root := p.trees.Root(uint32(n))
		if sizes[root]++; sizes[root] > sizes[largest] {
			largest = root
		}
	}
	small, large := make([]bool, len(p.trees)), make(map[uint32]bool)
	trees := 0
	for n := range p.trees {
		root := p.trees.Root(uint32(n))
		small[n] = root != largest && sizes[root] <= smallTree
		if !small[n] {
			large[root] = true
		}
		if root == uint32(n) {
			trees++
		}
	}
	if trees <= 1 {
		return nil
	}
	if err := p.connectSmall(ctx, small, largest, len(large) == 1); err != nil {
		return err
	}
	left := map[uint32]bool{}
	for root := range large {
		left[p.trees.Root(root)] = true
	}
	return p.connectLarge(ctx, small, len(left))
}

// connectSmall compares the sets of small trees with all others. If only is set, the largest tree is the only one that
// is not small; then sets that have joined it are not compared: a pair with a set outside it is found from that set, or
// was found before they joined.
func (p *pass) connectSmall(ctx context.Context, small []bool, largest uint32, only bool) error {
	files, removed := len(p.spooled)+1+len(p.ends)+1, len(p.spooled)+1
	asks := func(number uint32) bool {
		return small[number] && (!only || p.trees.Root(number) != p.trees.Root(largest))
	}
	for i := range files {
		var c chunk
		var indexed []uint32
		for j := range files {
			// Kept sets are not similar to one another.
			if i >= removed && j >= removed || !slices.ContainsFunc(p.numbers(j), asks) {
				continue
			}
			if indexed == nil {
				all, err := p.file(ctx, i)
				if err != nil {
					return err
				}
				c, indexed = p.newChunk(all.sets), all.numbers
			}
			err := p.eachHit(ctx, &c, j, asks, func(number uint32, _ []uint64, h hit) {
				p.unite(indexed[h.kept], number)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// eachHit calls found with each hit of c among the sets of a file whose numbers satisfy asks.
func (p *pass) eachHit(
	ctx context.Context, c *chunk, file int, asks func(uint32) bool, found func(number uint32, set []uint64, h hit),
) error {
	all, err := p.file(ctx, file)
	if err != nil {
		return err
	}
	some := all.only(asks)
	for start, group := range c.similar(some.sets.Sets, p.mostHits()) {
		if err := ctx.Err(); err != nil {
			return err
		}
		for k, hits := range group {
			for _, h := range hits {
				found(some.numbers[start+k], some.sets.Sets[start+k], h)
			}
		}
	}
	return nil
}

// connectLarge connects trees by the sets that were in no small tree; trees is the number of trees left.
func (p *pass) connectLarge(ctx context.Context, small []bool, trees int) error {
	large := func(number uint32) bool { return !small[number] }
	for i := range len(p.spooled) + 1 {
		if trees <= 1 {
			break
		}
		removed, err := p.file(ctx, i)
		if err != nil {
			return err
		}
		removed = removed.only(large)
		for j := range len(p.spooled) + 1 + len(p.ends) + 1 {
			if trees <= 1 || j >= i && j <= len(p.spooled) {
				continue
			}
			other, err := p.file(ctx, j)
			if err != nil {
				return err
			}
			other = other.only(large)
			all := slices.Concat(removed.sets.Sets, other.sets.Sets)
			numbers := slices.Concat(removed.numbers, other.numbers)
			roots, kept := make([]uint32, len(numbers)), make([]bool, len(numbers))
			for k, n := range numbers {
				roots[k] = p.trees.Root(n)
				_, kept[k] = slices.BinarySearch(p.kept, n)
			}
			verifier.Connect(p.verifier, all, roots, kept, func(x, y int) {
				p.unite(numbers[x], numbers[y])
				trees--
			})
		}
	}
	return nil
}

// compareRemoved compares kept sets with those removed before them, to find their nearest sets.
func (p *pass) compareRemoved(ctx context.Context) error {
	removed := len(p.spooled) + 1
	for i := range len(p.ends) + 1 {
		kept, err := p.file(ctx, removed+i)
		if err != nil {
			return err
		}
		c := p.newChunk(kept.sets)
		earlier := func(number uint32) bool {
			return len(kept.numbers) > 0 && number < kept.numbers[len(kept.numbers)-1]
		}
		for j := range removed {
			if !slices.ContainsFunc(p.numbers(j), earlier) {
				continue
			}
			err := p.eachHit(ctx, &c, j, earlier, func(number uint32, set []uint64, h hit) {
				other := kept.sets.Sets[h.kept]
				rules := verifier.Matches(p.verifier, h.score, other, set)
				p.note(kept.numbers[h.kept], number, p.similarity(other, set, h.score, rules))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers returns the numbers of the sets in a file. Files of removed sets come first, then the removed sets in memory,
// then files of kept sets, then the chunk.
func (p *pass) numbers(file int) []uint32 {
	switch n := len(p.spooled); {
	case file < n:
		return p.spooled[file]
	case file == n:
		return p.removed.numbers
	default:
		return p.kept[p.begins(file-n-1):p.begins(file-n)]
	}
}

// begins returns the number of sets kept in earlier chunks.
func (p *pass) begins(chunk int) int {
	switch {
	case chunk == 0:
		return 0
	case chunk <= len(p.ends):
		return p.ends[chunk-1]
	default:
		return len(p.kept)
	}
}

// file returns the sets of a file, as numbers counts files.
func (p *pass) file(ctx context.Context, file int) (numbered, error) {
	var sets blocks.Sets
	err := ctx.Err()
	switch n := len(p.spooled); {
	case file < n:
		sets, err = spool.Read(ctx, p.chunkFile("removed", file))
	case file == n:
		sets = p.removed.sets
	case file-n-1 < len(p.ends):
		sets, err = spool.Read(ctx, p.chunkFile("kept", file-n-1))
	default:
		sets = p.chunk.kept
	}
	return numbered{sets: sets, numbers: p.numbers(file)}, err
}

// link emits the links that connect each tree, and those between kept sets and the most similar other ones.
func (p *pass) link(emit func(int64, []byte)) {
	out := blocks.PairWriter{Key: p.out.Key, Emit: emit}
	for n, key := range p.keys {
		if root := p.trees.Root(uint32(n)); root != uint32(n) {
			out.Add(p.keys[root], key, 0, 0, nil)
		}
	}
	if p.Nearest {
		for _, n := range p.kept {
			if of := p.nearest[n]; of.similarity > 0 {
				out.Add(p.keys[n], p.keys[of.number], verifier.ScoreOf(of.similarity), 0, nil)
			}
		}
	}
	out.Flush()
}
