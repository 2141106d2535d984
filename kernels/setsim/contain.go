package setsim

import "slices"

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
// It is a join like SelfJoin. If a larger set has ⌈t·n⌉ elements of a set of n, it has one of that set's n−⌈t·n⌉+1
// rarest, which are indexed; a larger set looks up all of its elements.
func SelfContain(sets [][]uint64, t Threshold, emit func(i, j, shared int) bool) {
	joinAll(sets, measure{t, true}, nil, emit)
}

// CrossContain is like SelfContain, but only for pairs of a set i of first and a set j of second, either of which may
// be the larger.
func CrossContain(first, second [][]uint64, t Threshold, emit func(i, j, shared int) bool) {
	border := len(first)
	sameSide := func(i, j int) bool { return (i < border) == (j < border) }
	joinAll(slices.Concat(first, second), measure{t, true}, sameSide, func(i, j, shared int) bool {
		return emit(i, j-border, shared)
	})
}
