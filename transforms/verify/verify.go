// Package verify finds the exact similarity of documents that edges connect.
//
// A small component is joined by one call. A large one is cut into cells (setsim.Cells), and pairs of
// cells are joined.
package verify

import (
	"slices"

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
	Shards    sets.ComponentShards
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
	// Pairs are all there are, but those of crowds.
	Pairs flow.NearPairs
	// CrowdSets are the sets of crowds, which are not joined.
	CrowdSets flow.CrowdSets
	// Facts estimate how many pairs there are.
	Facts []flow.Facts
}

// Jaccard finds the pairs of representatives of each component whose Jaccard similarity is at
// least the threshold, with the exact number of shared shingles. The sets of crowds, whose representatives
// have turns, are sent to the pass.
//
//	KV<component shard, component parts>, KV<document, set part>, KV<component, profiles>, KV<document, turn> →
//	KV<component shard, near pairs>, KV<batch's hash, turn and set part>, facts
//
// One GroupByKey for small components; for large ones three and a CoGroupByKey.
func Jaccard(s beam.Scope, f sets.Features, turns flow.Turns, p Params) Found {
	s = s.Scope("verify.Jaccard")
	small, tooLarge, tooLargeProfiles := joinSmall(s, f.Sets, p)
	large := joinCells(s, flow.Flatten(s, f.LargeSets, tooLarge), flow.Flatten(s, f.LargeProfiles, tooLargeProfiles), turns, p)
	return Found{
		Pairs: flow.Flatten(s, small.Pairs, large.Pairs), CrowdSets: large.CrowdSets,
		Facts: slices.Concat(small.Facts, large.Facts),
	}
}
