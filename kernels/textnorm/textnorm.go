// Package textnorm normalises a text, so that differences that do not matter disappear before it is cut into tokens.
//
// A [Policy] names the steps, which are always applied in this order:
//
//   - remove markup: keep what HTML, or XML that begins with its declaration, shows (internal/markup)
//   - remove invisible characters: those of Default_Ignorable_Code_Point are dropped. The joiners and tags
//     among them stay if they change how the text looks, which is decided after the other steps up to
//     digits (see dropInContext)
//   - NFKC
//   - lower case, rune by rune with the simple mapping of Unicode, independent of the
//     language
//   - strip accents: the non-spacing marks (Mn) of the decomposed text are dropped
//   - fold Han variants: each Han character becomes the one that represents its variants (han.txt)
//   - letters only: every rune except letters and marks becomes a space; or
//     remove punctuation: every rune of categories P and S becomes one space. Combining marks that are
//     then on white space are dropped, because NFKC turns some symbols, such as U+00B4, into white space and a mark
//   - digits to zero: every decimal digit (Nd) of any script becomes '0'
//   - spaces: each run of white space becomes one U+0020, also at the ends; or, by default, the same
//     but white space at the ends is dropped; or all white space is dropped
//
// Lower case can undo a composition ("H̱" has no composed form, "ẖ" has one). Therefore, if NFKC was asked for, and
// after accents were stripped, the text is composed again before the next step. The result of `default` is in NFKC, and
// normalising it again changes nothing, for up to 30 marks in a row, beyond which package norm splits them. Only
// no-space is not idempotent: if it drops the space between a letter and a stray combining mark, they become
// neighbours.
//
// In a text that is not all UTF-8, the raw bytes (package spans) are not normalised: they stay as they are, each with a
// mark. The Unicode tables are those of package unicode, golang.org/x/text and the Unicode Character Database
// (tables.go).
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

// Append appends the normalised src to dst and returns the extended slice. It does not retain src. The result is UTF-8
// except for raw bytes, which spans.Marked finds.
//
// Most runes neither change with their neighbours nor change those. ASCII goes through a table of bytes, and other
// runes of this kind through a table of runes. The rest takes the general path together with the rune before it, with
// which it may combine.
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

// Visible returns the part of a text to which the other steps apply: all of it or, if markup is stripped, what the
// markup shows, in the memory of buffer.
func (p Policy) Visible(buffer, text []byte) []byte {
	if !p.StripsMarkup() {
		return text
	}
	buffer, _ = reader(text).Append(buffer[:0], text)
	return buffer
}

// Shown returns what Visible returns for a text whose markup is stripped, and the places it came from.
func Shown(text []byte) ([]byte, markup.Places) { return reader(text).Placed(text) }

func reader(text []byte) markup.Reader {
	return markup.Reader{XML: bytes.HasPrefix(bytes.TrimSpace(text[:min(len(text), xmlWithin)]), []byte("<?xml "))}
}

// xmlWithin is the number of bytes searched for an XML declaration after white space.
const xmlWithin = 64

// appendMixed is like appendValid, for a text that is not all UTF-8.
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

