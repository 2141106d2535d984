package report

import (
	"math"
	"slices"
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

// Limits of what a ladder remembers.
const (
	mostDocuments = 1 << 22
	mostWaiting   = 1 << 20 // edges, beside those of the forest
)

// ladder counts the pairs and clusters of each step while pairs stream by. It remembers a maximum spanning forest alone: the
// pairs of at least some similarity connect what those of the forest connect (Kruskal 1956), so it needs memory for the
// documents and not for the pairs.
type ladder struct {
	at        []float64 // thresholds, ascending
	pairs     []int64   // whose similarity is at least at[i] and below at[i+1]
	sources   map[string]uint64
	documents map[place]uint32
	edges     []edge // a forest, and after it what was added since
	forest    int
	parent    []uint32
	overfull  bool // there are more documents than it remembers: it counts pairs only
}

// place is a document: the number of its source, and its position.
type place struct {
	source   uint64
	position int64
}

type edge struct {
	a, b uint32
	step uint8
}

func newLadder(threshold float64) *ladder {
	l := &ladder{sources: map[string]uint64{}, documents: map[place]uint32{}}
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
	step, is := slices.BinarySearch(l.at, similarity)
	for is && step+1 < len(l.at) && l.at[step+1] == similarity { // of equal thresholds the last
		step++
	}
	if !is {
		step = max(step-1, 0)
	}
	l.pairs[step]++
	if l.overfull {
		return
	}
	l.edges = append(l.edges, edge{l.document(sourceA, positionA), l.document(sourceB, positionB), uint8(step)})
	switch {
	case len(l.documents) > mostDocuments:
		l.overfull, l.edges, l.documents, l.parent = true, nil, nil, nil
	case len(l.edges)-l.forest > mostWaiting+len(l.documents):
		l.prune(func(edge, [2]bool) {})
	}
}

func (l *ladder) document(source string, position int64) uint32 {
	number, ok := l.sources[source]
	if !ok {
		number = uint64(len(l.sources))
		l.sources[source] = number
	}
	at := place{number, position}
	document, ok := l.documents[at]
	if !ok {
		document = uint32(len(l.documents))
		l.documents[at] = document
	}
	return document
}

// prune keeps a maximum spanning forest of the edges, and calls joined with each of its own, in descending similarity: alone says
// which of the two documents had none before.
func (l *ladder) prune(joined func(e edge, alone [2]bool)) {
	slices.SortStableFunc(l.edges, func(a, b edge) int { return int(b.step) - int(a.step) })
	l.parent = slices.Grow(l.parent[:0], len(l.documents))[:len(l.documents)]
	linked := make([]bool, len(l.documents))
	for i := range l.parent {
		l.parent[i] = uint32(i)
	}
	kept := l.edges[:0]
	for _, e := range l.edges {
		a, b := l.root(e.a), l.root(e.b)
		if a == b {
			continue
		}
		l.parent[max(a, b)] = min(a, b)
		joined(e, [2]bool{!linked[e.a], !linked[e.b]})
		linked[e.a], linked[e.b] = true, true
		kept = append(kept, e)
	}
	l.edges, l.forest = kept, len(kept)
}

func (l *ladder) root(i uint32) uint32 {
	for l.parent[i] != i {
		l.parent[i] = l.parent[l.parent[i]]
		i = l.parent[i]
	}
	return i
}

// counts returns the steps by threshold. Clusters and documents are 0 if there were more documents than it remembers.
func (l *ladder) counts() []Step {
	counts := make([]Step, len(l.at))
	if !l.overfull {
		l.prune(func(e edge, alone [2]bool) {
			at := &counts[e.step]
			switch alone {
			case [2]bool{true, true}:
				at.Clusters, at.Documents = at.Clusters+1, at.Documents+2
			case [2]bool{false, false}:
				at.Clusters--
			default:
				at.Documents++
			}
		})
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
