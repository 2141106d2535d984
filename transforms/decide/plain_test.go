package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/survivors/survivorstest"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/gather"
)

// plain decides a component shard in memory, by definition.
type plain struct {
	spec     verifier.Spec
	verifier verifier.Verifier
	// docs are the profiles in input order, and keys their keys; first[i] is the first of the set of document i.
	docs  []blocks.Profile
	keys  []blocks.Key
	first []int32
	// near are the pairs of similar representatives, and links pairs of those in one cluster.
	near  []nearPair
	links [][2]int32
	// said are the similarities of near pairs by rules, the same number for each.
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

func (c *plain) gather(profiles, pairs, links func(*[]byte) bool) error {
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

// read decodes profiles in input order, without moving any, since profiles are large.
func (c *plain) read(profiles func(*[]byte) bool) error {
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
func (c *plain) group() {
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
func (c *plain) of(key blocks.Key) (i int32, ok bool) {
	at, ok := slices.BinarySearch(c.keys, key)
	return int32(at), ok && c.first[at] == int32(at)
}

// similarity returns the similarity of two representatives.
func (c *plain) similarity(n nearPair) float64 {
	return c.spec.Similarity(c.verifier, n.score, c.docs[n.i].Size, c.docs[n.j].Size, c.matches(n))
}

// matches returns the similarities of a pair by rules, or nil without such rules.
func (c *plain) matches(n nearPair) []float64 {
	if c.rules == 0 {
		return nil
	}
	return c.said[int(n.number)*c.rules:][:c.rules]
}

// inOrder orders the representatives by preference, by the best documents of their groups: order[i] is the i-th one
// visited, number[r] the position of r in that order, and best[r] the best document of its group, copies included.
func (c *plain) inOrder(in *blocks.Inputs, largerStays bool) (best, order, number []int32) {
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

// standing returns the standing of a document, or of the preferred one of its copies.
func (c *plain) standing(in *blocks.Inputs, i int32) blocks.Standing {
	return in.Standing(c.docs[i].Preferred().Key.File())
}

// decide yields a verdict for each document that is in a cluster, valid until the next one. Afterwards near has the
// pairs to list; it is incomplete for the clusters returned.
func (c *plain) decide(
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
		choices = survivorstest.Components(len(order), protected, all)
	} else {
		pairs := all[len(c.links):]
		if p.Verifier.LargerStays() { // but references precede larger documents
			size := func(i int) int { return c.docs[order[i]].Size }
			pairs = slices.DeleteFunc(slices.Clone(pairs), func(p survivors.Pair) bool { return size(p.I) < size(p.J) })
		}
		recalled := func(p survivors.Pair) bool { return standing(p.I) == blocks.Recalled }
		pairs = slices.DeleteFunc(slices.Clone(pairs), recalled) // nothing is removed in favour of a removed document
		choices = survivorstest.Star(len(order), protected, pairs)
	}
	var nearest []float64
	if p.KeepNone {
		nearest = make([]float64, len(order))
		for _, n := range all {
			nearest[n.I], nearest[n.J] = max(nearest[n.I], n.Similarity), max(nearest[n.J], n.Similarity)
		}
		for i, r := range c.first {
			if int32(i) != r && !in.IsReference(c.keys[i]) || c.docs[i].Copies > 0 {
				nearest[number[r]] = 0
			}
		}
	}
	cluster := slices.Clone(c.first) // representative → first one of its cluster
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
	incomplete := make(map[blocks.Key]bool) // clusters
	for _, first := range c.cut(in, p.PairBudget, cluster, func(r int32) int32 { return order[choices[number[r]].By] }) {
		incomplete[first] = true
	}
	for _, l := range c.links { // which are in crowds
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
	return slices.Collect(maps.Keys(incomplete))
}

// cut keeps, of clusters whose near pairs have too many bytes of ids, only the pairs of a document with the one kept in
// its place. It returns these clusters by their first documents.
func (c *plain) cut(
	in *blocks.Inputs, budget int, cluster []int32, keptFor func(r int32) int32,
) (partial []blocks.Key) {
	ids := func(i int32) int {
		if doc := &c.docs[i]; doc.HasID {
			return len(doc.ID)
		}
		return len(in.Name(c.docs[i].Key.File()))
	}
	bytes := make([]int, len(c.docs)) // by cluster, at its first document
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
