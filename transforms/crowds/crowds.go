// Package crowds finds crowds, which are components with more pairs than the budget, and lists for each of their
// documents a few pairs, only with kept documents.
package crowds

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/transforms/spool"
	"github.com/neardup/neardup/transforms/verify"
)

func init() {
	flow.Register[passFn]()
}

var (
	crowdsFound = beam.NewCounter("crowds", "crowds")
	crowdKept   = beam.NewCounter("crowds", "kept")
	pairsListed = beam.NewCounter("crowds", "pairs")
	// Comparisons of documents with those kept before them.
	pairsCompared = beam.NewCounter("verify", "compared")
	crowdChunks   = beam.NewCounter("crowds", "kept_chunks_on_disk")
)

// Params configure what a crowd is, and bound the work on one.
type Params struct {
	// Params says what pairs are, how other components are cut, and where files go.
	verify.Params
	// PairBudget is the number of pairs above which a component is a crowd.
	PairBudget int
	// Files configures the sort of a component's documents.
	Files sorted.Params
	// ChunkBytes is the size of the sets of a crowd's batch, and of a chunk of kept sets that the batch is compared
	// with. The result does not depend on it.
	ChunkBytes int
	// Nearest asks for links between kept documents and the most similar other ones.
	Nearest bool
}

// Found is the output of Pass.
type Found struct {
	// Pairs are, for each document, some of its pairs with documents kept before it.
	Pairs flow.NearPairs
	// Links connect the clusters as all pairs would. A link's score is verifier.ScoreOf of the similarity of a kept
	// document and the most similar other one, or 0.
	Links flow.Links
}

// Pass lists the pairs of a crowd's documents with kept ones, and connects the crowd's clusters.
//
//	KV<component, batches> → KV<component shard, near pairs>, KV<component shard, links>
//
// The sets of a crowd are in files in the order of preference, and one call visits them as survivors.Star does. One
// GroupByKey.
func Pass(s beam.Scope, batches flow.Batches, p Params) Found {
	s = s.Scope("crowds.Pass")
	pairs, links := beam.ParDo2(s, &passFn{Params: p}, beam.GroupByKey(s, beam.PCollection(batches)))
	return Found{Pairs: flow.NearPairs(pairs), Links: flow.Links(links)}
}

// chunkFile returns the path of a chunk of a crowd's sets: kept or removed ones, as kind says.
func (p *pass) chunkFile(kind string, chunk int) string {
	return spool.File(p.Temp, p.crowd, kind, chunk)
}
