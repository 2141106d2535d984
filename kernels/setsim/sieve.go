package setsim

import (
	"math/bits"
	"slices"
)

// A Sieve bounds how much a text can share with one set, before its shingles are made into a set. It is not safe for
// concurrent use.
type Sieve struct {
	set []uint64
	// A bit is set if an element has these top bits.
	bits  []uint64
	shift int
	// The same for the shingles that distinct has seen.
	tops [1 << seenWidth / 64]uint64
}

const (
	sieveBits    = 64      // per element,
	sieveMaxBits = 1 << 21 // but no more than a core's cache holds
	seenWidth    = 15
)

// NewSieve returns the sieve of a set, which must not change afterwards.
func NewSieve(set []uint64) *Sieve {
	width := bits.Len(uint(min(sieveBits*max(1, len(set)), sieveMaxBits) - 1))
	s := &Sieve{set: set, bits: make([]uint64, 1<<width/64), shift: 64 - width}
	for _, e := range set {
		i := e >> s.shift
		s.bits[i/64] |= 1 << (i % 64)
	}
	return s
}

// Count returns the number of shingles, repetitions included, that are elements of the set. It is at least the number
// that the set shares with the set of the shingles.
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

// AtMost returns an upper bound of the Jaccard similarity of the set and the set of the shingles, given the result of
// Count.
func (s *Sieve) AtMost(count int, shingles []uint64) float64 {
	shared := min(count, len(s.set))
	return Similarity(shared, len(s.set), max(shared, s.distinct(shingles)))
}

// distinct returns the number of distinct top bits of shingles, which is at most the size of their set.
func (s *Sieve) distinct(shingles []uint64) (n int) {
	clear(s.tops[:])
	for _, e := range shingles {
		i := e >> (64 - seenWidth)
		n += int(^s.tops[i/64] >> (i % 64) & 1)
		s.tops[i/64] |= 1 << (i % 64)
	}
	return n
}
