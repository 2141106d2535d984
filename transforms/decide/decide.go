// Package decide decides which documents are kept, and makes the rows that say why.
package decide

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/dofn"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/sets"
)

func init() {
	dofn.Register[decideFn]()
}

var clustersFound = beam.NewCounter("decide", "clusters")

// Rows are the rows of the output tables, and the keys of the removed documents.
type Rows struct {
	Pairs    []flow.Rows[records.Pair]
	Clusters []flow.Rows[records.Clustered]
	Removed  []flow.Rows[records.Removed]
	Dropped  []flow.Dropped
	// Facts say how many copies were removed that differ in symbols from the kept document.
	Facts []flow.Facts
}

func (r *Rows) add(pairs, clusters, removed, dropped, facts beam.PCollection) {
	r.Pairs = append(r.Pairs, flow.Rows[records.Pair](pairs))
	r.Clusters = append(r.Clusters, flow.Rows[records.Clustered](clusters))
	r.Removed = append(r.Removed, flow.Rows[records.Removed](removed))
	r.Dropped = append(r.Dropped, flow.Dropped(dropped))
	r.Facts = append(r.Facts, flow.Facts(facts))
}

// Params say how to decide.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Shards are those of the profiles and of the copies.
	Shards sets.ComponentShards
	// OnePerCluster keeps one document of each cluster, the policy "components"; otherwise a document is
	// kept if it is similar to no kept one, the policy "star".
	OnePerCluster bool
	// KeepNone removes all documents of a cluster but those that are kept whatever they resemble.
	KeepNone bool
	// Clusters: the rows of clusters/ are wanted. Otherwise there is one for each cluster, that of its
	// first document, to count clusters by.
	Clusters bool
	// Verifier says how similar the documents of a pair are. Where the larger one stays, larger ones are preferred, and
	// nothing falls to a smaller reference.
	Verifier verifier.Spec
	// PairBudget is how many near pairs of ordinary ids a cluster may list.
	PairBudget int
	// Files is where a shard is sorted.
	Files sorted.Params
}

// pairIDs are the bytes of ids that a pair of the budget has.
const pairIDs = 256

// Survivors decides which documents are kept, in the order of preference: by the preference of the
// file, then rank, then input order. A document is kept unless a kept one is similar to it: so no
// pair has both its documents kept, and each removed document is similar to the kept one that its row
// names. Or, with OnePerCluster, only the first of each cluster is kept. References and protected documents are kept in
// any case; they are first in that order, and what is similar to one of them falls to it. A reference that is a copy of
// another one is told of nowhere.
//
//	KV<component shard, profiles>, KV<component shard, near pairs>, KV<component shard, links>, KV<copy shard, copies> →
//	KV<table shard, rows> for each table, KV<corpus batch, keys>, facts
//
// A shard has whole components, so it is decided at once. Links connect clusters as pairs do, and are
// no rows. A copy group, the documents of one set, is visited at its preferred document, which is kept if the group
// is. Documents with the same tokens share a profile; a second step makes the rows of their group.
//
// A cluster whose near pairs have more bytes of ids than p.PairBudget has room for lists only those of a document with
// the one kept in its place: else a few documents of long ids would make gigabytes of rows. Facts name these clusters.
//
// Two CoGroupByKeys. Of a shard, 32 bytes for each document are held, and p.Files.Held about six times; the rest is in
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
		if !of.cut(f.Params.PairBudget) {
			continue
		}
		if err := (blocks.Fact{Kind: blocks.FactCut, Name: fmt.Sprint(int64(of.first))}).Emit(facts); err != nil {
			return err
		}
	}
	return f.rows.end(ctx, fmt.Sprint(number), facts)
}

// pair adds the row of a near pair.
func (f *decideFn) pair(a, b *blocks.Profile, similarity float64, p *blocks.NearPair) {
	matches := p.Matches
	if matches == nil && f.Params.Verifier.Field > 0 { // the only rule
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
