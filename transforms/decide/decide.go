// Package decide says which documents are kept, and writes down why the others are not.
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
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[decideFn]())
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
}

// Params say how to decide.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Components keeps one document of each cluster; otherwise those are kept that no kept one is
	// similar to.
	Components bool
	// Clusters: the rows of clusters/ are wanted. Else there is one of each cluster, that of its first
	// document, by which they are counted.
	Clusters bool
}

// Survivors decides groups of components, in the order of preference: by the preference of the file,
// then rank, then input order. A document is kept unless a kept one is at least threshold similar
// to it: so no pair has both its documents kept, and each removed document is that similar to the
// kept one that its row names. Or, with Components, only the first of a cluster is kept.
//
//	KV<group, profiles>, KV<group, near pairs>, KV<group, links> → Rows
//
// A group is whole components, which nothing connects: deciding them together is deciding each.
// Links connect clusters as pairs do, and are no rows.
//
// A copy group stands at the place of the document to be preferred; if the group is kept, that
// document is. One CoGroupByKey; a group's profiles and pairs are held in memory.
func Survivors(s beam.Scope, profiles flow.Profiles, pairs flow.NearPairs, links flow.Links, p Params) Rows {
	s = s.Scope("decide.Survivors")
	near, clusters, removed, dropped := beam.ParDo4(s, &decideFn{Params: p}, beam.CoGroupByKey(s, beam.PCollection(profiles), beam.PCollection(pairs), beam.PCollection(links)))
	return Rows{
		Pairs: flow.Rows[records.Pair](near), Clusters: flow.Rows[records.Clustered](clusters),
		Removed: flow.Rows[records.Removed](removed), Dropped: flow.Dropped(dropped),
	}
}

type decideFn struct {
	Params Params

	in                              *blocks.Inputs
	pairs, clusters, removed, drops *blocks.Buffers
	components                      components
}

func (f *decideFn) Setup(ctx context.Context) (err error) {
	f.in, err = storage.Shared[blocks.Inputs](ctx, f.Params.Inputs)
	return err
}

func (f *decideFn) StartBundle(_, _, _, _ func(int64, []byte)) {
	f.pairs, f.clusters, f.removed, f.drops = blocks.NewBuffers(), blocks.NewBuffers(), blocks.NewBuffers(), blocks.NewBuffers()
}

func (f *decideFn) ProcessElement(ctx context.Context, number int64, profiles, pairs, links func(*[]byte) bool, toPairs, toClusters, toRemoved, toDropped func(int64, []byte)) error {
	c := &f.components
	if err := c.gather(f.in, profiles, pairs, links); err != nil {
		return fmt.Errorf("group %d of components: %w", number, err)
	}
	shard := func(own blocks.Key) int64 { return int64(f.in.Shard(own)) }
	c.pairRows(f.in, func(a, b blocks.Key, pair *records.Pair) { blocks.AddRow(f.pairs, shard(a), a, b, pair, toPairs) })
	verdicts, kept := c.decide(f.in, f.Params.Components), int64(0)
	var clustered records.Clustered
	var removed records.Removed
	for i := range verdicts {
		v := &verdicts[i]
		if f.Params.Clusters || v.doc.Key == v.cluster {
			v.fillClustered(&clustered, f.in)
			blocks.AddRow(f.clusters, shard(v.doc.Key), v.doc.Key, v.doc.Key, &clustered, toClusters)
		}
		if v.doc == v.kept {
			kept++
			continue
		}
		v.fillRemoved(&removed, f.in)
		blocks.AddRow(f.removed, shard(v.doc.Key), v.doc.Key, v.doc.Key, &removed, toRemoved)
		f.drops.Add(int64(f.in.Piece(v.doc.Key)), func(block []byte) []byte {
			return blocks.AppendKey(block, v.doc.Key)
		}, toDropped)
	}
	clustersFound.Inc(ctx, int64(c.clusterCount))
	keptCount.Inc(ctx, kept)
	removedCount.Inc(ctx, int64(len(verdicts))-kept)
	return nil
}

func (f *decideFn) FinishBundle(toPairs, toClusters, toRemoved, toDropped func(int64, []byte)) {
	f.pairs.Flush(toPairs)
	f.clusters.Flush(toClusters)
	f.removed.Flush(toRemoved)
	f.drops.Flush(toDropped)
}

// document is one of the components that are decided together.
type document struct {
	blocks.Profile
	id string
}

// components are what is known of those of a group. Their storage serves the next.
type components struct {
	// groups are the copy groups in the order of their representatives, members in input order.
	groups [][]*document
	// near are the similar groups, by index.
	near []nearGroups
	// links are groups of one cluster.
	links [][2]int

	clusterCount int
	astray       bool // a pair is of a document that is no representative

	documents []document
	docs      []*document
	groupOf   map[blocks.SetHash]int
	byKey     map[blocks.Key]int
}

