// Package decide decides which documents are kept, and makes the rows that say why.
package decide

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/sets"
)

func init() {
	flow.Register[decideFn]()
}

var clustersFound = beam.NewCounter("decide", "clusters")

// Rows are the rows of the output tables, and the keys of the removed documents.
type Rows struct {
	Pairs    []flow.Rows[records.Pair]
	Clusters []flow.Rows[records.Clustered]
	Removed  []flow.Rows[records.Removed]
	Dropped  []flow.Dropped
	// Facts count the removed documents that differ from the kept one in symbols or numbers, and name the clusters that
	// are cut.
	Facts []flow.Facts
}

func (r *Rows) add(pairs, clusters, removed, dropped, facts beam.PCollection) {
	r.Pairs = append(r.Pairs, flow.Rows[records.Pair](pairs))
	r.Clusters = append(r.Clusters, flow.Rows[records.Clustered](clusters))
	r.Removed = append(r.Removed, flow.Rows[records.Removed](removed))
	r.Dropped = append(r.Dropped, flow.Dropped(dropped))
	r.Facts = append(r.Facts, flow.Facts(facts))
}

// Params configure the decision.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Shards spreads profiles and copies over shards.
	Shards sets.ComponentShards
	// OnePerCluster keeps one document per cluster, the policy "components". Otherwise a document is kept if it is
	// similar to no kept one, the policy "star".
	OnePerCluster bool
	// KeepNone removes all documents of a cluster except those that are kept whatever they are similar to.
	KeepNone bool
	// Clusters asks for the rows of clusters/. Otherwise there is one row per cluster, for its first document, by which
	// clusters are counted.
	Clusters bool
	// Verifier computes the similarity of a pair. If its larger document stays, larger documents are preferred, and
	// none is removed in favour of a smaller reference.
	Verifier verifier.Spec
	// PairBudget is the number of near pairs, with ids of ordinary length, that a cluster may list.
	PairBudget int
	// Files configures the sort of a shard.
	Files sorted.Params
}

// pairIDs is the number of id bytes per pair in the budget.
const pairIDs = 256

// Survivors decides which documents are kept. It visits them in the order of preference: by the preference of the file,
// then rank, then input order. A document is kept unless it is similar to a kept one, so that no pair has both
// documents kept, and each removed document is similar to the kept one that its row names. With OnePerCluster, only the
// first document of each cluster is kept. References and protected documents come first in that order and are always
// kept; documents similar to them are removed. A reference that is a copy of another one has no rows.
//
//	KV<component shard, profiles>, KV<component shard, near pairs>, KV<component shard, links>, KV<copy shard, copies> →
//	KV<table shard, rows> for each table, KV<corpus batch, keys>, facts
//
// A shard has whole components, so one call decides it. Links connect clusters as pairs do, but are not rows. A copy
// group (the documents of one set) is visited at its preferred document, which is kept if the group is. Documents with
// the same tokens share a profile; a second step makes the rows of their group.
//
// If the ids of a cluster's near pairs take more bytes than p.PairBudget allows, only the pairs of a removed document
// and the one kept in its place are listed; otherwise a few documents with long ids would make gigabytes of rows. Facts
// name these clusters and those with links, which are partial.
//
// Two CoGroupByKeys. For a shard it holds 32 bytes per document, plus p.Files.Held about six times; the rest is in
// files. It fails if a pair names a document that is not a representative. Counters: decide/clusters, decide/kept,
// decide/removed.
func Survivors(
	s beam.Scope, profiles flow.Profiles, pairs flow.NearPairs, links flow.Links, copied flow.Copies, p Params,
) Rows {
	s = s.Scope("decide.Survivors")
	near, clusters, removed, dropped, verdicts, facts := beam.ParDo6(s, &decideFn{Params: p},
		beam.CoGroupByKey(s, beam.PCollection(profiles), beam.PCollection(pairs), beam.PCollection(links)))
	rows := spread(s, flow.Verdicts(verdicts), copied, p)
	rows.add(near, clusters, removed, dropped, facts)
	return rows
}

// decideFn decides a component shard; see Survivors for the shapes.
type decideFn struct {
	Params Params

	rows     rowWriter
	verdicts blocks.Buffers
	shard    shard
}

func (f *decideFn) Setup(ctx context.Context) error {
	err := f.rows.setup(ctx, &f.Params)
	f.shard = newShard(&f.Params, f.rows.in)
	return err
}

func (f *decideFn) ProcessElement(
	ctx context.Context, number int64, profiles, pairs, links func(*[]byte) bool, toPairs, toClusters, toRemoved,
	toDropped, verdicts func(int64, []byte), facts func([]byte),
) error {
	c := &f.shard
	defer c.release()
	hold := memory.NewHold(ctx)
	defer hold.Free()
	if err := c.read(ctx, hold, profiles, pairs, links); err != nil {
		return fmt.Errorf("components, shard %d: %w", number, err)
	}
	f.rows.begin(ctx, toPairs, toClusters, toRemoved, toDropped)
	err := c.tell(teller{f.pair, func(doc *blocks.Profile, v *blocks.Verdict) {
		if v.Of == v.Cluster {
			clustersFound.Inc(ctx, 1)
		}
		if doc.Copies == 0 {
			f.rows.document(&verdict{Verdict: *v}, doc)
			return
		}
		f.verdicts.Add(f.Params.Shards.Shard(v.Of), func(block []byte) []byte { return blocks.AppendVerdict(block, v) },
			verdicts)
	}})
	if err != nil {
		return err
	}
	for _, of := range c.clusters {
		if !of.partial(f.Params.PairBudget) {
			continue
		}
		if err := (blocks.Fact{Kind: blocks.FactPartial, Name: fmt.Sprint(int64(of.first))}).Emit(facts); err != nil {
			return err
		}
	}
	return f.rows.end(ctx, fmt.Sprint(number), facts)
}

// pair adds the row of a near pair.
func (f *decideFn) pair(a, b *blocks.Profile, similarity float64, p *blocks.NearPair) {
	matches := p.Matches
	if matches == nil && f.Params.Verifier.Field > 0 { // one rule: its similarity is the pair's
		matches = []float64{similarity}
	}
	v := f.shard.verifier
	f.rows.pair(a, b, f.rows.named(a), f.rows.named(b), nil, p.Shared, similarity, matches, v.Len(a.Words), v.Len(b.Words))
}

func (f *decideFn) FinishBundle(
	ctx context.Context, toPairs, toClusters, toRemoved, toDropped, verdicts func(int64, []byte), _ func([]byte),
) {
	f.rows.flush(ctx, toPairs, toClusters, toRemoved, toDropped)
	f.verdicts.Flush(verdicts)
}
