package passages

import (
	"bytes"
	"iter"
	"unicode"

	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/kernels/textnorm"
)

// units yields the lines or paragraphs of text from byte at on, without the white space around them. A line ends at CR,
// LF or CRLF; blank lines separate paragraphs.
func units(text []byte, at int, kind Whole) iter.Seq[textnorm.Span] {
	return func(yield func(textnorm.Span) bool) {
		var unit textnorm.Span // empty between units
		for at < len(text) {
			end := len(text)
			if n := bytes.IndexAny(text[at:], "\r\n"); n >= 0 {
				end = at + n
			}
			line := bytes.TrimLeftFunc(text[at:end], unicode.IsSpace)
			start := end - len(line)
			line = bytes.TrimRightFunc(line, unicode.IsSpace)
			if at = end + 1; at < len(text) && text[end] == '\r' && text[at] == '\n' {
				at++
			}
			if len(line) > 0 {
				if unit.End == 0 {
					unit.Start = start
				}
				unit.End = start + len(line)
			}
			if unit.End > 0 && (kind == Lines || len(line) == 0) {
				if !yield(unit) {
					return
				}
				unit = textnorm.Span{}
			}
		}
		if unit.End > 0 {
			yield(unit)
		}
	}
}

// grams finds the L-grams of the parts of documents.
type grams struct {
	chooser *passage.Chooser
	length  int
	whole   Whole
	unit    []passage.Choice
}

func newGrams(p Params) grams {
	return grams{chooser: passage.NewChooser(p.Length), length: p.Length, whole: p.Whole}
}

// begin starts a part.
func (g *grams) begin(tokens []uint64) {
	switch {
	case g.whole == Runs:
		g.chooser.Begin(tokens)
	case len(tokens) > 0:
		g.unit = []passage.Choice{{Value: passage.Hash(tokens).Lo}}
	}
}

// next returns choices for the next L-grams of the part, or none at its end. A unit's choice is a hash of the unit.
func (g *grams) next() (some []passage.Choice) {
	if g.whole == Runs {
		return g.chooser.Next()
	}
	some, g.unit = g.unit, nil
	return some
}

// at returns the L-gram that begins at position.
func (g *grams) at(tokens []uint64, position int) []uint64 {
	if g.whole == Runs {
		return tokens[position : position+g.length]
	}
	return tokens
}
