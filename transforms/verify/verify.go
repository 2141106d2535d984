// Package verify finds the exact similarity of documents that edges connect.
//
// A small component is joined by one call. Of a large one, sets that can have no partner leave; the others are cut
// into cells, and pairs of cells are joined.
package verify

import (
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/sets"
)

// Params are what pairs are, and the bounds of the work.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs   string
	Verifier verifier.Spec
	// CellBytes is the size of the sets that a cell holds. The result does not depend on it.
	CellBytes int
	// PruneBytes is the size of a component above which sets that can have no partner leave it before it is cut.
	// Nor does the result depend on that.
	PruneBytes int
	// Way is that by which a large component is joined; "" is the one that should take less.
	// Nor does the result depend on that.
	Way    Way
	Shards sets.ComponentShards
	// Banding tells how likely a pair was to be found; without bands nothing is estimated.
	Banding lsh.Banding
	// Seed is that of the signatures.
	Seed uint64
	// Temp is the run's temporary folder.
	Temp string
}

// Way is how the sets of a large component find each other.
type Way string

// Ways to join a large component.
const (
	Cells Way = "cells" // each two cells that may hold similar sets are joined
	Rare  Way = "rare"  // sets that share a rare shingle are compared
)

// DefaultCellBytes suits a worker of a cluster.
const DefaultCellBytes = 16 << 20

// Estimator estimates how many pairs there are by those found.
func (p *Params) Estimator() *estimate.Estimator {
	if p.Banding.Bands == 0 {
		return estimate.New(nil, nil, nil)
	}
	signs := []estimate.Sign{fss.New(p.Banding.Signature, p.Seed).Sign}
	for _, seed := range estimate.Seeds(p.Seed) {
		signs = append(signs, fss.New(p.Banding.Signature, seed).Sign)
	}
	return estimate.New(p.Banding, signs, p.Verifier.New())
}

// Found are the pairs of representatives that are similar, with their exact scores.
type Found struct {
	Pairs flow.NearPairs
	// Facts estimate how many pairs there are.
	Facts flow.Facts
}
