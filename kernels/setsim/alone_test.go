package setsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A lonely set has no partner, and the count of shared elements is never below the true one. In a sketch with enough
// room the two are equal, except by chance.
func TestAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		pool := rapid.IntRange(1, 400).Draw(t, "pool")
		threshold := Threshold{uint64(rapid.IntRange(1, 10).Draw(t, "tenths")), 10}
		var sets [][]uint64
		elements, counts := 0, map[uint64]int{}
		for range rapid.IntRange(1, 30).Draw(t, "sets") {
			has := map[uint64]bool{}
			for range 1 + r.IntN(30) {
				has[uint64(r.IntN(pool))*0x9e3779b97f4a7c15] = true
			}
			var set []uint64
			for hash := range has {
				set = append(set, hash)
				counts[hash]++
			}
			slices.Sort(set)
			sets = append(sets, set)
			elements += len(set)
		}
		alone, crowded := NewAlone(elements, 1), newAlone(6, 1) // 64 slots
		parts := rapid.IntRange(2, 5).Draw(t, "parts")
		part := NewAlone(elements, parts)
		for _, set := range sets {
			for _, sketch := range []*Alone{alone, crowded, part} {
				sketch.Count(set)
			}
		}
		for i, a := range sets {
			shared, inPart := 0, 0
			for _, hash := range a {
				if counts[hash] > 1 {
					shared++
				}
				if counts[hash] > 1 || hash > ^uint64(0)/uint64(parts) {
					inPart++
				}
			}
			if got := alone.sharedOf(a); got < shared || got > shared+2 {
				t.Errorf("%d elements are shared, want %d", got, shared)
			}
			if got := part.sharedOf(a); got < inPart || got > inPart+2 {
				t.Errorf("by one of %d parts %d elements are shared, want %d", parts, got, inPart)
			}
			if got := crowded.sharedOf(a); got < shared {
				t.Errorf("in a crowded sketch %d elements are shared, want %d at least", got, shared)
			}
			for j, b := range sets {
				both := 0
				for _, x := range a {
					for _, y := range b {
						if x == y {
							both++
						}
					}
				}
				if i != j && threshold.Reached(both, len(a), len(b)) && (alone.Lonely(a, threshold) || crowded.Lonely(a, threshold) || part.Lonely(a, threshold)) {
					t.Errorf("a set that shares %d of %d elements with one of %d is lonely", both, len(a), len(b))
				}
			}
		}
	})
}

// sharedOf returns the number of elements of a set that may be shared.
func (a *Alone) sharedOf(set []uint64) (n int) {
	for _, hash := range set {
		n += a.shared(hash)
	}
	return n
}

// One part suffices to recognise most sets that have nothing in common with others.
func TestParts(t *testing.T) {
	for num, want := range map[uint64]int{50: 1, 74: 1, 75: 2, 80: 2, 85: 3, 90: 4, 99: 4, 100: 4} {
		threshold := Threshold{num, 100}
		if got := threshold.Parts(); got != want {
			t.Errorf("%v: %d parts, want %d", threshold, got, want)
		}
		sets := unrelated(400, 200)
		alone := NewAlone(400*200, threshold.Parts())
		for _, set := range sets {
			slices.Sort(set)
			alone.Count(set)
		}
		lonely := 0
		for _, set := range sets {
			if alone.Lonely(set, threshold) {
				lonely++
			}
		}
		if lonely < 390 {
			t.Errorf("%v: %d of 400 sets are lonely", threshold, lonely)
		}
	}
}

// Sets are lonely exactly if they share too few elements: too few for the smallest other set that is not too small.
func TestLonely(t *testing.T) {
	all := make([]uint64, 40)
	for i := range all {
		all[i] = uint64(i+1) << 58 // slots of their own
	}
	for tenths := range uint64(10) {
		threshold := Threshold{tenths + 1, 10}
		for shared := range 11 {
			for _, smallest := range []int{1, 5, 8, 9, 10, 30} {
				alone := NewAlone(40, 1)
				alone.Count(all[:10])
				for i := range shared { // each in a different set
					alone.Count(append(all[i:i+1:i+1], all[10:10+smallest-1]...))
				}
				need := threshold.minOverlap(10, 10) // with a set of its own size
				if smallest <= 10 && shared > 0 && smallest >= threshold.MinSize(10) {
					need = threshold.minOverlap(10, smallest)
				}
				if got, want := alone.Lonely(all[:10], threshold), shared < need; got != want {
					t.Errorf("a set of 10 that shares %d with sets of %d is lonely at %v: %v", shared, smallest, threshold, got)
				}
			}
		}
	}
}

func BenchmarkAlone(b *testing.B) {
	threshold := Threshold{4, 5}
	for _, n := range []int{2000, 100_000} {
		sets := unrelated(n, 250)
		for _, set := range sets {
			slices.Sort(set)
		}
		for _, parts := range []int{1, threshold.Parts()} {
			b.Run(fmt.Sprint(n, "/", parts), func(b *testing.B) {
				for b.Loop() {
					alone := NewAlone(n*250, parts)
					for _, set := range sets {
						alone.Count(set)
					}
					for _, set := range sets {
						alone.Lonely(set, threshold)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n)/250, "ns/element")
			})
		}
	}
}

// unrelated returns n sets of this size that have nothing in common.
func unrelated(n, size int) (sets [][]uint64) {
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		set := make([]uint64, size)
		for i := range set {
			set[i] = r.Uint64()
		}
		sets = append(sets, set)
	}
	return sets
}
