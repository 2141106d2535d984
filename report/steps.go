package report

import (
	"math"
	"math/bits"
	"sort"
)

// steps is how many higher thresholds the page offers, from that of the run to 1.
const steps = 200

// Step is what a higher threshold would leave of the pairs of a run.
type Step struct {
	Threshold float64 `json:"t"`
	Pairs     int64   `json:"pairs"`     // at least that similar
	Clusters  int64   `json:"clusters"`  // that these pairs connect
	Documents int64   `json:"documents"` // in these clusters
	Removed   int64   `json:"removed"`   // of these documents, if that is known
}

// documentMemory is at least what a ladder holds for a document, with what the
// garbage collector leaves of it: an entry of a map that grows, and 38 bytes.
const documentMemory = 128

// ladder counts the pairs and clusters of each step while pairs stream by. It remembers a maximum spanning forest
// alone: the pairs of at least some similarity connect what those of the forest connect (Kruskal 1956), so it needs
// memory for the documents and not for the pairs.
type ladder struct {
	at        []float64 // thresholds, ascending
	pairs     []int64   // whose similarity is at least at[i] and below at[i+1]
	sources   map[string]uint64
	first     met               // document of the pair before
	documents map[uint64]uint32 // numbers of documents, in the order in which they are met
	nodes     nodes
	// Of the decision star in input order: the steps at which each document is removed, and how many are at each step.
	star     bool
	removed  []levels
	removals [steps + 1]int64
	most     int64 // documents that it remembers
	overfull bool  // there are more: it counts pairs only
}

// met is a document with its number.
type met struct {
	source   string
	position int64
	number   uint32
}

// nodes are the documents of the forest. A parent is of a lower number than its children; a root is its own.
type nodes struct {
	parent []uint32
	link   []uint8 // step of the pair that links a document to its parent
	best   []uint8 // the highest step of a document's pairs
}

// levels are a bit for each step.
type levels [steps/64 + 1]uint64

// upTo has all steps up to one.
func upTo(step int) (l levels) {
	for ; step >= 0; step-- {
		l[step/64] |= 1 << (step % 64)
	}
	return l
}

// allUpTo are those of each step.
var allUpTo = func() (all [steps + 1]levels) {
	for step := range all {
		all[step] = upTo(step)
	}
	return all
}()

// newLadder returns a ladder that remembers as many documents as fit into some memory. If star, pairs come by their
// first documents in input order, and it counts what the decision star removes.
func newLadder(threshold float64, star bool, memory int64) *ladder {
	l := &ladder{star: star, sources: map[string]uint64{}, documents: map[uint64]uint32{},
		most: min(memory/documentMemory, math.MaxUint32)}
	for i := range steps {
		// Rounded, so that what is printed is what was counted; never below the run's own.
		l.at = append(l.at, max(threshold, math.Round((threshold+float64((1-threshold)*float64(i)/steps))*1e6)/1e6))
	}
	l.at = append(l.at, 1)
	l.pairs = make([]int64, len(l.at))
	return l
}

// add counts a pair; b of a copy has the same as a.
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

// remove removes b at the steps of the pair at which a is kept: all pairs of which a is the second came before. A copy
// goes with its representative, or in its favour.
func (l *ladder) remove(a, b uint32, step int, copied bool) {
	for w, now := range allUpTo[step] {
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

// step is that of a similarity, the last of equal thresholds.
func (l *ladder) step(similarity float64) int {
	above := sort.Search(len(l.at), func(i int) bool { return l.at[i] > similarity })
	return max(above-1, 0)
}

// positionBits are those of a position in a document's key.
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

// connect adds a pair to the forest. Of the roots of its documents among pairs of its step and above, one becomes the
// other's child. That takes the place of a link of a lower step, which is then added for the two as a pair of its own.
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

// root is that of a document among pairs of at least a step. On its way, paths of such pairs become shorter.
func (n *nodes) root(i uint32, step uint8) uint32 {
	for n.parent[i] != i && n.link[i] >= step {
		if above := n.parent[i]; n.parent[above] != above && n.link[above] >= n.link[i] {
			n.parent[i] = n.parent[above]
		}
		i = n.parent[i]
	}
	return i
}

// counts returns the steps by threshold. All but pairs are 0 if there were more documents than it remembers. One
// document of each cluster is kept, unless star decides.
func (l *ladder) counts() []Step {
	counts := make([]Step, len(l.at))
	for i, best := range l.nodes.best {
		counts[best].Documents++
		counts[best].Clusters++
		if int(l.nodes.parent[i]) != i {
			counts[l.nodes.link[i]].Clusters-- // it joins two
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
		default:
			c.Removed = c.Documents - c.Clusters
		}
	}
	return counts
}
