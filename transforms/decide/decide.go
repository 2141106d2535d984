// Package decide decides which documents are kept, and makes the rows that say why.
package decide

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/dofn"
	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/gather"
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
// Two CoGroupByKeys. The first holds the profiles and pairs of a shard in memory: for each profile about 230 bytes and
// what it takes packed, 72 for each pair. It fails if a pair names a document that is not a representative. Counters:
// decide/clusters, decide/kept, decide/removed.
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
	f.shard.spec, f.shard.verifier = f.Params.Verifier, f.Params.Verifier.New()
	return f.rows.setup(ctx, &f.Params)
}

func (f *decideFn) ProcessElement(
	ctx context.Context, number int64, profiles, pairs, links func(*[]byte) bool, toPairs, toClusters, toRemoved,
	toDropped, verdicts func(int64, []byte), facts func([]byte),
) error {
	in, c := f.rows.in, &f.shard
	if err := c.gather(profiles, pairs, links); err != nil {
		return fmt.Errorf("components, shard %d: %w", number, err)
	}
	defer c.release()
	f.rows.begin(ctx, toPairs, toClusters, toRemoved, toDropped)
	cut := c.decide(in, &f.Params, func(doc *blocks.Profile, v *blocks.Verdict) {
		if v.Of == v.Cluster {
			clustersFound.Inc(ctx, 1)
		}
		if doc.Copies == 0 {
			f.rows.document(&verdict{Verdict: *v}, doc)
			return
		}
		f.verdicts.Add(f.Params.Shards.Shard(v.Of), func(block []byte) []byte { return blocks.AppendVerdict(block, v) },
			verdicts)
	})
	for _, n := range c.near {
		a, b := &c.docs[n.i], &c.docs[n.j]
		matches, similarity := c.matches(n), c.similarity(n)
		if matches == nil && f.Params.Verifier.Field > 0 { // the only rule
			matches = []float64{similarity}
		}
		f.rows.pair(a, b, f.rows.named(a), f.rows.named(b), nil, int(n.shared), similarity, matches,
			c.verifier.Len(a.Words), c.verifier.Len(b.Words))
	}
	for _, cluster := range cut {
		if err := (blocks.Fact{Kind: blocks.FactCut, Name: fmt.Sprint(int64(cluster))}).Emit(facts); err != nil {
			return err
		}
	}
	return f.rows.end(ctx, fmt.Sprint(number), facts)
}

func (f *decideFn) FinishBundle(
	ctx context.Context, toPairs, toClusters, toRemoved, toDropped, verdicts func(int64, []byte), _ func([]byte),
) {
	f.rows.flush(ctx, toPairs, toClusters, toRemoved, toDropped)
	f.verdicts.Flush(verdicts)
}

// shard is what is known of the documents of a component shard. Its storage serves the next.
type shard struct {
	spec     verifier.Spec
	verifier verifier.Verifier
	// docs are the profiles in input order, and keys their keys; first[i] is the first of the set of document i.
	docs  []blocks.Profile
	keys  []blocks.Key
	first []int32
	// near are the pairs of similar representatives, and links pairs of those in one cluster.
	near  []nearPair
	links [][2]int32
	// said are what rules of similarity say of near pairs, so many of each.
	said  []float64
	rules int
}

// nearPair says that representatives i and j, i before j, are similar.
type nearPair struct {
	i, j   int32
	score  int
	shared int32
	number int32 // as they came, from 0 on
}

// maxReused is the number of documents, or of pairs, up to which storage is kept for the next shard.
const maxReused = 1 << 16

// release lets go of the profiles' blocks, and of much storage.
func (c *shard) release() {
	if len(c.docs) > maxReused || len(c.near)+len(c.links) > maxReused {
		*c = shard{spec: c.spec, verifier: c.verifier}
	}
	clear(c.docs)
}

