// Package crowds finds crowds, components with more pairs than the budget, and lists for each of their
// documents some pairs with kept documents only.
package crowds

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/sets"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[splitFn]())
	beam.RegisterDoFn(reflect.TypeFor[turnsFn]())
	beam.RegisterDoFn(reflect.TypeFor[batchFn]())
	beam.RegisterDoFn(reflect.TypeFor[passFn]())
	register.Emitter1[[]byte]()
	register.Emitter2[int64, []byte]()
	register.Iter1[[]byte]()
}

var (
	crowdsFound = beam.NewCounter("crowds", "crowds")
	crowdKept   = beam.NewCounter("crowds", "kept")
	pairsListed = beam.NewCounter("crowds", "pairs")
	crowdChunks = beam.NewCounter("crowds", "kept_chunks_on_disk")
)

// Params say what a crowd is, and bound the work on one.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs    string
	Threshold setsim.Threshold
	// PairBudget is the number of pairs above which a component is a crowd.
	PairBudget int
	// ChunkBytes is the size of the sets of a batch, and of a chunk of the kept ones that it is
	// compared with. The result does not depend on it.
	ChunkBytes int
	Shards     sets.ComponentShards
	// Temp is the folder for the sets of crowds.
	Temp string
}

// folder is where batches and chunks are.
func (p *Params) folder() string { return storage.Join(p.Temp, "crowds") }

// Found is what is known of large components.
type Found struct {
	// Pairs are all of a component that is no crowd and, of a crowd, for each document some with those
	// kept before it.
	Pairs flow.NearPairs
	// Links connect the clusters of crowds as all their pairs would.
	Links flow.Links
	// Facts name the crowds, and estimate how many pairs the other components have.
	Facts flow.Facts
	// Turns are those of all representatives in crowds.
	Turns flow.Turns
}

// List lists the pairs of large components.
//
//	KV<document, set part>, KV<component, profiles>, KV<component, near pairs>, KV<component, estimate> →
//	KV<component shard, near pairs>, KV<component shard, links>, facts, KV<document, turn>
//
// The sets of a crowd are written to files in the order of preference, and one call visits them
// as survivors.Star does. One CoGroupByKey; for the sets another one and two GroupByKeys.
func List(s beam.Scope, f sets.Features, pairs flow.LargePairs, estimates flow.Estimates, p Params) Found {
	s = s.Scope("crowds.List")
	found := splitCrowds(s, f.LargeProfiles, pairs, estimates, p)
	kept := passThrough(s, f.LargeSets, found.Turns, p)
	found.Pairs = flow.Flatten(s, found.Pairs, kept)
	return found
}

// splitCrowds tells crowds from other components.
//
//	KV<component, profiles>, KV<component, near pairs>, KV<component, estimate> →
//	KV<component shard, near pairs>, KV<component shard, links>, facts, KV<document, turn>
//
// The pairs of a component that is no crowd pass unchanged. Those of a crowd depend on how it was cut
// into cells, so they become links; its representatives get their turns.
func splitCrowds(s beam.Scope, profiles flow.LargeProfiles, pairs flow.LargePairs, estimates flow.Estimates, p Params) Found {
	s = s.Scope("Split")
	whole, links, facts, turns := beam.ParDo4(s, &splitFn{Params: p},
		beam.CoGroupByKey(s, beam.PCollection(profiles), beam.PCollection(pairs), beam.PCollection(estimates)))
	return Found{Pairs: flow.NearPairs(whole), Links: flow.Links(links), Facts: flow.Facts(facts), Turns: flow.Turns(turns)}
}

// splitFn tells crowds from other components; see splitCrowds for the shapes.
type splitFn struct {
	Params Params

	in *blocks.Inputs
}

func (f *splitFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *splitFn) ProcessElement(ctx context.Context, component int64, profiles, pairs, estimates func(*[]byte) bool, whole, links func(int64, []byte), facts func([]byte), turns func(int64, []byte)) error {
	shard := f.Params.Shards.Shard(blocks.Key(component))
	forest, held, err := f.read(pairs)
	if err != nil {
		return err
	}
	if forest == nil {
		for _, block := range held {
			whole(shard, block)
		}
		var sum blocks.Estimate
		if err := gather.Each(estimates, func(d *blocks.Decoder) { sum.Add(d.Estimate()) }); err != nil {
			return err
		}
		return sum.Whole().EmitFact(facts)
	}
	out := blocks.PairWriter{Key: shard, Emit: links}
	for key, root := range forest.All() {
		if key != root {
			out.Add(blocks.Key(root), blocks.Key(key), 0)
		}
	}
	out.Flush()
	order, _, err := sets.Representatives(profiles, f.in.Preferred)
	if err != nil {
		return err
	}
	slices.SortFunc(order, func(a, b sets.Representative) int { return f.in.Preferred(&a.Best, &b.Best) })
	crowdsFound.Inc(ctx, 1)
	sent := 0
	for i, r := range order {
		turn := turn{crowd: blocks.Key(component), batch: sent / f.Params.ChunkBytes, number: i}
		turns(int64(r.Key), turn.append(nil))
		sent += blocks.ShingleBytes * r.Size
	}
	return blocks.Fact{
		Kind: blocks.FactCrowd, Name: fmt.Sprint(component),
		Counts: map[string]int64{blocks.CountRepresentatives: int64(len(order))},
	}.Emit(facts)
}

