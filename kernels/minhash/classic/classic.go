// Package classic computes textbook MinHash signatures (Broder 1997; Leskovec, Rajaraman and Ullman, Mining of Massive
// Datasets, §3.3.5): value i of a set is the minimum of h_i over its elements, the integers that a dictionary of all
// shingles assigns to them.
//
// The family is universal hashing modulo a prime:
//
//	h(x) = ((a mod c)·(x mod c) mod c + b mod c) mod c
//
// where c is the first prime above N, the number of distinct shingles, and the a and the b of all functions are drawn
// without replacement from 1…N. Hence 0 < a < c, and every h is a permutation of 0…c−1: it reorders the rows of the
// characteristic matrix.
package classic

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/neardup/neardup/kernels/hash"
)

// FormatID identifies the definition above, together with the way in which a seed determines a and b.
const FormatID = "classic-1"

// maxDistinct keeps the prime, and sums of two values below it, far from 2^64.
const maxDistinct = 1 << 62

// A Signer computes signatures of one family. It is safe for concurrent use.
type Signer struct {
	c    uint64
	a, b []uint64
}

// New returns a Signer of n functions for elements 0…distinct−1. It returns an error if distinct is below n, since the
// functions are drawn without replacement from that many numbers.
func New(n int, distinct, seed uint64) (*Signer, error) {
	switch {
	case n < 1:
		return nil, fmt.Errorf("%d hash functions: must be at least 1", n)
	case distinct < uint64(n):
		return nil, fmt.Errorf("the documents have %d distinct shingles, but %d hash functions need at least as many",
			distinct, n)
	case distinct > maxDistinct:
		return nil, fmt.Errorf("%d distinct shingles: at most %d", distinct, uint64(maxDistinct))
	}
	next := hash.SplitMix64(seed)
	return &Signer{c: primeAbove(distinct), a: draw(n, distinct, next), b: draw(n, distinct, next)}, nil
}

// Sign returns the minimum of each function over the elements of a set, which may be in any order. It overwrites dst
// and reuses its memory if that suffices. The empty set has no signature: the result has length 0.
func (s *Signer) Sign(dst, elements []uint64) []uint64 {
	if len(elements) == 0 {
		return dst[:0]
	}
	if cap(dst) < len(s.a) {
		dst = make([]uint64, len(s.a))
	}
	dst = dst[:len(s.a)]
	if s.c <= math.MaxUint32 {
		s.signSmall(dst, elements)
	} else {
		s.signLarge(dst, elements)
	}
	return dst
}

// signSmall requires a prime below 2^32: a·x + b fits in 64 bits, and one division suffices.
func (s *Signer) signSmall(dst, elements []uint64) {
	for i, a := range s.a {
		b, least := s.b[i], uint64(math.MaxUint64)
		for _, x := range elements {
			least = min(least, (a*(x%s.c)+b)%s.c)
		}
		dst[i] = least
	}
}

func (s *Signer) signLarge(dst, elements []uint64) {
	for i := range s.a {
		least := uint64(math.MaxUint64)
		for _, x := range elements {
			least = min(least, s.Value(i, x))
		}
		dst[i] = least
	}
}

// Function returns the coefficients of h_i, with a and b below c.
func (s *Signer) Function(i int) (a, b, c uint64) { return s.a[i] % s.c, s.b[i] % s.c, s.c }

// Value returns h_i(x).
func (s *Signer) Value(i int, x uint64) uint64 {
	high, low := bits.Mul64(s.a[i]%s.c, x%s.c)
	return (bits.Rem64(high, low, s.c) + s.b[i]%s.c) % s.c
}

// primeAbove returns the first prime above n. Below 2^64 the test of package big is exact.
func primeAbove(n uint64) uint64 {
	for n++; !new(big.Int).SetUint64(n).ProbablyPrime(0); n++ {
	}
	return n
}

// draw draws n of the numbers 1…limit without replacement, each ordered choice with equal probability: the beginning of
// a shuffle, of which only the moved numbers are held.
func draw(n int, limit uint64, next func() uint64) []uint64 {
	moved := map[uint64]uint64{}
	at := func(i uint64) uint64 {
		if v, ok := moved[i]; ok {
			return v
		}
		return i + 1
	}
	drawn := make([]uint64, n)
	for i := range uint64(n) {
		j := i + below(limit-i, next)
		drawn[i] = at(j)
		moved[j] = at(i)
	}
	return drawn
}

// below returns a number in 0…limit−1, all equally likely (Lemire 2019).
func below(limit uint64, next func() uint64) uint64 {
	for {
		high, low := bits.Mul64(next(), limit)
		if low >= -limit%limit {
			return high
		}
	}
}