func (c *shard) gather(profiles, pairs, links func(*[]byte) bool) error {
	if err := c.read(profiles); err != nil {
		return err
	}
	c.group()
	c.near, c.links, c.said, c.rules = c.near[:0], c.links[:0], c.said[:0], 0
	each := func(packed func(*[]byte) bool, found func(i, j int32, p blocks.NearPair)) error {
		var unknown error
		err := gather.NearPairs(packed, func(p blocks.NearPair) {
			i, okA := c.of(p.A)
			j, okB := c.of(p.B)
			if !okA || !okB {
				unknown = fmt.Errorf("a document of the pair %v, %v is not a representative", p.A, p.B)
				return
			}
			found(i, j, p)
		})
		return cmp.Or(err, unknown)
	}
	err := each(pairs, func(i, j int32, p blocks.NearPair) {
		c.near = append(c.near, nearPair{i, j, p.Score, int32(p.Shared), int32(len(c.near))})
		c.said, c.rules = append(c.said, p.Matches...), len(p.Matches)
	})
	if err != nil {
		return err
	}
	return each(links, func(i, j int32, _ blocks.NearPair) { c.links = append(c.links, [2]int32{i, j}) })
}

// read decodes profiles in input order: a profile is large, and so none is moved.
func (c *shard) read(profiles func(*[]byte) bool) error {
	type place struct {
		key       blocks.Key
		block, at int32
	}
	var places []place
	var held [][]byte
	var block []byte
	for profiles(&block) {
		d := blocks.NewDecoder(block)
		for !d.Done() {
			at := len(block) - d.Left()
			places = append(places, place{d.Profile().Key, int32(len(held)), int32(at)})
		}
		if err := d.Err(); err != nil {
			return err
		}
		held = append(held, block)
		block = nil
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.key, b.key) })
	c.docs = slices.Grow(c.docs[:0], len(places))
	c.keys = slices.Grow(c.keys[:0], len(places))
	for _, p := range places {
		c.docs = append(c.docs, blocks.NewDecoder(held[p.block][p.at:]).Profile())
		c.keys = append(c.keys, p.key)
	}
	return nil
}

// group finds the first document of each set.
func (c *shard) group() {
	firsts := make(map[blocks.Hash]int32, len(c.docs))
	c.first = slices.Grow(c.first[:0], len(c.docs))
	for i := range c.docs {
		first, ok := firsts[c.docs[i].Hash]
		if !ok {
			first = int32(i)
			firsts[c.docs[i].Hash] = first
		}
		c.first = append(c.first, first)
	}
}

// of returns the index of a representative.
func (c *shard) of(key blocks.Key) (i int32, ok bool) {
	at, ok := slices.BinarySearch(c.keys, key)
	return int32(at), ok && c.first[at] == int32(at)
}

// similarity returns that of two representatives.
func (c *shard) similarity(n nearPair) float64 {
	return c.spec.Similarity(c.verifier, n.score, c.docs[n.i].Size, c.docs[n.j].Size, c.matches(n))
}

// matches returns what rules of similarity say of a pair, nil without such rules.
func (c *shard) matches(n nearPair) []float64 {
	if c.rules == 0 {
		return nil
	}
	return c.said[int(n.number)*c.rules:][:c.rules]
}

// inOrder puts the representatives in the order of preference, by the best documents of their groups: order[i] is the
// one visited as number i, number[r] when r is, and best[r] the best of its group, with its copies.
func (c *shard) inOrder(in *blocks.Inputs, largerStays bool) (best, order, number []int32) {
	best, number = make([]int32, len(c.docs)), make([]int32, len(c.docs))
	preferred := func(i, j int32) int { return in.Preferred(c.docs[i].Preferred(), c.docs[j].Preferred()) }
	for at, r := range c.first {
		switch i := int32(at); {
		case i == r:
			best[r] = i
			order = append(order, r)
		case preferred(i, best[r]) < 0:
			best[r] = i
		}
	}
	slices.SortFunc(order, func(r, s int32) int {
		i, j := best[r], best[s]
		if largerStays && c.standing(in, i) == c.standing(in, j) && c.docs[i].Size != c.docs[j].Size {
			return cmp.Compare(c.docs[j].Size, c.docs[i].Size)
		}
		return preferred(i, j)
	})
	for i, r := range order {
		number[r] = int32(i)
	}
	return best, order, number
}

// standing is that of a document, or of the preferred one of its copies.
func (c *shard) standing(in *blocks.Inputs, i int32) blocks.Standing {
	return in.Standing(c.docs[i].Preferred().Key.File())
}