// nearGroups says that groups i and j, i before j, are similar.
type nearGroups struct {
	i, j, shared int
	similarity   float64
}

// usualDocuments is up to how many documents a group's storage is kept for the next.
const usualDocuments = 1 << 16

func (c *components) gather(in *blocks.Inputs, profiles, pairs, links func(*[]byte) bool) error {
	if len(c.docs) > usualDocuments || c.groupOf == nil {
		*c = components{groupOf: map[blocks.SetHash]int{}, byKey: map[blocks.Key]int{}}
	}
	clear(c.groupOf)
	clear(c.byKey)
	c.groups, c.near, c.links, c.clusterCount, c.astray = c.groups[:0], c.near[:0], c.links[:0], 0, false
	clear(c.documents) // they hold blocks
	c.documents, c.docs = c.documents[:0], c.docs[:0]

	var block []byte
	for profiles(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			p := d.Profile()
			if err := d.Err(); err != nil {
				return err
			}
			c.documents = append(c.documents, document{p, in.ID(p.Key, p.ID, p.HasID)})
		}
		block = nil // ranks point into it
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
		var near []blocks.NearPair
		var err error
		for packed(&block) {
			if near, err = blocks.DecodeNearPairs(near[:0], block); err != nil {
				return err
			}
			for _, p := range near {
				i, okA := c.of(p.A)
				j, okB := c.of(p.B)
				if !okA || !okB {
					return fmt.Errorf("a pair of %v and %v, of which one has no profile", p.A, p.B)
				}
				if i != j {
					found(min(i, j), max(i, j), p.Shared)
				}
			}
		}
		return nil
	}
	err := each(pairs, func(i, j, shared int) {
		c.near = append(c.near, nearGroups{i: i, j: j, shared: shared,
			similarity: setsim.Similarity(shared, c.groups[i][0].Size, c.groups[j][0].Size)})
	})
	if err != nil {
		return err
	}
	if c.astray {
		slices.SortFunc(c.near, func(a, b nearGroups) int { return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j)) })
		c.near = slices.Compact(c.near)
	}
	return each(links, func(i, j, _ int) { c.links = append(c.links, [2]int{i, j}) })
}

// of returns the copy group of a document. Two components have the same set only if the first read took a
// document for a copy that is none (signature.copies): then pairs may name either's representative.
func (c *components) of(key blocks.Key) (g int, ok bool) {
	if g, ok = c.byKey[key]; ok {
		return g, true
	}
	i, ok := slices.BinarySearchFunc(c.docs, key, func(doc *document, key blocks.Key) int { return cmp.Compare(doc.Key, key) })
	if !ok {
		return 0, false
	}
	c.astray = true
	return c.groupOf[c.docs[i].Hash], true
}

// pairRows links each copy to its representative, and lists the near pairs: one by one, for they
// are many times as large as what they are made of.
func (c *components) pairRows(in *blocks.Inputs, yield func(a, b blocks.Key, row *records.Pair)) {
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

// verdict is what becomes of one document of a cluster.
type verdict struct {
	doc, kept  *document
	cluster    blocks.Key
	members    int
	similarity float64 // 0: they are no pair
	reason     string
}

// arrange puts the groups in the order of their best members: order is from place to group, place
// from group to place.
func (c *components) arrange(in *blocks.Inputs) (best []*document, order, place []int) {
	preferred := func(a, b *document) int { return in.Preferred(&a.Profile, &b.Profile) }
	best = make([]*document, len(c.groups))
	order, place = make([]int, len(c.groups)), make([]int, len(c.groups))
	for g, members := range c.groups {
		best[g], order[g] = slices.MinFunc(members, preferred), g
	}
	slices.SortFunc(order, func(g, h int) int { return preferred(best[g], best[h]) })
	for i, g := range order {
		place[g] = i
	}
	return best, order, place
}

// decide returns a verdict for each document that is in a cluster.
func (c *components) decide(in *blocks.Inputs, components bool) (verdicts []verdict) {
	best, order, place := c.arrange(in)
	var forest unionfind.Forest
	pairs := make([]survivors.Pair, len(c.near))
	for k, n := range c.near {
		forest.Union(int64(n.i), int64(n.j))
		i, j := place[n.i], place[n.j]
		pairs[k] = survivors.Pair{I: min(i, j), J: max(i, j), Similarity: n.similarity}
	}
	var links []survivors.Pair
	for _, l := range c.links {
		forest.Union(int64(l[0]), int64(l[1]))
		i, j := place[l[0]], place[l[1]]
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
	if components {
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
		choice := choices[place[g]]
		by := order[choice.By]
		for _, doc := range docs {
			v := verdict{doc: doc, kept: best[by], cluster: c.groups[root][0].Key, members: members[root],
				similarity: choice.Similarity, reason: records.ReasonNear}
			if by == g {
				v.reason = records.ReasonCopy
			}
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
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
