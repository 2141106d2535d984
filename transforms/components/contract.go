package components

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/internal/dofn"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/contract"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	dofn.Register[openFn]()
	dofn.Register[hookFn]()
	dofn.Register[contractFn]()
	dofn.Register[rootsFn]()
	dofn.Register[resolveFn]()
	dofn.Register[countFn]()
	dofn.Register[totalFn]()
	dofn.Register[labelledFn]()
}

// lastParts is the number of groups that the edges of the contracted graph are spread over.
const lastParts = FanIn * FanIn

// contracted finds connected components that no worker can hold.
//
//	blocks of edges → KV<split, members>
//
// Documents belong to parts by their hash. Each has a label, at first itself, and edges run between
// labels. In each round, every label that has a neighbour becomes the first of itself and its
// neighbours in a pseudo-random order, which about halves the number of labels of any graph. When they
// are few enough a tree connects them.
//
// A part asks for the new name of a label once, however many of its documents and edges have it: so no
// group is large because one document has many neighbours.
func contracted(s beam.Scope, edges flow.Edges, p Params) flow.Members {
	s = s.Scope("Contracted")
	spread := beam.ParDo(s, &spreadFn{Parts: p.Parts, Roots: true}, beam.PCollection(edges))
	left, labelled, questions := beam.ParDo3(s, &openFn{Parts: p.Parts, Next: contract.OrderOf(0)},
		beam.GroupByKey(s, spread))
	n := contract.Rounds(p.Documents, p.Limit)
	for round := range n {
		s := s.Scope(fmt.Sprintf("Round%d", round+1))
		answers := beam.ParDo(s, &hookFn{Order: contract.OrderOf(round)}, beam.GroupByKey(s, questions))
		left, labelled, questions = beam.ParDo3(s,
			&contractFn{Parts: p.Parts, Next: contract.OrderOf(round + 1), Last: round == n-1},
			beam.CoGroupByKey(s, left, labelled, answers))
	}
	roots := beam.ParDo(s, &rootsFn{Parts: p.Parts, Limit: p.Limit, Rounds: n},
		beam.PCollection(tree(s, partEdges(left), lastParts)))
	answers := beam.ParDo(s, &resolveFn{}, beam.CoGroupByKey(s, questions, roots))
	labelled, counts := beam.ParDo2(s, &countFn{Parts: p.Parts}, beam.CoGroupByKey(s, labelled, answers))
	totals := beam.ParDo(s, &totalFn{}, beam.GroupByKey(s, counts))
	return flow.Members(beam.ParDo(s, &labelledFn{Inputs: p.Inputs}, beam.CoGroupByKey(s, labelled, totals)))
}

// Labelled documents and answers travel as edges: from a document's label to the document, and from a
// label's new one to itself.

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
	return gather.Each(packed, func(d *blocks.Decoder) {
		do(question{label: d.Key(), best: d.Key(), from: int64(d.Uint32())})
	})
}

func readAnswers(answers func(*[]byte) bool) (contract.Labels, error) {
	l := contract.Labels{}
	return l, gather.Edges(answers, func(e blocks.Edge) { l[int64(e.B)] = int64(e.A) })
}

func readCounts(counts func(*[]byte) bool, sums contract.Sizes, do func(count)) error {
	return eachCount(counts, func(c count) {
		sums.Add(int64(c.label), contract.Size{First: int64(c.first), Documents: c.documents})
		do(c)
	})
}

// outputs are what a part sends after each round.
type outputs struct {
	part                        int64
	edges, documents, questions *sender
	graph                       *contract.Part
}

func newOutputs(part int64, next contract.Order, edges, documents, questions func(int64, []byte)) *outputs {
	return &outputs{
		part: part, edges: newSender(edges), documents: newSender(documents), questions: newSender(questions),
		graph: contract.NewPart(next),
	}
}

// label keeps a document with its label.
func (o *outputs) label(document blocks.Key, label int64) {
	o.documents.edge(o.part, blocks.Edge{A: blocks.Key(label), B: document})
	o.graph.Label(label)
}