// decide yields a verdict for each document that is in a cluster; it is valid until the next. What is near afterwards
// is to be listed, and of the clusters returned it is not all.
func (c *shard) decide(
	in *blocks.Inputs, p *Params, yield func(*blocks.Profile, *blocks.Verdict),
) (partial []blocks.Key) {
	best, order, number := c.inOrder(in, p.Verifier.LargerStays())
	var forest unionfind.Forest
	all := make([]survivors.Pair, 0, len(c.links)+len(c.near))
	connect := func(r, s int32, similarity float64) {
		forest.Union(int64(r), int64(s))
		i, j := int(number[r]), int(number[s])
		all = append(all, survivors.Pair{I: min(i, j), J: max(i, j), Similarity: similarity})
	}
	for _, l := range c.links {
		connect(l[0], l[1], 0)
	}
	for _, n := range c.near {
		connect(n.i, n.j, c.similarity(n))
	}
	standing := func(i int) blocks.Standing { return c.standing(in, best[order[i]]) }
	protected := sort.Search(len(order), func(i int) bool { return standing(i) <= blocks.Recalled })
	var choices []survivors.Choice
	if p.OnePerCluster {
		choices = survivors.Components(len(order), protected, all)
	} else {
		pairs := all[len(c.links):]
		if p.Verifier.LargerStays() { // but references come before larger documents
			size := func(i int) int { return c.docs[order[i]].Size }
			pairs = slices.DeleteFunc(slices.Clone(pairs), func(p survivors.Pair) bool { return size(p.I) < size(p.J) })
		}
		if len(order) > 0 && standing(0) == blocks.Recalled { // nothing falls to what was removed
			recalled := func(p survivors.Pair) bool { return standing(p.I) == blocks.Recalled }
			pairs = slices.DeleteFunc(slices.Clone(pairs), recalled)
		}
		choices = survivors.Star(len(order), protected, pairs)
	}
	var nearest []float64
	if p.KeepNone {
		nearest = make([]float64, len(order))
		for _, n := range all {
			nearest[n.I], nearest[n.J] = max(nearest[n.I], n.Similarity), max(nearest[n.J], n.Similarity)
		}
	}
	cluster := slices.Clone(c.first) // the representative that is first in the cluster of one
	for r, root := range forest.AsAdded() {
		cluster[r] = int32(root)
	}
	members := make([]int, len(c.docs))
	for i, r := range c.first {
		members[cluster[r]] += c.docs[i].Copies
		if int32(i) == r || !in.IsReference(c.keys[i]) {
			members[cluster[r]]++
		}
	}
	partial = c.cut(in, p.PairBudget, cluster, func(r int32) int32 { return order[choices[number[r]].By] })
	incomplete := make(map[blocks.Key]bool) // clusters
	for _, first := range partial {
		incomplete[first] = true
	}
	for _, l := range c.links { // which are of crowds
		incomplete[c.keys[cluster[l[0]]]] = true
	}
	var v blocks.Verdict
	for i, r := range c.first {
		if members[cluster[r]] < 2 {
			continue
		}
		doc, choice := &c.docs[i], choices[number[r]]
		by := order[choice.By]
		v = blocks.Verdict{
			Of: doc.Key, Tokens: doc.Traits.Tokens, Size: c.verifier.Len(doc.Words),
			First: c.docs[r], Kept: *c.docs[best[by]].Preferred(),
			Cluster: c.keys[cluster[r]], Members: members[cluster[r]],
			Near: by != r, Similarity: choice.Similarity, Partial: incomplete[c.keys[cluster[r]]],
		}
		if p.KeepNone {
			v.Nearest = nearest[number[r]]
		}
		yield(doc, &v)
	}
	return partial
}

// cut leaves, of clusters whose near pairs have too many bytes of ids, those of a document with the one kept in its
// place. It returns the clusters by their first documents.
func (c *shard) cut(
	in *blocks.Inputs, budget int, cluster []int32, keptFor func(r int32) int32,
) (partial []blocks.Key) {
	ids := func(i int32) int {
		if doc := &c.docs[i]; doc.HasID {
			return len(doc.ID)
		}
		return len(in.Name(c.docs[i].Key.File()))
	}
	bytes := make([]int, len(c.docs)) // of a cluster, at its first document
	for _, n := range c.near {
		bytes[cluster[n.i]] += ids(n.i) + ids(n.j)
	}
	for first, n := range bytes {
		if n/pairIDs > budget {
			partial = append(partial, c.keys[first])
		}
	}
	if len(partial) > 0 {
		c.near = slices.DeleteFunc(c.near, func(n nearPair) bool {
			return bytes[cluster[n.i]]/pairIDs > budget && keptFor(n.i) != n.j && keptFor(n.j) != n.i
		})
	}
	return partial
}
