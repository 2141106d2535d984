// Package edit measures the distance of short strings, to guess what was meant.
package edit

import (
	"iter"
	"math/bits"
	"unicode/utf8"
)

// Nearest returns the nearest of names, as Guess.Nearest does.
func Nearest(wanted string, names iter.Seq[string]) string {
	g := NewGuess(wanted)
	for name := range names {
		g.Consider(name)
	}
	return g.Nearest()
}

// A Guess is what a name was most likely meant to be.
type Guess struct {
	nearest  string
	distance int
	from     func(name string) int
}

// NewGuess returns a guess at wanted that considers no name yet.
func NewGuess(wanted string) *Guess { return &Guess{distance: len(wanted)/2 + 1, from: From(wanted)} }

// Consider considers a name.
func (g *Guess) Consider(name string) {
	if d := g.from(name); d < g.distance || d == g.distance && name < g.nearest {
		g.nearest, g.distance = name, d
	}
}

// Nearest returns the considered name at the smallest distance, and among equals the first in byte order. It returns ""
// if all names differ from the wanted one in more than half of its bytes.
func (g *Guess) Nearest() string { return g.nearest }

// Distance returns the minimum number of insertions, deletions and replacements of code points that turn b into a
// (Levenshtein 1965).
func Distance(a, b string) int { return From(a)(b) }

// From returns a function that returns Distance(a, b) for any b, and is not safe for concurrent use. It takes 64 code
// points of a at a time, as bits of numbers (Myers 1999; Hyyrö 2003).
func From(a string) func(b string) int {
	from := []rune(a)
	width := (len(from) + 63) / 64
	if width == 0 {
		return utf8.RuneCountInString
	}
	none, places := make([]uint64, width), map[rune][]uint64{} // where a has a code point
	for i, r := range from {
		if places[r] == nil {
			places[r] = make([]uint64, width)
		}
		places[r][i/64] |= 1 << (i % 64)
	}
	// Bit i tells whether from[:i+1] is farther from, or nearer to, the part of b read so far than from[:i] is.
	farther, nearer := make([]uint64, width), make([]uint64, width)
	last := (len(from) - 1) % 64
	return func(b string) int {
		distance := len(from)
		for k := range width {
			farther[k], nearer[k] = ^uint64(0), 0
		}
		for _, r := range b {
			at := places[r]
			if at == nil {
				at = none
			}
			var sum, carry, less, up, down uint64
			more := uint64(1) // the distance of nothing from b grows
			for k, v := range farther {
				sum, carry = bits.Add64(at[k]&v, v, carry)
				same := sum ^ v | at[k] | nearer[k]
				up, down = nearer[k]|^(same|v), same&v
				u, d := up<<1|more, down<<1|less
				more, less = up>>63, down>>63
				farther[k], nearer[k] = d|^(same|u), u&same
			}
			distance += int(up>>last&1) - int(down>>last&1)
		}
		return distance
	}
}
