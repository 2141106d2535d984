// Package survivors chooses which of similar documents are kept.
package survivors

import (
	"slices"

	"github.com/neardup/neardup/kernels/unionfind"
)

// Pair says that items I and J, I before J in the order of preference, are similar.
type Pair struct {
	I, J       int
	Similarity float64
}

// Choice is what becomes of an item: it is kept (By is its own index), or removed in favour of
// By, which is kept. Similarity is that of the two, 0 if they are no pair.
type Choice struct {
	By         int
	Similarity float64
}

// Star visits items 0 … n−1 in order and keeps each unless a kept one is similar to it;
// the kept one named is then the most similar of those before it, the earliest of equals. The first
// items, as many as are protected, are kept in any case, and named before others. So no
// pair but of these has both items kept, and every removed item has a pair with the kept one named. pairs lists
// each similar pair once, in any order.
//
// This is the greedy maximal independent set in the given order; time is O(n + |pairs| log |pairs|).
func Star(n, protected int, pairs []Pair) []Choice {
	sorted := slices.SortedFunc(slices.Values(pairs), func(a, b Pair) int {
		if a.J != b.J {
			return a.J - b.J
		}
		return a.I - b.I
	})
	choices := make([]Choice, n)
	for j := range n {
		choices[j] = Choice{By: j, Similarity: 1}
		kept := true
		for ; len(sorted) > 0 && sorted[0].J == j; sorted = sorted[1:] {
			p := sorted[0]
			if choices[p.I].By != p.I || j < protected {
				continue // not kept itself, or nobody's reason to remove it
			}
			better := p.Similarity > choices[j].Similarity && (p.I < protected || choices[j].By >= protected)
			if kept || better {
				choices[j] = Choice{By: p.I, Similarity: p.Similarity}
				kept = false
			}
		}
	}
	return choices
}

// Components keeps of items 0 … n−1 the first of each connected component of pairs, in favour of
// which all others of the component are removed, be they similar to it or not. pairs lists each
// similar pair once, in any order; before them it may list links, of similarity 0, which only
// connect.
//
// The first items, as many as are protected, are kept in any case.
func Components(n, protected int, pairs []Pair) []Choice {
	var forest unionfind.Forest
	for _, p := range pairs {
		forest.Union(int64(p.I), int64(p.J))
	}
	choices := make([]Choice, n)
	for j := range n {
		first := int(forest.Find(int64(j))) // the root of a tree is its smallest key
		if j < protected {
			first = j
		}
		choices[j].By = first
		if first == j {
			choices[j].Similarity = 1
		}
	}
	for _, p := range pairs {
		if choices[p.J].By == p.I { // p.J is not kept
			choices[p.J].Similarity = p.Similarity
		}
	}
	return choices
}
