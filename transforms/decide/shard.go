package decide

import (
	"cmp"
	"context"
	"encoding/binary"
	"iter"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/sets"
)

// shard decides a component shard. What has the size of a document or of a pair is in records, sorted by what they are
// read with next. Groups, each the documents of one set, have numbers in the order of preference, and groupBytes each
// are held of them.
type shard struct {
	params   *Params
	in       *blocks.Inputs
	verifier verifier.Verifier

	// hashed are the documents by hash; preferred are the groups in the order of preference, each with its place in that
	// of the hashes, its first document and its members; docs are the documents by the number of their group, and keyed
	// the first of each group, by key.
	hashed                 sets.Groups
	preferred, docs, keyed sorted.Records
	// byA and byB are pairs and links by one of their documents, and edges by the numbers of their groups, that of the
	// later one first.
	byA, byB, edges sorted.Records
	// fallen are the numbers of groups by that of the one kept in their place, and kept the documents kept in it by the
	// numbers of these groups; named are near pairs with the name of the later group, by the earlier one.
	fallen, kept, named sorted.Records

	groups    int
	protected int // so many groups, the first ones, are kept in any case
	recalled  int // the next ones, which nothing falls to
	forest    unionfind.Parents
	by        []uint32 // the group kept in the place of each
	cluster   []uint32 // of each: its place in clusters, or one of the two below
	clusters  []cluster
	nearest   []float64 // similarity; nil if it is not asked for
	buffer    []byte
}

func newShard(p *Params, in *blocks.Inputs) shard {
	return shard{params: p, in: in, verifier: p.Verifier.New()}
}

// groupBytes are those of forest, by and cluster.
const groupBytes = 12

// What cluster says of a group that is in no cluster, and of one that is in a cluster without a place yet.
const (
	noCluster = iota
	unplaced
)

// cluster is what is known of a cluster.
type cluster struct {
	first   blocks.Key
	members int
	ids     int  // bytes of the ids of its near pairs
	linked  bool // also by what is no pair
}

// cut: the near pairs have too many bytes of ids, and only those of a document with the one kept in its place are listed.
func (c *cluster) cut(budget int) bool { return c.ids/pairIDs > budget }

// maxReused is the number of groups up to which storage is kept for the next shard.
const maxReused = 1 << 16

// release lets go of much storage.
func (c *shard) release() {
	if c.groups > maxReused {
		*c = newShard(c.params, c.in)
	}
}

