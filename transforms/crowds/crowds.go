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

// List lists the pairs of large components, of which Tell has told some to be crowds; pairs and estimates are
// those of the others.
//
//	KV<document, set part>, KV<component, profiles>, KV<component, near pairs>, KV<component, estimate> →
//	KV<component shard, near pairs>, KV<component shard, links>, facts, KV<document, turn>
//
// The sets of a crowd are written to files in the order of preference, and one call visits them
// as survivors.Star does. One CoGroupByKey; for the sets another one and two GroupByKeys.
func List(s beam.Scope, told Told, sets flow.LargeSets, pairs flow.LargePairs, estimates flow.Estimates, p Params) Found {
	s = s.Scope("crowds.List")
	whole, facts, turns := beam.ParDo3(s, &splitFn{Params: p},
		beam.CoGroupByKey(s, beam.PCollection(told.Others), beam.PCollection(pairs), beam.PCollection(estimates)))
	found := Found{Facts: flow.Facts(facts), Turns: flow.Flatten(s, told.Turns, flow.Turns(turns))}
	kept, links := passThrough(s, sets, found.Turns, p)
	found.Pairs, found.Links = flow.Flatten(s, flow.NearPairs(whole), kept), links
	return found
}

// splitFn tells crowds from other components by their pairs.
//
//	KV<component, profiles>, KV<component, near pairs>, KV<component, estimate> →
//	KV<component shard, near pairs>, facts, KV<document, turn>
//
// The pairs of a component that is no crowd pass unchanged. Of those of a crowd not all may be there, so
// it has turns instead.
type splitFn struct {
	Params Params

	in *blocks.Inputs
}

func (f *splitFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *splitFn) ProcessElement(ctx context.Context, component int64, profiles, pairs, estimates func(*[]byte) bool, whole func(int64, []byte), facts func([]byte), turns func(int64, []byte)) error {
	held, crowd, err := f.read(pairs)
	if err != nil {
		return err
	}
	if !crowd {
		for _, block := range held {
			whole(f.Params.Shards.Shard(blocks.Key(component)), block)
		}
		var sum blocks.Estimate
		if err := gather.Each(estimates, func(d *blocks.Decoder) { sum.Add(d.Estimate()) }); err != nil {
			return err
		}
		return sum.Whole().EmitFact(facts)
	}
	order, _, err := sets.Representatives(profiles, f.in.Preferred)
	if err != nil {
		return err
	}
	return f.Params.giveTurns(ctx, f.in, blocks.Key(component), order, facts, turns)
}

// giveTurns gives the representatives of a crowd their turns, in the order of preference, and names it.
func (p *Params) giveTurns(ctx context.Context, in *blocks.Inputs, crowd blocks.Key, order []sets.Representative, facts func([]byte), turns func(int64, []byte)) error {
	slices.SortFunc(order, func(a, b sets.Representative) int { return in.Preferred(&a.Best, &b.Best) })
	crowdsFound.Inc(ctx, 1)
	sent := 0
	for i, r := range order {
		turn := turn{crowd: crowd, batch: sent / p.ChunkBytes, number: i}
		turns(int64(r.Key), turn.append(nil))
		sent += blocks.ShingleBytes * r.Size
	}
	return blocks.Fact{
		Kind: blocks.FactCrowd, Name: fmt.Sprint(int64(crowd)),
		Counts: map[string]int64{blocks.CountRepresentatives: int64(len(order))},
	}.Emit(facts)
}

// read returns the blocks of a component's pairs, or that it is a crowd.
func (f *splitFn) read(pairs func(*[]byte) bool) (held [][]byte, crowd bool, err error) {
	var near []blocks.NearPair
	count := 0
	var block []byte
	for pairs(&block) {
		if near, err = blocks.DecodeNearPairs(near[:0], block); err != nil {
			return nil, false, err
		}
		count += len(near)
		for _, n := range near {
			crowd = crowd || n.A == n.B // the mark of verify: a pair of cells exceeds the budget
		}
		if crowd = crowd || count > f.Params.PairBudget; crowd {
			return nil, true, nil
		}
		held, block = append(held, block), nil
	}
	return held, false, nil
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

// passThrough lists the pairs of crowds with a kept document, and connects their clusters.
//
//	KV<document, set part>, KV<document, turn> → KV<component shard, near pairs>, KV<component shard, links>
func passThrough(s beam.Scope, large flow.LargeSets, turns flow.Turns, p Params) (flow.NearPairs, flow.Links) {
	s = s.Scope("Pass")
	ordered := beam.ParDo(s, &turnsFn{}, beam.CoGroupByKey(s, beam.PCollection(large), beam.PCollection(turns)))
	files := beam.ParDo(s, &batchFn{Params: p}, beam.GroupByKey(s, ordered))
	pairs, links := beam.ParDo2(s, &passFn{Params: p}, beam.GroupByKey(s, files))
	return flow.NearPairs(pairs), flow.Links(links)
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

// chunkFile is that of a chunk of a crowd's sets: of those kept, or of those removed.
func (p *Params) chunkFile(crowd blocks.Key, kind string, chunk int) string {
	return storage.Join(p.folder(), fmt.Sprintf("%d-%s-%d", int64(crowd), kind, chunk))
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
