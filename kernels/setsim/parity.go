package setsim

import "math/bits"

// A parity of a set has one bit for each class of elements, which is 1 if the set has an odd number of
// them. A class is the elements of the same lowest bits, so a parity has a power of two of words.
//
// Sets whose parities differ in d bits differ in d elements at least, and share at most half of the others:
// 2|A∩B| ≤ |A|+|B|−d (a bitmap filter; Sandes et al. 2020).
type parity []uint64

// elementsPerWord are so few that most elements that differ have a bit of their own.
const elementsPerWord = 32

// parityOf returns the parity of a set, in p if that has room.
func parityOf(set []uint64, p parity) parity {
	words := 1 << bits.Len(uint(len(set)/elementsPerWord))
	p = append(p[:0], make([]uint64, words)...)
	for _, element := range set {
		flip(p, element)
	}
	return p
}

func flip(p parity, element uint64) {
	p[element/64&uint64(len(p)-1)] ^= 1 << (element % 64)
}

// differing returns the number of bits in which the parities differ. The longer one is folded: its classes
// make those of the other.
func differing(a, b parity) (n int) {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == len(b) {
		for k, word := range a {
			n += bits.OnesCount64(word ^ b[k])
		}
		return n
	}
	for k, word := range a {
		for j := k; j < len(b); j += len(a) {
			word ^= b[j]
		}
		n += bits.OnesCount64(word)
	}
	return n
}
