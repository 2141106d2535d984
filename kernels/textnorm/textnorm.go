// Package textnorm rewrites a text so that differences that do not matter are
// gone before it is cut into tokens.
//
// A [Policy] names the steps; they are always taken in this order:
//
//   - markup out: of HTML, or of XML that begins with its declaration, what it shows (internal/markup)
//   - invisible characters out: those of Default_Ignorable_Code_Point are dropped. The joiners and tags
//     among them stay where they change how a text looks, which is judged after the other steps up to
//     digits (see dropInContext)
//   - NFKC
//   - lower case, rune by rune with the simple mapping of Unicode, whatever the
//     language
//   - accents off: the non-spacing marks (Mn) of the decomposed text are dropped
//   - Han variants folded: each Han character becomes the one that stands for its variants (han.txt)
//   - letters only: every rune but letters and marks becomes a blank; or
//     punctuation out: every rune of categories P and S becomes one blank. The combining marks on what is
//     then white space go with it, as NFKC makes white space and a mark of some symbols, such as U+00B4
//   - digits to zero: every decimal digit (Nd) of any script becomes '0'
//   - spaces: each run of white space becomes one U+0020, also at the ends; or, by default, those at
//     the ends are dropped; or all white space is
//
// Lower case can undo a composition ("H̱" has no composed form, "ẖ" has one), so
// where NFKC was asked for, and after accents were taken off, the text is
// composed again before the next step. The outcome of `default` is therefore in
// NFKC, and normalising it again changes nothing, up to 30 marks in a row, which
// package norm parts. No-space is the one step for
// which the last does not hold: dropping a blank between a letter and a stray
// combining mark makes them neighbours.
//
// Of a text that is not all UTF-8 the raw bytes (package spans) are no part of this: they stay as they
// are, each marked as such. The Unicode tables are those of package unicode, golang.org/x/text and
// the Unicode Character Database (tables.go).
package textnorm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"

	"github.com/neardup/neardup/internal/markup"
	"github.com/neardup/neardup/kernels/spans"
)

// Append appends the normalised src to dst and returns the extended slice. It
// keeps nothing of src. The outcome is UTF-8 but for raw bytes, which
// spans.Marked finds.
//
// Most runes neither change with their neighbours nor change those: ASCII goes
// through a table of bytes, the others of this kind through one of runes. The
// rest takes the plain way together with the rune before it, which it may
// combine with.
func (p Policy) Append(dst, src []byte) []byte {
	src = p.Visible(nil, src)
	start := len(dst)
	dst = slices.Grow(dst, len(src))
	if utf8.Valid(src) {
		dst = p.appendValid(dst, src)
	} else {
		dst = p.appendMixed(dst, src)
	}
	return p.Space(dst, start)
}

// Visible returns what of a text the other steps are taken on: all of it or, where markup is stripped, what that shows,
// in the memory of buffer.
func (p Policy) Visible(buffer, text []byte) []byte {
	if !p.StripsMarkup() {
		return text
	}
	buffer, _ = reader(text).Append(buffer[:0], text)
	return buffer
}

// Shown returns what Visible does of a text whose markup is stripped, and where that is from.
func Shown(text []byte) ([]byte, markup.Places) { return reader(text).Placed(text) }

func reader(text []byte) markup.Reader {
	return markup.Reader{XML: bytes.HasPrefix(bytes.TrimSpace(text[:min(len(text), xmlWithin)]), []byte("<?xml "))}
}

// xmlWithin is how far white space before a declaration of XML is looked through.
const xmlWithin = 64

// appendMixed is appendValid of a text that is not all UTF-8.
func (p Policy) appendMixed(dst, src []byte) []byte {
	for part, raw := range spans.Of(src) {
		if raw {
			dst = spans.AppendRaw(dst, part)
		} else {
			dst = p.appendValid(dst, part)
		}
	}
	return dst
}

