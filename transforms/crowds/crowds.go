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
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/transforms/sets"
)

func init() {
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

// Found is what is known of crowds.
type Found struct {
	// Pairs are for each document some with those kept before it.
	Pairs flow.NearPairs
	// Links connect the clusters as all pairs would.
	Links flow.Links
}

// Pass lists the pairs of crowds with a kept document, and connects their clusters.
//
//	KV<batch's hash, turn and set part> → KV<component shard, near pairs>, KV<component shard, links>
//
// The sets of a crowd are written to files in the order of preference, and one call visits them
// as survivors.Star does. Two GroupByKeys.
func Pass(s beam.Scope, sets flow.CrowdSets, p Params) Found {
	s = s.Scope("crowds.Pass")
	files := beam.ParDo(s, &batchFn{Params: p}, beam.GroupByKey(s, beam.PCollection(sets)))
	pairs, links := beam.ParDo2(s, &passFn{Params: p}, beam.GroupByKey(s, files))
	return Found{Pairs: flow.NearPairs(pairs), Links: flow.Links(links)}
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
	contents := map[blocks.Turn]*content{} // of number 0; more than one only if hashes collide
	var value []byte
	for values(&value) {
		d := blocks.NewDecoder(value)
		t := d.Turn()
		part := value[len(value)-d.Left():]
		key := d.SetPart().Key
		if err := d.Err(); err != nil {
			return err
		}
		of := blocks.Turn{Crowd: t.Crowd, Batch: t.Batch}
		if contents[of] == nil {
			contents[of] = &content{numbers: map[blocks.Key]int{}}
		}
		contents[of].parts = append(contents[of].parts, part)
		contents[of].numbers[key] = t.Number
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
		if err := writeSets(ctx, f.Params.Temp, f.Params.batchFile(of.Crowd, of.Batch), ordered); err != nil {
			return err
		}
		emit(int64(of.Crowd), blocks.AppendUint32(nil, uint32(of.Batch)))
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
