package markup

import (
	"bytes"
	"iter"
	"strings"

	"golang.org/x/net/html"
)

// Span is the bytes of a text from Start up to End.
type Span struct{ Start, End int }

// Places map the bytes of a text, except white space, to bytes of its page.
type Places []place

// place maps the bytes of a text from begin up to end: one by one if the page has as many there, otherwise each to all
// of them.
type place struct {
	begin, end int
	from       Span
}

func (p place) oneByOne() bool { return p.end-p.begin == p.from.End-p.from.Start }

func (p place) of(at int) Span {
	if p.oneByOne() {
		at += p.from.Start - p.begin
		return Span{at, at + 1}
	}
	return p.from
}

// Span returns the bytes of the page for a word, the bytes from start up to end of the text. Words must be requested in
// order, because Span drops what precedes them.
func (p *Places) Span(start, end int) Span {
	all := *p
	for all[0].end <= start {
		all = all[1:]
	}
	last := 0
	for all[last].end < end {
		last++
	}
	*p = all
	return Span{all[0].of(start).Start, all[last].of(end - 1).End}
}

// add records the origin of n bytes that are appended at offset at of the text. A single space continues the place
// before it.
func (p *Places) add(at, n int, from Span) {
	added := place{at, at + n, from}
	if last := len(*p) - 1; last >= 0 && added.oneByOne() {
		before := &(*p)[last]
		if before.oneByOne() && at-before.begin == from.Start-before.from.Start {
			before.end, before.from.End = added.end, from.End
			return
		}
	}
	*p = append(*p, added)
}

// Placed is Append for a whole page, slower, with the places of the text.
func (r Reader) Placed(page []byte) (text []byte, places Places) {
	r.places = &places
	text, _ = r.Append(nil, page)
	return text, places
}

// decoded writes the text that raw, at offset begin of the page, decodes to.
func (w *writer) decoded(text, raw []byte, begin int, decode func(dst, raw []byte) []byte) {
	if w.places == nil {
		w.text(text)
		return
	}
	var whole []byte
	for part := range fragments(raw, decode) {
		whole = append(whole, part...)
	}
	if !bytes.Equal(whole, text) { // it is decoded in another way, as in <plaintext>
		w.from = Span{begin, begin + len(raw)}
		w.text(text)
		return
	}
	for part, from := range fragments(raw, decode) {
		w.from = Span{begin + from.Start, begin + from.End}
		w.text(part)
	}
}

// fragments yields the parts of raw, decoded, each with its place: unchanged runs, and references and line ends.
func fragments(raw []byte, decode func(dst, raw []byte) []byte) iter.Seq2[[]byte, Span] {
	return func(yield func([]byte, Span) bool) {
		var buffer []byte
		for at := 0; at < len(raw); {
			end := len(raw) // end of a run, or of a reference and what follows it
			if n := bytes.IndexAny(raw[at+1:], "&\r"); n >= 0 {
				end = at + 1 + n
			}
			buffer = decode(buffer[:0], raw[at:end])
			same := 0 // number of unchanged bytes at the end
			for same < min(len(buffer), end-at) && buffer[len(buffer)-1-same] == raw[end-1-same] {
				same++
			}
			reference := end - same
			if at < reference && !yield(buffer[:len(buffer)-same], Span{at, reference}) ||
				reference < end && !yield(raw[reference:end], Span{reference, end}) {
				return
			}
			at = end
		}
	}
}

// decodeHTML appends the decoded text of a page, with line ends as LF.
func decodeHTML(dst, raw []byte) []byte {
	return append(dst, html.UnescapeString(lineEnds.Replace(string(raw)))...)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")
