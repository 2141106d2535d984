// Package decide decides which documents are kept, and makes the rows that say why.
package decide

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[decideFn]())
	beam.RegisterDoFn(reflect.TypeFor[copiesFn]())
	register.Emitter1[[]byte]()
	register.Emitter2[int64, []byte]()
	register.Iter1[[]byte]()
}

var (
	clustersFound = beam.NewCounter("decide", "clusters")
	keptCount     = beam.NewCounter("decide", "kept")
	removedCount  = beam.NewCounter("decide", "removed")
)

// Rows are the rows of the output tables, and the keys of the removed documents.
type Rows struct {
	Pairs    flow.Rows[records.Pair]
	Clusters flow.Rows[records.Clustered]
	Removed  flow.Rows[records.Removed]
	Dropped  flow.Dropped
	// Facts say how many copies were removed that differ in symbols from the kept document.
	Facts flow.Facts
}

// Params say how to decide.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// OnePerCluster keeps one document of each cluster, the policy "components"; otherwise a document is
	// kept if it is similar to no kept one, the policy "star".
	OnePerCluster bool
	// Clusters: the rows of clusters/ are wanted. Otherwise there is one for each cluster, that of its
	// first document, to count clusters by.
	Clusters bool
}

// Survivors decides which documents are kept, in the order of preference: by the preference of the
// file, then rank, then input order. A document is kept unless a kept one is similar to it: so no
// pair has both its documents kept, and each removed document is similar to the kept one that its row
// names. Or, with OnePerCluster, only the first of each cluster is kept.
//
//	KV<component shard, profiles>, KV<component shard, near pairs>, KV<component shard, links> →
//	KV<table shard, rows> for each table, KV<corpus piece, keys>, facts
//
// A shard has whole components, so it is decided at once. Links connect clusters as pairs do, and are
// no rows. A copy group is visited at its preferred document, which is kept if the group is.
//
// One CoGroupByKey; the profiles and pairs of a shard are held in memory. It fails if a pair names a
// document without a profile. Counters: decide/clusters, decide/kept, decide/removed.
func Survivors(s beam.Scope, profiles flow.Profiles, pairs flow.NearPairs, links flow.Links, p Params) Rows {
	s = s.Scope("decide.Survivors")
	near, clusters, removed, dropped, facts := beam.ParDo5(s, &decideFn{Params: p}, beam.CoGroupByKey(s, beam.PCollection(profiles), beam.PCollection(pairs), beam.PCollection(links)))
	return Rows{
		Pairs: flow.Rows[records.Pair](near), Clusters: flow.Rows[records.Clustered](clusters),
		Removed: flow.Rows[records.Removed](removed), Dropped: flow.Dropped(dropped), Facts: flow.Facts(facts),
	}
}

// Copies is Survivors of documents that have no pairs but copies.
//
//	KV<component shard, profiles> → KV<table shard, rows> for each table, KV<corpus piece, keys>, facts
//
// One GroupByKey; the profiles of a shard are held in memory. Counters as of Survivors.
func Copies(s beam.Scope, profiles flow.Profiles, p Params) Rows {
	s = s.Scope("decide.Copies")
	pairs, clusters, removed, dropped, facts := beam.ParDo5(s, &copiesFn{Params: p}, beam.GroupByKey(s, beam.PCollection(profiles)))
	return Rows{
		Pairs: flow.Rows[records.Pair](pairs), Clusters: flow.Rows[records.Clustered](clusters),
		Removed: flow.Rows[records.Removed](removed), Dropped: flow.Dropped(dropped), Facts: flow.Facts(facts),
	}
}

// decideFn decides a component shard; see Survivors for the shapes.
type decideFn struct {
	Params Params

	shards decider
}

func (f *decideFn) Setup(ctx context.Context) error { return f.shards.setup(ctx, f.Params) }

func (f *decideFn) StartBundle(_, _, _, _ func(int64, []byte), _ func([]byte)) { f.shards.start() }

func (f *decideFn) ProcessElement(ctx context.Context, shard int64, profiles, pairs, links func(*[]byte) bool, toPairs, toClusters, toRemoved, toDropped func(int64, []byte), facts func([]byte)) error {
	return f.shards.decide(ctx, shard, profiles, pairs, links, toPairs, toClusters, toRemoved, toDropped, facts)
}

func (f *decideFn) FinishBundle(toPairs, toClusters, toRemoved, toDropped func(int64, []byte), _ func([]byte)) {
	f.shards.flush(toPairs, toClusters, toRemoved, toDropped)
}

