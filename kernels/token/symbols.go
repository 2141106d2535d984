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
	for i := 0; i < len(text); {
		if len(text)-i >= 8 {
			w := binary.LittleEndian.Uint64(text[i:])
			if w&high == 0 {
				dst = appendSymbols(dst, w)
				i += 8
				continue
			}
		}
		if b := text[i]; b < utf8.RuneSelf {
			if asciiSymbols[b] {
				dst = append(dst, b)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if isSymbol(r) {
			dst = utf8.AppendRune(dst, r)
		}
		i += n
	}
	return dst
}

// appendSymbols appends those of the eight ASCII bytes of w that are symbols: all that are visible but letters and digits.
func appendSymbols(dst []byte, w uint64) []byte {
	// In 7 bits no sum carries into the next byte.
	visible := (w + ones*(0x80-'!')) &^ (w + ones*(0x7f-'~'))
	for left := visible &^ alphanumerics(w) & high; left != 0; left &= left - 1 {
		dst = append(dst, byte(w>>(bits.TrailingZeros64(left)&^7)))
	}
	return dst
}

func isSymbol(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// asciiSymbols says which ASCII bytes are symbols.
var asciiSymbols = func() (is [utf8.RuneSelf]bool) {
	for b := range is {
		is[b] = isSymbol(rune(b))
	}
	return is
}()
