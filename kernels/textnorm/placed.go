package textnorm

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/neardup/neardup/internal/markup"
)

// A Span is bytes of a text, from Start up to End.
type Span = markup.Span

// Placed is a normalised text that says of each of its bytes which characters of the original it was made of.
type Placed struct {
	Text []byte
	From []Span
}

// Placed returns the normalised src, which is valid UTF-8, without the steps of markup and of spaces: what Append
// returns of a policy that keeps these. It is slower by far, and keeps the storage of reuse.
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
	next []byte // the text after the step, and where it is from
	then []Span
}

func (t *placing) add(r rune, from Span) {
	before := len(t.text)
	t.text = utf8.AppendRune(t.text, r)
	for range len(t.text) - before {
		t.from = append(t.from, from)
	}
}

// begin begins a step, and end ends it.
func (t *placing) begin() { t.next, t.then = t.next[:0], t.then[:0] }

func (t *placing) end() {
	t.text, t.next = t.next, t.text
	t.from, t.then = t.then, t.from
}

// put puts bytes made of the characters of one span behind the text after the step.
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

// compose says that what becomes of characters that belong together is from all of them.
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

// union is the span of bytes of the text.
func (t *placing) union(start, end int) Span {
	all := t.from[start]
	for _, from := range t.from[start:end] {
		all.Start, all.End = min(all.Start, from.Start), max(all.End, from.End)
	}
	return all
}

// dropInContext drops what the function of that name drops, which is joiners and tags.
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
