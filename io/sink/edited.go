package sink

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/source"
)

func init() { flow.Register[dropFn]() }

// Edited reads the input once more and writes it to Output/corpus without the dropped records and without the cut spans
// of texts.
//
//	KV<batch, records: document, spans to cut>, KV<batch, keys of dropped records> → facts
//
// One GroupByKey by batch of pieces.
func Edited(s beam.Scope, p Params, options source.Options, cuts flow.Cuts, dropped flow.Dropped) flow.Facts {
	s = s.Scope("sink.Corpus")
	gone := beam.ParDo(s, &dropFn{}, beam.PCollection(dropped))
	every := beam.ParDo(s, &everyFn{Inputs: p.Inputs, Of: ofBatches}, beam.Impulse(s))
	batches := beam.GroupByKey(s, beam.Flatten(s, beam.PCollection(cuts), gone, every))
	return flow.Facts(beam.ParDo(s, &corpusFn{Params: p, Options: options, Cuts: true}, batches))
}

// dropFn turns dropped keys into records without spans.
//
//	KV<batch, keys> → KV<batch, records>
type dropFn struct{}

func (dropFn) ProcessElement(batch int64, keys []byte, emit func(int64, []byte)) error {
	var out []byte
	d := blocks.NewDecoder(keys)
	for !d.Done() {
		out = blocks.AppendBytes(out, blocks.AppendOrdered(nil, d.Key()))
	}
	if err := d.Err(); err != nil {
		return err
	}
	emit(batch, out)
	return nil
}

// editor cuts spans of joined texts out of columns.
type editor struct {
	spans      map[int64][]byte // by position: begin and end of each span, as uvarints
	paragraphs bool             // spans are whole paragraphs
	seams      map[seam]int64
}

// seam identifies a column that was cut: if a column is cut twice, as a retry may do, its seams count once.
type seam struct {
	position int64
	begin    int
}

// edit is a reading.Edit.
func (e *editor) edit(position int64, base int, text []byte) []byte {
	var left [][2]int // parts that stay
	at, spans := 0, e.spans[position]
	for len(spans) > 0 {
		start, n := binary.Uvarint(spans)
		end, m := binary.Uvarint(spans[max(n, 0):])
		if n <= 0 || m <= 0 {
			break
		}
		spans = spans[n+m:]
		if begin, until := int(start)-base, int(end)-base; begin >= at && until <= len(text) {
			left, at = append(left, [2]int{at, begin}), until
		}
	}
	if len(left) == 0 {
		return text
	}
	joined, seams := e.join(text, append(left, [2]int{at, len(text)}))
	e.seams[seam{position, base}] = seams
	return joined
}

// join joins the parts of a text. Between two parts it puts a line break that the cut text bordered on, or else a space
// if that bordered on white space. Otherwise it adds a space only where two words might become one. seams is the number
// of joins.
func (e *editor) join(text []byte, parts [][2]int) (joined []byte, seams int64) {
	const white = " \t\r\n\v\f"
	between := ""
	for i, p := range parts {
		part := text[p[0]:p[1]]
		if i > 0 {
			begun := len(part) - len(bytes.TrimLeft(part, white))
			between = e.widest(between, part[:begun])
			part = part[begun:]
		}
		last := i+1 == len(parts)
		end := part
		if !last {
			end = bytes.TrimRight(part, white)
		}
		if len(end) == 0 && (!last || i > 0) {
			between = e.widest(between, part)
			continue
		}
		if len(joined) > 0 {
			if between == "" && mayJoin(joined, end) {
				between = " "
			}
			joined = append(joined, between...)
			seams++
		}
		joined, between = append(joined, end...), e.gap(part[len(end):])
	}
	return slices.Clip(joined), seams
}

// widest returns gap or, if gap has no line break, the gap of white.
func (e *editor) widest(gap string, white []byte) string {
	if gap == "" || gap == " " {
		return cmp.Or(e.gap(white), gap)
	}
	return gap
}

// gap returns the first line break in white, a space if it has none, or "" if white is empty. Between paragraphs it
// returns two line breaks, which leave a blank line.
func (e *editor) gap(white []byte) string {
	i := bytes.IndexAny(white, "\r\n")
	switch {
	case len(white) == 0:
		return ""
	case i < 0:
		return " "
	}
	end := white[i : i+1]
	if bytes.HasPrefix(white[i:], []byte("\r\n")) {
		end = white[i : i+2]
	}
	if e.paragraphs && bytes.ContainsAny(white[i+len(end):], "\r\n") {
		return string(end) + string(end)
	}
	return string(end)
}

// mayJoin reports whether the last word of a text and the first of another may become one if nothing separates them.
func mayJoin(before, after []byte) bool {
	last, _ := utf8.DecodeLastRune(before)
	first, _ := utf8.DecodeRune(after)
	apart := isApart(last) || isApart(first) || isPunctuation(last) && isPunctuation(first)
	return !apart
}

// isApart reports whether a character never joins another into a word: it is white space, or of a script without spaces
// between words.
func isApart(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unspaced...) && !unicode.IsNumber(r)
}

// unspaced lists these scripts, as kernels/token does.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom,
}

// isPunctuation reports whether a character is punctuation or an ASCII symbol. Two of these never join words. An
// underscore may join words, and does not count.
func isPunctuation(r rune) bool {
	return unicode.IsPunct(r) && !unicode.Is(unicode.Pc, r) || r < utf8.RuneSelf && unicode.IsSymbol(r)
}
