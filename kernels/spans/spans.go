// Package spans divides a text that is not all UTF-8 into UTF-8 and raw bytes, which are compared as they are.
package spans

import (
	"bytes"
	"iter"
	"unicode/utf8"
)

// damagedRatio is the minimum number of multi-byte characters per invalid byte in damaged UTF-8. Texts in other
// encodings have some such characters by chance, but fewer.
const damagedRatio = 10

// Of yields the parts of text in order, and whether each is raw. The parts share memory with text.
//
// In damaged UTF-8, the invalid bytes are raw. In a text in another encoding, all non-ASCII bytes are raw, even if they
// are UTF-8 by chance, and so is a byte directly after one of them if it may be the second byte of a character, as in
// Shift_JIS, GB18030 and Big5: 0 to 9, and @ to ~.
func Of(text []byte) iter.Seq2[[]byte, bool] {
	isRaw := invalidPrefix
	if !damaged(text) {
		isRaw = foreignPrefix
	}
	return func(yield func(part []byte, raw bool) bool) {
		begin := 0
		for i := 0; i < len(text); {
			if text[i] < utf8.RuneSelf {
				i++
				continue
			}
			n, raw := isRaw(text[i:])
			if !raw {
				i += n
				continue
			}
			if begin < i && !yield(text[begin:i], false) || !yield(text[i:i+n], true) {
				return
			}
			i += n
			begin = i
		}
		if begin < len(text) {
			yield(text[begin:], false)
		}
	}
}

// damaged reports whether text is UTF-8 except for a few bytes.
func damaged(text []byte) bool {
	characters, invalid := 0, 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			invalid++
		case n > 1:
			characters++
		}
		i += n
	}
	return characters > damagedRatio*invalid || invalid == 0
}

// invalidPrefix returns the length of the first character, or of an invalid byte, and whether it is invalid.
func invalidPrefix(text []byte) (n int, raw bool) {
	r, n := utf8.DecodeRune(text)
	return n, r == utf8.RuneError && n == 1
}

// foreignPrefix returns the length of the run of raw bytes at the start of text.
func foreignPrefix(text []byte) (n int, raw bool) {
	for n < len(text) && (text[n] >= utf8.RuneSelf || n > 0 && text[n-1] >= utf8.RuneSelf && isSecond(text[n])) {
		n++
	}
	return n, true
}

func isSecond(b byte) bool { return '0' <= b && b <= '9' || '@' <= b && b <= '~' }

// mark precedes each raw byte in a normalised text. It does not occur in UTF-8.
const mark = 0xFF

// AppendRaw appends raw bytes to a normalised text.
func AppendRaw(dst, raw []byte) []byte {
	for _, b := range raw {
		dst = append(dst, mark, b)
	}
	return dst
}

// HasRaw reports whether a normalised text has raw bytes.
func HasRaw(text []byte) bool { return bytes.IndexByte(text, mark) >= 0 }

// Marked yields the parts of a normalised text in order, each either UTF-8 or one raw byte. The parts share memory with
// text.
func Marked(text []byte) iter.Seq2[[]byte, bool] {
	return func(yield func(part []byte, raw bool) bool) {
		for rest := text; len(rest) > 0; {
			n := bytes.IndexByte(rest, mark)
			raw := n == 0
			switch {
			case raw:
				n = min(2, len(rest))
			case n < 0:
				n = len(rest)
			}
			part := rest[:n:n]
			if raw {
				part = part[n-1:]
			}
			if !yield(part, raw) {
				return
			}
			rest = rest[n:]
		}
	}
}
