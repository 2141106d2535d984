package setsim

import (
	"math/bits"
	"slices"
)

// A Sieve tells whether a text shares shingles with one set, before a set is made of its own. It is safe for
// concurrent use.
type Sieve struct {
	set []uint64
	// The bit of a hash, by its top bits, is set if an element may be it.
	bits  []uint64
	shift int
}

// A sieve has so many bits for each element, and no more than fit a core's cache: 256 KB.
const (
	sieveBits    = 64
	sieveMaxBits = 1 << 21
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

// Has reports whether at least n shingles, which may repeat, are elements. So many does the set share at most with
// that of the shingles.
func (s *Sieve) Has(shingles []uint64, n int) bool {
	if n <= 0 {
		return true
	}
	for _, e := range shingles {
		if i := e >> s.shift; s.bits[i/64]>>(i%64)&1 == 0 {
			continue
		}
		if _, ok := slices.BinarySearch(s.set, e); !ok {
			continue
		}
		if n--; n == 0 {
			return true
		}
	}
	return false
}
