package report

import (
	"math"
	"math/bits"
	"sort"
)

// steps is the number of higher thresholds that the page offers, from that of the run to 1.
const steps = 200

// Step says what a threshold leaves of the pairs of a run.
type Step struct {
	Threshold float64 `json:"t"`
	Pairs     int64   `json:"pairs"`     // at least this similar
	Clusters  int64   `json:"clusters"`  // connected by these pairs
	Documents int64   `json:"documents"` // in these clusters
	Removed   int64   `json:"removed"`   // of these documents, if known
}

// documentMemory is at least what a ladder uses for a document, including the garbage collector's overhead: an entry of
// a growing map, and 38 bytes.
const documentMemory = 128

// ladder counts the pairs and clusters of each step while it reads the pairs. It keeps only a maximum spanning forest:
// the pairs of at least some similarity connect the same documents as those in the forest (Kruskal 1956), so its memory
// depends on the documents and not on the pairs.
type ladder struct {
	at        []float64 // thresholds, ascending
	pairs     []int64   // number of pairs with similarity in [at[i], at[i+1])
	sources   map[string]uint64
	first     met               // first document of the last pair
	documents map[uint64]uint32 // numbers of documents, in order of appearance
	nodes     nodes
	// With star in input order: the steps at which each document is removed, and the number removed at each step.
	star     bool
	removed  []levels
	removals [steps + 1]int64
	none     bool  // no document of a cluster is kept
	most     int64 // maximum number of documents
	overfull bool  // there are more, so it only counts pairs
}

// met is a document that was read, with its number.
type met struct {
	source   string
	position int64
	number   uint32
}

// nodes are the documents of the forest. A parent has a lower number than its children; a root is its own parent.
type nodes struct {
	parent []uint32
	link   []uint8 // step of the pair that links a document to its parent
	best   []uint8 // highest step of a document's pairs
}

// levels has one bit per step.
type levels [steps/64 + 1]uint64

// upTo returns word w of the levels with all steps up to step.
func upTo(step, w int) uint64 { return 1<<max(0, step+1-64*w) - 1 }

// newLadder returns a ladder for as many documents as fit into this memory. If star, it counts what star removes, and
// pairs must come ordered by their first documents in input order. If none, it counts all documents of each cluster as
// removed.
func newLadder(threshold float64, star, none bool, memory int64) *ladder {
	l := &ladder{star: star && !none, none: none, sources: map[string]uint64{}, documents: map[uint64]uint32{},
		most: min(memory/documentMemory, math.MaxUint32)}
	for i := range steps {
		// Rounded to what is printed, but never below the run's threshold.
		l.at = append(l.at, max(threshold, math.Round((threshold+float64((1-threshold)*float64(i)/steps))*1e6)/1e6))
	}
	l.at = append(l.at, 1)
	l.pairs = make([]int64, len(l.at))
	return l
}

// add counts a pair. If copied, b is a copy of a.
func (l *ladder) add(
	sourceA string, positionA int64, sourceB string, positionB int64, similarity float64, copied bool,
) {
	step := l.step(similarity)
	l.pairs[step]++
	if l.overfull {
		return
	}
	if sourceA != l.first.source || positionA != l.first.position || len(l.documents) == 0 {
		l.first = met{sourceA, positionA, l.document(sourceA, positionA)}
	}
	b := l.document(sourceB, positionB)
	l.connect(l.first.number, b, uint8(step))
	if l.star {
		l.remove(l.first.number, b, step, copied)
	}
	if int64(len(l.documents)) > l.most {
		l.overfull, l.documents, l.nodes, l.removed = true, nil, nodes{}, nil
	}
}

// remove removes b at the steps of the pair at which a is kept, which is known because all pairs with a second have
// come before. A copy is removed with its representative, or in its favour.
func (l *ladder) remove(a, b uint32, step int, copied bool) {
	for w := range l.removed[b] {
		now := upTo(step, w)
		if !copied {
			now &^= l.removed[a][w]
		}
		now &^= l.removed[b][w]
		l.removed[b][w] |= now
		for ; now != 0; now &= now - 1 {
			l.removals[64*w+bits.TrailingZeros64(now)]++
		}
	}
}

// step returns the step of a similarity, the last one if thresholds are equal.
func (l *ladder) step(similarity float64) int {
	above := sort.Search(len(l.at), func(i int) bool { return l.at[i] > similarity })
	return max(above-1, 0)
}

// positionBits is the size of a position in a document's key.
const positionBits = 40

func (l *ladder) document(source string, position int64) uint32 {
	number, ok := l.sources[source]
	if !ok {
		number = uint64(len(l.sources))
		l.sources[source] = number
	}
	key := number<<positionBits | uint64(position)
	document, ok := l.documents[key]
	if !ok {
		document = uint32(len(l.documents))
		l.documents[key] = document
		l.nodes.parent = append(l.nodes.parent, document)
		l.nodes.link = append(l.nodes.link, 0)
		l.nodes.best = append(l.nodes.best, 0)
		if l.star {
			l.removed = append(l.removed, levels{})
		}
	}
	return document
}

// connect adds a pair to the forest. It makes one root of the pair's documents, among pairs of at least its step, the
// child of the other. If that replaces a link of a lower step, it then adds the replaced link as a pair of that step.
func (l *ladder) connect(a, b uint32, step uint8) {
	n := &l.nodes
	n.best[a], n.best[b] = max(n.best[a], step), max(n.best[b], step)
	for {
		a, b = n.root(a, step), n.root(b, step)
		if a == b {
			return
		}
		parent, child := min(a, b), max(a, b)
		replaced, lower := n.parent[child], n.link[child]
		n.parent[child], n.link[child] = parent, step
		if replaced == child {
			return
		}
		a, b, step = replaced, parent, lower
	}
}

// root returns the root of a document among pairs of at least a step. On its way, it shortens paths of such pairs.
func (n *nodes) root(i uint32, step uint8) uint32 {
	for n.parent[i] != i && n.link[i] >= step {
		if above := n.parent[i]; n.parent[above] != above && n.link[above] >= n.link[i] {
			n.parent[i] = n.parent[above]
		}
		i = n.parent[i]
	}
	return i
}

// counts returns the steps in order of their thresholds. If there were too many documents, it sets only Pairs. One
// document of each cluster is kept, unless star or none decides.
func (l *ladder) counts() []Step {
	counts := make([]Step, len(l.at))
	for i, best := range l.nodes.best {
		counts[best].Documents++
		counts[best].Clusters++
		if int(l.nodes.parent[i]) != i {
			counts[l.nodes.link[i]].Clusters-- // the link joins two
		}
	}
	for i := len(counts) - 1; i >= 0; i-- {
		counts[i].Threshold, counts[i].Pairs = l.at[i], l.pairs[i]
		if i+1 < len(counts) {
			counts[i].Pairs += counts[i+1].Pairs
			counts[i].Clusters += counts[i+1].Clusters
			counts[i].Documents += counts[i+1].Documents
		}
	}
	for i := range counts {
		switch c := &counts[i]; {
		case l.overfull:
		case l.star:
			c.Removed = l.removals[i]
		case l.none:
			c.Removed = c.Documents
		default:
			c.Removed = c.Documents - c.Clusters
		}
	}
	return counts
}
