// Package token cuts a text into tokens, each a 64-bit value: words, code points or bytes.
//
// Words are those of Unicode Standard Annex #29 that contain a letter or a number, with one change that makes a single
// default suitable for all scripts: a letter of a script written without spaces (Han, Hiragana and those of South-East
// Asia) begins a token, which is one grapheme. Katakana words, Hangul between spaces and numbers of any script stay
// whole. A raw byte (package spans) is a token by itself, so texts agree only where such bytes agree.
//
// Texts must be normalised by package textnorm.
//
// The values do not depend on the machine. The annex's tables are those of github.com/clipperhouse/uax29/v2, and
// letters and numbers those of package unicode.
package token

import (
	"bytes"
	"iter"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/rangetable"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/spans"
)

// Words appends to dst the hash of each word of text.
func Words(dst []uint64, text []byte) []uint64 { return appendAll(dst, text, false) }

// WordsAndSymbols appends to dst the hash of each word of text, and of each visible grapheme between words: one
// punctuation mark, symbol or emoji.
func WordsAndSymbols(dst []uint64, text []byte) []uint64 { return appendAll(dst, text, true) }

func appendAll(dst []uint64, text []byte, symbols bool) []uint64 {
	if !spans.HasRaw(text) {
		return appendValid(dst, text, symbols)
	}
	return appendParts(dst, text,
		func(dst []uint64, part []byte) []uint64 { return appendValid(dst, part, symbols) },
		hash.Bytes)
}

// appendParts appends the tokens of a text with raw bytes, each of which is a token.
func appendParts(
	dst []uint64, text []byte, valid func(dst []uint64, part []byte) []uint64, one func(raw []byte) uint64,
) []uint64 {
	for part, raw := range spans.Marked(text) {
		if raw {
			dst = append(dst, one(part))
		} else {
			dst = valid(dst, part)
		}
	}
	return dst
}

// appendValid appends the tokens of valid UTF-8.
//
// A table finds segments of ASCII letters and digits, and the bytes between them. A segment that might join something
// else takes the general path. Both paths begin at the start of a segment, so they can alternate.
func appendValid(dst []uint64, text []byte, symbols bool) []uint64 {
	for i := 0; i < len(text); {
		switch ascii[text[i]] {
		case alphanumeric:
			end := i + 1
			for end < len(text) && ascii[text[end]] == alphanumeric {
				end++
			}
			if breaksWord(text[end:]) {
				dst = append(dst, hash.Bytes(text[i:end]))
				i = end
				continue
			}
		case joiner, other:
			// No rule joins these to a following ASCII byte, except white space, CR and LF among themselves, which are
			// in no token.
			if i+1 == len(text) || text[i+1] < utf8.RuneSelf {
				if symbols && Visible(rune(text[i])) {
					dst = append(dst, hash.Bytes(text[i:i+1]))
				}
				i++
				continue
			}
		}
		n := segment(text[i:])
		if word, ok := wordIn(text[i : i+n]); ok {
			dst = append(dst, hash.Bytes(word))
		} else if symbols {
			for _, symbol := range symbolsIn(text[i : i+n]) {
				dst = append(dst, hash.Bytes(symbol))
			}
		}
		i += n
	}
	return dst
}

// breaksWord reports whether a word of ASCII letters and digits certainly ends before rest, which does not begin with
// one of these.
func breaksWord(rest []byte) bool {
	if len(rest) == 0 {
		return true
	}
	switch ascii[rest[0]] {
	case other:
		return true
	case joiner:
		// It joins only letters or digits on both sides of it.
		return len(rest) == 1 || ascii[rest[1]] == other || ascii[rest[1]] == joiner
	}
	return false
}

type class uint8

const (
	nonASCII class = iota
	alphanumeric
	joiner     // may join what it stands between: rules WB6, 7, 11 and 12
	underscore // joins what is next to it: rules WB13a and 13b
	other
)

// ascii is the class of each byte.
var ascii = func() (classes [256]class) {
	for c := range utf8.RuneSelf {
		classes[c] = other
		if isWord([]byte{byte(c)}) {
			classes[c] = alphanumeric
		}
	}
	for _, c := range []byte(`'.,:;`) {
		classes[c] = joiner
	}
	classes['_'] = underscore
	return classes
}()

