package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/unionfind"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[tallyFn]())
	beam.RegisterDoFn(reflect.TypeFor[rankedFn]())
	beam.RegisterDoFn(reflect.TypeFor[spoolFn]())
	beam.RegisterDoFn(reflect.TypeFor[passFn]())
	register.Emitter1[[]byte]()
}

var (
	crowdsFound = beam.NewCounter("crowds", "crowds")
	crowdKept   = beam.NewCounter("crowds", "kept")
	crowdChunks = beam.NewCounter("crowds", "kept_chunks_on_disk")
)

// tally finds the crowds among large components.
//
//	KV<component, profiles>, KV<component, near pairs>, KV<component, estimate> →
//	KV<group, near pairs>, KV<group, links>, facts, KV<document, rank>
//
// The pairs of what is no crowd go on as they are. Those of a crowd depend on how it was cut, so
// they only connect its clusters; its representatives are ranked by preference.
func tally(s beam.Scope, profiles, pairs, estimates beam.PCollection, p Params) (whole, links, facts, ranks beam.PCollection) {
	s = s.Scope("Tally")
	return beam.ParDo4(s, &tallyFn{Inputs: p.Inputs, PairBudget: p.PairBudget, BlockBytes: p.ChunkBytes, Groups: p.Groups}, beam.CoGroupByKey(s, profiles, pairs, estimates))
}

type tallyFn struct {
	Inputs     string
	PairBudget int
	BlockBytes int
	Groups     Groups

	in        *blocks.Inputs
	estimates bundleEstimate
}

func (f *tallyFn) StartBundle(_, _ func(int64, []byte), _ func([]byte), _ func(int64, []byte)) {
	f.estimates = bundleEstimate{}
}

func (f *tallyFn) FinishBundle(_, _ func(int64, []byte), facts func([]byte), _ func(int64, []byte)) error {
	return f.estimates.emit(facts)
}

func (f *tallyFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Inputs)
	return err
}

func (f *tallyFn) ProcessElement(ctx context.Context, component int64, profiles, pairs, estimates func(*[]byte) bool, whole, links func(int64, []byte), facts func([]byte), ranks func(int64, []byte)) error {
	var held [][]byte
	var near []blocks.NearPair
	var err error
	var forest unionfind.Forest
	count, crowd := 0, false
	var block []byte
	for pairs(&block) {
		if near, err = blocks.DecodeNearPairs(near[:0], block); err != nil {
			return err
		}
		count += len(near)
		for _, n := range near {
			crowd = crowd || n.A == n.B
			forest.Union(int64(n.A), int64(n.B))
		}
		if crowd = crowd || count > f.PairBudget; crowd {
			held = nil
			continue
		}
		held, block = append(held, block), nil
	}
	if !crowd {
		for _, block := range held {
			whole(f.Groups.of(component), block)
		}
		return f.estimate(component, estimates)
	}
	out := pairWriter{key: f.Groups.of(component), emit: links}
	for key, root := range forest.All() {
		if key != root {
			out.add(blocks.Key(root), blocks.Key(key), 0)
		}
	}
	out.flush()
	order, _, err := distinct(profiles, f.in.Preferred)
	if err != nil {
		return err
	}
	slices.SortFunc(order, func(a, b representative) int { return f.in.Preferred(&a.best, &b.best) })
	crowdsFound.Inc(ctx, 1)
	fact, err := json.Marshal(blocks.Fact{
		Kind: blocks.FactCrowd, Name: fmt.Sprint(component),
		Counts: map[string]int64{blocks.CountRepresentatives: int64(len(order))},
	})
	if err != nil {
		return err
	}
	facts(fact)
	sent := 0
	for i, r := range order {
		rank := rank{component: blocks.Key(component), block: sent / f.BlockBytes, place: i}
		ranks(int64(r.key), rank.append(nil))
		sent += shingleBytes * r.size
	}
	return nil
}

