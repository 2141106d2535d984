package setsim

import (
	"slices"
)

// Containment returns the fraction of the smaller set's elements that sets of a and b elements share, or 0 if one is
// empty. It is for display and ranking; Contained decides.
func Containment(shared, a, b int) float64 {
	if smaller := min(a, b); smaller > 0 {
		return float64(shared) / float64(smaller)
	}
	return 0
}

// Contained reports whether at least the fraction t of the smaller set's elements are in the larger one, and if so how
// many.
func Contained(a, b []uint64, t Threshold) (shared int, ok bool) {
	return overlapAtLeast(a, b, t.MinSize(min(len(a), len(b))))
}

// SelfContain calls emit once for every pair i < j of sets, by index, of which the larger contains at least the
// fraction t of the smaller, with the number of elements they share. It misses none. It ends if emit returns false.
//
// If a larger set has ⌈t·n⌉ elements of a set of n, it has one of that set's n−⌈t·n⌉+1 rarest. These are indexed, for
// the sets in ascending order of size, and a larger set looks up all of its elements. An index allocates about 20 bytes
// per element of the sets.
func SelfContain(sets [][]uint64, t Threshold, emit func(i, j, shared int) bool) {
	contain(sets, 0, t, func(i, j, shared int) bool { return emit(min(i, j), max(i, j), shared) })
}

// CrossContain is like SelfContain, but only for pairs of a set i of first and a set j of second, either of which may
// be the larger.
func CrossContain(first, second [][]uint64, t Threshold, emit func(i, j, shared int) bool) {
	if len(first) == 0 {
		return
	}
	border := len(first)
	contain(slices.Concat(first, second), border, t, func(i, j, shared int) bool {
		return emit(min(i, j), max(i, j)-border, shared)
	})
}

// contain emits all pairs or, unless border is 0, those of a set before border and a set from border on.
func contain(sets [][]uint64, border int, t Threshold, emit func(i, j, shared int) bool) {
	order, ordered := bySize(sets)
	apart := func(x, y int) bool { return border > 0 && (order[x] < border) == (order[y] < border) }
	if len(ordered) <= directLimit {
		for x, set := range ordered {
			for y, smaller := range ordered[:x] {
				if apart(x, y) {
					continue
				}
				if shared, ok := Contained(smaller, set, t); ok && !emit(order[y], order[x], shared) {
					return
				}
			}
		}
		return
	}
	lists, numbers := numberShared(ordered, portionSize, ranges(ordered)) // rare elements have low numbers
	rarest := func(x int) []uint32 { return prefix(lists[x], len(ordered[x]), t.MinSize(len(ordered[x]))) }
	starts := make([]int, numbers+1)
	for x := range lists {
		for _, w := range rarest(x) {
			starts[w+1]++
		}
	}
	for w := range numbers {
		starts[w+1] += starts[w]
	}
	ends, postings := slices.Clone(starts[:numbers]), make([]uint32, starts[numbers])
	metBy := make([]uint32, len(lists)) // last set that met it, plus 1
	var met []uint32
	for x, list := range lists {
		for i, w := range list {
			for _, y := range postings[starts[w]:ends[w]] {
				// This is the first element that the two share, so all that they share is from here on.
				if metBy[y] == uint32(x)+1 || apart(x, int(y)) || len(list)-i < t.MinSize(len(ordered[y])) {
					continue
				}
				metBy[y] = uint32(x) + 1
				met = append(met, y)
			}
		}
		slices.Sort(met)
		for _, y := range met {
			shared, ok := overlapAtLeast(list, lists[y], t.MinSize(len(ordered[y])))
			if ok && !emit(order[y], order[x], shared) {
				return
			}
		}
		met = met[:0]
		for _, w := range rarest(x) {
			postings[ends[w]] = uint32(x)
			ends[w]++
		}
	}
}