// copiesFn decides a component shard; see Copies for the shapes.
type copiesFn struct {
	Params Params

	shards decider
}

func (f *copiesFn) Setup(ctx context.Context) error { return f.shards.setup(ctx, f.Params) }

func (f *copiesFn) StartBundle(_, _, _, _ func(int64, []byte), _ func([]byte)) { f.shards.start() }

func (f *copiesFn) ProcessElement(ctx context.Context, shard int64, profiles func(*[]byte) bool, toPairs, toClusters, toRemoved, toDropped func(int64, []byte), facts func([]byte)) error {
	none := func(*[]byte) bool { return false }
	return f.shards.decide(ctx, shard, profiles, none, none, toPairs, toClusters, toRemoved, toDropped, facts)
}

func (f *copiesFn) FinishBundle(toPairs, toClusters, toRemoved, toDropped func(int64, []byte), _ func([]byte)) {
	f.shards.flush(toPairs, toClusters, toRemoved, toDropped)
}

// decider decides component shards, one after another.
type decider struct {
	params                          Params
	in                              *blocks.Inputs
	pairs, clusters, removed, drops *blocks.Buffers
	state                           groupState
}

func (f *decider) setup(ctx context.Context, p Params) (err error) {
	f.params = p
	f.in, err = storage.Shared[blocks.Inputs](ctx, p.Inputs)
	return err
}

func (f *decider) start() {
	f.pairs, f.clusters, f.removed, f.drops = blocks.NewBuffers(), blocks.NewBuffers(), blocks.NewBuffers(), blocks.NewBuffers()
}

func (f *decider) decide(ctx context.Context, shard int64, profiles, pairs, links func(*[]byte) bool, toPairs, toClusters, toRemoved, toDropped func(int64, []byte), facts func([]byte)) error {
	c := &f.state
	if err := c.gather(f.in, profiles, pairs, links); err != nil {
		return fmt.Errorf("component shard %d: %w", shard, err)
	}
	tableShard := func(own blocks.Key) int64 { return int64(f.in.Shard(own)) }
	c.pairRows(f.in, func(a, b blocks.Key, pair *records.Pair) { blocks.AddRow(f.pairs, tableShard(a), a, b, pair, toPairs) })
	verdicts, kept, symbols := c.decide(f.in, f.params.OnePerCluster), int64(0), int64(0)
	var clustered records.Clustered
	var removed records.Removed
	for i := range verdicts {
		v := &verdicts[i]
		if f.params.Clusters || v.doc.Key == v.cluster {
			v.fillClustered(&clustered, f.in)
			blocks.AddRow(f.clusters, tableShard(v.doc.Key), v.doc.Key, v.doc.Key, &clustered, toClusters)
		}
		if v.doc == v.kept {
			kept++
			continue
		}
		if v.differsInSymbols() {
			symbols++
		}
		v.fillRemoved(&removed, f.in)
		blocks.AddRow(f.removed, tableShard(v.doc.Key), v.doc.Key, v.doc.Key, &removed, toRemoved)
		f.drops.Add(int64(f.in.Piece(v.doc.Key)), func(block []byte) []byte {
			return blocks.AppendKey(block, v.doc.Key)
		}, toDropped)
	}
	clustersFound.Inc(ctx, int64(c.clusterCount))
	keptCount.Inc(ctx, kept)
	removedCount.Inc(ctx, int64(len(verdicts))-kept)
	if symbols == 0 {
		return nil
	}
	return blocks.Fact{
		Kind: blocks.FactSymbols, Name: fmt.Sprint(shard), Counts: map[string]int64{blocks.CountSymbols: symbols},
	}.Emit(facts)
}

func (f *decider) flush(toPairs, toClusters, toRemoved, toDropped func(int64, []byte)) {
	f.pairs.Flush(toPairs)
	f.clusters.Flush(toClusters)
	f.removed.Flush(toRemoved)
	f.drops.Flush(toDropped)
}

// document is a profile with its id resolved.
type document struct {
	blocks.Profile
	id string
}

// groupState is what is known of the documents of a component shard. Its storage serves the next.
type groupState struct {
	// groups are the copy groups in the order of their representatives, members in input order.
	groups [][]*document
	// near are the pairs of similar groups, by index.
	near []nearGroups
	// links are pairs of groups of one cluster, by index.
	links [][2]int

	clusterCount int
	// hasNonRepresentative: a pair names a document that is no representative.
	hasNonRepresentative bool

	documents []document
	docs      []*document
	groupOf   map[blocks.Hash]int
	byKey     map[blocks.Key]int
}

