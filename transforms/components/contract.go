package components

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/unionfind"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[openFn]())
	beam.RegisterDoFn(reflect.TypeFor[hookFn]())
	beam.RegisterDoFn(reflect.TypeFor[contractFn]())
	beam.RegisterDoFn(reflect.TypeFor[rootsFn]())
	beam.RegisterDoFn(reflect.TypeFor[resolveFn]())
	beam.RegisterDoFn(reflect.TypeFor[countFn]())
	beam.RegisterDoFn(reflect.TypeFor[totalFn]())
	beam.RegisterDoFn(reflect.TypeFor[placedFn]())
}

// A round leaves no more than about 0.56 of the labels of any graph that was tried, chains being
// the worst; it is reckoned with more. Spare rounds are for a document of many neighbours, which
// may cost one, and for more documents than were estimated.
const (
	leftByRound = 0.6
	spareRounds = 2
)

// rounds returns how many rounds contract a graph of so many documents to the limit.
func rounds(documents, limit int64) int {
	return int(math.Ceil(math.Log(float64(documents)/float64(limit))/-math.Log(leftByRound))) + spareRounds
}

// lastParts is the number of groups that the edges of the contracted graph are spread over.
const lastParts = fanIn * fanIn

// contracted finds connected components that no worker can hold.
//
// Documents belong to parts by their hash. Each has a label, at first itself, that is kept with
// it: its place. Edges run between labels. In each round, every label that has a neighbour becomes
// the first of itself and its neighbours in an order drawn by lot, so that labels become fewer by
// about half, whatever the graph. When they are few enough a tree connects them.
//
// A part that needs to know of a label asks the part that the label belongs to, once, however many
// of its documents and edges have it: so no group is large because one document has many
// neighbours.
func contracted(s beam.Scope, edges beam.PCollection, p Params) flow.Members {
	s = s.Scope("Contracted")
	spread := beam.ParDo(s, &spreadFn{Parts: p.Parts, Roots: true}, edges)
	left, places, questions := beam.ParDo3(s, &openFn{Parts: p.Parts, Next: orderOf(0)}, beam.GroupByKey(s, spread))
	n := rounds(p.Documents, p.Limit)
	for round := range n {
		s := s.Scope(fmt.Sprintf("Round%d", round+1))
		answers := beam.ParDo(s, &hookFn{Order: orderOf(round)}, beam.GroupByKey(s, questions))
		left, places, questions = beam.ParDo3(s, &contractFn{Parts: p.Parts, Next: orderOf(round + 1), Last: round == n-1}, beam.CoGroupByKey(s, left, places, answers))
	}
	roots := beam.ParDo(s, &rootsFn{Parts: p.Parts, Limit: p.Limit, Rounds: n}, tree(s, left, lastParts))
	answers := beam.ParDo(s, &resolveFn{}, beam.CoGroupByKey(s, questions, roots))
	places, counts := beam.ParDo2(s, &countFn{Parts: p.Parts}, beam.CoGroupByKey(s, places, answers))
	totals := beam.ParDo(s, &totalFn{}, beam.GroupByKey(s, counts))
	return flow.Members(beam.ParDo(s, &placedFn{Inputs: p.Inputs}, beam.CoGroupByKey(s, places, totals)))
}

// Places and answers travel as edges: a place from a document's label to the document, an answer
// from a label's new one to itself.

// order is an order of labels that is as good as drawn by lot. (With that of the input, a chain
// of documents would lose one label a round.)
type order uint64

// orderOf returns the order of a round: each serves two. In the first of them half of the
// neighbours of a document of many stay as they are, and in the second they all meet; but an order
// that served for all would leave ever more of a chain, whose labels are those that come first.
func orderOf(round int) order { return order(round / 2) }

// first returns the one of two labels that comes first.
func (o order) first(a, b blocks.Key) blocks.Key {
	if cmp.Or(cmp.Compare(o.rank(a), o.rank(b)), cmp.Compare(a, b)) <= 0 {
		return a
	}
	return b
}

func (o order) rank(label blocks.Key) uint64 { return hash.Mix(hash.Mix(uint64(o)) ^ uint64(label)) }

// question asks for the new label of a label.
type question struct {
	label blocks.Key
	best  blocks.Key // the first of the label and those neighbours that the asking part knows
	from  int64      // the asking part
}

func (q question) append(block []byte) []byte {
	return blocks.AppendUint32(blocks.AppendKey(blocks.AppendKey(block, q.label), q.best), uint32(q.from))
}

func eachQuestion(packed func(*[]byte) bool, do func(question)) error {
	var block []byte
	for packed(&block) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			q := question{label: d.Key(), best: d.Key(), from: int64(d.Uint32())}
			if err := d.Err(); err != nil {
				return err
			}
			do(q)
		}
	}
	return nil
}

// labels are the new labels of some; the others stay.
type labels map[blocks.Key]blocks.Key

func readAnswers(answers func(*[]byte) bool) (labels, error) {
	l := labels{}
	return l, eachEdge(answers, func(e blocks.Edge) { l[e.B] = e.A })
}

