// Package verify finds the exact similarity of documents that were proposed as candidates.
//
// A small component is joined by one call. A large one is cut into cells (setsim.Cells), and pairs
// of cells are joined; a crowd, a large component with more pairs than the budget, is gone through
// in order of preference instead, which lists for each document some pairs with kept ones only.
package verify

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
)

// Params are what pairs are, and the bounds of the work.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs    string
	Threshold setsim.Threshold
	// CellBytes is the size of the sets that a cell holds. The result does not depend on it.
	CellBytes int
	// ChunkBytes is the size of a crowd's sets that are gone through at once, and of the kept ones they
	// are compared with. The result does not depend on it.
	ChunkBytes int
	// PairBudget is the number of pairs above which a component is a crowd.
	PairBudget int
	// WorkBytes is the size of the sets that may be sent to the cell pairs of a component.
	WorkBytes int64
	// Groups is the number of groups that components are put into by a hash of their names: small
	// ones to be joined, all of them to be decided. The result does not depend on it.
	Groups Groups
	// Banding tells how likely a pair was to be found.
	Banding Banding
	// Temp is the folder for a crowd's sets, which are gone through in order.
	Temp string
}

// DefaultWorkBytes is some hours of joining on a few cores.
const DefaultWorkBytes = 64 << 30

// DefaultCellBytes suits a worker of a cluster.
const DefaultCellBytes = 16 << 20

// largestSmall bounds the sets that one call gets when sets are of usual size.
const largestSmall = 1024

// small returns how many documents a component has at most that is joined by one call: it cannot
// be a crowd.
func (p Params) small() int {
	n := 1
	for n < largestSmall && (n+1)*n/2 <= p.PairBudget {
		n++
	}
	return n
}

// Groups is a number of groups of components.
type Groups int

// of returns the group of a component.
func (g Groups) of(component int64) int64 {
	return int64(hash.Mix(uint64(component)) % uint64(max(1, g)))
}

// Found is what is known of all components.
type Found struct {
	// Pairs are all of them or, of a crowd, for each document some with those kept before it.
	Pairs flow.NearPairs
	// Links connect the clusters of crowds as all pairs would.
	Links flow.Links
	// Facts tell of crowds, and estimate how many pairs other components have; encoded as
	// blocks.Fact.
	Facts flow.Facts
	// Crowded are the representatives of crowds.
	Crowded flow.Ranks
}

// Jaccard finds the pairs of representatives of each component whose Jaccard similarity is at
// least the threshold, with the exact number of shared shingles.
func Jaccard(s beam.Scope, f Features, p Params) Found {
	s = s.Scope("verify.Jaccard")
	pairs, tooLarge, tooLargeProfiles, estimates := small(s, f, p)
	cellPairs, cellEstimates := cells(s, beam.Flatten(s, f.LargeSets, tooLarge), beam.Flatten(s, f.LargeProfiles, tooLargeProfiles), p)
	whole, links, facts, ranked := tally(s, f.LargeProfiles, cellPairs, cellEstimates, p)
	kept := crowds(s, f.LargeSets, ranked, p)
	return Found{
		Pairs: flow.NearPairs(beam.Flatten(s, pairs, whole, kept)), Links: flow.Links(links),
		Facts: flow.Facts(beam.Flatten(s, estimates, facts)), Crowded: flow.Ranks(ranked),
	}
}
