package token

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// Symbols appends to dst the symbols of text, in UTF-8 and in their order: the
// characters of Unicode categories P and S, which no word has.
//
// They are taken as they stand. Two texts that differ in a form that NFKC makes
// one, a full-width plus say, do differ in symbols: a program or a formula does
// not work with either. A byte that is not UTF-8 counts as U+FFFD, a symbol.
func Symbols(dst, text []byte) []byte {
	for len(text) > 0 {
		var last [blockBytes]byte
		block := &last
		if len(text) >= blockBytes {
			block = (*[blockBytes]byte)(text)
		} else {
			copy(last[:], text) // what is behind it is no symbol
		}
		symbols, wide := symbolsOf(block)
		ascii := bits.TrailingZeros64(wide) // so many are
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

// symbolsPlain returns which bytes of a block are symbols, before the first that is not ASCII, and which are not ASCII.
// Symbols are all that are visible but letters and digits.
func symbolsPlain(block *[blockBytes]byte) (symbols, wide uint64) {
	for i := 0; i < blockBytes; i += 8 {
		w := binary.LittleEndian.Uint64(block[i:])
		// In 7 bits no sum carries into the next byte.
		visible := (w + ones*(0x80-'!')) &^ (w + ones*(0x7f-'~'))
		symbols |= gather(visible&^alphanumerics(w)) << i
		wide |= gather(w) << i
	}
	return symbols, wide
}

func isSymbol(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