func (l labels) of(key blocks.Key) blocks.Key {
	if label, ok := l[key]; ok {
		return label
	}
	return key
}

// outputs are what a part sends after each round.
type outputs struct {
	part                     int64
	edges, places, questions *sender
	next                     order
	best                     map[blocks.Key]blocks.Key // of each label of the part
}

func newOutputs(part int64, next order, edges, places, questions func(int64, []byte)) *outputs {
	return &outputs{
		part: part, next: next, edges: newSender(edges), places: newSender(places), questions: newSender(questions),
		best: map[blocks.Key]blocks.Key{},
	}
}

// place keeps a document with its label.
func (o *outputs) place(label, document blocks.Key) {
	o.places.edge(o.part, blocks.Edge{A: label, B: document})
	if _, ok := o.best[label]; !ok {
		o.best[label] = label
	}
}

// send sends the edges to the parts that to names, and asks for the labels.
func (o *outputs) send(ctx context.Context, forest *unionfind.Forest, parts int, to func(blocks.Edge) int64) {
	meet := func(label, neighbour blocks.Key) {
		best, ok := o.best[label]
		if !ok {
			best = label
		}
		o.best[label] = o.next.first(best, neighbour)
	}
	// The labels that hang together here become a star of their first: it is what they become next.
	centres := labels{}
	for key, root := range forest.All() {
		centres[blocks.Key(root)] = o.next.first(centres.of(blocks.Key(root)), blocks.Key(key))
	}
	for key, root := range forest.All() {
		e := blocks.Edge{A: centres[blocks.Key(root)], B: blocks.Key(key)}
		if e.A == e.B {
			continue
		}
		o.edges.edge(to(e), e)
		meet(e.A, e.B)
		meet(e.B, e.A)
	}
	for _, label := range slices.Sorted(maps.Keys(o.best)) {
		q := question{label: label, best: o.best[label], from: o.part}
		o.questions.add(part(label, parts), q.append)
	}
	edgesShuffled.Inc(ctx, o.edges.flush()+o.places.flush()+o.questions.flush())
}

func (o *outputs) stay(blocks.Edge) int64 { return o.part }

// openFn begins: each document that has an edge is its own label.
//
//	KV<part, edges> → KV<part, edges>, KV<part, places>, KV<part, questions>
type openFn struct {
	Parts int
	Next  order // of the next round
}

func (f *openFn) ProcessElement(ctx context.Context, part int64, packed func(*[]byte) bool, edges, places, questions func(int64, []byte)) error {
	var forest unionfind.Forest
	documents := map[blocks.Key]bool{} // of this part: the later ones of edges
	err := eachEdge(packed, func(e blocks.Edge) {
		documents[e.B] = true
		forest.Union(int64(e.A), int64(e.B))
	})
	if err != nil {
		return err
	}
	out := newOutputs(part, f.Next, edges, places, questions)
	for _, key := range slices.Sorted(maps.Keys(documents)) {
		out.place(key, key)
	}
	out.send(ctx, &forest, f.Parts, out.stay)
	return nil
}

// hookFn finds the new labels of the labels of a part.
//
//	KV<part, questions> → KV<asking part, answers>
type hookFn struct{ Order order }

func (f *hookFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	var asked []question
	best := labels{}
	err := eachQuestion(packed, func(q question) {
		asked = append(asked, q)
		best[q.label] = f.Order.first(best.of(q.label), q.best)
	})
	if err != nil {
		return err
	}
	out := newSender(emit)
	for _, q := range asked {
		if to := best[q.label]; to != q.label {
			out.edge(q.from, blocks.Edge{A: to, B: q.label})
		}
	}
	edgesShuffled.Inc(ctx, out.flush())
	return nil
}

// contractFn gives the edges and the documents of a part their new labels.
//
//	KV<part, edges, places, answers> → KV<part, edges>, KV<part, places>, KV<part, questions>
type contractFn struct {
	Parts int
	Next  order // of the next round
	// Last: the edges go to a tree.
	Last bool
}

func (f *contractFn) ProcessElement(ctx context.Context, at int64, packed, placed, answers func(*[]byte) bool, edges, places, questions func(int64, []byte)) error {
	now, err := readAnswers(answers)
	if err != nil {
		return err
	}
	out := newOutputs(at, f.Next, edges, places, questions)
	if err := eachEdge(placed, func(e blocks.Edge) { out.place(now.of(e.A), e.B) }); err != nil {
		return err
	}
	var forest unionfind.Forest
	err = eachEdge(packed, func(e blocks.Edge) {
		if a, b := now.of(e.A), now.of(e.B); a != b {
			forest.Union(int64(a), int64(b))
		}
	})
	if err != nil {
		return err
	}
	to := out.stay
	if f.Last {
		to = func(e blocks.Edge) int64 { return part(e.B, lastParts) }
	}
	out.send(ctx, &forest, f.Parts, to)
	return nil
}

