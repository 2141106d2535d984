// Package passage finds the passages of documents: runs of words that stand earlier, too. docs/algorithms/passages.md
// has the definition.
package passage

import "github.com/neardup/neardup/kernels/hash"

// A Choice is a k-gram that was chosen for L-grams in a row.
type Choice struct {
	Value       uint64 // a hash of the k-gram
	First, Last int    // the positions of the L-grams
}

// A Chooser chooses the minimizers of texts. It keeps its buffers from text to text, so it serves one goroutine.
type Chooser struct {
	length, k int
	leave     uint64   // multiplier^k
	values    []uint64 // of k-grams
	choices   []Choice
}

// NewChooser returns a Chooser of L-grams of length words, at least one.
func NewChooser(length int) *Chooser {
	c := &Chooser{length: length, k: (length + 1) / 2, leave: 1}
	for range c.k {
		c.leave *= multiplier
	}
	return c
}

// multiplier is the base of the polynomial that chooses k-grams.
const multiplier = 0x9e3779b97f4a7c15

// usualWords are how many values are kept for the next text.
const usualWords = 1 << 18

// Choose returns the choices for the L-grams of a text, in their order: each L-gram has one, of the smallest value of
// its k-grams. Where several k-grams have that, the choice for the L-gram before stays while it can; else it is the
// last. They are valid until the next call.
//
// Equal L-grams have equal values. Two that do not overlap have two choices.
func (c *Chooser) Choose(tokens []uint64) []Choice {
	c.choices = c.choices[:0]
	if len(tokens) < c.length {
		return nil
	}
	c.hash(tokens)
	window := c.length - c.k + 1
	at := -1 // the k-gram of the last choice
	for p := 0; p+c.length <= len(tokens); p++ {
		last := p + window - 1
		switch {
		case at < p:
			at = c.smallest(p, last)
		case c.values[last] < c.values[at]:
			at = last
		default:
			c.choices[len(c.choices)-1].Last = p
			continue
		}
		c.choices = append(c.choices, Choice{Value: c.values[at], First: p, Last: p})
	}
	for i := range c.choices {
		c.choices[i].Value = hash.Mix(c.choices[i].Value)
	}
	if cap(c.values) > usualWords {
		c.values = nil
	}
	return c.choices
}

// hash sets the values of all k-grams.
func (c *Chooser) hash(tokens []uint64) {
	c.values = c.values[:0]
	var sum uint64
	for _, t := range tokens[:c.k-1] {
		sum = sum*multiplier + t
	}
	var gone uint64 // the token before the k-gram
	for i, t := range tokens[c.k-1:] {
		sum = sum*multiplier + t - gone*c.leave
		c.values = append(c.values, sum)
		gone = tokens[i]
	}
}

// smallest returns the last of the k-grams from first to last that has the smallest value.
func (c *Chooser) smallest(first, last int) int {
	at := last
	for i := last - 1; i >= first; i-- {
		if c.values[i] < c.values[at] {
			at = i
		}
	}
	return at
}

// Hash is that of an L-gram, or of any words: equal hashes are taken for equal words.
func Hash(words []uint64) hash.Sum128 { return hash.Values(words) }