// send sends the edges to the parts that to names, and asks for the labels.
func (o *outputs) send(ctx context.Context, parts int, to func(blocks.Edge) int64) {
	o.graph.Contract(func(centre, label int64) {
		e := blocks.Edge{A: blocks.Key(centre), B: blocks.Key(label)}
		o.edges.edge(to(e), e)
	}, func(label, best int64) {
		q := question{label: blocks.Key(label), best: blocks.Key(best), from: o.part}
		o.questions.add(part(q.label, parts), q.append)
	})
	edgesShuffled.Inc(ctx, o.edges.flush()+o.documents.flush()+o.questions.flush())
}

func (o *outputs) stay(blocks.Edge) int64 { return o.part }

// openFn begins: each document that has an edge is its own label.
//
//	KV<part, edges> → KV<part, edges>, KV<part, labelled documents>, KV<part, questions>
type openFn struct {
	Parts int
	Next  contract.Order // of the next round
}

func (f *openFn) ProcessElement(
	ctx context.Context, part int64, packed func(*[]byte) bool, edges, documents, questions func(int64, []byte),
) error {
	out := newOutputs(part, f.Next, edges, documents, questions)
	own := map[blocks.Key]bool{} // documents of this part: the later ones of edges
	err := gather.Edges(packed, func(e blocks.Edge) {
		own[e.B] = true
		out.graph.Edge(int64(e.A), int64(e.B))
	})
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		out.label(key, int64(key))
	}
	out.send(ctx, f.Parts, out.stay)
	return nil
}

// hookFn finds the new labels of the labels of a part.
//
//	KV<part, questions> → KV<asking part, answers>
type hookFn struct{ Order contract.Order }

func (f *hookFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	var asked []question
	now := contract.Labels{}
	err := eachQuestion(packed, func(q question) {
		asked = append(asked, q)
		now.Prefer(f.Order, int64(q.label), int64(q.best))
	})
	if err != nil {
		return err
	}
	out := newSender(emit)
	for _, q := range asked {
		if to := blocks.Key(now.Of(int64(q.label))); to != q.label {
			out.edge(q.from, blocks.Edge{A: to, B: q.label})
		}
	}
	edgesShuffled.Inc(ctx, out.flush())
	return nil
}

// contractFn gives the edges and the documents of a part their new labels.
//
//	KV<part, edges, labelled documents, answers> → KV<part, edges>, KV<part, labelled documents>, KV<part, questions>
type contractFn struct {
	Parts int
	Next  contract.Order // of the next round
	// Last: the edges go to a tree.
	Last bool
}

