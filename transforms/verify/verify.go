// Package verify finds the exact similarity of documents that edges connect.
//
// A small component is joined by one call. A large one is cut into cells (setsim.Cells), and pairs of
// cells are joined.
package verify

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/transforms/sets"
)

// Params are what pairs are, and the bounds of the work.
type Params struct {
	Threshold setsim.Threshold
	// CellBytes is the size of the sets that a cell holds. The result does not depend on it.
	CellBytes int
	// PairBudget is the number of pairs of two cells above which the rest need not be found: their
	// component is a crowd.
	PairBudget int
	// WorkBytes is the size of the sets that may be sent to the cell pairs of a component.
	WorkBytes int64
	// Banding tells how likely a pair was to be found; without bands nothing is estimated.
	Banding lsh.Banding
	// Seed is that of the signatures.
	Seed uint64
}

// DefaultWorkBytes is some hours of joining on a few cores.
const DefaultWorkBytes = 64 << 30

// DefaultCellBytes suits a worker of a cluster.
const DefaultCellBytes = 16 << 20

// estimator estimates how many pairs there are by those found.
func (p *Params) estimator() *estimate.Estimator {
	if p.Banding.Bands == 0 {
		return estimate.New(lsh.Banding{}, nil)
	}
	return estimate.New(p.Banding, fss.New(p.Banding.Signature, p.Seed).Sign)
}

// Found are the pairs of representatives.
type Found struct {
	// Pairs are all those of small components.
	Pairs flow.NearPairs
	// LargePairs are those of large components. Where a pair of cells exceeds the budget, there is
	// only a mark: a pair of a document with itself.
	LargePairs flow.LargePairs
	// Estimates are those of large components.
	Estimates flow.Estimates
	// Facts estimate how many pairs small components have.
	Facts flow.Facts
}

// Jaccard finds the pairs of representatives of each component whose Jaccard similarity is at
// least the threshold, with the exact number of shared shingles.
//
//	KV<component shard, component parts>, KV<document, set part>, KV<component, profiles> →
//	KV<component shard, near pairs>, KV<component, near pairs>, KV<component, estimate>, facts
//
// One GroupByKey for small components; for large ones two and a CoGroupByKey.
func Jaccard(s beam.Scope, f sets.Features, p Params) Found {
	s = s.Scope("verify.Jaccard")
	found, tooLarge, tooLargeProfiles := joinSmall(s, f.Sets, p)
	found.LargePairs, found.Estimates = joinCells(s,
		flow.Flatten(s, f.LargeSets, tooLarge), flow.Flatten(s, f.LargeProfiles, tooLargeProfiles), p)
	return found
}
