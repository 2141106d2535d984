package report

import (
	"math"
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
}

// documentMemory is at least what a ladder holds for a document, with what the
// garbage collector leaves of it: an entry of a map that grows, and six bytes.
const documentMemory = 96

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
	most      int64 // documents that it remembers
	overfull  bool  // there are more: it counts pairs only
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

// newLadder returns a ladder that remembers as many documents as fit into some memory.
func newLadder(threshold float64, memory int64) *ladder {
	l := &ladder{sources: map[string]uint64{}, documents: map[uint64]uint32{},
		most: min(memory/documentMemory, math.MaxUint32)}
	for i := range steps {
		// Rounded, so that what is printed is what was counted; never below the run's own.
		l.at = append(l.at, max(threshold, math.Round((threshold+float64((1-threshold)*float64(i)/steps))*1e6)/1e6))
	}
	l.at = append(l.at, 1)
	l.pairs = make([]int64, len(l.at))
	return l
}

// add counts a pair.
func (l *ladder) add(sourceA string, positionA int64, sourceB string, positionB int64, similarity float64) {
	step := l.step(similarity)
	l.pairs[step]++
	if l.overfull {
		return
	}
	if sourceA != l.first.source || positionA != l.first.position || len(l.documents) == 0 {
		l.first = met{sourceA, positionA, l.document(sourceA, positionA)}
	}
	l.connect(l.first.number, l.document(sourceB, positionB), uint8(step))
	if int64(len(l.documents)) > l.most {
		l.overfull, l.documents, l.nodes = true, nil, nodes{}
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

// counts returns the steps by threshold. Clusters and documents are 0 if there were more documents than it remembers.
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
	return counts
}
