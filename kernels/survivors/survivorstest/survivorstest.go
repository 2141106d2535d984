// Package survivorstest chooses survivors by pairs in memory, for tests.
package survivorstest

import (
	"cmp"
	"iter"
	"slices"

	"github.com/neardup/neardup/kernels/survivors"
	"github.com/neardup/neardup/kernels/unionfind"
)

// Star is like survivors.Star, for pairs in any order.
func Star(n, protected int, pairs []survivors.Pair) []survivors.Choice {
	return collect(n, survivors.Star(n, protected, inOrder(pairs)))
}

// Components is like survivors.Components, for pairs and links in any order.
func Components(n, protected int, pairs []survivors.Pair) []survivors.Choice {
	var forest unionfind.Forest
	for _, p := range pairs {
		forest.Union(int64(p.I), int64(p.J))
	}
	first := func(j int) int { return int(forest.Find(int64(j))) } // the root of a tree is its smallest key
	return collect(n, survivors.Components(n, protected, first, inOrder(pairs)))
}

func inOrder(pairs []survivors.Pair) iter.Seq2[survivors.Pair, error] {
	pairs = slices.SortedFunc(slices.Values(pairs), func(a, b survivors.Pair) int {
		return cmp.Or(cmp.Compare(a.J, b.J), cmp.Compare(a.I, b.I), cmp.Compare(a.Similarity, b.Similarity))
	})
	return func(yield func(survivors.Pair, error) bool) {
		for _, p := range pairs {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func collect(n int, choices iter.Seq2[survivors.Choice, error]) []survivors.Choice {
	all := make([]survivors.Choice, 0, n)
	for c := range choices {
		all = append(all, c)
	}
	return all
}
