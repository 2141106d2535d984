package verify

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
)

var (
	pairsCompared = beam.NewCounter("verify", "compared") // of documents that are joined with each other
	// Of these, pairs of two references, by their standing and not by what a join has as apart: there are to be none.
	referencesCompared = beam.NewCounter("verify", "references_compared")
	// Pairs of documents that an index has kept, compared for the count alone, and those of them that are similar.
	settledCompared = beam.NewCounter("verify", "settled_compared")
	indexMissed     = beam.NewCounter("verify", "index_missed")
)

// members are how many documents a join is of, how many of them are apart, and how many are references.
type members struct{ all, apart, references int64 }

func membersOf(in *blocks.Inputs, keys []blocks.Key, apart []bool) members {
	m := members{all: int64(len(keys))}
	for _, is := range apart {
		if is {
			m.apart++
		}
	}
	for _, key := range keys {
		if in.IsReference(key) {
			m.references++
		}
	}
	return m
}

// countSelf counts the pairs that a join of documents with one another compares.
func countSelf(ctx context.Context, m members) {
	count(ctx, choose2(m.all), choose2(m.apart), choose2(m.references))
}

// countCross counts the pairs that a join of some documents with others compares.
func countCross(ctx context.Context, a, b members) {
	count(ctx, a.all*b.all, a.apart*b.apart, a.references*b.references)
}

func count(ctx context.Context, all, apart, references int64) {
	pairsCompared.Inc(ctx, all-apart)
	referencesCompared.Inc(ctx, references-apart)
}

// choose2 is how many pairs n documents have.
func choose2(n int64) int64 { return n * (n - 1) / 2 }
