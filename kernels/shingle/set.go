package shingle

import (
	"math/bits"
	"slices"
)

const (
	// Up to here insertion sort wins, whatever the order.
	insertionMax = 24
	// Up to here one pass puts values near their places.
	smallMax = 1 << 7
	// Up to here values fit on the stack a second time: 8 KB.
	mediumMax = 1 << 10
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
	start, crowded := int32(0), int32(2*len(s)>>width+insertionMax)
	for _, end := range ends[:mask+1] {
		if part := s[start:end]; end-start > crowded {
			slices.Sort(part) // not uniform: mostly repetitions, of which a pass for each width of bits learns nothing
		} else {
			sortUniform(part, shift)
		}
		start = end
	}
}

// sortSmall is sortUniform for up to smallMax values: they move by way of a
// copy to twice as many buckets, and insertion sort mends what order the top
// bits left open.
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

// sortMedium is sortUniform for up to mediumMax values. Two passes, of eight
// bits each, leave so little open that insertion sort goes straight through:
// where buckets are as many as values, it waits at every second one.
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

// starts turns the sizes of buckets into the places where they begin, and
// returns the largest size.
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
