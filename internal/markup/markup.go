// Package markup reads the text that HTML and XML show: no tags, no comments, no scripts and no styles.
//
// Lines end where elements begin and end that stand for themselves, such as paragraphs; there are no empty ones. Cells
// of a table are a space apart. Runs of white space are a space, and none at the ends of lines, but in pre all of it
// stands. References are decoded.
//
// What it takes grows with the size of the markup alone, however it is nested and wherever it breaks off: elements are
// counted and never held.
package markup

import (
	"bytes"
	"slices"
)

// Reader reads texts of HTML or XML, which are UTF-8.
type Reader struct {
	XML bool
	// Element is the name of the elements whose text is read, each on lines of its own; "": all text. Those of HTML are
	// called so in any case, and those of XML as they are written.
	Element string
	// First: the first such element only.
	First bool

	places *Places // of the text, if they are asked for
}

// Append appends the text of a page to dst, and reports whether it has the elements that are asked for.
func (r Reader) Append(dst, page []byte) (text []byte, found bool) {
	w := writer{Reader: r, dst: dst, begin: len(dst)}
	switch {
	case r.Element == "":
		w.depth, w.found = 1, true
	case !r.XML:
		w.Element = string(bytes.ToLower([]byte(r.Element)))
	}
	if r.XML {
		w.xml(page)
	} else {
		w.html(page)
	}
	return w.finish(), w.found
}

// writer writes text as lines.
type writer struct {
	Reader

	dst   []byte
	begin int  // where the text begins in dst
	space bool // one goes before the next word of the line
	pre   int  // how many such elements are open
	depth int  // how many elements are open whose text is read
	found bool
	done  bool // nothing that follows is read
	from  Span // of the page, of which the text is that is written, if places are asked for
}

// enter and leave note the elements that are asked for. One in another is a part of that.
func (w *writer) enter(name string) {
	if w.Element == "" || name != w.Element {
		return
	}
	if w.found = true; w.depth == 0 {
		w.newline()
	}
	if w.depth++; name == "p" && !w.XML {
		w.depth = 1 // it ends the one before it
	}
}

func (w *writer) leave(name string) {
	if w.Element == "" || name != w.Element || w.depth == 0 {
		return
	}
	if w.depth--; w.depth == 0 {
		w.newline()
		w.done = w.First
	}
}

// layOut notes what the begin or the end of an element does to lines.
func (w *writer) layOut(name string, end, breaks bool) {
	switch {
	case breaks:
		w.newline()
	case name == "td" || name == "th":
		w.space = true
	}
	switch {
	case name != "pre":
	case end:
		w.pre = max(w.pre-1, 0)
	default:
		w.pre++
	}
}

func (w *writer) text(text []byte) {
	switch {
	case w.depth == 0:
	case w.pre > 0:
		w.verbatim(text, 0, len(text))
	default:
		w.words(text)
	}
}

// words collapses white space.
func (w *writer) words(text []byte) {
	for at := 0; at < len(text); {
		n := slices.IndexFunc(text[at:], isBlank)
		if n < 0 {
			n = len(text) - at
		}
		w.verbatim(text, at, at+n)
		for at += n; at < len(text) && isBlank(text[at]); at++ {
			w.space = true
		}
	}
}

func isBlank(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' && b != '\v' }

// verbatim appends the part of a text from begin up to end as it stands.
func (w *writer) verbatim(text []byte, begin, end int) {
	if begin == end {
		return
	}
	if w.space && !w.lineBegins() {
		w.dst = append(w.dst, ' ')
	}
	w.space = false
	if w.places != nil {
		from := w.from
		if len(text) == from.End-from.Start {
			from = Span{from.Start + begin, from.Start + end}
		}
		w.places.add(len(w.dst)-w.begin, end-begin, from)
	}
	w.dst = append(w.dst, text[begin:end]...)
}

func (w *writer) lineBegins() bool { return len(w.dst) == w.begin || w.dst[len(w.dst)-1] == '\n' }

func (w *writer) newline() {
	w.space = false
	if !w.lineBegins() {
		w.dst = append(w.dst, '\n')
	}
}

func (w *writer) finish() []byte {
	if len(w.dst) > w.begin {
		w.dst = w.dst[:w.begin+len(bytes.TrimRight(w.dst[w.begin:], "\n"))]
	}
	return w.dst
}