func (f *contractFn) ProcessElement(
	ctx context.Context, at int64, packed, labelled, answers func(*[]byte) bool, edges, documents,
	questions func(int64, []byte),
) error {
	now, err := readAnswers(answers)
	if err != nil {
		return err
	}
	out := newOutputs(at, f.Next, edges, documents, questions)
	if err := gather.Edges(labelled, func(e blocks.Edge) { out.label(e.B, now.Of(int64(e.A))) }); err != nil {
		return err
	}
	err = gather.Edges(packed, func(e blocks.Edge) { out.graph.Edge(now.Of(int64(e.A)), now.Of(int64(e.B))) })
	if err != nil {
		return err
	}
	to := out.stay
	if f.Last {
		to = func(e blocks.Edge) int64 { return part(e.B, lastParts) }
	}
	out.send(ctx, f.Parts, to)
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

func (f *rootsFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	var forest unionfind.Forest
	if err := connect(&forest, packed); err != nil {
		return err
	}
	if n := int64(forest.Len()); n > f.Limit {
		return fmt.Errorf("components: not converged: after %d rounds of contraction %d groups of candidates are still to "+
			"be connected, and one worker takes %d; "+
			"there are far more candidates than the sample led to expect. A higher --threshold or more --rows separate "+
			"documents that are not alike; "+
			"of those that are, fewer are left once parts of the input are deduplicated",
			f.Rounds, n, f.Limit)
	}
	out := newSender(emit)
	for e := range forestEdges(&forest) {
		out.edge(part(e.B, f.Parts), e)
	}
	edgesShuffled.Inc(ctx, out.flush())
	return nil
}

// resolveFn passes on what labels were told.
//
//	KV<part, questions, answers> → KV<asking part, answers>
type resolveFn struct{}

func (f *resolveFn) ProcessElement(
	ctx context.Context, _ int64, questions, answers func(*[]byte) bool, emit func(int64, []byte),
) error {
	now, err := readAnswers(answers)
	if err != nil {
		return err
	}
	out := newSender(emit)
	err = eachQuestion(questions, func(q question) {
		if to := blocks.Key(now.Of(int64(q.label))); to != q.label {
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

func newCount(label int64, s contract.Size, from int64) count {
	return count{label: blocks.Key(label), first: blocks.Key(s.First), documents: s.Documents, from: from}
}

func (c count) append(block []byte) []byte {
	block = blocks.AppendKey(blocks.AppendKey(block, c.label), c.first)
	return blocks.AppendUint32(blocks.AppendUint32(block, uint32(c.documents)), uint32(c.from))
}

func eachCount(packed func(*[]byte) bool, do func(count)) error {
	return gather.Each(packed, func(d *blocks.Decoder) {
		do(count{label: d.Key(), first: d.Key(), documents: int(d.Uint32()), from: int64(d.Uint32())})
	})
}

// countFn gives the documents of a part their last labels, one for each component, and counts them.
//
//	KV<part, labelled documents, answers> → KV<part, labelled documents>, KV<part, counts>
type countFn struct{ Parts int }

func (f *countFn) ProcessElement(
	ctx context.Context, at int64, labelled, answers func(*[]byte) bool, documents, counts func(int64, []byte),
) error {
	now, err := readAnswers(answers)
	if err != nil {
		return err
	}
	toDocuments, toCounts := newSender(documents), newSender(counts)
	sums := contract.Sizes{}
	err = gather.Edges(labelled, func(e blocks.Edge) {
		label := now.Of(int64(e.A))
		toDocuments.edge(at, blocks.Edge{A: blocks.Key(label), B: e.B})
		sums.Add(label, contract.Size{First: int64(e.B), Documents: 1})
	})
	if err != nil {
		return err
	}
	for label, sum := range sums.All() {
		c := newCount(label, sum, at)
		toCounts.add(part(c.label, f.Parts), c.append)
	}
	edgesShuffled.Inc(ctx, toDocuments.flush()+toCounts.flush())
	return nil
}

// totalFn adds up the counts of components.
//
//	KV<part, counts> → KV<asking part, counts>
type totalFn struct{}

func (f *totalFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, emit func(int64, []byte),
) error {
	var asked []count
	sums := contract.Sizes{}
	err := readCounts(packed, sums, func(c count) { asked = append(asked, c) })
	if err != nil {
		return err
	}
	out := newSender(emit)
	for _, c := range asked {
		out.add(c.from, newCount(int64(c.label), sums[int64(c.label)], 0).append)
	}
	edgesShuffled.Inc(ctx, out.flush())
	components.Inc(ctx, int64(len(sums)))
	for _, sum := range sums {
		sizes.Update(ctx, int64(sum.Documents))
	}
	return nil
}

// labelledFn turns the documents of a part into members, by split.
//
//	KV<part, labelled documents, counts> → KV<split, members>
type labelledFn struct{ Inputs string }

func (f *labelledFn) ProcessElement(
	ctx context.Context, _ int64, labelled, counts func(*[]byte) bool, emit func(int64, []byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	totals := contract.Sizes{}
	if err := readCounts(counts, totals, func(count) {}); err != nil {
		return err
	}
	out := newSender(emit)
	documents := int64(0)
	err = gather.Edges(labelled, func(e blocks.Edge) {
		total := totals[int64(e.A)]
		out.member(in, blocks.Member{Key: e.B, Component: blocks.Key(total.First), Of: int32(total.Documents)})
		documents++
	})
	out.flush()
	members.Inc(ctx, documents)
	return err
}
