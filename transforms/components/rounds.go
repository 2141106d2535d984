package components

import (
	"context"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/transforms/exchange"
	"github.com/neardup/neardup/transforms/gather"
)

func init() {
	flow.Register[blocksFn]()
	flow.Register[openFn]()
	flow.Register[hookFn]()
	flow.Register[contractFn]()
	flow.Register[askFn]()
	flow.Register[answerFn]()
	flow.Register[resolveFn]()
	flow.Register[countFn]()
	flow.Register[totalFn]()
	flow.Register[labelledFn]()
}

// Components that no worker can hold are found by a sequence of jobs, each of which leaves a smaller graph:
//
//	Forests   a forest of each part of the edges
//	Round     repeated while the edges are too many for one call
//	Forests   with one part, connects the remaining edges
//	Resolve   for each round but the first, in reverse order
//	Members   for the first round
//
// At first every document is a label, and edges connect labels. In a round, each label with a neighbour is replaced by
// the first of itself and its neighbours in a pseudo-random order, which removes about half of the labels of any graph.
// The replacement is written once, and the contracted graph goes on. A label that was replaced may remain as the new
// name of others, but each round has fewer labels than the one before, so the rounds end.
//
// A job may read what another job left with a different number of parts.

// Forests replaces the edges of each part by a spanning forest.
//
//	KV<part, group of edges> → KV<part, edges>
func Forests(s beam.Scope, parts exchange.Groups) flow.Forests {
	s = s.Scope("components.Forests")
	return flow.Forests(beam.ParDo(s, &forestFn{In: parts.In}, parts.All))
}

// Edges drops the parts of edges that earlier jobs left.
//
//	KV<part, edges> → blocks of edges
func Edges(s beam.Scope, of flow.Forests) flow.Edges {
	return flow.Edges(beam.ParDo(s.Scope("components.Edges"), &blocksFn{}, beam.PCollection(of)))
}

// Round contracts a graph. It returns the edges that are left, and edges from new labels to the labels that they
// replace. A part asks for the new name of a label once, however many edges the label has there, so that no group
// becomes large because a label has many neighbours. Three GroupByKeys.
//
//	blocks of edges → KV<part, edges>, KV<part, edges>
func Round(s beam.Scope, edges flow.Edges, parts, round int) (left, gone flow.Forests) {
	s = s.Scope("components.Round")
	order := unionfind.OrderOf(round)
	stars, questions := beam.ParDo2(s, &openFn{Parts: parts, Order: order}, spread(s, edges, parts))
	answers, dead := beam.ParDo2(s, &hookFn{Order: order}, beam.GroupByKey(s, questions))
	return flow.Forests(beam.ParDo(s, &contractFn{}, beam.CoGroupByKey(s, stars, answers))), flow.Forests(dead)
}

// Resolve finds the final label of each label that a round replaced, and passes on those of the labels that later
// rounds replaced. Three GroupByKeys.
//
//	blocks of edges, blocks of edges → KV<part, edges>
func Resolve(s beam.Scope, gone, roots flow.Edges, parts int) flow.Forests {
	s = s.Scope("components.Resolve")
	dead, questions := beam.ParDo2(s, &askFn{Parts: parts}, spread(s, gone, parts))
	known := beam.ParDo(s, &spreadFn{Parts: parts}, beam.PCollection(roots))
	answers := beam.ParDo(s, &answerFn{}, beam.CoGroupByKey(s, questions, known))
	return flow.Forests(beam.ParDo(s, &resolveFn{}, beam.CoGroupByKey(s, dead, answers, known)))
}

// Members names components by their first document. Resolved has every document that has an edge, except one per
// component, which is the label of the others. Two GroupByKeys.
//
//	KV<part, edges> → KV<split, members>
func Members(s beam.Scope, resolved flow.Forests, p Params) flow.Members {
	s = s.Scope("components.Members")
	labelled, counts := beam.ParDo2(s, &countFn{Parts: p.Parts}, beam.GroupByKey(s, beam.PCollection(resolved)))
	totals, labels := beam.ParDo2(s, &totalFn{Inputs: p.Inputs}, beam.GroupByKey(s, counts))
	others := beam.ParDo(s, &labelledFn{Inputs: p.Inputs}, beam.CoGroupByKey(s, labelled, totals))
	return flow.Members(beam.Flatten(s, others, labels))
}

// A replacement travels as an edge from the new label to the old one.