// rootsFn tells each label of the contracted graph the first of those it is connected with.
//
//	KV<0, edges> → KV<part, answers>
type rootsFn struct {
	Parts  int
	Limit  int64
	Rounds int
}

func (f *rootsFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	var forest unionfind.Forest
	if err := connect(&forest, packed); err != nil {
		return err
	}
	if n := int64(forest.Len()); n > f.Limit {
		return fmt.Errorf("components: not converged: after %d rounds of contraction %d groups of candidates are still to be connected, and one worker takes %d; "+
			"there are far more candidates than the sample led to expect: longer shingles (--shingle), a higher --threshold or more --rows separate documents that are not alike",
			f.Rounds, n, f.Limit)
	}
	out := newSender(emit)
	for e := range forestEdges(&forest, false) {
		out.edge(part(e.B, f.Parts), e)
	}
	edgesShuffled.Inc(ctx, out.flush())
	return nil
}

// resolveFn passes on what labels were told.
//
//	KV<part, questions, answers> → KV<asking part, answers>
type resolveFn struct{}

func (f *resolveFn) ProcessElement(ctx context.Context, _ int64, questions, answers func(*[]byte) bool, emit func(int64, []byte)) error {
	now, err := readAnswers(answers)
	if err != nil {
		return err
	}
	out := newSender(emit)
	err = eachQuestion(questions, func(q question) {
		if to := now.of(q.label); to != q.label {
			out.edge(q.from, blocks.Edge{A: to, B: q.label})
		}
	})
	edgesShuffled.Inc(ctx, out.flush())
	return err
}

// count is how many documents have a label, and the first of them: in a part or, from none, in all.
type count struct {
	label, first blocks.Key
	documents    int
	from         int64
}

func (c count) append(block []byte) []byte {
	block = blocks.AppendKey(blocks.AppendKey(block, c.label), c.first)
	return blocks.AppendUint32(blocks.AppendUint32(block, uint32(c.documents)), uint32(c.from))
}

func eachCount(packed func(*[]byte) bool, do func(count)) error {
	var block []byte
	for packed(&block) {
		for d := blocks.NewDecoder(block); !d.Done(); {
			c := count{label: d.Key(), first: d.Key(), documents: int(d.Uint32()), from: int64(d.Uint32())}
			if err := d.Err(); err != nil {
				return err
			}
			do(c)
		}
	}
	return nil
}

// tally adds up counts by label.
type tally map[blocks.Key]count

func (t tally) add(c count) {
	sum, ok := t[c.label]
	if !ok {
		sum.label, sum.first = c.label, c.first
	}
	sum.first = min(sum.first, c.first)
	sum.documents += c.documents
	t[c.label] = sum
}

// countFn gives the documents of a part their last labels, one for each component, and counts them.
//
//	KV<part, places, answers> → KV<part, places>, KV<part, counts>
type countFn struct{ Parts int }

func (f *countFn) ProcessElement(ctx context.Context, at int64, placed, answers func(*[]byte) bool, places, counts func(int64, []byte)) error {
	now, err := readAnswers(answers)
	if err != nil {
		return err
	}
	toPlaces, toCounts := newSender(places), newSender(counts)
	sums := tally{}
	err = eachEdge(placed, func(e blocks.Edge) {
		label := now.of(e.A)
		toPlaces.edge(at, blocks.Edge{A: label, B: e.B})
		sums.add(count{label: label, first: e.B, documents: 1})
	})
	if err != nil {
		return err
	}
	for _, label := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[label]
		sum.from = at
		toCounts.add(part(label, f.Parts), sum.append)
	}
	edgesShuffled.Inc(ctx, toPlaces.flush()+toCounts.flush())
	return nil
}

// totalFn adds up the counts of components.
//
//	KV<part, counts> → KV<asking part, counts>
type totalFn struct{}

func (f *totalFn) ProcessElement(ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte)) error {
	var asked []count
	sums := tally{}
	err := eachCount(packed, func(c count) {
		asked = append(asked, c)
		sums.add(c)
	})
	if err != nil {
		return err
	}
	out := newSender(emit)
	for _, c := range asked {
		out.add(c.from, sums[c.label].append)
	}
	edgesShuffled.Inc(ctx, out.flush())
	components.Inc(ctx, int64(len(sums)))
	for _, sum := range sums {
		sizes.Update(ctx, int64(sum.documents))
	}
	return nil
}

// placedFn turns the documents of a part into members, by split.
//
//	KV<part, places, counts> → KV<split, members>
type placedFn struct{ Inputs string }

func (f *placedFn) ProcessElement(ctx context.Context, _ int64, placed, counts func(*[]byte) bool, emit func(int64, []byte)) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	totals := tally{}
	if err := eachCount(counts, totals.add); err != nil {
		return err
	}
	out := newSender(emit)
	documents := int64(0)
	err = eachEdge(placed, func(e blocks.Edge) {
		total := totals[e.A]
		out.member(in, blocks.Member{Key: e.B, Component: total.first, Of: total.documents})
		documents++
	})
	out.flush()
	members.Inc(ctx, documents)
	return err
}
