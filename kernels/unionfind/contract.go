package unionfind

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/neardup/neardup/kernels/hash"
)

// Contraction finds the connected components of a graph that no worker can hold. The functions below are what each part
// of the graph computes; callers carry the messages between parts. Keys of documents and labels are int64.
//
// Every document has a label, initially itself, and edges connect labels. In a round, each label with a neighbour is
// replaced by the first of itself and its neighbours in an Order, which about halves the number of labels of any graph.
// Once there are few enough, one forest connects them. A round is:
//
//	each part      Part.Edge; then Part.Contract: its edges as stars, and a question for each label
//	               with an edge: which label replaces it?
//	for a label    Labels.Prefer, with the neighbour that each question names; Labels.Of is the answer
//	each part      Labels.Of for the ends of its edges
//
// A label that was replaced is no longer in the graph; its final label is resolved once the last labels are connected.
// Each round replaces at least one label of each component, so the rounds end.
//
// A part asks for a label once, however many of its documents and edges have the label, so that no message becomes
// large because a document has many neighbours.
//
// This extends local contraction (Łącki, Mirrokni and Włodarczyk 2018): labels that a part knows to be connected count
// as neighbours.

// An Order is a pseudo-random total order of labels. (In the order of keys, a chain of documents would lose one label
// per round.)
type Order uint64

// OrderOf returns the order of a round, counted from 0. Each order serves two rounds. In the first, half of the
// neighbours of a document with many neighbours stay as they are, and in the second they all meet. With a single order
// for all rounds, chains would persist, because their remaining labels are those that come first.
func OrderOf(round int) Order { return Order(round / 2) }

// first returns the label that comes first.
func (o Order) first(a, b int64) int64 {
	if cmp.Or(cmp.Compare(o.hash(a), o.hash(b)), cmp.Compare(a, b)) <= 0 {
		return a
	}
	return b
}

func (o Order) hash(label int64) uint64 { return hash.Mix(hash.Mix(uint64(o)) ^ uint64(label)) }

// Labels maps labels to those that replace them; labels that are not in it stay.
type Labels map[int64]int64

// Of returns the label that replaces label, or label itself.
func (l Labels) Of(label int64) int64 {
	if to, ok := l[label]; ok {
		return to
	}
	return label
}

// Prefer replaces a label by its neighbour if that comes before its current replacement. It is commutative and
// idempotent, and a label may be its own neighbour.
func (l Labels) Prefer(o Order, label, neighbour int64) {
	l[label] = o.first(l.Of(label), neighbour)
}

// A Part is what a part of the graph knows before a round. It must not be copied.
type Part struct {
	order  Order
	best   Labels // for each label to ask for, its replacement as far as the part knows
	forest Forest
}

// NewPart returns a part without edges, for a round with this order.
func NewPart(o Order) *Part { return &Part{order: o, best: Labels{}} }

// Edge says that two labels are connected.
func (p *Part) Edge(a, b int64) {
	if a != b {
		p.forest.Union(a, b)
	}
}

// Contract calls edge for the edges that replace those of the part, then question for each label of the part, in
// ascending order, with its replacement as far as the part knows. The part must not be used afterwards.
//
// Each connected set of labels becomes a star around its first label in the order: edges lead from it to each other
// label. It replaces them in the next round unless another part knows an earlier one.
func (p *Part) Contract(edge func(centre, label int64), question func(label, best int64)) {
	centres := Labels{} // by root
	for label, root := range p.forest.All() {
		centres.Prefer(p.order, root, label)
	}
	for label, root := range p.forest.All() {
		centre := centres[root]
		if label == centre {
			continue
		}
		edge(centre, label)
		p.best.Prefer(p.order, centre, label)
		p.best.Prefer(p.order, label, centre)
	}
	for _, label := range slices.Sorted(maps.Keys(p.best)) {
		question(label, p.best[label])
	}
}

// A Size is the number of documents with a label, and the first of them.
type Size struct {
	First     int64
	Documents int
}

// Sizes maps labels to their sizes.
type Sizes map[int64]Size

// Add adds documents to a label. Each document must be added only once.
func (s Sizes) Add(label int64, more Size) {
	if sum, ok := s[label]; ok {
		more = Size{First: min(sum.First, more.First), Documents: sum.Documents + more.Documents}
	}
	s[label] = more
}

// All yields the labels in ascending order with their sizes.
func (s Sizes) All() iter.Seq2[int64, Size] {
	return func(yield func(int64, Size) bool) {
		for _, label := range slices.Sorted(maps.Keys(s)) {
			if !yield(label, s[label]) {
				return
			}
		}
	}
}
