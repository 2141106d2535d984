// Package survivors chooses which of similar documents are kept.
package survivors

import "iter"

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
// each similar pair once, in the order of J, and of one J in that of I.
//
// This is the greedy maximal independent set in the given order. It yields the choice of each item in turn, up to the
// first error of pairs; time is O(n + |pairs|), and memory a bit an item.
func Star(n, protected int, pairs iter.Seq2[Pair, error]) iter.Seq2[Choice, error] {
	all := make(bits, n/64+1) // that are kept
	return visit(n, pairs, func(c *Choice, p Pair) {
		if !all.has(p.I) || p.J < protected {
			return // not kept itself, or nobody's reason to remove it
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

// Components keeps of items 0 … n−1 the first of each connected component, in favour of
// which all others of the component are removed, be they similar to it or not. first returns that of an item's
// component. pairs is as for Star; it may also list links, of similarity 0, which only connect, a link before its pair.
//
// The first items, as many as are protected, are kept in any case.
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

// visit visits items in order: similar changes the choice of one for each of its pairs, and decided when these are
// over.
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

// bits are a set of small numbers.
type bits []uint64

func (b bits) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bits) add(i int)      { b[i/64] |= 1 << (i % 64) }
