// Package candidates finds the documents to be compared.
package candidates

import (
	"cmp"
	"context"
	"math/bits"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[bucketsFn]())
	register.Emitter1[[]byte]()
	register.Iter1[[]byte]()
}

var (
	entriesSeen  = beam.NewCounter("buckets", "entries")
	bucketsFound = beam.NewCounter("buckets", "buckets")
	edgesMade    = beam.NewCounter("buckets", "edges")
	bucketSize   = beam.NewDistribution("buckets", "size")
)

// Buckets chains the documents of each bucket by edges.
//
//	KV<(band, shard), band entries> → edges
//
// A bucket of n documents has n−1 edges, each document to the next in input order, never the
// clique: that keeps them connected, and the exact join inside a component finds every pair of
// it. One GroupByKey.
func Buckets(s beam.Scope, bands flow.Bands) flow.Edges {
	s = s.Scope("candidates.Buckets")
	return flow.Edges(beam.ParDo(s, &bucketsFn{}, beam.GroupByKey(s, beam.PCollection(bands))))
}

type bucketsFn struct {
	entries, sorted []blocks.BandEntry
	ends            []int32
}

func (f *bucketsFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool, emit func([]byte)) error {
	f.entries = f.entries[:0]
	var block []byte
	var err error
	for packed(&block) {
		if f.entries, err = blocks.DecodeBands(f.entries, block); err != nil {
			return err
		}
	}
	entries := f.sort()
	var edges []byte
	var made, buckets int64
	for start, end := 0, 0; start < len(entries); start = end {
		for end = start + 1; end < len(entries) && entries[end].Key == entries[start].Key; end++ {
			edges = blocks.AppendEdge(edges, blocks.Edge{A: entries[end-1].Document, B: entries[end].Document})
			made++
			if len(edges) >= blocks.BlockBytes {
				emit(edges)
				edges = nil
			}
		}
		if end-start > 1 {
			buckets++
			bucketSize.Update(ctx, int64(end-start))
		}
	}
	if len(edges) > 0 {
		emit(edges)
	}
	entriesSeen.Inc(ctx, int64(len(entries)))
	bucketsFound.Inc(ctx, buckets)
	edgesMade.Inc(ctx, made)
	return nil
}

// sort returns the entries by key, then document. Keys are uniform, so one counting pass on their
// top bits leaves runs of a few entries; equal keys make longer ones, which the library sorts.
func (f *bucketsFn) sort() []blocks.BandEntry {
	const (
		keyBits   = 40
		mostBits  = 16 // counters that stay in the cache
		entryRun  = 4  // a run, about
		insertion = 24
	)
	n := len(f.entries)
	width := min(bits.Len(uint(n/entryRun)), mostBits)
	shift := keyBits - width
	f.ends = slices.Grow(f.ends[:0], 1<<width)[:1<<width]
	clear(f.ends)
	f.sorted = slices.Grow(f.sorted[:0], n)[:n]
	for i := range f.entries {
		f.ends[f.entries[i].Key>>shift]++
	}
	end := int32(0)
	for i, n := range f.ends {
		f.ends[i] = end // its beginning, and its end when all are in their places
		end += n
	}
	for _, e := range f.entries {
		at := &f.ends[e.Key>>shift]
		f.sorted[*at] = e
		*at++
	}
	start := int32(0)
	for _, end := range f.ends {
		run := f.sorted[start:end]
		start = end
		if len(run) > insertion {
			slices.SortFunc(run, compareEntries)
			continue
		}
		for i := 1; i < len(run); i++ {
			e := run[i]
			j := i
			for ; j > 0 && before(e, run[j-1]); j-- {
				run[j] = run[j-1]
			}
			run[j] = e
		}
	}
	return f.sorted
}

func before(a, b blocks.BandEntry) bool {
	return a.Key < b.Key || a.Key == b.Key && a.Document < b.Document
}

func compareEntries(a, b blocks.BandEntry) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Document, b.Document))
}