// estimate adds up what the pairs of cells of a component tell.
func (f *tallyFn) estimate(component int64, estimates func(*[]byte) bool) error {
	var block []byte
	for estimates(&block) {
		e, err := decodeEstimate(block)
		if err != nil {
			return err
		}
		f.estimates.add(component, e)
	}
	return nil
}

// rank says where a representative stands in the order of its crowd, and in which block of it.
type rank struct {
	component    blocks.Key
	block, place int
}

func (r rank) append(block []byte) []byte {
	block = blocks.AppendKey(block, r.component)
	return blocks.AppendUint32(blocks.AppendUint32(block, uint32(r.block)), uint32(r.place))
}

func decodeRank(d *blocks.Decoder) rank {
	return rank{component: d.Key(), block: int(d.Uint32()), place: int(d.Uint32())}
}

// crowds lists the pairs of crowds with a kept document.
//
//	KV<document, set part>, KV<document, rank> → KV<group, near pairs>
//
// The sets are written to files in the order of preference, and one call goes through those of a
// crowd as survivors.Star does.
func crowds(s beam.Scope, sets, ranks beam.PCollection, p Params) beam.PCollection {
	s = s.Scope("Crowds")
	folder := path.Join(p.Temp, "crowds")
	ranked := beam.ParDo(s, &rankedFn{}, beam.CoGroupByKey(s, sets, ranks))
	files := beam.ParDo(s, &spoolFn{Folder: folder}, beam.GroupByKey(s, ranked))
	return beam.ParDo(s, &passFn{Folder: folder, Threshold: p.Threshold, ChunkBytes: p.ChunkBytes, Groups: p.Groups}, beam.GroupByKey(s, files))
}

// rankedFn sends the sets of crowds to their blocks.
//
//	KV<document, set parts, ranks> → KV<block, rank and set part>
type rankedFn struct{}

func (f *rankedFn) ProcessElement(_ int64, parts, ranks func(*[]byte) bool, emit func(int64, []byte)) error {
	var prefix, block []byte
	if !ranks(&prefix) {
		return nil // a copy, or in no crowd
	}
	d := blocks.NewDecoder(prefix)
	r := decodeRank(d)
	if err := d.Err(); err != nil {
		return err
	}
	group := int64(hash.Mix(hash.Mix(uint64(r.component))+uint64(r.block)) >> 1)
	for parts(&block) {
		emit(group, slices.Concat(prefix, block))
	}
	return nil
}

// spoolFn writes blocks of crowds to files.
//
//	KV<block, ranks and set parts> → KV<component, number of a block>
type spoolFn struct{ Folder string }

func (f *spoolFn) ProcessElement(ctx context.Context, _ int64, values func(*[]byte) bool, emit func(int64, []byte)) error {
	type content struct {
		parts  [][]byte
		places map[blocks.Key]int
	}
	packed := map[rank]*content{} // of place 0; more than one only by accident
	var value []byte
	for values(&value) {
		d := blocks.NewDecoder(value)
		r := decodeRank(d)
		part := value[len(value)-d.Left():]
		key := d.SetPart().Key
		if err := d.Err(); err != nil {
			return err
		}
		of := rank{component: r.component, block: r.block}
		if packed[of] == nil {
			packed[of] = &content{places: map[blocks.Key]int{}}
		}
		packed[of].parts = append(packed[of].parts, part)
		packed[of].places[key] = r.place
		value = nil
	}
	for of, c := range packed {
		g, err := blocks.AssembleSets(c.parts)
		if err != nil {
			return err
		}
		sort := make([]int, len(g.Keys))
		for i := range sort {
			sort[i] = i
		}
		slices.SortFunc(sort, func(i, j int) int { return cmp.Compare(c.places[g.Keys[i]], c.places[g.Keys[j]]) })
		var ordered blocks.Sets
		for _, i := range sort {
			ordered.Keys, ordered.Sets = append(ordered.Keys, g.Keys[i]), append(ordered.Sets, g.Sets[i])
		}
		if err := writeSets(ctx, path.Dir(f.Folder), blockFile(f.Folder, of.component, of.block), ordered); err != nil {
			return err
		}
		emit(int64(of.component), blocks.AppendUint32(nil, uint32(of.block)))
	}
	return nil
}

