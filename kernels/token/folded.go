package token

import (
	"encoding/binary"
	"math/bits"

	"github.com/neardup/neardup/kernels/hash"
)

// FoldedASCII appends to dst the hash of each run of ASCII letters and digits in text, with letters in lower case, up
// to where text stops being ASCII. It returns the length of the text processed: all of it, or up to a byte that is not
// a letter or digit. These are the words of text after lower case and removal of punctuation.
//
// It processes 64 bytes at a time: one bit per byte says whether the byte is in a word, and a word is loaded as one or
// two integers, without a copy.
func FoldedASCII(dst []uint64, text []byte) (tokens []uint64, n int) {
	dst, fast := foldedFast(dst, text)
	dst, n = foldedPlain(dst, text[fast:])
	return dst, fast + n
}

// foldedPlain implements FoldedASCII on any processor.
func foldedPlain(dst []uint64, text []byte) (tokens []uint64, n int) {
	var (
		start  int    // of the current word
		inside uint64 // 1 if there is one
		tail   [blockBytes]byte
	)
	for base := 0; base < len(text); base += blockBytes {
		block := text[base:]
		if len(block) < blockBytes {
			copy(tail[:], block)
			block = tail[:]
		}
		in, wide := classify((*[blockBytes]byte)(block))
		ascii := blockBytes
		if wide != 0 {
			ascii = bits.TrailingZeros64(wide)
		}
		before := in<<1 | inside
		starts := in &^ before
		ends := before &^ in
		if ascii < blockBytes {
			ends &= 1<<ascii - 1
		}
		if inside == 0 {
			start = base + bits.TrailingZeros64(starts)
			starts &= starts - 1
		}
		for ; ends != 0; ends &= ends - 1 {
			end := base + bits.TrailingZeros64(ends)
			dst = append(dst, folded(text, start, end))
			start = base + bits.TrailingZeros64(starts)
			starts &= starts - 1
		}
		if wide != 0 {
			// Back to the last byte outside a word.
			if out := ^in & (1<<ascii - 1); out != 0 {
				return dst, base + bits.Len64(out) - 1
			}
			if inside == 0 {
				start = base
			}
			return dst, max(start-1, 0)
		}
		inside = in >> (blockBytes - 1)
	}
	if inside != 0 {
		dst = append(dst, folded(text, start, len(text)))
	}
	return dst, len(text)
}

const blockBytes = 64

// classify returns which bytes are ASCII letters or digits, and which are not ASCII.
func classify(block *[blockBytes]byte) (in, wide uint64) {
	for i := 0; i < blockBytes; i += 8 {
		w := binary.LittleEndian.Uint64(block[i:])
		in |= gather(alphanumerics(w&^high)&^w) << i
		wide |= gather(w) << i
	}
	return in, wide
}

// alphanumerics returns w with the top bit set in those of its eight ASCII bytes that are letters or digits. The other
// bits are meaningless.
func alphanumerics(w uint64) uint64 {
	// With 7 bits per byte, no sum carries into the next byte.
	letter := w | ones*0x20
	return (letter+ones*(0x80-'a'))&^(letter+ones*(0x7f-'z')) |
		(w+ones*(0x80-'0'))&^(w+ones*(0x7f-'9'))
}

const (
	ones = 0x0101010101010101
	high = 0x80 * ones
)

// gather returns the top bits of the eight bytes of w, as eight bits.
func gather(w uint64) uint64 {
	return (w & high >> 7) * 0x0102040810204080 >> 56
}

// folded returns the hash of the word text[start:end] in lower case.
func folded(text []byte, start, end int) uint64 {
	// The bit that distinguishes small letters is set in every digit.
	const small = 0x20 * ones
	switch n := end - start; {
	case n <= 8 && start+8 <= len(text):
		low := (binary.LittleEndian.Uint64(text[start:]) | small) & (^uint64(0) >> ((64 - 8*n) & 63))
		return hash.Short(low, 0, n)
	case n > 8 && n <= 16:
		low := binary.LittleEndian.Uint64(text[start:]) | small
		return hash.Short(low, binary.LittleEndian.Uint64(text[end-8:])|small, n)
	default:
		return foldedLong(text[start:end])
	}
}

// foldedLong is like folded, for a word of any length.
func foldedLong(word []byte) uint64 {
	var room [blockBytes]byte
	lower := append(room[:0], word...)
	for i := range lower {
		lower[i] |= 'a' - 'A'
	}
	return hash.Bytes(lower)
}
