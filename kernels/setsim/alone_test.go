package setsim

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// A set that is lonely has no partner, and what is shared is never less than what other sets have of it. In a sketch with room the two
// are the same, but for chance.
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
			sets = append(sets, set)
			elements += len(set)
		}
		alone := NewAlone(elements)
		crowded := &Alone{slots: make([]uint64, 2), shift: 64 - 6} // 64 slots
		for _, set := range sets {
			alone.Count(set)
			crowded.Count(set)
		}
		for i, a := range sets {
			shared := 0
			for _, hash := range a {
				if counts[hash] > 1 {
					shared++
				}
			}
			if got := alone.Shared(a); got < shared || got > shared+2 {
				t.Errorf("%d elements are shared, want %d", got, shared)
			}
			if got := crowded.Shared(a); got < shared {
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
				if i != j && threshold.Reached(both, len(a), len(b)) && (alone.Lonely(a, threshold) || crowded.Lonely(a, threshold)) {
					t.Errorf("a set that shares %d of %d elements with one of %d is lonely", both, len(a), len(b))
				}
			}
		}
	})
}

// Sets of which nobody else has enough are lonely, to the element: enough for the smallest other set that there is, if it
// is not too small.
func TestLonely(t *testing.T) {
	all := make([]uint64, 40)
	for i := range all {
		all[i] = uint64(i+1) << 58 // slots of their own
	}
	for tenths := range uint64(10) {
		threshold := Threshold{tenths + 1, 10}
		for shared := range 11 {
			for _, smallest := range []int{1, 5, 8, 9, 10, 30} {
				alone := NewAlone(40)
				alone.Count(all[:10])
				for i := range shared { // each of some other set
					alone.Count(append(all[i:i+1:i+1], all[10:10+smallest-1]...))
				}
				need := threshold.MinOverlap(10, 10) // with one of its own size
				if smallest <= 10 && shared > 0 && smallest >= threshold.MinSize(10) {
					need = threshold.MinOverlap(10, smallest)
				}
				if got, want := alone.Lonely(all[:10], threshold), shared < need; got != want {
					t.Errorf("a set of 10 that shares %d with sets of %d is lonely at %v: %v", shared, smallest, threshold, got)
				}
			}
		}
	}
}

func BenchmarkAlone(b *testing.B) {
	sets := unrelated(2000, 250)
	for b.Loop() {
		alone := NewAlone(2000 * 250)
		for _, set := range sets {
			alone.Count(set)
		}
		for _, set := range sets {
			alone.Shared(set)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2000/250, "ns/element")
}

// unrelated returns sets that have nothing in common, of so many elements each.
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
