// Package verify finds the exact similarity of documents that edges connect.
//
// One call joins a small component. From a large one, sets that cannot have a partner are removed; the others are
// divided into cells, and pairs of cells are joined.
package verify

import (
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/kernels/estimate"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/sets"
)

// Params define pairs, and bound the work.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs   string
	Verifier verifier.Spec
	// CellBytes is the size of the sets in a cell. The result does not depend on it.
	CellBytes int
	// PruneBytes is the size of a component above which sets that cannot have a partner are removed before it is
	// divided into cells. The result does not depend on it.
	PruneBytes int
	// Way is the way in which large components are joined; "" chooses the one that should cost less. The result does
	// not depend on it.
	Way    Way
	Shards sets.ComponentShards
	// Banding gives the probability that a pair was found; without bands nothing is estimated.
	Banding lsh.Banding
	// Seed is the seed of the signatures.
	Seed uint64
	// Temp is the run's temporary folder.
	Temp string
}

// Way is a way to find the similar sets of a large component.
type Way string

// Ways to join a large component.
const (
	Cells Way = "cells" // join each two cells that may hold similar sets
	Rare  Way = "rare"  // compare sets that share a rare shingle
)

// DefaultCellBytes is suitable for a worker of a cluster.
const DefaultCellBytes = 16 << 20

// Estimator returns an estimator of the number of pairs, given those found.
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

// Found are the similar pairs of representatives, with their exact scores.
type Found struct {
	Pairs flow.NearPairs
	// Facts estimate the number of pairs.
	Facts flow.Facts
}