// read returns the blocks of a component's pairs or, of a crowd, the forest that they connect.
func (f *splitFn) read(pairs func(*[]byte) bool) (forest *unionfind.Forest, held [][]byte, err error) {
	forest = &unionfind.Forest{}
	var near []blocks.NearPair
	count, crowd := 0, false
	var block []byte
	for pairs(&block) {
		if near, err = blocks.DecodeNearPairs(near[:0], block); err != nil {
			return nil, nil, err
		}
		count += len(near)
		for _, n := range near {
			crowd = crowd || n.A == n.B // the mark of verify: a pair of cells exceeds the budget
			forest.Union(int64(n.A), int64(n.B))
		}
		if crowd = crowd || count > f.Params.PairBudget; crowd {
			held = nil
			continue
		}
		held, block = append(held, block), nil
	}
	if !crowd {
		return nil, held, nil
	}
	return forest, nil, nil
}

// turn says when the pass visits a representative of a crowd: its number in the order of preference,
// and the batch of sets that has it.
type turn struct {
	crowd         blocks.Key
	batch, number int
}

func (t turn) append(block []byte) []byte {
	block = blocks.AppendKey(block, t.crowd)
	return blocks.AppendUint32(blocks.AppendUint32(block, uint32(t.batch)), uint32(t.number))
}

func decodeTurn(d *blocks.Decoder) turn {
	return turn{crowd: d.Key(), batch: int(d.Uint32()), number: int(d.Uint32())}
}

// passThrough lists the pairs of crowds with a kept document.
//
//	KV<document, set part>, KV<document, turn> → KV<component shard, near pairs>
func passThrough(s beam.Scope, large flow.LargeSets, turns flow.Turns, p Params) flow.NearPairs {
	s = s.Scope("Pass")
	ordered := beam.ParDo(s, &turnsFn{}, beam.CoGroupByKey(s, beam.PCollection(large), beam.PCollection(turns)))
	files := beam.ParDo(s, &batchFn{Params: p}, beam.GroupByKey(s, ordered))
	return flow.NearPairs(beam.ParDo(s, &passFn{Params: p}, beam.GroupByKey(s, files)))
}

// turnsFn sends the sets of crowds to their batches.
//
//	KV<document, set parts, turns> → KV<batch's hash, turn and set part>
type turnsFn struct{}

func (f *turnsFn) ProcessElement(_ int64, parts, turns func(*[]byte) bool, emit func(int64, []byte)) error {
	var prefix, block []byte
	if !turns(&prefix) {
		return nil // a copy, or in no crowd
	}
	d := blocks.NewDecoder(prefix)
	t := decodeTurn(d)
	if err := d.Err(); err != nil {
		return err
	}
	batch := int64(hash.Mix(hash.Mix(uint64(t.crowd))+uint64(t.batch)) >> 1)
	for parts(&block) {
		emit(batch, slices.Concat(prefix, block))
	}
	return nil
}

// batchFn writes batches of crowds' sets to files, in the order of their turns.
//
//	KV<batch's hash, turns and set parts> → KV<component, number of a batch>
type batchFn struct{ Params Params }

func (f *batchFn) ProcessElement(ctx context.Context, _ int64, values func(*[]byte) bool, emit func(int64, []byte)) error {
	type content struct {
		parts   [][]byte
		numbers map[blocks.Key]int // of the turns
	}
	contents := map[turn]*content{} // of number 0; more than one only if hashes collide
	var value []byte
	for values(&value) {
		d := blocks.NewDecoder(value)
		t := decodeTurn(d)
		part := value[len(value)-d.Left():]
		key := d.SetPart().Key
		if err := d.Err(); err != nil {
			return err
		}
		of := turn{crowd: t.crowd, batch: t.batch}
		if contents[of] == nil {
			contents[of] = &content{numbers: map[blocks.Key]int{}}
		}
		contents[of].parts = append(contents[of].parts, part)
		contents[of].numbers[key] = t.number
		value = nil
	}
	for of, c := range contents {
		g, err := blocks.AssembleSets(c.parts)
		if err != nil {
			return err
		}
		order := make([]int, len(g.Keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(c.numbers[g.Keys[i]], c.numbers[g.Keys[j]]) })
		var ordered blocks.Sets
		for _, i := range order {
			ordered.Keys, ordered.Sets = append(ordered.Keys, g.Keys[i]), append(ordered.Sets, g.Sets[i])
		}
		if err := writeSets(ctx, f.Params.Temp, f.Params.batchFile(of.crowd, of.batch), ordered); err != nil {
			return err
		}
		emit(int64(of.crowd), blocks.AppendUint32(nil, uint32(of.batch)))
	}
	return nil
}

func (p *Params) batchFile(crowd blocks.Key, batch int) string {
	return storage.Join(p.folder(), fmt.Sprintf("%d-%d", int64(crowd), batch))
}

