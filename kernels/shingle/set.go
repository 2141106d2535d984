package shingle

import (
	"math/bits"
	"slices"
)

const (
	// Up to this length, insertion sort is fastest in any order.
	insertionMax = 24
	// Up to this length, one pass puts values near their places.
	smallMax = 1 << 7
	// Up to this length, a copy of the values fits on the stack: 8 KiB.
	mediumMax = 1 << 10
	// 2^11 counters and as many positions take 16 KiB, which fits in the L1 cache.
	maxRadixBits = 11
)

// Set sorts shingles and removes duplicates, both in place, and returns the sorted set.
//
// Hashes are uniform, so the top bits alone put each within a few places of its final one. Values that are not uniform
// cost more, but never more than a comparison sort and one pass per 11 bits.
func Set(shingles []uint64) []uint64 {
	sortUniform(shingles, 64)
	return slices.Compact(shingles)
}

// sortUniform sorts values that agree in all but their low low bits.
func sortUniform(s []uint64, low int) {
	switch {
	case len(s) <= smallMax:
		sortSmall(s, low)
		return
	case len(s) <= mediumMax:
		sortMedium(s, low)
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
			// Carry a value to its bucket, then the one that it displaces, until one belongs in b, where the first one
			// left a gap.
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
	start, crowded := int32(0), int32(2*len(s)>>width+insertionMax)
	for _, end := range ends[:mask+1] {
		if part := s[start:end]; end-start > crowded {
			slices.Sort(part) // not uniform: mostly repetitions, which further passes would not separate
		} else {
			sortUniform(part, shift)
		}
		start = end
	}
}

// sortSmall is sortUniform for up to smallMax values. They move through a copy into twice as many buckets, and
// insertion sort completes the order that the top bits left open.
func sortSmall(s []uint64, low int) {
	if len(s) <= insertionMax {
		insertionSort(s)
		return
	}
	width := min(bits.Len(uint(len(s))), low)
	shift := low - width
	mask := uint64(1)<<width - 1

	var next [2 * smallMax]uint16
	for _, v := range s {
		next[v>>(shift&63)&mask]++
	}
	if starts(next[:mask+1]) > insertionMax {
		slices.Sort(s) // not uniform
		return
	}
	var copied [smallMax]uint64
	scatter(s, copied[:copy(copied[:], s)], next[:], shift, mask)
	insertionSort(s)
}

// sortMedium is sortUniform for up to mediumMax values. Two passes of eight bits each leave so little to do that
// insertion sort runs straight through: with as many buckets as values it would stall at every second one.
func sortMedium(s []uint64, low int) {
	shift := max(0, low-16)
	var top, second [1 << 8]uint16
	for _, v := range s {
		top[v>>(shift&63)>>8&0xff]++
		second[v>>(shift&63)&0xff]++
	}
	if starts(top[:]) > insertionMax {
		slices.Sort(s) // not uniform
		return
	}
	starts(second[:])
	var room [mediumMax]uint64
	copied := room[:len(s)]
	scatter(copied, s, second[:], shift, 0xff)
	scatter(s, copied, top[:], shift+8, 0xff)
	insertionSort(s)
}

// starts turns the sizes of buckets into the places where they begin, and returns the largest size.
func starts(next []uint16) (most uint16) {
	end := uint16(0)
	for b, n := range next {
		most = max(most, n)
		next[b] = end
		end += n
	}
	return most
}

// scatter moves values to their buckets' next places.
func scatter(to, from []uint64, next []uint16, shift int, mask uint64) {
	for _, v := range from {
		at := &next[v>>(shift&63)&mask]
		to[*at] = v
		*at++
	}
}

func insertionSort(s []uint64) {
	for i := 1; i < len(s); i++ {
		v := s[i]
		if s[i-1] <= v {
			continue // nearly always
		}
		j := i
		for ; j > 0 && s[j-1] > v; j-- {
			s[j] = s[j-1]
		}
		s[j] = v
	}
}
