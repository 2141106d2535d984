package setsim

import "math/bits"

// mostSizes is the size up to which Sizes knows one from the other.
const mostSizes = 1 << 16

// Sizes are those of many sets. The zero value has none, and so has nil.
type Sizes struct {
	has [mostSizes / 64]uint64 // a bit for each size
}

// Add adds the size of a set.
func (s *Sizes) Add(size int) {
	if size < mostSizes {
		s.has[size/64] |= 1 << (size % 64)
	}
}

// from returns the smallest size that was added and is no less than
// least. It is least itself if that is large, or if there is none.
func (s *Sizes) from(least int) int {
	for size := least; s != nil && size < mostSizes; {
		if word := s.has[size/64] >> (size % 64); word != 0 {
			return size + bits.TrailingZeros64(word)
		}
		size += 64 - size%64
	}
	return least
}

// leastOverlap returns how many elements a set of n shares at least with any similar one of these sizes, which n is
// among. That is more than MinSize where others are no smaller.
func (s *Sizes) leastOverlap(n int, t Threshold) int { return t.minOverlap(n, s.from(t.MinSize(n))) }
