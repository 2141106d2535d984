// Package passages finds the passages of documents, as docs/algorithms/passages.md defines them, and says where in
// the original texts they stand.
package passages

import (
	"encoding/binary"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/sorted"
	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
)

// Params say what a passage is, and where the steps find what they share.
type Params struct {
	// Inputs is the path of the shared blocks.Inputs.
	Inputs string
	// Text says how a text becomes words.
	Text shingle.Spec
	// Length is the number of words of an L-gram: 1, if an L-gram is a Whole unit.
	Length int
	Whole  Whole
	// HashShards is the number of shards that the hashes of documents are spread over, ChosenShards those of chosen
	// k-grams, and GramShards those of L-grams.
	HashShards, ChosenShards, GramShards int
	// Cut says what is cut: passages, sentences all of whose words are in passages, or nothing.
	Cut Cut
	// DropCovered is the share of a document's words from which on it is dropped; 0: none is. MostNumbers bounds the bytes
	// of the set that this takes.
	DropCovered float64
	MostNumbers int64
	// Filter is the path of the filter of repeated k-grams, which takes FilterBytes at most; a Filter must be there.
	Filter      string
	FilterBytes int64
	// Files is where groups are sorted.
	Files sorted.Params
}

// Cut is a unit of text that is cut.
type Cut string

// The units.
const (
	None      Cut = "none"
	Words     Cut = "words"
	Sentences Cut = "sentences"
)

// Whole is a unit of text that is repeated as a whole, or not.
type Whole string

// The units.
const (
	Runs       Whole = "" // all runs of Length words
	Lines      Whole = "lines"
	Paragraphs Whole = "paragraphs"
)

// lengthBytes are those of the length of an L-gram in records that end in it, in words: only units differ in length.
func (p Params) lengthBytes() int {
	if p.Whole == Runs {
		return 0
	}
	return numberBytes
}

// lengthOf is the length of the L-gram of a record that ends in it.
func (p Params) lengthOf(end []byte) int {
	if p.Whole == Runs {
		return p.Length
	}
	return number(end)
}

// files are those of records of so many bytes.
func (p Params) files(width int) sorted.Params {
	files := p.Files
	files.Width = width
	return files
}

// words cuts documents into words. A position counts the words of a document, and one more where a column ends, so
// that nothing runs from one column into the next.
type words struct {
	shingler *shingle.Shingler
	whole    Whole
}

func newWords(p Params) words { return words{p.Text.New(), p.Whole} }

// part is the next part of a column from a byte on, and where to go on: the next unit, or the column itself.
func (w words) part(text []byte, column textnorm.Span, at int) (part textnorm.Span, next int, ok bool) {
	if w.whole == Runs {
		return column, column.End + 1, at <= column.End
	}
	return unit(text, column.End, at, w.whole)
}

// parted calls do with the words of each part of a document, and the position of the first.
func (w words) parted(doc *blocks.Document, do func(position int, tokens []uint64)) (all int) {
	position := 0
	for _, column := range columnsOf(doc) {
		for part, at, ok := w.part(doc.Text, column, column.Start); ok; part, at, ok = w.part(doc.Text, column, at) {
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

// columnsOf are the columns of a document: there is a space between two.
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

// places finds where words of a document stand, in bytes.
type places struct {
	words
	positions []int           // of the words, in order
	spans     []textnorm.Span // of these
}

// of finds the places of the first and the last words of runs, which begin and end at positions, and returns the
// number of all words. A word of a unit has the place of the unit.
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
		for part, at, ok := p.part(doc.Text, column, column.Start); ok; part, at, ok = p.part(doc.Text, column, at) {
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

// span is that of the words from the position start up to end.
func (p *places) span(start, end int) (textnorm.Span, error) {
	first, ok := slices.BinarySearch(p.positions, start)
	last, also := slices.BinarySearch(p.positions, end-1)
	if !ok || !also || last >= len(p.spans) {
		return textnorm.Span{}, blocks.ErrCorrupt
	}
	return textnorm.Span{Start: p.spans[first].Start, End: p.spans[last].End}, nil
}

// A record's bytes sort as what it holds does.

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

// Counts of facts of the kind blocks.FactPassages, whose names are the numbers of files.
const (
	// CountWords are those of all documents, and CountDocuments these.
	CountWords     = "words"
	CountDocuments = "documents"
	// CountShort are documents of fewer words than an L-gram.
	CountShort = "short"
	// CountCopies are copies of at least so many.
	CountCopies = "copies"
	// CountRepeated are covered words.
	CountRepeated = "repeated"
	// CountBroken are different L-grams whose first place is covered in part.
	CountBroken = "broken"
	// CountDropped are documents that are dropped.
	CountDropped = "dropped"
)
