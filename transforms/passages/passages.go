// Package passages finds the passages of documents, as docs/algorithms/passages.md defines them, and their places in
// the original texts.
package passages

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
)

// Params configure passages, and locate what the steps share.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Text says how a text becomes words.
	Text shingle.Spec
	// Length is the number of words of an L-gram, or 1 if L-grams are Whole units.
	Length int
	Whole  Whole
	// HashShards is the number of shards for the hashes of documents, ChosenShards for those of chosen k-grams, and
	// GramShards for those of L-grams.
	HashShards, ChosenShards, GramShards int
	// Cut says what to cut: passages, sentences whose words are all in passages, or nothing.
	Cut Cut
	// DropCovered is the covered share of a document's words from which the document is dropped; 0 drops none.
	// MostNumbers bounds the size in bytes of the set of L-grams that this requires.
	DropCovered float64
	MostNumbers int64
	// Filter is the path of the filter of repeated k-grams, which takes at most FilterBytes. Share must have written
	// it.
	Filter      string
	FilterBytes int64
	// Files configures the sort of groups.
	Files sorted.Params
}

// Cut is a kind of text to cut.
type Cut string

// The kinds of text to cut.
const (
	None      Cut = "none"
	Words     Cut = "words"
	Sentences Cut = "sentences"
)

// Whole is a kind of unit that is repeated as a whole.
type Whole string

// The kinds of units.
const (
	Runs       Whole = "" // no units: all runs of Length words
	Lines      Whole = "lines"
	Paragraphs Whole = "paragraphs"
)

// lengthBytes returns the size of the length at the end of L-gram records. Only units have one, since other L-grams
// have Length words.
func (p Params) lengthBytes() int {
	if p.Whole == Runs {
		return 0
	}
	return numberBytes
}

// lengthOf returns the length in words of an L-gram, from the end of its record.
func (p Params) lengthOf(end []byte) int {
	if p.Whole == Runs {
		return p.Length
	}
	return number(end)
}

// files returns the sort parameters for records of this size.
func (p Params) files(width int) sorted.Params {
	files := p.Files
	files.Width = width
	return files
}

// words divides documents into words. Positions count a document's words, plus one at the end of each column, so that
// no run extends from one column into the next.
type words struct {
	shingler *shingle.Shingler
	whole    Whole
}

func newWords(p Params) words { return words{p.Text.New(), p.Whole} }

// parts returns the parts of a column: its units, or the whole column.
func (w words) parts(text []byte, column textnorm.Span) iter.Seq[textnorm.Span] {
	if w.whole == Runs {
		return slices.Values([]textnorm.Span{column})
	}
	return units(text[:column.End], column.Start, w.whole)
}

// parted calls do with the words of each part of a document and the position of the first, and returns the number of
// words.
func (w words) parted(doc *blocks.Document, do func(position int, tokens []uint64)) (all int) {
	position := 0
	for _, column := range columnsOf(doc) {
		for part := range w.parts(doc.Text, column) {
			tokens := w.shingler.Tokenise(doc.Text[part.Start:part.End])
			do(position, tokens)
			all += len(tokens)
			position += len(tokens)
		}
		position++
	}
	w.shingler.Trim()
	return all
}

// columnsOf returns the spans of a document's columns, which are separated by one space.
func columnsOf(doc *blocks.Document) (columns []textnorm.Span) {
	start, ends := 0, doc.Ends
	for {
		end, n := binary.Uvarint(ends)
		if n <= 0 {
			return append(columns, textnorm.Span{Start: start, End: len(doc.Text)})
		}
		columns = append(columns, textnorm.Span{Start: start, End: int(end)})
		start, ends = int(end)+1, ends[n:]
	}
}

// places finds the places of a document's words in bytes.
type places struct {
	words
	positions []int           // of the words, sorted
	spans     []textnorm.Span // of the same words
}

// of finds the places of the first and the last word of each run, given the start and the end position of each, and
// returns the number of words in the document. A word of a unit has the place of the unit.
func (p *places) of(doc *blocks.Document, runs []int) (all int) {
	p.positions = p.positions[:0]
	for i := 0; i < len(runs); i += 2 {
		p.positions = append(p.positions, runs[i], runs[i+1]-1)
	}
	slices.Sort(p.positions)
	p.positions = slices.Compact(p.positions)
	p.spans = slices.Grow(p.spans[:0], len(p.positions))
	position, next := 0, 0
	for _, column := range columnsOf(doc) {
		for part := range p.parts(doc.Text, column) {
			for span := range p.shingler.Places(doc.Text[part.Start:part.End]) {
				if next < len(p.positions) && p.positions[next] == position {
					place := textnorm.Span{Start: part.Start + span.Start, End: part.Start + span.End}
					if p.whole != Runs {
						place = part
					}
					p.spans = append(p.spans, place)
					next++
				}
				position++
				all++
			}
		}
		position++
	}
	return all
}

// span returns the span of the words from position start up to end.
func (p *places) span(start, end int) (textnorm.Span, error) {
	first, ok := slices.BinarySearch(p.positions, start)
	last, also := slices.BinarySearch(p.positions, end-1)
	if !ok || !also || last >= len(p.spans) {
		return textnorm.Span{}, blocks.ErrCorrupt
	}
	return textnorm.Span{Start: p.spans[first].Start, End: p.spans[last].End}, nil
}

// The byte order of records is the order of their contents.

func appendNumber(dst []byte, n int) []byte { return binary.BigEndian.AppendUint32(dst, uint32(n)) }

func appendPlace(dst []byte, p passage.Place) []byte {
	return appendNumber(blocks.AppendOrdered(dst, blocks.Key(p.Document)), p.Position)
}

const (
	keyBytes    = 8
	numberBytes = 4
	placeBytes  = keyBytes + numberBytes
	hashBytes   = 16
)

func number(record []byte) int { return int(binary.BigEndian.Uint32(record)) }

func keyOf(record []byte) blocks.Key { return blocks.Key(binary.BigEndian.Uint64(record)) }

func placeOf(record []byte) passage.Place {
	return passage.Place{Document: int64(keyOf(record)), Position: number(record[keyBytes:])}
}

// Counts in facts of the kind blocks.FactPassages, which are named by the number of a file.
const (
	// CountWords counts the words of all documents, and CountDocuments the documents.
	CountWords     = "words"
	CountDocuments = "documents"
	// CountShort counts documents with fewer words than an L-gram.
	CountShort = "short"
	// CountCopies counts copies that are not short.
	CountCopies = "copies"
	// CountRepeated counts covered words.
	CountRepeated = "repeated"
	// CountBroken counts distinct L-grams whose first place is covered in part.
	CountBroken = "broken"
	// CountDropped counts dropped documents.
	CountDropped = "dropped"
)
