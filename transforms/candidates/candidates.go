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

	"github.com/neardup/neardup/records"
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
func Buckets(s beam.Scope, bands beam.PCollection) beam.PCollection {
	s = s.Scope("candidates.Buckets")
	return beam.ParDo(s, &bucketsFn{}, beam.GroupByKey(s, bands))
}

type bucketsFn struct{}

func (f *bucketsFn) ProcessElement(ctx context.Context, _ int64, blocks func(*[]byte) bool, emit func([]byte)) error {
	var entries []records.BandEntry
	var block []byte
	var err error
	for blocks(&block) {
		if entries, err = records.DecodeBands(entries, block); err != nil {
			return err
		}
	}
	sortEntries(entries)
	var edges []byte
	var made, buckets int64
	for start, end := 0, 0; start < len(entries); start = end {
		for end = start + 1; end < len(entries) && entries[end].Key == entries[start].Key; end++ {
			edges = records.AppendEdge(edges, records.Edge{A: entries[end-1].Document, B: entries[end].Document})
			made++
			if len(edges) >= records.BlockBytes {
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

// sortEntries sorts by key, then document. Keys are uniform, so one counting pass on their top
// bits leaves runs of a few entries; equal keys make longer ones, which the library sorts.
func sortEntries(entries []records.BandEntry) {
	const keyBits = 40
	shift := keyBits - min(bits.Len(uint(len(entries))), 20)
	starts := make([]int, 1<<(keyBits-shift)+1)
	for _, e := range entries {
		starts[e.Key>>shift+1]++
	}
	for i := range len(starts) - 1 {
		starts[i+1] += starts[i]
	}
	sorted := make([]records.BandEntry, len(entries))
	next := slices.Clone(starts)
	for _, e := range entries {
		run := e.Key >> shift
		sorted[next[run]] = e
		next[run]++
	}
	copy(entries, sorted)
	for i := range len(starts) - 1 {
		if run := entries[starts[i]:starts[i+1]]; len(run) > 1 {
			slices.SortFunc(run, func(a, b records.BandEntry) int {
				return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Document, b.Document))
			})
		}
	}
}
