package spool

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[allFn]()
}

// Whole names the component of all documents; no document has this key.
const Whole blocks.Key = -1

// Batching spreads sets over batches in the order of their sizes. It has the minimum set size of each batch, in
// ascending order. Batches with equal minimums share the sets of that single size, by hash.
type Batching []int

// NewBatching returns batches of about this many bytes, given the number of sets of each size.
func NewBatching(sets map[int]int64, bytes int64) Batching {
	least, held := Batching{0}, int64(0)
	for _, size := range slices.Sorted(maps.Keys(sets)) {
		added := blocks.ShingleBytes * int64(size) * sets[size]
		if held > 0 && held+added > bytes {
			least, held = append(least, size), 0
		}
		held += added
		if held <= bytes {
			continue
		}
		if least[len(least)-1] != size {
			least = append(least, size)
		}
		for ; held > bytes; held -= bytes {
			least = append(least, size)
		}
		least, held = append(least, size+1), 0
	}
	return least
}

// Of returns the batches with sets of a size: the first, and the one after the last.
func (b Batching) Of(size int) (first, end int) {
	end, _ = slices.BinarySearch(b, size+1)
	first, _ = slices.BinarySearch(b, b[end-1])
	return first, end
}

// Batch returns the batch of a set.
func (b Batching) Batch(size int, hash blocks.Hash) int64 {
	first, end := b.Of(size)
	return int64(first) + int64(hash.Lo%uint64(end-first))
}

// All writes all sets to files, once each, in the order of their sizes.
//
//	KV<batch, set parts> → KV<Whole, batches>, [] edges
//
// If documents have equal sets, the first one's is written, and each other one gets an edge to the first, unless all
// are references. One GroupByKey, which holds a batch twice. inputs is the path of the shared blocks.Inputs.
func All(s beam.Scope, sized flow.Sized, inputs, temp string) (flow.Batches, flow.Edges) {
	s = s.Scope("spool.All")
	batches, same := beam.ParDo2(s, &allFn{Inputs: inputs, Temp: temp}, beam.GroupByKey(s, beam.PCollection(sized)))
	return flow.Batches(batches), flow.Edges(same)
}

// allFn writes a batch; see All for the shapes.
type allFn struct{ Inputs, Temp string }

func (f *allFn) ProcessElement(
	ctx context.Context, batch int64, values func(*[]byte) bool, emit func(int64, []byte), same func([]byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	var parts [][]byte
	first := map[blocks.Hash]blocks.Key{} // first document with a set
	wanted := map[blocks.Hash]bool{}      // sets that an input has
	var docs []document
	hold := memory.NewHold(ctx)
	defer hold.Free()
	var unread error
	err = gather.Each(values, func(d *blocks.Decoder) {
		data := d.Bytes()
		of := blocks.NewDecoder(data)
		part := of.SetPart()
		unread = cmp.Or(unread, d.Err(), of.Err())
		if unread == nil {
			unread = assembles(ctx, hold, &part)
		}
		if unread != nil {
			return
		}
		parts = append(parts, data)
		if part.First == 0 {
			docs = append(docs, document{part.Key, part.Hash})
			if key, ok := first[part.Hash]; !ok || part.Key < key {
				first[part.Hash] = part.Key
			}
			if !in.IsReference(part.Key) {
				wanted[part.Hash] = true
			}
		}
	})
	if err == nil {
		err = unread
	}
	if err != nil {
		return err
	}
	edges := blocks.EdgeWriter{Emit: same}
	for _, d := range docs {
		if f := first[d.hash]; f != d.key && wanted[d.hash] {
			edges.Add(f, d.key)
		}
	}
	edges.Flush()
	sets, err := blocks.AssembleSets(parts)
	if err != nil {
		return err
	}
	return writeBatch(ctx, f.Temp, Whole, int(batch), sets, func(i, j int) int {
		return cmp.Or(cmp.Compare(len(sets.Sets[i]), len(sets.Sets[j])), cmp.Compare(sets.Keys[i], sets.Keys[j]))
	}, emit)
}

// document is a document's key and the hash of its set.
type document struct {
	key  blocks.Key
	hash blocks.Hash
}
