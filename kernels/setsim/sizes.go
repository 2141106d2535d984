package setsim

import "math/bits"

// mostSizes is the size below which Sizes distinguishes sizes.
const mostSizes = 1 << 16

// Sizes is a set of set sizes. The zero value and nil are empty.
type Sizes struct {
	has [mostSizes / 64]uint64 // one bit per size
}

// Add adds the size of a set.
func (s *Sizes) Add(size int) {
	if size < mostSizes {
		s.has[size/64] |= 1 << (size % 64)
	}
}

// from returns the smallest size added that is at least least, or least itself if that is large or there is none.
func (s *Sizes) from(least int) int {
	for size := least; s != nil && size < mostSizes; {
		if word := s.has[size/64] >> (size % 64); word != 0 {
			return size + bits.TrailingZeros64(word)
		}
		size += 64 - size%64
	}
	return least
}

// leastOverlap returns the minimum number of elements that a set of size n shares with any similar set of these sizes,
// which include n. It exceeds MinSize if there are no smaller sets.
func (s *Sizes) leastOverlap(n int, t Threshold) int { return t.minOverlap(n, s.from(t.MinSize(n))) }