// nearGroups says that groups i and j, i before j, are similar.
type nearGroups struct {
	i, j, shared int
	similarity   float64
}

// maxReused is the number of documents up to which storage is kept for the next shard.
const maxReused = 1 << 16

func (c *groupState) gather(in *blocks.Inputs, profiles, pairs, links func(*[]byte) bool) error {
	if len(c.docs) > maxReused || c.groupOf == nil {
		*c = groupState{groupOf: map[blocks.Hash]int{}, byKey: map[blocks.Key]int{}}
	}
	clear(c.groupOf)
	clear(c.byKey)
	c.groups, c.near, c.links, c.clusterCount, c.hasNonRepresentative = c.groups[:0], c.near[:0], c.links[:0], 0, false
	clear(c.documents) // they hold blocks
	c.documents, c.docs = c.documents[:0], c.docs[:0]

	err := gather.Each(profiles, func(d *blocks.Decoder) { // ranks share memory with the blocks
		p := d.Profile()
		c.documents = append(c.documents, document{Profile: p})
	})
	if err != nil {
		return err
	}
	for i := range c.documents {
		d := &c.documents[i]
		d.id = in.ID(d.Key, d.ID, d.HasID)
	}
	for i := range c.documents {
		c.docs = append(c.docs, &c.documents[i])
	}
	slices.SortFunc(c.docs, func(a, b *document) int { return cmp.Compare(a.Key, b.Key) })
	for _, doc := range c.docs {
		g, ok := c.groupOf[doc.Hash]
		if !ok {
			g = len(c.groups)
			c.groupOf[doc.Hash] = g
			c.byKey[doc.Key] = g
			if g < cap(c.groups) {
				c.groups = c.groups[:g+1]
				c.groups[g] = c.groups[g][:0]
			} else {
				c.groups = append(c.groups, nil)
			}
		}
		c.groups[g] = append(c.groups[g], doc)
	}

	each := func(packed func(*[]byte) bool, found func(i, j, shared int)) error {
		var unknown error
		err := gather.NearPairs(packed, func(p blocks.NearPair) {
			i, okA := c.of(p.A)
			j, okB := c.of(p.B)
			switch {
			case !okA || !okB:
				unknown = fmt.Errorf("a document of the pair %v, %v has no profile", p.A, p.B)
			case i != j:
				found(min(i, j), max(i, j), p.Shared)
			}
		})
		return cmp.Or(err, unknown)
	}
	err = each(pairs, func(i, j, shared int) {
		c.near = append(c.near, nearGroups{i: i, j: j, shared: shared,
			similarity: setsim.Similarity(shared, c.groups[i][0].Size, c.groups[j][0].Size)})
	})
	if err != nil {
		return err
	}
	if c.hasNonRepresentative {
		slices.SortFunc(c.near, func(a, b nearGroups) int { return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j)) })
		c.near = slices.Compact(c.near)
	}
	return each(links, func(i, j, _ int) { c.links = append(c.links, [2]int{i, j}) })
}

// of returns the copy group of a document. Two components have the same set only if kernels/copies took
// a document for a copy that it is not; then pairs may name the representative of either.
func (c *groupState) of(key blocks.Key) (g int, ok bool) {
	if g, ok = c.byKey[key]; ok {
		return g, true
	}
	i, ok := slices.BinarySearchFunc(c.docs, key, func(doc *document, key blocks.Key) int { return cmp.Compare(doc.Key, key) })
	if !ok {
		return 0, false
	}
	c.hasNonRepresentative = true
	return c.groupOf[c.docs[i].Hash], true
}

// pairRows yields a row for each copy with its representative, and for each near pair: one by one, for
// rows take many times the memory of what they are made of.
func (c *groupState) pairRows(in *blocks.Inputs, yield func(a, b blocks.Key, row *records.Pair)) {
	var row records.Pair
	add := func(a, b *document, shared int, similarity float64) {
		row = records.Pair{
			IDA: a.id, IDB: b.id, SourceA: in.Source(a.Key), SourceB: in.Source(b.Key),
			PositionA: a.Key.Position(), PositionB: b.Key.Position(),
			Similarity: similarity, Shared: int32(shared), SizeA: int32(a.Size), SizeB: int32(b.Size),
		}
		yield(a.Key, b.Key, &row)
	}
	for _, members := range c.groups {
		for _, copied := range members[1:] {
			add(members[0], copied, copied.Size, 1)
		}
	}
	for _, n := range c.near {
		add(c.groups[n.i][0], c.groups[n.j][0], n.shared, n.similarity)
	}
}

