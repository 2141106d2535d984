package decide

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/gather"
	"github.com/neardup/neardup/transforms/sets"
)

// shard decides a component shard. Profiles and pairs are in sorted records; memory holds only documentBytes per
// document. Documents are numbered in the order of preference. A group (the documents of one set) has the number of its
// preferred document.
type shard struct {
	params   *Params
	in       *blocks.Inputs
	verifier verifier.Verifier

	// docs has the documents in the order of preference. hashed has their numbers by the hashes of their sets. grouped has
	// the documents of groups of two or more, by group and key.
	docs, hashed, grouped sorted.Records
	// edges has pairs and links by the later group. told has, by the earlier group, the pairs to list and the documents
	// removed in its favour.
	edges, told sorted.Records

	documents int
	protected int       // number of documents, at the start of the order, that are kept in any case
	recalled  int       // number of documents after these, which an index has removed
	places    []place   // by key; nil once all edges are added, if there are many
	by        []uint32  // group of each document; after the decision, for each group, the group kept in its place
	cluster   []uint32  // for each group, its index in clusters; before join, its parent in a forest
	clusters  []cluster // in the order of their first groups
	nearest   []float64 // similarity of each group to the nearest other one, or 0 if it has copies; nil if not wanted
	buffer    []byte

	// verdict is the next one to report. doc is the preferred document of the current group, and first is its first one.
	// later is a document removed in its favour, and firstLater is the first document of the latter's group.
	verdict                       blocks.Verdict
	doc, first, later, firstLater sets.Document
}

// place is what pairs need to know about a document.
type place struct {
	key   blocks.Key
	size  int
	ids   uint32 // length of its id in bytes
	group uint32 // none if it is not the first document of its group
}

// cluster describes a cluster.
type cluster struct {
	first   blocks.Key
	members int
	ids     int    // bytes of ids in its near pairs
	root    uint32 // its first group
	linked  bool   // connected also by links
}

// cut reports whether the near pairs have too many bytes of ids, so that only the pairs of a document and the one kept
// in its place are listed.
func (c *cluster) cut(budget int) bool { return c.ids/pairIDs > budget }

// partial reports whether pairs of the cluster may not be listed. One with links comes from a crowd, and may lack none.
func (c *cluster) partial(budget int) bool { return c.linked || c.cut(budget) }

// none stands for no group and for no cluster.
const none = math.MaxUint32

// documentBytes is the size of one document's elements in places, by and cluster.
const documentBytes = 24 + 2*4

// maxReused is the maximum number of documents for which memory is kept for the next shard.
const maxReused = 1 << 16

func newShard(p *Params, in *blocks.Inputs) shard {
	return shard{params: p, in: in, verifier: p.Verifier.New()}
}

// release frees the memory of a large shard.
func (c *shard) release() {
	if c.documents > maxReused {
		*c = newShard(c.params, c.in)
	}
}

// read reads a shard and decides it; tell then reports the decisions.
func (c *shard) read(ctx context.Context, hold *memory.Hold, profiles, pairs, links func(*[]byte) bool) error {
	files := c.params.Files
	for _, records := range []*sorted.Records{&c.docs, &c.grouped, &c.edges, &c.told} {
		records.Begin(ctx, files)
	}
	files.Width = hashedBytes
	c.hashed.Begin(ctx, files)
	for _, step := range []func() error{
		func() error { return c.rank(profiles) },
		func() error { return hold.Add(ctx, documentBytes*int64(c.documents)) },
		c.number,
		c.group,
		func() error { return cmp.Or(c.connect(pairs, near), c.connect(links, linked), c.edges.End()) },
		c.decide,
		c.exchange,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// rank sorts documents by preference.
func (c *shard) rank(profiles func(*[]byte) bool) error {
	c.documents = 0
	var block, size []byte
	for profiles(&block) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			begin := len(block) - d.Left()
			p := d.Profile()
			if err := d.Err(); err != nil {
				return err
			}
			if c.params.Verifier.LargerStays() {
				size = binary.BigEndian.AppendUint64(size[:0], ^uint64(p.Size))
			}
			packed := block[begin : len(block)-d.Left()]
			c.buffer = append(c.in.AppendPreferred(c.buffer[:0], p.Preferred(), size), packed...)
			c.buffer = appendNumber(c.buffer, uint32(len(packed)))
			if err := c.docs.Add(c.buffer); err != nil {
				return err
			}
			c.documents++
		}
	}
	return c.docs.End()
}

