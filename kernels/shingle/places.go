package shingle

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/kernels/spans"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/token"
)

// Places yields the place of each token that Tokenise returns for a text of words: the characters from which the token
// was made. A character that stands for several words, such as ½, is the place of each of them.
//
// Most texts are ASCII, in which a loop finds the words; the rest takes the general path.
func (s *Shingler) Places(text []byte) iter.Seq[textnorm.Span] {
	return func(yield func(textnorm.Span) bool) {
		switch {
		case tooLarge(text, s.policy, s.most):
		case s.policy.StripsMarkup():
			shown, places := textnorm.Shown(text)
			s.placesPlain(shown, func(word textnorm.Span) bool { return yield(places.Span(word.Start, word.End)) })
		case s.words != nil || !s.policy.FoldsASCII() || !utf8.Valid(text):
			s.placesPlain(text, yield)
		default:
			s.placesFolded(text, yield)
		}
	}
}

// placesFolded implements Places for texts in which token.FoldedASCII finds words.
func (s *Shingler) placesFolded(text []byte, yield func(textnorm.Span) bool) {
	for at := 0; at < len(text); {
		n, ok := foldedPlaces(text[at:], at, yield)
		if !ok {
			return
		}
		if at += n; at == len(text) {
			return
		}
		n = wide(text[at:])
		if !s.placesOf(text[at:at+n], at, yield) {
			return
		}
		at += n
	}
}

// foldedPlaces yields the places of the words that token.FoldedASCII finds in text, which begins at base, and returns
// the length of the text that they cover.
func foldedPlaces(text []byte, base int, yield func(textnorm.Span) bool) (n int, ok bool) {
	start := -1 // start of the current word
	for i, b := range text {
		switch {
		case b >= utf8.RuneSelf:
			if start >= 0 {
				i = start
			}
			return max(i-1, 0), true // back to the last byte outside a word
		case !textnorm.IsBreak(b):
			if start < 0 {
				start = i
			}
		case start >= 0:
			if !yield(textnorm.Span{Start: base + start, End: base + i}) {
				return 0, false
			}
			start = -1
		}
	}
	return len(text), start < 0 || yield(textnorm.Span{Start: base + start, End: base + len(text)})
}

// placesPlain implements Places for any text without markup.
func (s *Shingler) placesPlain(text []byte, yield func(textnorm.Span) bool) {
	if utf8.Valid(text) {
		s.placesOf(text, 0, yield)
		return
	}
	at := 0
	for part, raw := range spans.Of(text) {
		for i := range part {
			if raw && !yield(textnorm.Span{Start: at + i, End: at + i + 1}) {
				return
			}
		}
		if !raw && !s.placesOf(part, at, yield) {
			return
		}
		at += len(part)
	}
}

// usualChunk is the minimum number of bytes that are placed at once, except at the end of a text.
const usualChunk = 4 << 10

// placesOf yields the places of the words of text, which is UTF-8 and begins at base. It may cut the text before white
// space that does not follow white space: no step combines that with what precedes it, and it is in no word.
func (s *Shingler) placesOf(text []byte, base int, yield func(textnorm.Span) bool) bool {
	for len(text) > 0 {
		n := min(usualChunk, len(text))
		for n < len(text) && (!isASCIISpace(text[n]) || isASCIISpace(text[n-1]) || text[n-1] >= utf8.RuneSelf) {
			n++
		}
		if !s.chunk(text[:n], base, yield) {
			return false
		}
		text, base = text[n:], base+n
	}
	return true
}

func isASCIISpace(b byte) bool { return b < utf8.RuneSelf && unicode.IsSpace(rune(b)) }

func (s *Shingler) chunk(text []byte, base int, yield func(textnorm.Span) bool) bool {
	placed := s.policy.KeepSpace().Placed(&s.placed, text)
	at := 0
	for segment, word := range token.Parts(placed.Text, s.policy.KeepsSymbols()) {
		start := at
		at += len(segment)
		if !word || s.words != nil && !s.stays(segment) {
			continue
		}
		span := textnorm.Span{Start: base + placed.From[start].Start, End: base + placed.From[at-1].End}
		if !yield(span) {
			return false
		}
	}
	return true
}

// stays reports whether a word is still a word after the steps for words.
func (s *Shingler) stays(word []byte) bool {
	s.normal = s.words.Append(s.normal[:0], word)
	return len(s.appendWords(nil, s.normal)) > 0
}
