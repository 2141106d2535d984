// Package setsim compares shingle sets exactly and finds all similar pairs of a group.
//
// A set is a sorted slice of distinct 64-bit hashes. The similarity of two sets is Jaccard's, |A∩B| / |A∪B|; whether it
// reaches a threshold is decided in integers (Threshold). SelfJoin finds every pair at or above a threshold, and
// Connect as few of them as connect the same sets; an Index finds the added sets that are similar to another one.
// BruteForce finds every pair by definition and is the oracle for all of these. CellPairs divides a group that is too
// large for one join; Prefixes and Candidates find what to compare in one whose sets share little. Background measures
// how similar unrelated sets are.
package setsim

// Overlap returns the number of elements that a and b share.
func Overlap(a, b []uint64) int {
	shared, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		// It is unpredictable which side is behind, so do not branch on it.
		shared += one(x == y)
		i += one(x <= y)
		j += one(y <= x)
	}
	return shared
}

// one compiles to a move of the flag.
func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// overlapAtLeast returns the number of elements that a and b share, or false once it must be below need. Either list
// can skip only as many elements as it has in excess of need, which a pair well below the threshold uses up early.
func overlapAtLeast[T uint32 | uint64](a, b []T, need int) (shared int, ok bool) {
	spareA, spareB := len(a)-need, len(b)-need
	if spareA < 0 || spareB < 0 {
		return 0, false
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch x, y := a[i], b[j]; {
		case x == y:
			shared++
			i++
			j++
		case x < y:
			if spareA--; spareA < 0 {
				return 0, false
			}
			i++
		default:
			if spareB--; spareB < 0 {
				return 0, false
			}
			j++
		}
	}
	return shared, shared >= need
}

// Similar reports whether the Jaccard similarity of a and b is at least t, and if so returns the number of elements
// they share.
func Similar(a, b []uint64, t Threshold) (shared int, ok bool) {
	return overlapAtLeast(a, b, t.minOverlap(len(a), len(b)))
}

// Similarity returns the Jaccard similarity of sets of a and b elements, given the number that they share, or 0 if both
// are empty. It is for display and ranking; Threshold decides.
func Similarity(shared, a, b int) float64 {
	if union := a + b - shared; union > 0 {
		return float64(shared) / float64(union)
	}
	return 0
}
