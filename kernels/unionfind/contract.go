package unionfind

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/neardup/neardup/kernels/hash"
)

// Contraction finds the connected components of a graph that no worker can hold.
// Below is what each part of the graph computes; callers carry the messages between parts.
// Keys of documents and labels are int64.
//
// Every document has a label, at first itself, and edges run between labels. In a round, each label
// that has a neighbour becomes the first of itself and its neighbours in an Order, so that
// the number of labels about halves, whatever the graph. When they are few enough, one forest connects
// them. A round is:
//
//	each part      Part.Edge; then Part.Contract: its edges as stars, and a question for each label
//	               that has one: what does this label become?
//	for a label    Labels.Prefer, with the neighbour that each question names; Labels.Of is the answer
//	each part      Labels.Of of the ends of its edges
//
// A label that has become another is not in the graph any more, and what it became is resolved once
// the last ones are connected. At least one label of each component goes in a round, so rounds end.
//
// A part asks for a label once, however many of its documents and edges have it. So no message is
// large because one document has many neighbours.
//
// This is local contraction (Łącki, Mirrokni and Włodarczyk 2018), and more: labels that a part
// knows to be connected are neighbours.

// An Order is a pseudo-random total order of labels. (In the order of keys, a chain of documents
// would lose one label a round.)
type Order uint64

// OrderOf returns the order of a round, from 0 on. Each serves two rounds. In the first of them
// half of the neighbours of a document of many stay as they are, and in the second they all meet;
// but an order that served for all would leave ever more of a chain, whose labels are those that
// come first.
func OrderOf(round int) Order { return Order(round / 2) }

// first returns the one of two labels that comes first.
func (o Order) first(a, b int64) int64 {
	if cmp.Or(cmp.Compare(o.hash(a), o.hash(b)), cmp.Compare(a, b)) <= 0 {
		return a
	}
	return b
}

func (o Order) hash(label int64) uint64 { return hash.Mix(hash.Mix(uint64(o)) ^ uint64(label)) }

// Labels says what labels become; those that are not in it stay.
type Labels map[int64]int64

// Of returns what a label becomes.
func (l Labels) Of(label int64) int64 {
	if to, ok := l[label]; ok {
		return to
	}
	return label
}

// Prefer makes a label become its neighbour if that comes before what it would become otherwise. It
// is commutative and idempotent, and a label may be its own neighbour.
func (l Labels) Prefer(o Order, label, neighbour int64) {
	l[label] = o.first(l.Of(label), neighbour)
}

// A Part is what a part of the graph knows before a round. It must not be copied.
type Part struct {
	order  Order
	best   Labels // of each label to ask for, what it becomes as far as the part knows
	forest Forest
}

// NewPart returns a part without edges. The order is that of the coming round.
func NewPart(o Order) *Part { return &Part{order: o, best: Labels{}} }

// Edge says that two labels are connected.
func (p *Part) Edge(a, b int64) {
	if a != b {
		p.forest.Union(a, b)
	}
}

// Contract calls edge for the edges that replace those of the part, and then question for each label
// that the part has, ascending, with what it becomes as far as the part knows. It ends the use of
// the part.
//
// Each connected set of labels becomes a star around its first label in the order: edges lead from it
// to each other label. It is their label in the next round, unless another part knows an earlier one.
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

// A Size is how many documents have a label, and the first of them.
type Size struct {
	First     int64
	Documents int
}

// Sizes are those of labels, summed up.
type Sizes map[int64]Size

// Add adds documents of a label that were not added before.
func (s Sizes) Add(label int64, more Size) {
	if sum, ok := s[label]; ok {
		more = Size{First: min(sum.First, more.First), Documents: sum.Documents + more.Documents}
	}
	s[label] = more
}

// All yields the labels, ascending, with their sizes.
func (s Sizes) All() iter.Seq2[int64, Size] {
	return func(yield func(int64, Size) bool) {
		for _, label := range slices.Sorted(maps.Keys(s)) {
			if !yield(label, s[label]) {
				return
			}
		}
	}
}
