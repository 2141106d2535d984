package setsim

import (
	"slices"
)

// Containment returns the share of the smaller one's elements that sets of a and b elements share, and 0 for an
// empty one. It is for display and ranking; Contained decides.
func Containment(shared, a, b int) float64 {
	if smaller := min(a, b); smaller > 0 {
		return float64(shared) / float64(smaller)
	}
	return 0
}

// Contained reports whether at least t of the smaller set's elements are in the larger one, and how many they share
// if so.
func Contained(a, b []uint64, t Threshold) (shared int, ok bool) {
	return overlapAtLeast(a, b, t.MinSize(min(len(a), len(b))))
}

// SelfContain calls emit once for every pair i < j of sets, by their indexes in the slice, of which the larger contains
// at least t of the smaller, with the number of elements they share. It misses none. A false from emit ends it.
//
// A set of n elements of which a larger one has ⌈t·n⌉ shares with it one of its n−⌈t·n⌉+1 rarest: these are indexed, of
// the sets in ascending order of size, and a larger set looks for all of its elements. An index allocates some 20 bytes
// per element of the sets.
func SelfContain(sets [][]uint64, t Threshold, emit func(i, j, shared int) bool) {
	contain(sets, 0, t, func(i, j, shared int) bool { return emit(min(i, j), max(i, j), shared) })
}

// CrossContain is SelfContain of pairs of a set i of first and a set j of second only, whichever is the larger.
func CrossContain(first, second [][]uint64, t Threshold, emit func(i, j, shared int) bool) {
	if len(first) == 0 {
		return
	}
	border := len(first)
	contain(slices.Concat(first, second), border, t, func(i, j, shared int) bool {
		return emit(min(i, j), max(i, j)-border, shared)
	})
}

// contain emits all pairs or, unless border is 0, those of a set before it and one from it on.
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
	metBy := make([]uint32, len(lists)) // the last set that met it, plus 1
	var met []uint32
	for x, list := range lists {
		for i, w := range list {
			for _, y := range postings[starts[w]:ends[w]] {
				// Where the two meet first, all that they share is from here on.
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
