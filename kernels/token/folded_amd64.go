//go:build !purego

package token

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/sys/cpu"
)

// blockWords is how many words can end in a block.
const blockWords = blockBytes / 2

var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2
	hasAVX512 = hasAVX2 && cpu.X86.HasPOPCNT && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW &&
		cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2
)

// Assembly cannot be preempted: it returns after as many words, some microseconds.
const wordsAtOnce = 1 << 12

// foldedFast is FoldedASCII for a prefix of text, of n bytes; n is 0 without AVX2. No word crosses the end of the
// prefix. foldedPlain takes what follows: the first byte that is not ASCII, and some words before it.
func foldedFast(dst []uint64, text []byte) (tokens []uint64, n int) {
	if !hasAVX2 || len(text) == 0 { // what has no bytes may have no address to count from
		return dst, 0
	}
	dst, n = foldedBlocks(dst, text)
	if hasAVX512 {
		return dst, n
	}
	// AVX2 takes whole blocks with 8 bytes behind them. A copy of the
	// last bytes, with zeros behind them, makes whole blocks.
	if rest := text[n:]; len(rest) < 2*blockBytes {
		var tail [2*blockBytes + 8]byte
		whole := (copy(tail[:], rest) + blockBytes) / blockBytes * blockBytes // a zero ends the last word
		var room [3 * blockWords]uint64                                       // so dst does not grow ahead of the words
		words, last := foldedBlocks(room[:0], tail[:whole+8])
		dst, n = append(dst, words...), n+min(last, len(rest))
	}
	return dst, n
}

// foldedBlocks is foldedFast, with AVX2 without the last bytes, which make no whole block.
func foldedBlocks(dst []uint64, text []byte) (tokens []uint64, n int) {
	for {
		dst = slices.Grow(dst, blockWords)
		room := dst[len(dst):min(cap(dst), len(dst)+wordsAtOnce)]
		words, taken := foldedWords(room, text[n:])
		dst = dst[:len(dst)+words]
		n += taken
		if n == len(text) {
			return dst, n
		}
		if len(room)-words < blockWords {
			continue
		}
		end := n
		for end < len(text) && ascii[text[end]] == alphanumeric {
			end++
		}
		if end-n <= 16 || end == len(text) || text[end] >= utf8.RuneSelf {
			return dst, max(n-1, 0)
		}
		dst = append(dst, foldedLong(text[n:end]))
		n = end + 1
	}
}

// foldedWords writes to dst, with room for blockWords or more, the hashes of the words that text begins with. It takes
// blocks while they are ASCII and dst has room for the words of one; it stops at a word of more
// than 16 bytes. What it took ends where the first word begins that it did not write, or behind a byte that is in none,
// or with the text. AVX2 takes only whole blocks that 8 bytes follow.
func foldedWords(dst []uint64, text []byte) (words, taken int) {
	if hasAVX512 {
		return foldedAVX512(dst, text)
	}
	return foldedAVX2(dst, text)
}

//go:noescape
func foldedAVX512(dst []uint64, text []byte) (words, taken int)

//go:noescape
func foldedAVX2(dst []uint64, text []byte) (words, taken int)
