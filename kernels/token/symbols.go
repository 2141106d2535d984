package token

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// Symbols appends to dst the symbols of text, in UTF-8 and in order: the characters of Unicode categories P and S,
// which no word contains.
//
// Symbols are not normalised. Texts that differ in forms that NFKC unifies, such as a full-width plus, differ in
// symbols, because a program or a formula does not work with either. A byte that is not UTF-8 counts as U+FFFD, which
// is a symbol.
func Symbols(dst, text []byte) []byte {
	for len(text) > 0 {
		var last [blockBytes]byte
		block := &last
		if len(text) >= blockBytes {
			block = (*[blockBytes]byte)(text)
		} else {
			copy(last[:], text) // the zeros after it are not symbols
		}
		symbols, wide := symbolsOf(block)
		ascii := bits.TrailingZeros64(wide) // number of ASCII bytes before the first other one
		for symbols &= 1<<ascii - 1; symbols != 0; symbols &= symbols - 1 {
			dst = append(dst, block[bits.TrailingZeros64(symbols)])
		}
		text = text[min(ascii, len(text)):]
		for len(text) > 0 && text[0] >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(text)
			if isSymbol(r) {
				dst = utf8.AppendRune(dst, r)
			}
			text = text[n:]
		}
	}
	return dst
}

// symbolsPlain returns the bytes of a block that are symbols, valid up to the first non-ASCII byte, and those that are
// not ASCII. Symbols are all visible bytes except letters and digits.
func symbolsPlain(block *[blockBytes]byte) (symbols, wide uint64) {
	for i := 0; i < blockBytes; i += 8 {
		w := binary.LittleEndian.Uint64(block[i:])
		// With 7 bits per byte, no sum carries into the next byte.
		visible := (w + ones*(0x80-'!')) &^ (w + ones*(0x7f-'~'))
		symbols |= gather(visible&^alphanumerics(w)) << i
		wide |= gather(w) << i
	}
	return symbols, wide
}

func isSymbol(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