// appendValid is Append of valid UTF-8, without the space steps.
func (p Policy) appendValid(dst, src []byte) []byte {
	if p.steps&runeSteps == 0 {
		return append(dst, src...)
	}
	var safe place
	safe.to = len(dst)
	for i := 0; i < len(src); {
		// The rune taken last begins at src[from], its image at dst[to].
		from, to := i, len(dst)
		if n := asciiPrefix(src[i:]); n > 0 {
			dst = appendMapped(dst, src[i:i+n], &asciiTables[p.steps&asciiSteps])
			if p.steps.has(invisible) {
				if j := lastBreak(src[i : i+n]); j >= 0 {
					safe = place{i + j, to + j}
				}
			}
			i += n
			from, to = i-1, len(dst)-1
		}
		for i < len(src) && src[i] >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(src[i:])
			image, images := p.image(r)
			if image == noImage {
				break
			}
			from, to = i, len(dst)
			if image >= 0 {
				dst = utf8.AppendRune(dst, image)
			} else {
				dst = append(dst, images.several(image)...)
			}
			i += n
		}
		end := i + p.dependentPrefix(src[i:])
		if end == i {
			continue
		}
		if p.steps.has(invisible) && bytes.ContainsFunc(src[i:end], isIgnorable) {
			// More than the neighbours may matter.
			from, to = safe.from, safe.to
			if n := slices.IndexFunc(src[end:], IsBreak); n >= 0 {
				end += n
			} else {
				end = len(src)
			}
		}
		dst = p.appendWindow(dst[:to], src[from:end])
		i = end
	}
	return dst
}

// appendWindow is appendPlain, faster if all runes but those that are dropped or judged by their
// context have an image: then nothing combines when they are gone.
func (p Policy) appendWindow(dst, src []byte) []byte {
	start := len(dst)
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		i += n
		switch image, images := p.image(r); {
		case image >= 0:
			dst = utf8.AppendRune(dst, image)
		case image != noImage:
			dst = append(dst, images.several(image)...)
		case p.steps.has(invisible) && inContext(r):
			dst = utf8.AppendRune(dst, r)
		case p.steps.has(invisible) && isIgnorable(r):
		default:
			return p.appendPlain(dst[:start], src)
		}
	}
	return dropInContext(dst, start)
}

// place is one in a text, from, and where what became of the text before it ends, to.
type place struct{ from, to int }

// IsBreak reports whether a byte is ASCII and no letter or digit: no step up to digits combines it
// with what is before it, and no joiner is judged by what is beyond it.
func IsBreak(b byte) bool {
	letter := b|0x20 >= 'a' && b|0x20 <= 'z'
	return b < utf8.RuneSelf && !letter && (b < '0' || b > '9')
}

// lastBreak returns the place of the last byte of ascii that IsBreak, or -1.
func lastBreak(ascii []byte) int {
	for i, b := range slices.Backward(ascii) {
		if IsBreak(b) {
			return i
		}
	}
	return -1
}

// dependentPrefix returns the length of the runes without an image b begins
// with.
func (p Policy) dependentPrefix(b []byte) int {
	i := 0
	for i < len(b) && b[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(b[i:])
		if image, _ := p.image(r); image != noImage {
			break
		}
		i += n
	}
	return i
}