// read reads a shard and decides it; each then tells what was decided.
func (c *shard) read(ctx context.Context, hold *memory.Hold, profiles, pairs, links func(*[]byte) bool) error {
	for _, records := range []*sorted.Records{
		&c.preferred, &c.docs, &c.keyed, &c.byA, &c.byB, &c.edges, &c.fallen, &c.kept, &c.named,
	} {
		records.Begin(ctx, c.params.Files)
	}
	for _, step := range []func() error{
		func() error { return c.group(ctx, profiles) },
		func() error { return hold.Add(ctx, groupBytes*int64(c.groups)) },
		c.number,
		func() error { return c.pair(pairs, links) },
		c.connect,
		c.decide,
		c.weigh,
		c.exchange,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// group finds the documents of each set, and sorts groups by preference.
func (c *shard) group(ctx context.Context, profiles func(*[]byte) bool) error {
	if err := c.hashed.Read(ctx, c.params.Files, profiles); err != nil {
		return err
	}
	c.groups, c.protected, c.recalled = 0, 0, 0
	err := c.hashed.Each(c.in, func(g *sets.Group) error {
		switch standing := c.in.Standing(g.Best.Key.File()); {
		case standing > blocks.Recalled:
			c.protected++
		case standing == blocks.Recalled:
			c.recalled++
		}
		var size []byte
		if c.params.Verifier.LargerStays() {
			size = binary.BigEndian.AppendUint64(nil, ^uint64(g.Size))
		}
		c.buffer = c.in.AppendPreferred(c.buffer[:0], g.Best, size)
		c.buffer = appendNumber(c.buffer, uint32(c.groups))
		c.buffer = binary.BigEndian.AppendUint64(blocks.AppendOrdered(c.buffer, g.First), uint64(g.Members))
		c.groups++
		return c.preferred.Add(c.buffer)
	})
	return cmp.Or(err, c.preferred.End())
}

// endBytes are those that group adds to what groups are sorted by.
const endBytes = numberBytes + 2*keyBytes

// number numbers groups in the order of preference, and sorts their documents by that.
func (c *shard) number() error {
	numbers, next := make([]uint32, c.groups), uint32(0) // by hash
	for record, err := range c.preferred.All() {
		if err != nil {
			return err
		}
		numbers[binary.BigEndian.Uint32(record[len(record)-endBytes:])] = next
		next++
	}
	group := -1
	err := c.hashed.Documents(func(d sets.Document, first bool) error {
		if first {
			group++
			if err := c.key(&d.Profile, numbers[group]); err != nil {
				return err
			}
		}
		c.buffer = append(blocks.AppendOrdered(appendNumber(c.buffer[:0], numbers[group]), d.Key), d.Packed...)
		return c.docs.Add(c.buffer)
	})
	return cmp.Or(err, c.docs.End(), c.keyed.End())
}

// key adds what the pairs of the first document of a group need to know of it.
func (c *shard) key(first *blocks.Profile, number uint32) error {
	ids := len(first.ID)
	if !first.HasID {
		ids = len(c.in.Name(first.Key.File()))
	}
	c.buffer = binary.AppendUvarint(blocks.AppendOrdered(c.buffer[:0], first.Key), uint64(number))
	c.buffer = binary.AppendUvarint(binary.AppendUvarint(c.buffer, uint64(first.Size)), uint64(ids))
	return c.keyed.Add(c.buffer)
}

// pair looks up both documents of pairs and links.
func (c *shard) pair(pairs, links func(*[]byte) bool) error {
	if err := cmp.Or(c.add(pairs, near), c.add(links, linked), c.byA.End()); err != nil {
		return err
	}
	err := lookUp(&c.byA, &c.keyed, func(pair, a []byte) error {
		b := blocks.NewDecoder(pair[1:]).NearPair().B
		c.buffer = append(append(blocks.AppendOrdered(c.buffer[:0], b), a...), pair...)
		return c.byB.Add(c.buffer)
	})
	return cmp.Or(err, c.byB.End())
}

// The kinds of edges, in the order of those of two groups.
const (
	linked byte = iota
	near
)

// add adds pairs by their first documents.
func (c *shard) add(packed func(*[]byte) bool, kind byte) (failed error) {
	err := gather.NearPairs(packed, func(p blocks.NearPair) {
		c.buffer = blocks.AppendNearPair(append(blocks.AppendOrdered(c.buffer[:0], p.A), kind), p)
		failed = cmp.Or(failed, c.byA.Add(c.buffer))
	})
	return cmp.Or(err, failed)
}

// connect makes edges of pairs and links, and trees of the groups that they connect.
func (c *shard) connect() error {
	c.forest, c.cluster = make(unionfind.Parents, c.groups), make([]uint32, c.groups)
	for k := range c.forest {
		c.forest[k] = uint32(k)
	}
	err := lookUp(&c.byB, &c.keyed, func(record, ofB []byte) error {
		d := blocks.NewDecoder(record)
		a, b := side(d), side(blocks.NewDecoder(ofB))
		e := edge{i: min(a.number, b.number), j: max(a.number, b.number), kind: d.Fixed(1)[0], pair: d.NearPair()}
		if e.kind == near {
			e.similarity = c.params.Verifier.Similarity(c.verifier, e.pair.Score, a.size, b.size, e.pair.Matches)
			e.ids = a.ids + b.ids
		}
		if a.number > b.number {
			a, b = b, a
		}
		e.falls = c.mayFall(&e, a, b)
		c.cluster[e.i], c.cluster[e.j] = unplaced, unplaced
		i, j := c.forest.Root(e.i), c.forest.Root(e.j)
		c.forest[max(i, j)] = min(i, j) // the root is the first of its tree
		c.buffer = e.append(c.buffer[:0])
		return c.edges.Add(c.buffer)
	})
	return cmp.Or(err, c.edges.End())
}

// mayFall reports whether the later group, what is known of which is b, may fall to the earlier one.
func (c *shard) mayFall(e *edge, a, b ofPair) bool {
	if e.kind == linked {
		return false
	}
	if i := int(e.i); i >= c.protected && i < c.protected+c.recalled {
		return false // to what an index has removed
	}
	return a.size >= b.size || !c.params.Verifier.LargerStays() // references come before larger documents
}

// ofPair is what is known of a document of a pair.
type ofPair struct {
	number    uint32
	size, ids int
}

// side reads what key has written behind the key.
func side(d *blocks.Decoder) ofPair {
	return ofPair{number: uint32(d.Uvarint()), size: int(d.Uvarint()), ids: int(d.Uvarint())}
}

// edge says that groups i and j, i before j, are similar, or are linked.
type edge struct {
	i, j       uint32
	kind       byte
	falls      bool // j does, if i is kept
	similarity float64
	ids        int // bytes of both
	pair       blocks.NearPair
}

func (e *edge) append(dst []byte) []byte {
	dst = append(appendNumber(appendNumber(dst, e.j), e.i), e.kind, 0)
	if e.falls {
		dst[len(dst)-1] = 1
	}
	dst = binary.AppendUvarint(blocks.AppendFloat64(dst, e.similarity), uint64(e.ids))
	return blocks.AppendNearPair(dst, e.pair)
}

func readEdge(record []byte) edge {
	d := blocks.NewDecoder(record[2*numberBytes:])
	return edge{
		j: binary.BigEndian.Uint32(record), i: binary.BigEndian.Uint32(record[numberBytes:]),
		kind: d.Fixed(1)[0], falls: d.Fixed(1)[0] == 1, similarity: d.Float64(), ids: int(d.Uvarint()), pair: d.NearPair(),
	}
}

// choices are what becomes of each group.
func (c *shard) choices() iter.Seq2[survivors.Choice, error] {
	pairs := func(yield func(survivors.Pair, error) bool) {
		for record, err := range c.edges.All() {
			var e edge
			if err == nil {
				e = readEdge(record)
			}
			if err == nil && !e.falls && !c.params.OnePerCluster {
				continue
			}
			if !yield(survivors.Pair{I: int(e.i), J: int(e.j), Similarity: e.similarity}, err) {
				return
			}
		}
	}
	if c.params.OnePerCluster {
		first := func(k int) int { return int(c.forest.Root(uint32(k))) }
		return survivors.Components(c.groups, c.protected, first, pairs)
	}
	return survivors.Star(c.groups, c.protected, pairs)
}

// decide decides group by group, and finds their clusters.
func (c *shard) decide() error {
	preferred := cursorOf(&c.preferred)
	defer preferred.close()
	c.by, c.clusters = make([]uint32, 0, c.groups), make([]cluster, unplaced+1)
	for choice, err := range c.choices() {
		if err := cmp.Or(err, preferred.err); err != nil {
			return err
		}
		k := uint32(len(c.by))
		c.by = append(c.by, uint32(choice.By))
		end := preferred.record[len(preferred.record)-2*keyBytes:]
		first, members := blocks.Key(binary.BigEndian.Uint64(end)), int(binary.BigEndian.Uint64(end[keyBytes:]))
		preferred.advance()
		switch root := c.forest.Root(k); {
		case root != k:
			c.cluster[k] = c.cluster[root]
		case c.cluster[k] == unplaced || members > 1:
			c.cluster[k] = uint32(len(c.clusters))
			c.clusters = append(c.clusters, cluster{first: first})
		default:
			continue
		}
		of := &c.clusters[c.cluster[k]]
		of.first, of.members = min(of.first, first), of.members+members
		c.buffer = appendNumber(appendNumber(c.buffer[:0], uint32(choice.By)), k)
		c.buffer = blocks.AppendFloat64(c.buffer, choice.Similarity)
		if err := c.fallen.Add(c.buffer); err != nil {
			return err
		}
	}
	return c.fallen.End()
}

// weigh finds which clusters have too much to list, and how similar the documents of each are.
func (c *shard) weigh() error {
	c.nearest = nil
	if c.params.KeepNone {
		c.nearest = make([]float64, c.groups)
	}
	for record, err := range c.edges.All() {
		if err != nil {
			return err
		}
		e := readEdge(record)
		of := &c.clusters[c.cluster[e.j]]
		of.ids += e.ids
		of.linked = of.linked || e.kind == linked
		if c.nearest != nil {
			c.nearest[e.i], c.nearest[e.j] = max(c.nearest[e.i], e.similarity), max(c.nearest[e.j], e.similarity)
		}
	}
	return nil
}

// exchange tells groups which document is kept in their place, and near pairs what the first of the later group is called.
func (c *shard) exchange() error {
	docs, edges, fallen := cursorOf(&c.docs), cursorOf(&c.edges), cursorOf(&c.fallen)
	defer docs.close()
	defer edges.close()
	defer fallen.close()
	var first, best sets.Document
	for k := range uint32(c.groups) {
		for begun := false; docs.at(k); docs.advance() {
			d := sets.Open(docs.rest()[keyBytes:])
			if !begun {
				first.Hold(&d)
			}
			if !begun || c.in.Preferred(d.Preferred(), best.Preferred()) < 0 {
				best.Hold(&d)
			}
			begun = true
		}
		if err := c.name(edges, k, &first); err != nil {
			return err
		}
		for ; fallen.at(k); fallen.advance() {
			kept := *best.Preferred()
			kept.Rank, kept.Copies, kept.Best = nil, 0, nil
			c.buffer = append(c.buffer[:0], fallen.rest()...)
			if err := c.kept.Add(blocks.AppendProfile(c.buffer, &kept)); err != nil {
				return err
			}
		}
	}
	return cmp.Or(docs.err, edges.err, fallen.err, c.kept.End(), c.named.End())
}

// name adds the near pairs of a group with those before it that are to be listed.
func (c *shard) name(edges *cursor, k uint32, first *sets.Document) error {
	for ; edges.at(k); edges.advance() {
		e := readEdge(edges.record)
		if e.kind == linked || c.clusters[c.cluster[k]].cut(c.params.PairBudget) && c.by[k] != e.i {
			continue
		}
		c.buffer = blocks.AppendFloat64(appendNumber(c.buffer[:0], e.i), e.similarity)
		c.buffer = binary.AppendUvarint(blocks.AppendOptional(c.buffer, first.ID, first.HasID), uint64(first.Words))
		c.buffer = blocks.AppendNearPair(c.buffer, e.pair)
		if err := c.named.Add(c.buffer); err != nil {
			return err
		}
	}
	return nil
}

// teller is told what was decided; what it gets is valid until it is told more.
type teller struct {
	pair     func(a, b *blocks.Profile, similarity float64, p *blocks.NearPair)
	document func(*blocks.Profile, *blocks.Verdict)
}

// tell tells of each document that is in a cluster, and of each pair that is to be listed.
func (c *shard) tell(t teller) error {
	docs, kept, named := cursorOf(&c.docs), cursorOf(&c.kept), cursorOf(&c.named)
	defer docs.close()
	defer kept.close()
	defer named.close()
	var first sets.Document
	for k := range uint32(c.groups) {
		for ; kept.at(k); kept.advance() {
			v := c.verdict(k, blocks.NewDecoder(kept.rest()))
			for begun := false; docs.at(k); docs.advance() {
				d := sets.Open(docs.rest()[keyBytes:])
				if !begun {
					first.Hold(&d)
					v.First, begun = first.Profile, true
				}
				v.Of, v.Tokens, v.Size = d.Key, d.Traits.Tokens, c.verifier.Len(d.Words)
				t.document(&d.Profile, &v)
			}
		}
		for ; docs.at(k); docs.advance() { // in no cluster
		}
		for ; named.at(k); named.advance() {
			tellPair(t, &first.Profile, blocks.NewDecoder(named.rest()))
		}
	}
	return cmp.Or(docs.err, kept.err, named.err)
}

// verdict is what becomes of a group, without what its documents have of their own.
func (c *shard) verdict(k uint32, kept *blocks.Decoder) blocks.Verdict {
	of := &c.clusters[c.cluster[k]]
	v := blocks.Verdict{
		Similarity: kept.Float64(), Kept: kept.Profile(), Near: c.by[k] != k,
		Cluster: of.first, Members: of.members, Partial: of.linked || of.cut(c.params.PairBudget),
	}
	if c.nearest != nil {
		v.Nearest = c.nearest[k]
	}
	return v
}

// tellPair tells of what name has added behind the number.
func tellPair(t teller, one *blocks.Profile, named *blocks.Decoder) {
	var other blocks.Profile
	similarity := named.Float64()
	other.ID, other.HasID = named.Optional()
	other.Words = int(named.Uvarint())
	p := named.NearPair()
	if one.Key == p.A {
		other.Key = p.B
		t.pair(one, &other, similarity, &p)
		return
	}
	other.Key = p.A
	t.pair(&other, one, similarity, &p)
}
