package textnorm

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/neardup/neardup/internal/markup"
)

// A Span is a range of bytes of a text, from Start up to but not including End.
type Span = markup.Span

// Placed is a normalised text with, for each byte, the span of the original characters from which it was made.
type Placed struct {
	Text []byte
	From []Span
}

// Placed returns the normalised src, which must be valid UTF-8, without the steps for markup and spaces: the same as
// Append under a policy without these. It is much slower than Append, and reuses the memory of reuse.
func (p Policy) Placed(reuse *Placed, src []byte) *Placed {
	t := placing{text: reuse.Text[:0], from: reuse.From[:0]}
	for i, r := range string(src) {
		t.add(r, Span{Start: i, End: i + utf8.RuneLen(r)})
	}
	p.apply(&t)
	reuse.Text, reuse.From = t.text, t.from
	return reuse
}

// placing is a text between two steps.
type placing struct {
	text []byte
	from []Span
	next []byte // the text after the step, and its spans
	then []Span
}

func (t *placing) add(r rune, from Span) {
	before := len(t.text)
	t.text = utf8.AppendRune(t.text, r)
	for range len(t.text) - before {
		t.from = append(t.from, from)
	}
}

// begin starts a step, and end ends it.
func (t *placing) begin() { t.next, t.then = t.next[:0], t.then[:0] }

func (t *placing) end() {
	t.text, t.next = t.next, t.text
	t.from, t.then = t.then, t.from
}

// put appends bytes made from the characters of one span to the text after the step.
func (t *placing) put(text []byte, from Span) {
	t.next = append(t.next, text...)
	for range text {
		t.then = append(t.then, from)
	}
}

func (t *placing) mapRunes(image func(rune) rune) {
	t.begin()
	var buffer [utf8.UTFMax]byte
	for i, r := range string(t.text) {
		if to := image(r); to >= 0 {
			t.put(utf8.AppendRune(buffer[:0], to), t.from[i])
		}
	}
	t.end()
}

// compose normalises the text. The result of characters that belong together has the span of them all.
func (t *placing) compose(form norm.Form) {
	if form.QuickSpan(t.text) == len(t.text) {
		return
	}
	t.begin()
	var parts norm.Iter
	parts.Init(form, t.text)
	for !parts.Done() {
		start := parts.Pos()
		part := parts.Next()
		t.put(part, t.union(start, parts.Pos()))
	}
	t.end()
}

// union returns the span of the original characters of a range of the text.
func (t *placing) union(start, end int) Span {
	all := t.from[start]
	for _, from := range t.from[start:end] {
		all.Start, all.End = min(all.Start, from.Start), max(all.End, from.End)
	}
	return all
}

// dropInContext drops the joiners and tags that the function of that name drops.
func (t *placing) dropInContext() {
	left := dropInContext(append([]byte(nil), t.text...), 0)
	t.begin()
	for i, r := range string(t.text) {
		n := utf8.RuneLen(r)
		if kept, _ := utf8.DecodeRune(left); kept != r {
			continue
		}
		t.put(t.text[i:i+n], t.from[i])
		left = left[n:]
	}
	t.end()
}