// segment returns the length of the first segment of text: a grapheme in scripts written without spaces, otherwise a
// word of the annex.
func segment(text []byte) int {
	// Given the whole text, neither SplitFunc asks for more nor fails.
	if r, _ := utf8.DecodeRune(text); Alone(r) {
		n, _, _ := graphemes.SplitFunc(text, true)
		return n
	}
	// The annex joins iteration marks to what precedes them, so look for one before reading on: all of a long text may be
	// one segment of the annex, and many here.
	for size := firstWindow; ; size *= 2 {
		part := text[:min(size, len(text))]
		n, _, _ := words.SplitFunc(part, len(part) == len(text))
		before := part
		if n > 0 {
			before = part[:n]
		}
		if i := markIn(before); i > 0 {
			n, _, _ = words.SplitFunc(text[:i], true)
		}
		if n > 0 {
			return n
		}
	}
}

// firstWindow is more than the length of most segments, in bytes.
const firstWindow = 64

// markIn returns the index of the first iteration mark in text, or -1.
func markIn(text []byte) int {
	for i, b := range text {
		if b >= firstOfMarks {
			if r, _ := utf8.DecodeRune(text[i:]); isIterationMark(r) {
				return i
			}
		}
	}
	return -1
}

// Alone reports whether r begins a word whatever precedes it: a letter of a script written without spaces.
func Alone(r rune) bool { return unicode.Is(unspaced, r) && unicode.IsLetter(r) }

// isIterationMark reports whether r is a letter of unspaced that the annex joins to what precedes it.
func isIterationMark(r rune) bool { return r == '々' || r == '〻' || r == 0x16FE3 }

// firstOfMarks is the smallest first byte of an iteration mark.
const firstOfMarks = 0xE3

// unspaced is the scripts that do not separate words: Han, Hiragana, and those of Line_Break=Complex_Context, for which
// the annex has no rules.
var unspaced = rangetable.Merge(
	unicode.Han, unicode.Hiragana,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom,
)

// wordIn returns the word in a segment, if it is one. White space may precede the word (by rules WB3d, 4 and 3c,
// spaces, a joiner and U+2139, which is a letter and a pictograph, are one segment), but is not part of it.
func wordIn(segment []byte) (word []byte, ok bool) {
	if !isWord(segment) {
		return nil, false
	}
	return bytes.TrimLeftFunc(segment, unicode.IsSpace), true
}

// symbolsIn yields the visible graphemes of a segment that is not a word, each with its offset.
func symbolsIn(segment []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for end := 0; end < len(segment); {
			n, _, _ := graphemes.SplitFunc(segment[end:], true)
			grapheme := segment[end : end+n : end+n]
			end += n
			if !bytes.ContainsFunc(grapheme, Visible) {
				continue
			}
			if symbol := bytes.TrimLeftFunc(grapheme, unicode.IsSpace); !yield(end-len(symbol), symbol) {
				return
			}
		}
	}
}

// Visible reports whether r is visible: neither white space nor a control or format character, except the format
// characters that enclose numbers.
func Visible(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.IsControl(r) &&
		(!unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Prepended_Concatenation_Mark, r))
}

func isWord(segment []byte) bool {
	for len(segment) > 0 {
		r, n := utf8.DecodeRune(segment)
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return true
		}
		segment = segment[n:]
	}
	return false
}

// Runes appends to dst one value per code point of text. A raw byte counts as a code point beyond those of Unicode.
func Runes(dst []uint64, text []byte) []uint64 {
	if !spans.HasRaw(text) {
		return appendRunes(dst, text)
	}
	return appendParts(dst, text, appendRunes,
		func(raw []byte) uint64 { return hash.Mix(unicode.MaxRune + 1 + uint64(raw[0])) })
}

func appendRunes(dst []uint64, text []byte) []uint64 {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			dst = append(dst, mixed[c])
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		dst = append(dst, hash.Mix(uint64(r)))
		i += n
	}
	return dst
}

// Bytes appends to dst one value per byte of text.
func Bytes(dst []uint64, text []byte) []uint64 {
	if !spans.HasRaw(text) {
		return appendBytes(dst, text)
	}
	return appendParts(dst, text, appendBytes, func(raw []byte) uint64 { return mixed[raw[0]] })
}

func appendBytes(dst []uint64, text []byte) []uint64 {
	for _, c := range text {
		dst = append(dst, mixed[c])
	}
	return dst
}

var mixed = func() (values [256]uint64) {
	for c := range values {
		values[c] = hash.Mix(uint64(c))
	}
	return values
}()