// verdict says whether a document of a cluster is kept, or which one in its place.
type verdict struct {
	doc, kept  *document
	cluster    blocks.Key
	members    int
	similarity float64 // 0: they are no pair
	reason     string
}

// inOrder puts the groups in the order of preference, by their best members: order[i] is the group that
// is visited as number i, and number its inverse.
func (c *groupState) inOrder(in *blocks.Inputs) (best []*document, order, number []int) {
	preferred := func(a, b *document) int { return in.Preferred(&a.Profile, &b.Profile) }
	best = make([]*document, len(c.groups))
	order, number = make([]int, len(c.groups)), make([]int, len(c.groups))
	for g, members := range c.groups {
		best[g], order[g] = slices.MinFunc(members, preferred), g
	}
	slices.SortFunc(order, func(g, h int) int { return preferred(best[g], best[h]) })
	for i, g := range order {
		number[g] = i
	}
	return best, order, number
}

// decide returns a verdict for each document that is in a cluster.
func (c *groupState) decide(in *blocks.Inputs, onePerCluster bool) (verdicts []verdict) {
	best, order, number := c.inOrder(in)
	var forest unionfind.Forest
	pairs := make([]survivors.Pair, len(c.near))
	for k, n := range c.near {
		forest.Union(int64(n.i), int64(n.j))
		i, j := number[n.i], number[n.j]
		pairs[k] = survivors.Pair{I: min(i, j), J: max(i, j), Similarity: n.similarity}
	}
	var links []survivors.Pair
	for _, l := range c.links {
		forest.Union(int64(l[0]), int64(l[1]))
		i, j := number[l[0]], number[l[1]]
		links = append(links, survivors.Pair{I: min(i, j), J: max(i, j)})
	}
	clusterOf := make([]int, len(c.groups))
	members := make([]int, len(c.groups))
	for g := range c.groups {
		clusterOf[g] = g
	}
	for g, root := range forest.All() {
		clusterOf[g] = int(root)
	}
	for g, root := range clusterOf {
		members[root] += len(c.groups[g])
	}
	var choices []survivors.Choice
	if onePerCluster {
		choices = survivors.Components(len(c.groups), append(links, pairs...))
	} else {
		choices = survivors.Star(len(c.groups), pairs)
	}
	for g, docs := range c.groups {
		root := clusterOf[g]
		if members[root] < 2 {
			continue
		}
		if root == g {
			c.clusterCount++
		}
		choice := choices[number[g]]
		by := order[choice.By]
		for _, doc := range docs {
			v := verdict{doc: doc, kept: best[by], cluster: c.groups[root][0].Key, members: members[root],
				similarity: choice.Similarity, reason: records.ReasonNear}
			if by == g {
				v.reason = reasonOf(doc, best[by])
			}
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// reasonOf says what a document has in common with the kept one of its copy group.
func reasonOf(doc, kept *document) string {
	switch {
	case doc.Traits.Text == kept.Traits.Text:
		return records.ReasonIdentical
	case doc.Traits.Tokens == kept.Traits.Tokens:
		return records.ReasonEqual
	default:
		return records.ReasonSameSet
	}
}

// differsInSymbols reports whether a removed copy has other symbols than the kept document.
func (v *verdict) differsInSymbols() bool {
	return v.reason != records.ReasonNear && v.doc.Traits.Symbols != v.kept.Traits.Symbols
}

func (v *verdict) fillClustered(row *records.Clustered, in *blocks.Inputs) {
	*row = records.Clustered{
		Cluster: int64(v.cluster), ID: v.doc.id,
		Source: in.Source(v.doc.Key), Position: v.doc.Key.Position(),
		Size: int32(v.doc.Size), Members: int32(v.members), Kept: v.doc == v.kept,
	}
}

func (v *verdict) fillRemoved(row *records.Removed, in *blocks.Inputs) {
	*row = records.Removed{
		ID: v.doc.id, Source: in.Source(v.doc.Key), Position: v.doc.Key.Position(),
		Cluster: int64(v.cluster),
		KeptID:  v.kept.id, KeptSource: in.Source(v.kept.Key), KeptPosition: v.kept.Key.Position(),
		Reason: v.reason,
	}
	if v.similarity > 0 {
		row.Similarity = &v.similarity
	}
}