// ranked yields the packed documents in the order of preference, each valid until the next.
func (c *shard) ranked() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for record, err := range c.docs.All() {
			if err == nil {
				end := len(record) - numberBytes
				record = record[end-int(binary.BigEndian.Uint32(record[end:])) : end]
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// hashedBytes is the size of a hash and a number.
const hashedBytes = 2*8 + numberBytes

// number numbers the documents, and begins a group with each of them; copies join groups later.
func (c *shard) number() error {
	c.protected, c.recalled, c.nearest = 0, 0, nil
	c.places = slices.Grow(c.places[:0], c.documents)
	c.by, c.cluster = slices.Grow(c.by[:0], c.documents), slices.Grow(c.cluster[:0], c.documents)
	for packed, err := range c.ranked() {
		if err != nil {
			return err
		}
		doc := blocks.NewDecoder(packed).Profile()
		switch standing := c.in.Standing(doc.Preferred().Key.File()); {
		case standing > blocks.Recalled:
			c.protected++
		case standing == blocks.Recalled:
			c.recalled++
		}
		ids := len(doc.ID)
		if !doc.HasID {
			ids = len(c.in.Name(doc.Key.File()))
		}
		k := uint32(len(c.by))
		c.places = append(c.places, place{doc.Key, doc.Size, uint32(ids), k})
		c.by, c.cluster = append(c.by, k), append(c.cluster, k)
		c.buffer = binary.BigEndian.AppendUint64(c.buffer[:0], doc.Hash.Hi)
		c.buffer = appendNumber(binary.BigEndian.AppendUint64(c.buffer, doc.Hash.Lo), k)
		if err := c.hashed.Add(c.buffer); err != nil {
			return err
		}
	}
	return c.hashed.End()
}

// group finds the groups of two or more documents.
func (c *shard) group() error {
	const hash = hashedBytes - numberBytes
	var last []byte
	var group, first uint32
	for record, err := range c.hashed.Repeated(hash) {
		if err != nil {
			return err
		}
		k := binary.BigEndian.Uint32(record[hash:])
		if last == nil || string(last) != string(record[:hash]) {
			last, group, first = append(last[:0], record[:hash]...), k, k
			continue
		}
		c.by[k] = group
		other := k
		if c.places[k].key < c.places[first].key {
			first, other = k, first
		}
		c.places[other].group, c.places[first].group = none, group
	}
	several := last != nil
	slices.SortFunc(c.places, func(a, b place) int { return cmp.Compare(a.key, b.key) })
	if !several {
		return c.grouped.End()
	}
	return c.addGrouped()
}

// addGrouped sorts the documents of groups of two or more.
func (c *shard) addGrouped() error {
	several := make([]bool, c.documents) // groups
	for k, group := range c.by {
		if uint32(k) != group {
			several[group] = true
		}
	}
	k := 0
	for packed, err := range c.ranked() {
		if err != nil {
			return err
		}
		if group := c.by[k]; several[group] {
			key := blocks.NewDecoder(packed).Key()
			c.buffer = append(blocks.AppendOrdered(appendNumber(c.buffer[:0], group), key), packed...)
			if err := c.grouped.Add(c.buffer); err != nil {
				return err
			}
		}
		k++
	}
	return c.grouped.End()
}

// find returns the place of a document, which must be the first one of its group.
func (c *shard) find(key blocks.Key) (*place, error) {
	at, ok := slices.BinarySearchFunc(c.places, key, func(p place, key blocks.Key) int { return cmp.Compare(p.key, key) })
	if !ok || c.places[at].group == none {
		return nil, fmt.Errorf("%v, which is a document of a pair, is not a representative", key)
	}
	return &c.places[at], nil
}

// Kinds of edges, in the order in which edges of the same two groups are sorted.
const (
	linked byte = iota
	near
)

// connect turns pairs or links into edges, and joins the trees of the groups that they connect.
func (c *shard) connect(packed func(*[]byte) bool, kind byte) (failed error) {
	err := gather.NearPairs(packed, func(p blocks.NearPair) { failed = cmp.Or(failed, c.edge(p, kind)) })
	return cmp.Or(err, failed)
}

func (c *shard) edge(p blocks.NearPair, kind byte) error {
	a, err := c.find(p.A)
	if err != nil {
		return err
	}
	b, err := c.find(p.B)
	if err != nil {
		return err
	}
	e := edge{kind: kind, pair: p}
	if kind == linked {
		e.similarity = verifier.SimilarityOf(p.Score)
	} else {
		e.similarity = c.params.Verifier.Similarity(c.verifier, p.Score, a.size, b.size, p.Matches)
		e.ids = a.ids + b.ids
	}
	if a.group > b.group {
		a, b = b, a
	}
	e.i, e.j = a.group, b.group
	e.falls = c.mayFall(kind, a, b)
	forest := unionfind.Parents(c.cluster)
	i, j := forest.Root(e.i), forest.Root(e.j)
	forest[max(i, j)] = min(i, j) // the root is the first of its tree
	c.buffer = e.append(c.buffer[:0])
	return c.edges.Add(c.buffer)
}

// mayFall reports whether a group may be removed in favour of an earlier one.
func (c *shard) mayFall(kind byte, earlier, later *place) bool {
	if kind == linked {
		return false
	}
	if i := int(earlier.group); i >= c.protected && i < c.protected+c.recalled {
		return false // an index has removed it
	}
	return earlier.size >= later.size || !c.params.Verifier.LargerStays() // references precede larger documents
}

// edge says that the groups i and j, i before j, are similar or linked.
type edge struct {
	i, j       uint32
	kind       byte
	falls      bool   // j may be removed if i is kept
	ids        uint32 // bytes of both ids
	similarity float64
	pair       blocks.NearPair
}

func (e *edge) append(dst []byte) []byte {
	dst = append(appendNumber(appendNumber(dst, e.j), e.i), e.kind, flag(e.falls))
	return blocks.AppendNearPair(blocks.AppendFloat64(appendNumber(dst, e.ids), e.similarity), e.pair)
}

func readEdge(record []byte) edge {
	const kind = 2 * numberBytes
	const ids = kind + 2
	d := blocks.NewDecoder(record[ids+numberBytes:])
	return edge{
		j: binary.BigEndian.Uint32(record), i: binary.BigEndian.Uint32(record[numberBytes:]),
		kind: record[kind], falls: record[kind+1] == 1, ids: binary.BigEndian.Uint32(record[ids:]),
		similarity: d.Float64(), pair: d.NearPair(),
	}
}

// join turns trees into clusters. A document that is not the preferred one of its group gets none.
func (c *shard) join() {
	c.clusters = c.clusters[:0]
	if c.documents > maxReused {
		c.places = nil
	}
	for k, parent := range c.cluster {
		switch {
		case c.by[k] != uint32(k):
			c.cluster[k] = none
		case parent != uint32(k):
			c.cluster[k] = c.cluster[parent]
		default:
			c.cluster[k] = uint32(len(c.clusters))
			c.clusters = append(c.clusters, cluster{first: math.MaxInt64, root: parent})
		}
	}
}

// decide decides group by group, and adds up what each cluster would list.
func (c *shard) decide() error {
	c.join()
	if c.params.KeepNone {
		c.nearest = make([]float64, c.documents)
	}
	k := 0
	for choice, err := range c.choices() {
		if err != nil {
			return err
		}
		if c.cluster[k] != none {
			c.by[k] = uint32(choice.By)
		}
		k++
	}
	return nil
}

// choices yields the decision about each group.
func (c *shard) choices() iter.Seq2[survivors.Choice, error] {
	pairs := func(yield func(survivors.Pair, error) bool) {
		for record, err := range c.edges.All() {
			var e edge
			if err == nil {
				e = readEdge(record)
				c.weigh(&e)
			}
			if err == nil && !e.falls && !c.params.OnePerCluster {
				continue
			}
			if !yield(survivors.Pair{I: int(e.i), J: int(e.j), Similarity: e.similarity}, err) {
				return
			}
		}
	}
	if !c.params.OnePerCluster {
		return survivors.Star(c.documents, c.protected, pairs)
	}
	return survivors.Components(c.documents, c.protected, func(k int) int {
		if of := c.cluster[k]; of != none {
			return int(c.clusters[of].root)
		}
		return k
	}, pairs)
}

// weigh adds an edge to the totals of its cluster and to the nearest similarities of its groups.
func (c *shard) weigh(e *edge) {
	of := &c.clusters[c.cluster[e.j]]
	of.ids += int(e.ids)
	of.linked = of.linked || e.kind == linked
	if c.nearest != nil {
		c.nearest[e.i], c.nearest[e.j] = max(c.nearest[e.i], e.similarity), max(c.nearest[e.j], e.similarity)
	}
}

// exchange adds to told, for each group, records about the later groups that are removed in its favour or have a pair
// with it.
func (c *shard) exchange() error {
	edges, grouped := cursorOf(&c.edges), cursorOf(&c.grouped)
	defer edges.close()
	defer grouped.close()
	k := uint32(0)
	for packed, err := range c.ranked() {
		if err != nil {
			return err
		}
		if c.cluster[k] != none {
			c.doc = sets.Open(packed)
			if err := c.send(edges, grouped, k); err != nil {
				return err
			}
		}
		k++
	}
	return cmp.Or(edges.err, grouped.err, c.told.End())
}

// send counts the documents of a group, and adds the records about them.
func (c *shard) send(edges, grouped *cursor, k uint32) error {
	of := &c.clusters[c.cluster[k]]
	before := of.members
	t := told{of: k, falls: true}
	for n, d := range c.members(grouped, k) {
		if of.members += d.Copies; n == 0 || !c.in.IsReference(d.Key) {
			of.members++
		}
		t.number = uint32(n)
		sent := false
		if n == 0 {
			of.first = min(of.first, d.Key)
			var err error
			if t.similarity, sent, err = c.sendPairs(edges, k, d); err != nil {
				return err
			}
		}
		if sent || c.by[k] == k {
			continue
		}
		if err := c.add(c.by[k], &t, d); err != nil {
			return err
		}
	}
	if c.nearest != nil && of.members > before+1 { // its nearest documents are copies
		c.nearest[k] = 0
	}
	return nil
}

// sendPairs adds the pairs to list of a group with earlier groups, each with the group's first document. If the group
// is removed in favour of one of these, that pair's record says so, and sendPairs returns its similarity.
func (c *shard) sendPairs(edges *cursor, k uint32, first *sets.Document) (similarity float64, fell bool, err error) {
	cut := c.clusters[c.cluster[k]].cut(c.params.PairBudget)
	for ; err == nil && edges.at(k); edges.advance() {
		e := readEdge(edges.record)
		falls := e.i == c.by[k]
		if e.kind == linked || cut && !falls {
			continue
		}
		if falls {
			similarity, fell = e.similarity, true
		}
		err = c.add(e.i, &told{of: k, falls: falls, listed: true, similarity: e.similarity, pair: e.pair}, first)
	}
	return similarity, fell, err
}

// told is a record for a group about a document of a later group.
type told struct {
	of, number uint32 // the later group, and the document's index in it, in input order
	falls      bool   // the later group is removed in favour of this one
	listed     bool   // the pair of both groups' first documents is to be listed
	similarity float64
	pair       blocks.NearPair
}

func (c *shard) add(to uint32, t *told, doc *sets.Document) error {
	c.buffer = appendNumber(appendNumber(appendNumber(c.buffer[:0], to), t.of), t.number)
	c.buffer = append(c.buffer, flag(t.falls), flag(t.listed))
	c.buffer = blocks.AppendFloat64(c.buffer, t.similarity)
	if t.listed {
		c.buffer = blocks.AppendNearPair(c.buffer, t.pair)
	}
	c.buffer = append(c.buffer, doc.Packed...)
	return c.told.Add(c.buffer)
}

// readTold decodes what add appended after the number of the addressed group.
func readTold(record []byte) (t told, packed []byte) {
	const flags = 2 * numberBytes
	t.of, t.number = binary.BigEndian.Uint32(record), binary.BigEndian.Uint32(record[numberBytes:])
	t.falls, t.listed = record[flags] == 1, record[flags+1] == 1
	d := blocks.NewDecoder(record[flags+2:])
	t.similarity = d.Float64()
	if t.listed {
		t.pair = d.NearPair()
	}
	return t, record[len(record)-d.Left():]
}

func flag(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// teller receives the decisions. Its arguments are valid until the next call.
type teller struct {
	pair     func(a, b *blocks.Profile, similarity float64, p *blocks.NearPair)
	document func(*blocks.Profile, *blocks.Verdict)
}

// tell reports each document that is in a cluster, and each pair to list.
func (c *shard) tell(t teller) error {
	grouped, told := cursorOf(&c.grouped), cursorOf(&c.told)
	defer grouped.close()
	defer told.close()
	k := uint32(0)
	for packed, err := range c.ranked() {
		if err != nil {
			return err
		}
		if c.cluster[k] != none && (c.by[k] == k || told.at(k) || grouped.at(k)) {
			c.doc = sets.Open(packed)
			c.tellGroup(t, grouped, k)
			c.tellLater(t, told, k)
		}
		k++
	}
	return cmp.Or(grouped.err, told.err)
}

// tellGroup reports the documents of a group if it is kept.
func (c *shard) tellGroup(t teller, grouped *cursor, k uint32) {
	c.verdict = blocks.Verdict{Kept: *c.doc.Preferred(), Similarity: 1}
	c.place(k)
	for n, d := range c.members(grouped, k) {
		if n == 0 {
			c.first.Hold(d.Packed)
			c.verdict.First = c.first.Profile
		}
		if c.by[k] == k && c.verdict.Members > 1 {
			c.tellDocument(t, d)
		}
	}
}

// tellLater reports the documents removed in favour of a group, and its pairs with later groups.
func (c *shard) tellLater(t teller, told *cursor, k uint32) {
	c.verdict.Near = true
	for ; told.at(k); told.advance() {
		of, packed := readTold(told.rest())
		d := &c.later
		if of.number == 0 {
			d = &c.firstLater
		}
		d.Hold(packed)
		if of.listed {
			a, b := &c.first.Profile, &d.Profile
			if a.Key != of.pair.A {
				a, b = b, a
			}
			t.pair(a, b, of.similarity, &of.pair)
		}
		if of.falls {
			c.verdict.First, c.verdict.Similarity = c.firstLater.Profile, of.similarity
			c.place(of.of)
			c.tellDocument(t, d)
		}
	}
}

// place sets the verdict's cluster to that of a group.
func (c *shard) place(k uint32) {
	v, of := &c.verdict, &c.clusters[c.cluster[k]]
	v.Cluster, v.Members, v.Partial = of.first, of.members, of.partial(c.params.PairBudget)
	if c.nearest != nil {
		v.Nearest = c.nearest[k]
	}
}

func (c *shard) tellDocument(t teller, doc *sets.Document) {
	c.verdict.Of, c.verdict.Tokens, c.verdict.Size = doc.Key, doc.Traits.Tokens, c.verifier.Len(doc.Words)
	t.document(&doc.Profile, &c.verdict)
}

// members yields the documents of a group in input order, each valid until the next. Those of groups of two or more are
// in grouped.
func (c *shard) members(grouped *cursor, k uint32) iter.Seq2[int, *sets.Document] {
	return func(yield func(int, *sets.Document) bool) {
		if !grouped.at(k) {
			yield(0, &c.doc)
			return
		}
		for n := 0; grouped.at(k); n++ {
			d := sets.Open(grouped.rest()[keyBytes:])
			if !yield(n, &d) {
				return
			}
			grouped.advance()
		}
	}
}
