package setsim

import (
	"testing"

	"pgregory.net/rapid"
)

// The smallest size from a given one on is that of a set, however large.
func TestSizesFrom(t *testing.T) {
	var sizes Sizes
	for _, size := range []int{3, 64, 65, 1000, mostSizes - 1, mostSizes, 2 * mostSizes} {
		sizes.Add(size)
	}
	for from, want := range map[int]int{
		0: 3, 3: 3, 4: 64, 64: 64, 65: 65, 66: 1000, 1001: mostSizes - 1, mostSizes - 1: mostSizes - 1, mostSizes: mostSizes, mostSizes + 1: mostSizes + 1,
	} {
		if got := sizes.from(from); got != want {
			t.Errorf("from %d on it is %d, want %d", from, got, want)
		}
	}
}

// No similar set of these sizes shares fewer elements, and one may share as many.
func TestLeastOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.IntRange(1, 200), 1, 10).Draw(t, "sizes")
		threshold := Threshold{uint64(rapid.IntRange(1, 10).Draw(t, "tenths")), 10}
		var sizes Sizes
		for _, size := range all {
			sizes.Add(size)
		}
		n := all[0]
		want := n
		for _, other := range all {
			if need := threshold.minOverlap(n, other); need <= min(n, other) {
				want = min(want, need)
			}
		}
		if got := sizes.leastOverlap(n, threshold); got != want {
			t.Errorf("%d of %d, want %d", got, n, want)
		}
	})
}
