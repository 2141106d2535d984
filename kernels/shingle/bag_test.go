package shingle

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
)

// Bags share the smaller number of occurrences of each shingle, and have as many elements as there are shingles.
func TestBag(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (shingles []uint64, counts map[uint64]int) {
			counts = map[uint64]int{}
			for _, n := range rapid.SliceOf(rapid.Uint64Max(5)).Draw(t, name) {
				shingles = append(shingles, hash.Mix(n))
				counts[hash.Mix(n)]++
			}
			return shingles, counts
		}
		a, countsA := draw("a")
		b, countsB := draw("b")
		shared := 0
		for h, n := range countsA {
			shared += min(n, countsB[h])
		}
		distinct := len(Set(slices.Clone(a)))
		bagA, bagB := Bag(slices.Clone(a)), Bag(slices.Clone(b))
		if len(bagA) != len(a) || !slices.IsSorted(bagA) || len(slices.Compact(slices.Clone(bagA))) != len(a) {
			t.Fatalf("the bag of %x is %x", a, bagA)
		}
		if got := setsim.Overlap(bagA, bagB); got != shared {
			t.Fatalf("%x and %x share %d, want %d", a, b, got, shared)
		}
		if got := setsim.Overlap(bagA, Set(slices.Clone(a))); got != distinct {
			t.Fatalf("the bag of %x has %d of its %d shingles", a, got, distinct)
		}
	})
}
