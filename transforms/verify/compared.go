package verify

import (
	"context"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/verifier"
)

var (
	pairsCompared = beam.NewCounter("verify", "compared") // pairs of documents in joins
	// Pairs of two references among them, judged by standing rather than by what the join keeps apart: must be 0.
	referencesCompared = beam.NewCounter("verify", "references_compared")
	// Pairs of settled documents, compared only for these counts, and those of them that are similar.
	settledCompared = beam.NewCounter("verify", "settled_compared")
	indexMissed     = beam.NewCounter("verify", "index_missed")
)

// members counts the documents of a join: all of them, those that are apart, and the references. unlike counts them by
// the value that a rule forbids two similar documents to share, and unlikeApart those of them that are apart.
type members struct {
	all, apart, references int64
	unlike, unlikeApart    map[uint64]int64
}

func membersOf(in *blocks.Inputs, v verifier.Verifier, g blocks.Sets, apart []bool) members {
	m := members{all: int64(len(g.Keys)), unlike: unlike(v, g.Sets, nil)}
	if slices.Contains(apart, true) {
		m.unlikeApart = unlike(v, g.Sets, apart)
	}
	for _, is := range apart {
		if is {
			m.apart++
		}
	}
	for _, key := range g.Keys {
		if in.IsReference(key) {
			m.references++
		}
	}
	return m
}

// unlike counts sets by the value that a rule forbids two similar documents to share: those marked in some, or all if
// some is nil.
func unlike(v verifier.Verifier, sets [][]uint64, some []bool) (counts map[uint64]int64) {
	for i, set := range sets {
		value, ok := verifier.Unlike(v, set)
		if !ok || some != nil && !some[i] {
			continue
		}
		if counts == nil {
			counts = map[uint64]int64{}
		}
		counts[value]++
	}
	return counts
}

// countSelf counts the pairs that a join of documents with one another compares, and reports whether there are any.
func countSelf(ctx context.Context, m members) bool {
	left := choose2(m.all) - choose2(m.apart)
	for _, n := range m.unlike {
		left -= choose2(n)
	}
	for _, n := range m.unlikeApart {
		left += choose2(n)
	}
	return count(ctx, left, choose2(m.references)-choose2(m.apart))
}

// countCross counts the pairs that a join of two groups of documents compares, and reports whether there are any.
func countCross(ctx context.Context, a, b members) bool {
	left := a.all*b.all - a.apart*b.apart
	for value, n := range a.unlike {
		left -= n * b.unlike[value]
	}
	for value, n := range a.unlikeApart {
		left += n * b.unlikeApart[value]
	}
	return count(ctx, left, a.references*b.references-a.apart*b.apart)
}

func count(ctx context.Context, compared, references int64) bool {
	pairsCompared.Inc(ctx, compared)
	referencesCompared.Inc(ctx, references)
	return compared > 0
}

// choose2 returns the number of pairs of n documents.
func choose2(n int64) int64 { return n * (n - 1) / 2 }
