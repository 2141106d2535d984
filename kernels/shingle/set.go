package shingle

import (
	"math/bits"
	"slices"
)

const (
	// Up to here insertion sort wins, whatever the order.
	insertionMax = 24
	// Up to here values fit on the stack a second time: 8 KB.
	smallMax = 1 << 10
	// 2^11 counters and as many positions are 16 KB, inside the L1 cache.
	maxRadixBits = 11
)

// Set sorts shingles, drops repetitions, both in place, and returns the sorted
// set.
//
// Hashes are uniform, so their top bits alone put each within a few places of
// its own. Values that are not uniform cost more, but never more than a
// comparing sort and one pass for every 11 bits.
func Set(shingles []uint64) []uint64 {
	sortUniform(shingles, 64)
	return slices.Compact(shingles)
}

// sortUniform sorts values that agree in all but their low bits.
func sortUniform(s []uint64, low int) {
	if len(s) <= smallMax {
		sortSmall(s, low)
		return
	}
	width := min(bits.Len(uint(len(s)))-1, maxRadixBits, low)
	shift := low - width
	mask := uint64(1)<<width - 1

	var ends, next [1 << maxRadixBits]int32
	for _, v := range s {
		ends[v>>shift&mask]++
	}
	end := int32(0)
	for b := range mask + 1 {
		next[b] = end
		end += ends[b]
		ends[b] = end
	}
	for b := range mask + 1 {
		for next[b] < ends[b] {
			// Carry a value to its bucket, and on with the one it displaces,
			// until one is at home in b, where the first left a gap.
			v := s[next[b]]
			for home := ^b; home != b; {
				home = v >> shift & mask
				at := next[home]
				next[home]++
				s[at], v = v, s[at]
			}
		}
	}
	if shift == 0 {
		return
	}
	start := int32(0)
	for _, end := range ends[:mask+1] {
		sortUniform(s[start:end], shift)
		start = end
	}
}

// sortSmall is sortUniform for up to smallMax values: they move by way of a
// copy, and insertion sort mends what order the top bits left open.
func sortSmall(s []uint64, low int) {
	if len(s) <= insertionMax {
		insertionSort(s)
		return
	}
	width := min(bits.Len(uint(len(s)))-1, low)
	shift := low - width
	mask := uint64(1)<<width - 1

	var next [smallMax]uint16
	for _, v := range s {
		next[v>>shift&mask]++
	}
	end := uint16(0)
	for b, n := range next[:mask+1] {
		if n > insertionMax {
			slices.Sort(s) // not uniform
			return
		}
		next[b] = end
		end += n
	}
	var copied [smallMax]uint64
	for _, v := range copied[:copy(copied[:], s)] {
		b := v >> shift & mask
		s[next[b]] = v
		next[b]++
	}
	insertionSort(s)
}

func insertionSort(s []uint64) {
	for i := 1; i < len(s); i++ {
		v := s[i]
		j := i
		for ; j > 0 && s[j-1] > v; j-- {
			s[j] = s[j-1]
		}
		s[j] = v
	}
}
