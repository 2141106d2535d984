// Package survivors chooses which of several similar documents are kept.
package survivors

import "iter"

// Pair says that the items I and J, I before J in the order of preference, are similar.
type Pair struct {
	I, J       int
	Similarity float64
}

// Choice is the decision about an item: it is kept (By is its own index), or removed in favour of By, which is kept.
// Similarity is that of the two, or 0 if they are not a pair.
type Choice struct {
	By         int
	Similarity float64
}

// Star visits items 0 … n−1 in order and keeps each unless it is similar to a kept one. The kept one named is the most
// similar before it, the earliest of equals. The first items, as many as are protected, are always kept, and are named
// in preference to others. So only pairs of protected items have both items kept, and every removed item has a pair
// with the kept one named. pairs must list each similar pair once, ordered by J, then by I.
//
// The result is the greedy maximal independent set in the given order. Star yields the choice for each item in turn, up
// to the first error of pairs. It takes time O(n + |pairs|) and one bit of memory per item.
func Star(n, protected int, pairs iter.Seq2[Pair, error]) iter.Seq2[Choice, error] {
	all := make(bits, n/64+1) // the kept items
	return visit(n, pairs, func(c *Choice, p Pair) {
		if !all.has(p.I) || p.J < protected {
			return // I is not kept and cannot remove J, or J is protected
		}
		if c.By == p.J || p.Similarity > c.Similarity && (p.I < protected || c.By >= protected) {
			*c = Choice{By: p.I, Similarity: p.Similarity}
		}
	}, func(j int, c *Choice) {
		if c.By == j {
			all.add(j)
		}
	})
}

// Components keeps the first of items 0 … n−1 in each connected component, and removes all others of the component in
// its favour, whether similar to it or not. first returns the first item of an item's component. pairs is as for Star;
// it may also list links, with similarity 0, which only connect. A link must come before the pair of the same items.
//
// The first items, as many as are protected, are always kept.
func Components(
	n, protected int, first func(j int) int, pairs iter.Seq2[Pair, error],
) iter.Seq2[Choice, error] {
	return visit(n, pairs, func(c *Choice, p Pair) {
		if p.J >= protected && first(p.J) == p.I {
			*c = Choice{By: p.I, Similarity: p.Similarity}
		}
	}, func(j int, c *Choice) {
		if by := first(j); j >= protected && by != j && c.By == j {
			*c = Choice{By: by}
		}
	})
}

// visit visits items in order. It calls similar for each pair of an item, which may change the item's choice, and
// decided after the last one.
func visit(
	n int, pairs iter.Seq2[Pair, error], similar func(*Choice, Pair), decided func(j int, c *Choice),
) iter.Seq2[Choice, error] {
	return func(yield func(Choice, error) bool) {
		j, c := 0, Choice{By: 0, Similarity: 1}
		end := func() bool {
			decided(j, &c)
			ended := c
			j++
			c = Choice{By: j, Similarity: 1}
			return yield(ended, nil)
		}
		for p, err := range pairs {
			if err != nil {
				yield(c, err)
				return
			}
			for j < p.J {
				if !end() {
					return
				}
			}
			similar(&c, p)
		}
		for j < n && end() {
		}
	}
}

// bits is a set of small numbers.
type bits []uint64

func (b bits) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bits) add(i int)      { b[i/64] |= 1 << (i % 64) }