// keptFile is that of a chunk of a crowd's kept sets.
func (p *Params) keptFile(crowd blocks.Key, chunk int) string {
	return storage.Join(p.folder(), fmt.Sprintf("%d-kept-%d", int64(crowd), chunk))
}

// writeSets writes sets to a file below the folder temp, for readSets.
func writeSets(ctx context.Context, temp, name string, sets blocks.Sets) error {
	_, err := storage.WriteBelow(ctx, temp, name, sets.Write)
	return err
}

func readSets(ctx context.Context, name string) (blocks.Sets, error) {
	data, err := storage.ReadFile(ctx, name)
	if err != nil {
		return blocks.Sets{}, err
	}
	return blocks.DecodeSets(data)
}

// passFn visits the sets of a crowd in the order of preference, and lists the pairs of each document
// with those kept before it. It holds a batch and a chunk of the kept in memory.
//
//	KV<component, numbers of batches> → KV<component shard, near pairs>
type passFn struct{ Params Params }

func (f *passFn) ProcessElement(ctx context.Context, component int64, numbers func(*[]byte) bool, emit func(int64, []byte)) error {
	var order []int
	if err := gather.Each(numbers, func(d *blocks.Decoder) { order = append(order, int(d.Uint32())) }); err != nil {
		return err
	}
	slices.Sort(order)
	crowd := blocks.Key(component)
	p := pass{Params: f.Params, crowd: crowd, out: blocks.PairWriter{Key: f.Params.Shards.Shard(crowd), Emit: emit}}
	p.chunk = p.newChunk()
	each := func(do func(blocks.Sets) error) error {
		for _, b := range order {
			if err := ctx.Err(); err != nil {
				return err
			}
			g, err := readSets(ctx, p.batchFile(crowd, b))
			if err == nil {
				err = do(g)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := each(func(g blocks.Sets) error {
		for _, set := range g.Sets {
			p.common.Count(set)
		}
		return nil
	})
	if err == nil {
		err = each(func(g blocks.Sets) error { return p.batch(ctx, g) })
	}
	if err != nil {
		return err
	}
	p.out.Flush()
	crowdKept.Inc(ctx, p.kept)
	crowdChunks.Inc(ctx, int64(p.full))
	pairsListed.Inc(ctx, p.out.Written)
	return nil
}

// pass is the state of going through a crowd.
type pass struct {
	Params
	crowd  blocks.Key
	out    blocks.PairWriter
	full   int   // chunks of kept sets that were written to files
	chunk  chunk // those kept since
	kept   int64
	common setsim.Frequencies // of the elements of the whole crowd
}

// chunk is kept sets with an index.
type chunk struct {
	kept  blocks.Sets
	index *setsim.Index
}

func (p *pass) newChunk() chunk { return chunk{index: setsim.NewIndex(p.Threshold, &p.common)} }

func (c *chunk) add(key blocks.Key, set []uint64) {
	c.kept.Keys, c.kept.Sets = append(c.kept.Keys, key), append(c.kept.Sets, set)
	c.index.Add(set)
}

// maxListed is how many kept neighbours are listed per document, first in the order of preference; the
// most similar is always listed too.
const maxListed = 64

// match is what is known of a document's pairs with kept ones.
type match struct {
	pairs      int
	key        blocks.Key // of the most similar
	shared     int
	similarity float64
	unlisted   bool
}

// batch visits the sets of the next batch.
func (p *pass) batch(ctx context.Context, g blocks.Sets) error {
	matches := make([]match, len(g.Keys))
	compare := func(c *chunk, i int) {
		m := &matches[i]
		c.index.Similar(g.Sets[i], func(k, shared int) {
			m.pairs++
			if m.pairs <= maxListed {
				p.out.Add(c.kept.Keys[k], g.Keys[i], shared)
			}
			// As survivors.Star decides: of equals the earliest.
			if s := setsim.Similarity(shared, len(c.kept.Sets[k]), len(g.Sets[i])); s > m.similarity {
				*m = match{pairs: m.pairs, key: c.kept.Keys[k], shared: shared, similarity: s, unlisted: m.pairs > maxListed}
			}
		})
	}
	for n := range p.full {
		if err := ctx.Err(); err != nil {
			return err
		}
		kept, err := readSets(ctx, p.keptFile(p.crowd, n))
		if err != nil {
			return err
		}
		c := p.newChunk()
		for i, key := range kept.Keys {
			c.add(key, kept.Sets[i])
		}
		for i := range g.Keys {
			compare(&c, i)
		}
	}
	for i, key := range g.Keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		compare(&p.chunk, i)
		switch m := &matches[i]; {
		case m.pairs == 0:
			p.chunk.add(key, g.Sets[i])
			p.kept++
		case m.unlisted:
			p.out.Add(m.key, key, m.shared)
		}
	}
	if p.chunk.index.Bytes() < p.ChunkBytes {
		return nil
	}
	if err := writeSets(ctx, p.Temp, p.keptFile(p.crowd, p.full), p.chunk.kept); err != nil {
		return err
	}
	p.full++
	p.chunk = p.newChunk()
	return nil
}