// asciiPrefix returns the length of the ASCII bytes b begins with.
func asciiPrefix(b []byte) int {
	n := 0
	for len(b)-n >= 8 && binary.LittleEndian.Uint64(b[n:])&0x8080808080808080 == 0 {
		n += 8
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}

func appendMapped(dst, ascii []byte, table *[256]byte) []byte {
	n := len(dst)
	dst = slices.Grow(dst, len(ascii))[:n+len(ascii)]
	out := dst[n:]
	for i, c := range ascii {
		out[i] = table[c]
	}
	return dst
}

// asciiTables holds the image of each ASCII byte under each combination of
// asciiSteps, as the plain way has it. The upper halves are never read; they
// spare a bounds check.
var asciiTables = func() (tables [asciiSteps + 1][256]byte) {
	for steps := range tables {
		for c := range utf8.RuneSelf {
			image := Policy{step(steps)}.appendPlain(nil, []byte{byte(c)})
			tables[steps][c] = image[0]
		}
	}
	return tables
}()

// A page holds the images of 256 runes in a row: a rune, noImage, or below that the place of several runes.
type page struct {
	runes [256]rune
	text  []string
}

const noImage = -1

// several returns the runes that one has become.
func (p *page) several(image rune) string { return p.text[noImage-1-image] }

// pages are those of the Basic Multilingual Plane under each combination of
// runeSteps, built when first used: a job has one policy and few scripts.
var pages [runeSteps + 1][256]atomic.Pointer[page]

// MaxGrowth is how many times as many bytes a rune takes at most after NFKC: U+FDFA stands for four words.
const MaxGrowth = 11

// Exceeds reports whether text takes more than most bytes with every character replaced by those that it stands
// for, as a policy with NFKC does before it composes some. Syllables of Hangul, which it composes again, stay.
func (p Policy) Exceeds(text []byte, most int) bool {
	text = p.Visible(nil, text)
	if !p.steps.has(nfkc) {
		return len(text) > most
	}
	size := 0
	for i := 0; i < len(text) && size <= most; {
		n := asciiPrefix(text[i:])
		if n > 0 {
			size += n
		} else {
			r := norm.NFKD.Properties(text[i:])
			n = max(r.Size(), 1)
			size += cmp.Or(len(r.Decomposition()), n)
		}
		i += n
	}
	return size > most
}

// image returns what r becomes under all steps but those of spaces, whatever
// its neighbours, or noImage if they may matter or nothing is left of r, and the page that has it.
func (p Policy) image(r rune) (rune, *page) {
	if r > 0xffff {
		return noImage, nil
	}
	slot := &pages[p.steps&runeSteps][r>>8]
	images := slot.Load()
	if images == nil {
		// Two goroutines may both come here; they store the same.
		images = p.newPage(r &^ 0xff)
		slot.Store(images)
	}
	return images.runes[r&0xff], images
}

// newPage asks the plain way about each rune on its own. That is the answer in
// any text if the image does not combine with what is before it: the runes that
// do are letters and marks, and the steps make nothing else of those. A rune
// that combines with what comes after it finds nothing there, because what has
// an image does not look back either. One rune may become up to 18.
func (p Policy) newPage(first rune) *page {
	images := new(page)
	for i := range images.runes {
		image := p.appendPlain(nil, []byte(string(first+rune(i))))
		switch r, n := utf8.DecodeRune(image); {
		case n == 0 || !norm.NFKC.Properties(image).BoundaryBefore():
			images.runes[i] = noImage
		case n == len(image):
			images.runes[i] = r
		default:
			images.text = append(images.text, string(image))
			images.runes[i] = rune(noImage - len(images.text))
		}
	}
	return images
}

// appendPlain is appendValid without a fast path.
func (p Policy) appendPlain(dst, src []byte) []byte {
	start := len(dst)
	dst = append(dst, src...)
	t := plain{dst, start}
	p.apply(&t)
	return t.dst
}

// A stepper takes a text through steps, one after the other.
type stepper interface {
	// mapRunes replaces each rune by its image, or drops it where that is negative.
	mapRunes(image func(rune) rune)
	// compose brings the text to the given form.
	compose(form norm.Form)
	dropInContext()
}

// apply applies all steps but those of markup and of spaces.
func (p Policy) apply(t stepper) {
	if p.steps.has(invisible) {
		t.mapRunes(withoutIgnorable)
	}
	if p.steps.has(nfkc) {
		t.compose(norm.NFKC)
	}
	if p.steps.has(lower) {
		t.mapRunes(unicode.ToLower)
	}
	if p.steps.has(stripAccents) {
		t.compose(norm.NFD)
		t.mapRunes(withoutMark)
	}
	if p.steps.has(stripAccents) || p.steps.has(nfkc|lower) {
		// After NFKC there is nothing for the K to do.
		t.compose(norm.NFC)
	}
	if p.steps.has(foldHan) {
		t.mapRunes(hanFolded)
	}
	if p.steps.has(punctuation) {
		t.mapRunes(punctuationToBlank)
	}
	if p.steps.has(lettersOnly) {
		t.mapRunes(p.othersToBlank)
	}
	if p.steps&(punctuation|lettersOnly) != 0 {
		t.mapRunes(p.withoutStray())
	}
	if p.steps.has(digitsZero) {
		t.mapRunes(digitToZero)
	}
	if p.steps.has(invisible) {
		t.dropInContext()
		t.compose(norm.NFC)
	}
}

// plain is a text between two steps: dst from start.
type plain struct {
	dst   []byte
	start int
}

func (t *plain) dropInContext() { t.dst = dropInContext(t.dst, t.start) }

func (t *plain) compose(form norm.Form) {
	text := t.dst[t.start:]
	if form.QuickSpan(text) == len(text) {
		return
	}
	// An empty first argument, here the capacity behind the text, is the cheap
	// case of norm.
	end := len(t.dst)
	t.dst = append(t.dst[:t.start], form.Append(t.dst[end:], text...)...)
}

// mapRunes writes the new text behind the old one and then moves it: an image can be longer than its rune.
func (t *plain) mapRunes(image func(rune) rune) {
	dst, end := t.dst, len(t.dst)
	for i := t.start; i < end; {
		r, n := utf8.DecodeRune(dst[i:end])
		if to := image(r); to >= 0 {
			dst = utf8.AppendRune(dst, to)
		}
		i += n
	}
	t.dst = append(dst[:t.start], dst[end:]...)
}

func withoutMark(r rune) rune {
	if unicode.Is(unicode.Mn, r) {
		return -1
	}
	return r
}

func punctuationToBlank(r rune) rune {
	if unicode.IsPunct(r) || unicode.IsSymbol(r) {
		return ' '
	}
	return r
}

func (p Policy) othersToBlank(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsMark(r) || p.steps.has(invisible) && inContext(r) {
		return r
	}
	return ' '
}

// withoutStray returns a function that takes one rune after another, and drops the combining marks on white space.
// Joiners do not part them: they are judged later.
func (p Policy) withoutStray() func(rune) rune {
	blank := false
	return func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			blank = true
		case r < utf8.RuneSelf:
			blank = false
		case blank && combining(r):
			return -1
		case !p.steps.has(invisible) || !inContext(r):
			blank = false
		}
		return r
	}
}

