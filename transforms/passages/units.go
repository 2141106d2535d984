package passages

import (
	"bytes"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/kernels/textnorm"
)

// unitsOf are the lines or the paragraphs of a document, without the white space around them. A line ends at CR, LF or
// both; blank lines part paragraphs.
func unitsOf(doc *blocks.Document, kind Whole) (units []textnorm.Span) {
	for _, column := range columnsOf(doc) {
		open := false // the last unit goes on
		for at := column.Start; at < column.End; {
			end := column.End
			if n := bytes.IndexAny(doc.Text[at:column.End], "\r\n"); n >= 0 {
				end = at + n
			}
			line := bytes.TrimSpace(doc.Text[at:end])
			start := at + bytes.Index(doc.Text[at:end], line)
			switch {
			case len(line) == 0:
				open = false
			case open && kind == Paragraphs:
				units[len(units)-1].End = start + len(line)
			default:
				units, open = append(units, textnorm.Span{Start: start, End: start + len(line)}), true
			}
			if at = end + 1; end+1 < column.End && doc.Text[end] == '\r' && doc.Text[end+1] == '\n' {
				at++
			}
		}
	}
	return units
}

// grams finds the L-grams of the parts of documents.
type grams struct {
	chooser *passage.Chooser
	length  int
	whole   Whole
	unit    [1]passage.Choice
}

func newGrams(p Params) grams {
	return grams{chooser: passage.NewChooser(p.Length), length: p.Length, whole: p.Whole}
}

// choose returns the choices for the L-grams of a part. The one of a unit is a hash of it.
func (g *grams) choose(tokens []uint64) []passage.Choice {
	if g.whole == Runs || len(tokens) == 0 {
		return g.chooser.Choose(tokens)
	}
	g.unit[0] = passage.Choice{Value: passage.Hash(tokens).Lo}
	return g.unit[:]
}

// at is the L-gram that begins there.
func (g *grams) at(tokens []uint64, position int) []uint64 {
	if g.whole == Runs {
		return tokens[position : position+g.length]
	}
	return tokens
}