func blockFile(folder string, component blocks.Key, block int) string {
	return path.Join(folder, fmt.Sprintf("%d-%d", int64(component), block))
}

// keptFile is that of a chunk of a crowd's kept sets.
func keptFile(folder string, component blocks.Key, chunk int) string {
	return path.Join(folder, fmt.Sprintf("%d-kept-%d", int64(component), chunk))
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

// passFn goes through crowds in the order of preference, and lists the pairs of each document
// with those kept before it. It holds a block and a chunk of the kept in memory.
//
//	KV<component, numbers of blocks> → KV<group, near pairs>
type passFn struct {
	Folder     string
	Threshold  setsim.Threshold
	ChunkBytes int
	Groups     Groups
}

func (f *passFn) ProcessElement(ctx context.Context, component int64, numbers func(*[]byte) bool, emit func(int64, []byte)) error {
	var packed []int
	var number []byte
	for numbers(&number) {
		d := blocks.NewDecoder(number)
		packed = append(packed, int(d.Uint32()))
		if err := d.Err(); err != nil {
			return err
		}
	}
	slices.Sort(packed)
	p := pass{passFn: f, component: blocks.Key(component), out: pairWriter{key: f.Groups.of(component), emit: emit}}
	p.chunk = p.newChunk()
	each := func(do func(blocks.Sets) error) error {
		for _, b := range packed {
			if err := ctx.Err(); err != nil {
				return err
			}
			g, err := readSets(ctx, blockFile(f.Folder, p.component, b))
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
		err = each(func(g blocks.Sets) error { return p.block(ctx, g) })
	}
	if err != nil {
		return err
	}
	p.out.flush()
	crowdKept.Inc(ctx, p.kept)
	crowdChunks.Inc(ctx, int64(p.full))
	pairsFound.Inc(ctx, p.out.written)
	return nil
}

// pass is the state of going through a crowd.
type pass struct {
	*passFn
	component blocks.Key
	out       pairWriter
	full      int   // chunks of kept sets that were written to files
	chunk     chunk // those kept since
	kept      int64
	common    setsim.Frequencies // of the elements of the whole crowd
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

// listed is how many pairs of a document with kept ones are listed, those first in the order of
// preference; the one with the most similar of all is listed beside them. So a crowd of which
// much is kept has no more than so many pairs for each document.
const listed = 64

// match is what is known of a document's pairs with kept ones.
type match struct {
	pairs      int
	key        blocks.Key // of the most similar
	shared     int
	similarity float64
	unlisted   bool
}

// block goes through the next sets.
func (p *pass) block(ctx context.Context, g blocks.Sets) error {
	matches := make([]match, len(g.Keys))
	compare := func(c *chunk, i int) {
		m := &matches[i]
		c.index.Similar(g.Sets[i], func(k, shared int) {
			m.pairs++
			if m.pairs <= listed {
				p.out.add(c.kept.Keys[k], g.Keys[i], shared)
			}
			// As survivors.Star decides: of equals the earliest.
			if s := setsim.Similarity(shared, len(c.kept.Sets[k]), len(g.Sets[i])); s > m.similarity {
				*m = match{pairs: m.pairs, key: c.kept.Keys[k], shared: shared, similarity: s, unlisted: m.pairs > listed}
			}
		})
	}
	for n := range p.full {
		if err := ctx.Err(); err != nil {
			return err
		}
		kept, err := readSets(ctx, keptFile(p.Folder, p.component, n))
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
			p.out.add(m.key, key, m.shared)
		}
	}
	if p.chunk.index.Bytes() < p.ChunkBytes {
		return nil
	}
	if err := writeSets(ctx, path.Dir(p.Folder), keptFile(p.Folder, p.component, p.full), p.chunk.kept); err != nil {
		return err
	}
	p.full++
	p.chunk = p.newChunk()
	return nil
}
