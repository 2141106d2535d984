//go:build !purego

package token

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/sys/cpu"
)

// blockWords is the maximum number of words that end in a block.
const blockWords = blockBytes / 2

var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2
	hasAVX512 = hasAVX2 && cpu.X86.HasPOPCNT && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW &&
		cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2
)

// wordsAtOnce bounds a call of the assembly, which cannot be preempted, to a few microseconds.
const wordsAtOnce = 1 << 12

// foldedFast implements FoldedASCII for a prefix of text, of n bytes; n is 0 without AVX2. No word crosses the end of
// the prefix. foldedPlain processes the rest: the first non-ASCII byte, and some words before it.
func foldedFast(dst []uint64, text []byte) (tokens []uint64, n int) {
	if !hasAVX2 || len(text) == 0 { // an empty text may have no address
		return dst, 0
	}
	dst, n = foldedBlocks(dst, text)
	if hasAVX512 {
		return dst, n
	}
	// AVX2 processes whole blocks that 8 bytes follow. Copy the last bytes and add zeros to make whole blocks.
	if rest := text[n:]; len(rest) < 2*blockBytes {
		var tail [2*blockBytes + 8]byte
		whole := (copy(tail[:], rest) + blockBytes) / blockBytes * blockBytes // a zero ends the last word
		var room [3 * blockWords]uint64                                       // so that dst does not grow too early
		words, last := foldedBlocks(room[:0], tail[:whole+8])
		dst, n = append(dst, words...), n+min(last, len(rest))
	}
	return dst, n
}

// foldedBlocks is like foldedFast. With AVX2 it omits the last bytes, which do not fill a block.
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

// foldedWords writes the hashes of the words at the start of text to dst, which must have room for at least blockWords.
// It processes blocks while they are ASCII and dst has room for the words of one more, and stops at a word of more than
// 16 bytes. The part of text that it took ends at the first word that it did not write, after a byte outside words, or
// at the end of text. AVX2 processes only whole blocks that 8 bytes follow.
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
