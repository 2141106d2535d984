package setsim

import (
	"math/bits"
	"slices"
)

// A Sieve tells how much a text can share with one set, before a set
// is made of its shingles. It is not safe for concurrent use.
type Sieve struct {
	set []uint64
	// The bit of a hash, by its top bits, is set if an element may be it.
	bits  []uint64
	shift int
	// What Distinct has seen, in the same way.
	tops [1 << seenWidth / 64]uint64
}

const (
	sieveBits    = 64      // for each element,
	sieveMaxBits = 1 << 21 // but no more than a core's cache has
	seenWidth    = 15
)

// NewSieve returns the sieve of a set, which must not change any more.
func NewSieve(set []uint64) *Sieve {
	width := bits.Len(uint(min(sieveBits*max(1, len(set)), sieveMaxBits) - 1))
	s := &Sieve{set: set, bits: make([]uint64, 1<<width/64), shift: 64 - width}
	for _, e := range set {
		i := e >> s.shift
		s.bits[i/64] |= 1 << (i % 64)
	}
	return s
}

// Count returns how many shingles, which may repeat, are elements: no
// fewer than the set shares with that of the shingles.
func (s *Sieve) Count(shingles []uint64) (n int) {
	for _, e := range shingles {
		if i := e >> s.shift; s.bits[i/64]>>(i%64)&1 == 0 {
			continue
		}
		if _, ok := slices.BinarySearch(s.set, e); ok {
			n++
		}
	}
	return n
}

// AtMost returns a bound of the Jaccard similarity of the set and that
// of the shingles, of which Count has counted so many.
func (s *Sieve) AtMost(count int, shingles []uint64) float64 {
	shared := min(count, len(s.set))
	return Similarity(shared, len(s.set), max(shared, s.distinct(shingles)))
}

// distinct returns how many shingles differ in their top bits: no more than there are in their set.
func (s *Sieve) distinct(shingles []uint64) (n int) {
	clear(s.tops[:])
	for _, e := range shingles {
		i := e >> (64 - seenWidth)
		n += int(^s.tops[i/64] >> (i % 64) & 1)
		s.tops[i/64] |= 1 << (i % 64)
	}
	return n
}