// combining reports whether r is a mark that is reordered with others, as accents are.
func combining(r rune) bool { return norm.NFC.PropertiesString(string(r)).CCC() != 0 }

func digitToZero(r rune) rune {
	if unicode.IsDigit(r) {
		return '0'
	}
	return r
}

// Space takes the space steps on dst[start:], in place.
func (p Policy) Space(dst []byte, start int) []byte {
	switch {
	case p.steps.has(noSpace):
		return withoutSpace(dst, start)
	case p.steps&(collapseSpace|layout) != 0:
		return collapsed(dst, start, p.steps.has(layout))
	default:
		return dst
	}
}

// withoutSpace drops white space.
func withoutSpace(dst []byte, start int) []byte {
	end := start
	for i := start; i < len(dst); {
		r, n := utf8.DecodeRune(dst[i:])
		if !unicode.IsSpace(r) {
			end += copy(dst[end:], dst[i:i+n])
		}
		i += n
	}
	return dst[:end]
}

// collapsed makes a blank of each run of white space, or nothing at the ends if they are trimmed. A run
// is no shorter than a blank.
func collapsed(dst []byte, start int, trim bool) []byte {
	end, last := start, uint8(never)
	if trim {
		last = ascii
	}
	for i := start; i < len(dst); {
		class, n := spaceClass[dst[i]], 1
		if class == leads {
			var r rune
			r, n = utf8.DecodeRune(dst[i:])
			if class = ascii; !unicode.IsSpace(r) {
				end += copy(dst[end:], dst[i:i+n])
				i += n
				last = never
				continue
			}
		}
		// Without a branch: of a blank after another one, the next byte takes the place.
		dst[end] = dst[i]&^-class | ' '&-class
		end += int(1 &^ (class & last))
		last = class
		i += n
	}
	if trim && last == ascii && end > start {
		end--
	}
	return dst[:end]
}

// The classes of bytes as to white space.
const (
	never = iota
	ascii // white space
	leads // may begin white space of several bytes
)

var spaceClass = func() (classes [256]uint8) {
	rangetable.Visit(unicode.White_Space, func(r rune) {
		class := uint8(ascii)
		if r >= utf8.RuneSelf {
			class = leads
		}
		classes[string(r)[0]] = class
	})
	return classes
}()
