package setsim

import "math/bits"

// A parity of a set has one bit per class of elements, which is 1 if the set has an odd number of them. A class is the
// elements with the same lowest bits, so the number of words is a power of two.
//
// Sets whose parities differ in d bits differ in at least d elements, and share at most half of the others: 2|A∩B| ≤
// |A|+|B|−d (a bitmap filter; Sandes et al. 2020).
type parity []uint64

// elementsPerWord is small enough that most elements in which sets differ have a bit of their own.
const elementsPerWord = 32

// parityOf returns the parity of a set, in p if its capacity suffices.
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

// differing returns the number of bits in which the parities differ. It folds the longer one, whose classes divide
// those of the shorter one.
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
