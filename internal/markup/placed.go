package markup

import (
	"bytes"
	"iter"
	"strings"

	"golang.org/x/net/html"
)

// Span is bytes of a text, from Start up to End.
type Span struct{ Start, End int }

// Places say of which bytes of a page those of its text are, but for white space.
type Places []place

// place says it of the bytes of a text from begin up to end: one by one if the page has as many there, or else each is
// of all of them.
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

// Span is what a word of the text is of, which has the bytes from start up to end. Each begins no earlier than the one
// asked for before it: what is before that is left out.
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

// add notes where bytes are from that are appended to a text of size at. White space that stays one space is of what
// goes on.
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

// Placed is Append of a whole page, slower, with the places of the text.
func (r Reader) Placed(page []byte) (text []byte, places Places) {
	r.places = &places
	text, _ = r.Append(nil, page)
	return text, places
}

// decoded writes the text that raw stands for, which begins at a byte of the page.
func (w *writer) decoded(text, raw []byte, begin int, decode func(dst, raw []byte) []byte) {
	if w.places == nil {
		w.text(text)
		return
	}
	var whole []byte
	for part := range fragments(raw, decode) {
		whole = append(whole, part...)
	}
	if !bytes.Equal(whole, text) { // it is decoded in another way, such as that of <plaintext>
		w.from = Span{begin, begin + len(raw)}
		w.text(text)
		return
	}
	for part, from := range fragments(raw, decode) {
		w.from = Span{begin + from.Start, begin + from.End}
		w.text(part)
	}
}

// fragments yields what raw is decoded to: runs that stand for themselves, and references and line ends. It says where
// each is.
func fragments(raw []byte, decode func(dst, raw []byte) []byte) iter.Seq2[[]byte, Span] {
	return func(yield func([]byte, Span) bool) {
		var buffer []byte
		for at := 0; at < len(raw); {
			end := len(raw) // of a run, or of a reference and what follows it
			if n := bytes.IndexAny(raw[at+1:], "&\r"); n >= 0 {
				end = at + 1 + n
			}
			buffer = decode(buffer[:0], raw[at:end])
			same := 0 // so many bytes at the end stand for themselves
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

// decodeHTML appends what the text of a page stands for, whose lines end in LF.
func decodeHTML(dst, raw []byte) []byte {
	return append(dst, html.UnescapeString(lineEnds.Replace(string(raw)))...)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")
