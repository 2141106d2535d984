package passages

import (
	"bytes"
	"unicode"

	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/kernels/textnorm"
)

// unit returns the next line or paragraph of text[:end] at or after byte at, without the white space around it, and the
// byte to continue from. A line ends at CR, LF or CRLF; blank lines separate paragraphs.
func unit(text []byte, end, at int, kind Whole) (unit textnorm.Span, next int, ok bool) {
	for at < end {
		lineEnd := end
		if n := bytes.IndexAny(text[at:end], "\r\n"); n >= 0 {
			lineEnd = at + n
		}
		line := bytes.TrimLeftFunc(text[at:lineEnd], unicode.IsSpace)
		start := lineEnd - len(line)
		line = bytes.TrimRightFunc(line, unicode.IsSpace)
		if at = lineEnd + 1; at < end && text[lineEnd] == '\r' && text[at] == '\n' {
			at++
		}
		switch {
		case len(line) > 0 && !ok:
			unit, ok = textnorm.Span{Start: start, End: start + len(line)}, true
		case len(line) > 0:
			unit.End = start + len(line)
		}
		if ok && (kind == Lines || len(line) == 0) {
			break
		}
	}
	return unit, at, ok
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
