// Package markup extracts the visible text of HTML and XML, without tags, comments, scripts and styles.
//
// Elements that are set apart, such as paragraphs, begin and end lines; there are no empty lines. Cells of a table are
// separated by a space. White space is collapsed to single spaces, and trimmed at the ends of lines, except in pre.
// References are decoded.
//
// Memory and time depend only on the size of the markup, however it is nested and wherever it ends: elements are
// counted, not stored.
package markup

import (
	"bytes"
	"slices"
)

// Reader extracts the text of HTML or XML in UTF-8.
type Reader struct {
	XML bool
	// Element is the name of the elements whose text is read, each on lines of its own; "" reads all text. In HTML the
	// case of names does not matter, in XML it does.
	Element string
	// First reads only the first such element.
	First bool

	places *Places // of the text, if requested
}

// Append appends the text of a page to dst, and reports whether the page has the requested elements.
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
	space bool // a space precedes the next word of the line
	pre   int  // number of open pre elements
	depth int  // number of open elements whose text is read
	found bool
	done  bool // read nothing else
	from  Span // place in the page of the text being written, if places are requested
}

// enter and leave count the requested elements. One inside another is a part of that.
func (w *writer) enter(name string) {
	if w.Element == "" || name != w.Element {
		return
	}
	if w.found = true; w.depth == 0 {
		w.newline()
	}
	if w.depth++; name == "p" && !w.XML {
		w.depth = 1 // it ends the previous one
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

// layOut applies the effect of an element's begin or end on lines.
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

// verbatim appends text[begin:end] unchanged.
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