// question asks for the new label of a label.
type question struct {
	label blocks.Key
	best  blocks.Key // the first of the label and those of its neighbours that the asking part knows
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

func readAnswers(answers func(*[]byte) bool) (unionfind.Labels, error) {
	l := unionfind.Labels{}
	return l, gather.Edges(answers, func(e blocks.Edge) { l[int64(e.B)] = int64(e.A) })
}

// blocksFn drops the keys of blocks.
type blocksFn struct{}

func (*blocksFn) ProcessElement(_ int64, block []byte, emit func([]byte)) { emit(block) }

// openFn replaces the edges of a part by stars, and asks for the new labels of their labels.
//
//	KV<part, edges> → KV<part, edges>, KV<part, questions>
type openFn struct {
	Parts int
	Order unionfind.Order
}

func (f *openFn) ProcessElement(
	ctx context.Context, at int64, packed func(*[]byte) bool, edges, questions func(int64, []byte),
) error {
	graph := unionfind.NewPart(f.Order)
	if err := gather.Edges(packed, func(e blocks.Edge) { graph.Edge(int64(e.A), int64(e.B)) }); err != nil {
		return err
	}
	stars, asked := newSender(edges), newSender(questions)
	graph.Contract(func(centre, label int64) {
		stars.edge(at, blocks.Edge{A: blocks.Key(centre), B: blocks.Key(label)})
	}, func(label, best int64) {
		q := question{label: blocks.Key(label), best: blocks.Key(best), from: at}
		asked.add(part(q.label, f.Parts), q.append)
	})
	edgesShuffled.Inc(ctx, stars.flush()+asked.flush())
	return nil
}

// hookFn determines the new labels of the labels of a part.
//
//	KV<part, questions> → KV<asking part, answers>, KV<part, edges>
type hookFn struct{ Order unionfind.Order }

func (f *hookFn) ProcessElement(
	ctx context.Context, at int64, packed func(*[]byte) bool, answers, gone func(int64, []byte),
) error {
	var asked []question
	now := unionfind.Labels{}
	err := eachQuestion(packed, func(q question) {
		asked = append(asked, q)
		now.Prefer(f.Order, int64(q.label), int64(q.best))
	})
	if err != nil {
		return err
	}
	toParts, toFile := newSender(answers), newSender(gone)
	for _, q := range asked {
		if to := blocks.Key(now.Of(int64(q.label))); to != q.label {
			toParts.edge(q.from, blocks.Edge{A: to, B: q.label})
		}
	}
	for _, label := range slices.Sorted(maps.Keys(now)) {
		if to := now[label]; to != label {
			toFile.edge(at, blocks.Edge{A: blocks.Key(to), B: blocks.Key(label)})
		}
	}
	edgesShuffled.Inc(ctx, toParts.flush()+toFile.flush())
	return nil
}

// contractFn replaces the labels in a part's edges by the new ones, and keeps a spanning forest.
//
//	KV<part, edges, answers> → KV<part, edges>
type contractFn struct{}

func (*contractFn) ProcessElement(
	ctx context.Context, at int64, packed, answers func(*[]byte) bool, emit func(int64, []byte),
) error {
	now, err := readAnswers(answers)
	if err != nil {
		return err
	}
	var forest unionfind.Forest
	err = gather.Edges(packed, func(e blocks.Edge) {
		if a, b := now.Of(int64(e.A)), now.Of(int64(e.B)); a != b {
			forest.Union(a, b)
		}
	})
	if err != nil {
		return err
	}
	sendForest(ctx, &forest, at, emit)
	return nil
}

// askFn asks for the final labels of the labels that replaced those of a part.
//
//	KV<part, edges> → KV<part, edges>, KV<part, questions>
type askFn struct{ Parts int }

func (f *askFn) ProcessElement(
	ctx context.Context, at int64, packed func(*[]byte) bool, edges, questions func(int64, []byte),
) error {
	labels := map[blocks.Key]bool{}
	passed, asked := newSender(edges), newSender(questions)
	err := gather.Edges(packed, func(e blocks.Edge) {
		labels[e.A] = true
		passed.edge(at, e)
	})
	if err != nil {
		return err
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		asked.add(part(label, f.Parts), question{label: label, best: label, from: at}.append)
	}
	edgesShuffled.Inc(ctx, passed.flush()+asked.flush())
	return nil
}

// answerFn sends parts the final labels that they asked for.
//
//	KV<part, questions, edges> → KV<asking part, answers>
type answerFn struct{}

func (*answerFn) ProcessElement(
	ctx context.Context, _ int64, questions, roots func(*[]byte) bool, emit func(int64, []byte),
) error {
	now, err := readAnswers(roots)
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

// resolveFn emits the final labels. A replaced label may be its own final label, if a later round replaced its
// replacement by it; then resolveFn emits nothing for it.
//
//	KV<part, edges, answers, edges> → KV<part, edges>
type resolveFn struct{}

func (*resolveFn) ProcessElement(
	ctx context.Context, at int64, gone, answers, roots func(*[]byte) bool, emit func(int64, []byte),
) error {
	now, err := readAnswers(answers)
	if err != nil {
		return err
	}
	out := newSender(emit)
	dead := map[blocks.Key]bool{}
	err = gather.Edges(gone, func(e blocks.Edge) {
		dead[e.B] = true
		if to := blocks.Key(now.Of(int64(e.A))); to != e.B {
			out.edge(at, blocks.Edge{A: to, B: e.B})
		}
	})
	if err != nil {
		return err
	}
	err = gather.Edges(roots, func(e blocks.Edge) {
		if !dead[e.B] {
			out.edge(at, e)
		}
	})
	edgesShuffled.Inc(ctx, out.flush())
	return err
}

// count is the number of documents with a label, and the first of them: in the part from or, in an answer, in all
// parts.
type count struct {
	label, first blocks.Key
	documents    int
	from         int64
}

func newCount(label int64, s unionfind.Size, from int64) count {
	return count{label: blocks.Key(label), first: blocks.Key(s.First), documents: s.Documents, from: from}
}

func (c count) append(block []byte) []byte {
	block = blocks.AppendKey(blocks.AppendKey(block, c.label), c.first)
	return blocks.AppendUint32(blocks.AppendUint32(block, uint32(c.documents)), uint32(c.from))
}

func readCounts(packed func(*[]byte) bool, sums unionfind.Sizes, do func(count)) error {
	return gather.Each(packed, func(d *blocks.Decoder) {
		c := count{label: d.Key(), first: d.Key(), documents: int(d.Uint32()), from: int64(d.Uint32())}
		sums.Add(int64(c.label), unionfind.Size{First: int64(c.first), Documents: c.documents})
		do(c)
	})
}

// countFn counts the documents of a part per label.
//
//	KV<part, edges> → KV<part, edges>, KV<part, counts>
type countFn struct{ Parts int }

func (f *countFn) ProcessElement(
	ctx context.Context, at int64, resolved func(*[]byte) bool, documents, counts func(int64, []byte),
) error {
	passed, toCounts := newSender(documents), newSender(counts)
	sums := unionfind.Sizes{}
	err := gather.Edges(resolved, func(e blocks.Edge) {
		passed.edge(at, e)
		sums.Add(int64(e.A), unionfind.Size{First: int64(e.B), Documents: 1})
	})
	if err != nil {
		return err
	}
	for label, sum := range sums.All() {
		c := newCount(label, sum, at)
		toCounts.add(part(c.label, f.Parts), c.append)
	}
	edgesShuffled.Inc(ctx, passed.flush()+toCounts.flush())
	return nil
}

// totalFn adds up the counts per component, including the document that is the label itself.
//
//	KV<part, counts> → KV<asking part, counts>, KV<split, members>
type totalFn struct{ Inputs string }

func (f *totalFn) ProcessElement(
	ctx context.Context, _ int64, packed func(*[]byte) bool, totals, labels func(int64, []byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	var asked []count
	sums := unionfind.Sizes{}
	if err := readCounts(packed, sums, func(c count) { asked = append(asked, c) }); err != nil {
		return err
	}
	toParts, toSplits := newSender(totals), newSender(labels)
	for label := range sums.All() {
		sums.Add(label, unionfind.Size{First: label, Documents: 1})
		toSplits.member(in, memberOf(blocks.Key(label), sums[label]))
		sizes.Update(ctx, int64(sums[label].Documents))
	}
	for _, c := range asked {
		toParts.add(c.from, newCount(int64(c.label), sums[int64(c.label)], 0).append)
	}
	toSplits.flush()
	edgesShuffled.Inc(ctx, toParts.flush())
	components.Inc(ctx, int64(len(sums)))
	members.Inc(ctx, int64(len(sums)))
	return nil
}

func memberOf(document blocks.Key, s unionfind.Size) blocks.Member {
	return blocks.Member{Key: document, Component: blocks.Key(s.First), Of: int32(s.Documents)}
}

// labelledFn turns the labelled documents of a part into members, by split.
//
//	KV<part, edges, counts> → KV<split, members>
type labelledFn struct{ Inputs string }

func (f *labelledFn) ProcessElement(
	ctx context.Context, _ int64, labelled, counts func(*[]byte) bool, emit func(int64, []byte),
) error {
	in, err := storage.Shared[blocks.Inputs](ctx, f.Inputs)
	if err != nil {
		return err
	}
	totals := unionfind.Sizes{}
	if err := readCounts(counts, totals, func(count) {}); err != nil {
		return err
	}
	out := newSender(emit)
	documents := int64(0)
	err = gather.Edges(labelled, func(e blocks.Edge) {
		out.member(in, memberOf(e.B, totals[int64(e.A)]))
		documents++
	})
	out.flush()
	members.Inc(ctx, documents)
	return err
}