// appendValid is like Append, for valid UTF-8 and without the space steps.
func (p Policy) appendValid(dst, src []byte) []byte {
	if p.steps&runeSteps == 0 {
		return append(dst, src...)
	}
	var safe place
	safe.to = len(dst)
	for i := 0; i < len(src); {
		// The last rune begins at src[from], its image at dst[to].
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

// appendWindow is like appendPlain, but faster if all runes have an image, except those that are dropped or decided by
// their context: then nothing combines once these are gone.
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

// place is a place in a text, and the end of the image of the text before it.
type place struct{ from, to int }

// IsBreak reports whether a byte is ASCII and neither a letter nor a digit. No step up to digits combines it with what
// precedes it, and what is beyond it does not affect a joiner.
func IsBreak(b byte) bool {
	letter := b|0x20 >= 'a' && b|0x20 <= 'z'
	return b < utf8.RuneSelf && !letter && (b < '0' || b > '9')
}

// lastBreak returns the index of the last byte of ascii that satisfies IsBreak, or -1.
func lastBreak(ascii []byte) int {
	for i, b := range slices.Backward(ascii) {
		if IsBreak(b) {
			return i
		}
	}
	return -1
}

// dependentPrefix returns the length of the run of runes without an image at the start of b.
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

// asciiPrefix returns the length of the run of ASCII bytes at the start of b.
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

// asciiTables holds the image of each ASCII byte under each combination of asciiSteps, as computed by appendPlain. The
// upper halves are never read; they avoid a bounds check.
var asciiTables = func() (tables [asciiSteps + 1][256]byte) {
	for steps := range tables {
		for c := range utf8.RuneSelf {
			image := Policy{step(steps)}.appendPlain(nil, []byte{byte(c)})
			tables[steps][c] = image[0]
		}
	}
	return tables
}()

// A page holds the images of 256 consecutive runes: each a rune, noImage, or, below noImage, the index of a text of
// several runes.
type page struct {
	runes [256]rune
	text  []string
}

const noImage = -1

// several returns the text that an image below noImage stands for.
func (p *page) several(image rune) string { return p.text[noImage-1-image] }

// pages are the pages of the Basic Multilingual Plane under each combination of runeSteps, built when first used: a job
// has one policy and few scripts.
var pages [runeSteps + 1][256]atomic.Pointer[page]

// MaxGrowth is the maximum factor by which NFKC makes a rune longer, in bytes: U+FDFA stands for four words.
const MaxGrowth = 11

// Exceeds reports whether text takes more than most bytes once every character is replaced by those that it stands for,
// as a policy with NFKC does before it composes some of them. Hangul syllables, which it composes again, stay.
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

// image returns the image of r under all steps except those for markup and spaces, independent of its neighbours, and
// the page that has it. The image is noImage if neighbours may matter or nothing is left of r.
func (p Policy) image(r rune) (rune, *page) {
	if r > 0xffff {
		return noImage, nil
	}
	slot := &pages[p.steps&runeSteps][r>>8]
	images := slot.Load()
	if images == nil {
		// Two goroutines may both get here; they store equal pages.
		images = p.newPage(r &^ 0xff)
		slot.Store(images)
	}
	return images.runes[r&0xff], images
}

// newPage computes the image of each rune alone with appendPlain. The result is valid in any text if the image does not
// combine with what precedes it: only letters and marks combine, and the steps do not turn them into anything else. A
// rune that combines with what follows it finds nothing there, because runes with an image do not combine backwards.
// One rune may become up to 18.
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

// A stepper applies steps to a text, one after another.
type stepper interface {
	// mapRunes replaces each rune by its image, or drops it if the image is negative.
	mapRunes(image func(rune) rune)
	// compose converts the text to the given form.
	compose(form norm.Form)
	dropInContext()
}

// apply applies all steps except those for markup and spaces.
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
		// After NFKC, NFC suffices.
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

// plain is a text between two steps: dst[start:].
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
	// An empty first argument, here the capacity after the text, is the cheap case in package norm.
	end := len(t.dst)
	t.dst = append(t.dst[:t.start], form.Append(t.dst[end:], text...)...)
}

// mapRunes writes the new text after the old one and then moves it, since an image can be longer than its rune.
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

// withoutStray returns a function to be applied to consecutive runes, which drops the combining marks on white space,
// also after joiners, since these are decided later.
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

// Space applies the space steps to dst[start:], in place.
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

// collapsed replaces each run of white space by one space, or by nothing at the ends if trim is set. A run is never
// shorter than a space.
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
		// Without a branch: after another space, the next byte overwrites this one.
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

// Classes of bytes with regard to white space.
const (
	never = iota
	ascii // white space
	leads // may begin multi-byte white space
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
