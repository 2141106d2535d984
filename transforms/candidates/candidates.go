// Package candidates connects documents that share a bucket.
package candidates

import (
	"context"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/radix"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/transforms/exchange"
)

func init() {
	flow.Register[bucketsFn]()
}

var (
	entriesSeen  = beam.NewCounter("buckets", "entries")
	bucketsFound = beam.NewCounter("buckets", "buckets")
	edgesMade    = beam.NewCounter("buckets", "edges")
	bucketSize   = beam.NewDistribution("buckets", "size")
)

// Params configure the steps.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// List is the path of the list of copies, which Buckets leaves out; "" if there is no list.
	List string
	// Index is the path of the shared index.Lookup, in which documents are found by their keys; "" if there is no
	// index. ShardBits is the log₂ of the number of shards per band, and Tokens the band of token hashes; see Known.
	Index     string
	ShardBits int
	Tokens    int
}

// Buckets chains the documents of each bucket by edges.
//
//	KV<band and shard, group of band entries> → blocks of edges
//
// A bucket of n documents gets n−1 edges, from each document to the next in input order, not the n(n−1)/2 of a clique:
// they connect the same documents, and the exact join of a component finds all its pairs.
//
// A bucket that holds only references gets no edges, since references are not compared with one another.
//
// With Params.Index, documents of the index that share a key of the group join its bucket; their texts are not read.
//
// With Params.List, listed copies are in no chain: the first document of a copy group is in all buckets of its copies,
// and connects what they would. Counters: buckets/entries (without listed copies), buckets/buckets, buckets/edges,
// buckets/size.
func Buckets(s beam.Scope, bands exchange.Groups, p Params) flow.Edges {
	s = s.Scope("candidates.Buckets")
	return flow.Edges(beam.ParDo(s, &bucketsFn{Params: p, In: bands.In}, bands.All))
}

// bucketsFn chains the buckets of a band's shard; see Buckets for the shapes.
type bucketsFn struct {
	Params Params
	In     exchange.In

	in      *blocks.Inputs
	copies  *list
	entries []blocks.BandEntry
	slots   radix.Slots
	sorter  radix.Sorter[blocks.BandEntry, blocks.Key]
}

func (f *bucketsFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *bucketsFn) ProcessElement(ctx context.Context, key int64, packed func(*[]byte) bool, emit func([]byte)) error {
	return f.In.Each(ctx, key, packed, func(group int64, packed func(*[]byte) bool) error {
		return f.find(ctx, group, packed, emit)
	})
}

// find chains the buckets of a group.
func (f *bucketsFn) find(ctx context.Context, group int64, packed func(*[]byte) bool, emit func([]byte)) (err error) {
	// The list exists once a group does.
	if f.copies == nil && f.Params.List != "" {
		if f.copies, err = storage.Shared[list](ctx, f.Params.List); err != nil {
			return err
		}
	}
	f.entries = f.entries[:0]
	var block []byte
	for packed(&block) { // the block that List adds is empty
		if f.entries, err = blocks.DecodeBands(f.entries, block); err != nil {
			return err
		}
	}
	counted := len(f.entries)
	if f.Params.Index != "" {
		return f.withIndex(ctx, group, emit)
	}
	f.slots = f.slots.For(counted)
	repeated := radix.Repeated(f.slots, f.entries) // most documents are alone in their buckets
	if f.copies != nil {
		all := len(repeated)
		repeated = f.copies.others(repeated)
		counted -= all - len(repeated) // copies are never alone
	}
	entriesSeen.Inc(ctx, int64(counted))
	entries := f.sorter.Sort(repeated, 64-blocks.BandKeyBits, radix.ByKeyAndDocument)
	f.chain(ctx, entries, emit)
	return nil
}

// withIndex chains the buckets that the entries form with documents of the index.
func (f *bucketsFn) withIndex(ctx context.Context, group int64, emit func([]byte)) error {
	entries := f.entries
	if f.copies != nil {
		entries = f.copies.others(entries)
	}
	entriesSeen.Inc(ctx, int64(len(entries)))
	entries, err := f.Params.withDocuments(ctx, group, entries, &f.sorter)
	if err != nil {
		return err
	}
	f.chain(ctx, entries, emit)
	return nil
}

// withDocuments adds to the entries of a band's shard those of the index's documents with one of their keys, and sorts
// them all.
func (p *Params) withDocuments(
	ctx context.Context, group int64, entries []blocks.BandEntry, sorter *radix.Sorter[blocks.BandEntry, blocks.Key],
) ([]blocks.BandEntry, error) {
	x, err := storage.Shared[index.Lookup](ctx, p.Index)
	if err != nil {
		return nil, err
	}
	band, shard := int(group>>p.ShardBits), int(group)&(1<<p.ShardBits-1)
	for i := range entries {
		entries[i].Key = blocks.FirstBits(entries[i].Key, shard, p.ShardBits)
	}
	skip := 64 - blocks.BandKeyBits + p.ShardBits
	wanted := make([]int64, len(entries))
	for i, e := range sorter.Sort(entries, skip, radix.ByKey) {
		wanted[i] = int64(e.Key)
	}
	err = x.Find(ctx, band, shard, p.ShardBits, slices.Compact(wanted), func(key int64, file int, row int64) {
		entries = append(entries, blocks.BandEntry{Key: uint64(key), Document: blocks.NewKey(file, row)})
	})
	if err != nil {
		return nil, err
	}
	return sorter.Sort(entries, skip, radix.ByKeyAndDocument), nil
}

// chain chains the buckets of sorted entries.
func (f *bucketsFn) chain(ctx context.Context, entries []blocks.BandEntry, emit func([]byte)) {
	edges := blocks.EdgeWriter{Emit: emit}
	var made, buckets int64
	for start, end := 0, 0; start < len(entries); start = end {
		for end = start + 1; end < len(entries) && entries[end].Key == entries[start].Key; end++ {
		}
		if f.in.IsReference(entries[end-1].Document) { // and so are all documents before it
			continue
		}
		for i := start + 1; i < end; i++ {
			edges.Add(entries[i-1].Document, entries[i].Document)
			made++
		}
		if end-start > 1 {
			buckets++
			bucketSize.Update(ctx, int64(end-start))
		}
	}
	edges.Flush()
	bucketsFound.Inc(ctx, buckets)
	edgesMade.Inc(ctx, made)
}

// Teardown releases the list, which no later step needs.
func (f *bucketsFn) Teardown() { storage.Forget(f.Params.List) }
