// Package passage finds the passages of documents: runs of words that also occur earlier. docs/algorithms/passages.md
// has the definition.
package passage

import (
	"slices"

	"github.com/neardup/neardup/kernels/hash"
)

// A Choice is a k-gram that was chosen for consecutive L-grams.
type Choice struct {
	Value       uint64 // a hash of the k-gram
	First, Last int    // positions of the L-grams
}

// A Chooser chooses the minimizers of texts. It reuses its buffers, and so is not safe for concurrent use.
type Chooser struct {
	length, k int
	leave     uint64   // multiplier^k
	values    []uint64 // of the k-grams of a part
	choices   []Choice // of a part

	tokens []uint64
	begin  int    // first L-gram of the next part
	at     int    // k-gram of the last choice, or -1
	best   uint64 // its value
	first  int    // its first L-gram
}

// NewChooser returns a Chooser for L-grams of length words, at least one.
func NewChooser(length int) *Chooser {
	// The longer k-grams are, the fewer of them repeat, but the more are chosen.
	k := min((2*length+2)/3, max(9, min(length/2, 16)))
	c := &Chooser{length: length, k: k, leave: 1}
	for range c.k {
		c.leave *= multiplier
	}
	return c
}

// Density returns the approximate number of k-grams chosen per word of random text.
func Density(length int) float64 {
	c := NewChooser(length)
	return 2 / float64(length-c.k+2)
}

// multiplier is the base of the polynomial hash that chooses k-grams.
const multiplier = 0x9e3779b97f4a7c15

// partGrams is the number of L-grams per part.
const partGrams = 1 << 12

// Begin starts a text.
func (c *Chooser) Begin(tokens []uint64) {
	c.tokens, c.begin, c.at, c.best, c.first = tokens, 0, -1, 0, 0
}

// Next returns choices for the next L-grams of the text, in order, or none at its end. Each L-gram has one choice, a
// k-gram with the smallest value in it. If several have the smallest value, the choice for the previous L-gram stays if
// it can; otherwise the last one is chosen. The choices are valid until the next call.
//
// Equal L-grams have equal values. Two L-grams that do not overlap have two choices.
func (c *Chooser) Next() []Choice {
	choices, all := c.choices[:0], len(c.tokens)-c.length+1
	for len(choices) == 0 && c.begin < all {
		choices = c.part(choices)
		if c.begin += partGrams; c.begin >= all {
			choices = append(choices, Choice{c.best, c.first, all - 1})
		}
	}
	for i := range choices {
		choices[i].Value = hash.Mix(choices[i].Value)
	}
	c.choices = choices
	return choices
}

// part appends the choices that end in the next part.
func (c *Chooser) part(choices []Choice) []Choice {
	window := c.length - c.k + 1
	values := c.hash(c.tokens[c.begin:min(len(c.tokens), c.begin+partGrams+c.length-1)])
	at, best, first := c.at-c.begin, c.best, c.first-c.begin
	for last := window - 1; last < len(values); last++ {
		p := last - window + 1
		v := values[last]
		if at >= p && v >= best {
			continue
		}
		if c.begin+p > 0 {
			choices = append(choices, Choice{best, c.begin + first, c.begin + p - 1})
		}
		if at >= p || v < best && c.begin+at >= 0 {
			at, best = last, v
		} else {
			at, best = smallest(values, p, last)
		}
		first = p
	}
	c.at, c.best, c.first = c.begin+at, best, c.begin+first
	return choices
}

// hash returns the values of all k-grams of tokens.
func (c *Chooser) hash(tokens []uint64) []uint64 {
	n := len(tokens) - c.k + 1
	c.values = slices.Grow(c.values[:0], n)[:n]
	var sum uint64
	for _, t := range tokens[:c.k] {
		sum = sum*multiplier + t
	}
	c.values[0] = sum
	values, come, gone := c.values[1:], tokens[c.k:], tokens
	for i := range min(len(values), len(come), len(gone)) {
		sum = sum*multiplier + (come[i] - gone[i]*c.leave)
		values[i] = sum
	}
	return c.values
}

// smallest returns the index of the last minimum among values[first..last], and its value. It compiles to code without
// branches that the processor could mispredict.
func smallest(values []uint64, first, last int) (at int, value uint64) {
	at, value = last, values[last]
	for i := last - 1; i >= first; i-- {
		if v := values[i]; v < value {
			at, value = i, v
		}
	}
	return at, value
}

// Hash returns the hash of an L-gram, or of any words. Words with equal hashes are taken to be equal.
func Hash(words []uint64) hash.Sum128 { return hash.Values(words) }
