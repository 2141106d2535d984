package setsim

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestOverlaps(t *testing.T) {
	elements := rapid.SliceOf(rapid.OneOf(rapid.Uint64Range(0, 30), rapid.Uint64()))
	rapid.Check(t, func(t *rapid.T) {
		var sets [][]uint64
		for _, s := range rapid.SliceOfN(elements, 0, 40).Draw(t, "sets") {
			sets = append(sets, set(s...))
		}
		checkOverlaps(t, sets, overlapByMap)
	})
}

// TestOverlapsOfMany checks the counts of several cores.
func TestOverlapsOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	common := distinct(rng, 2000)
	var sets [][]uint64
	for elements(sets) < manyElements {
		s := distinct(rng, 300)
		copy(s, common[rng.IntN(1000):][:rng.IntN(300)])
		sets = append(sets, set(s...))
	}
	checkOverlaps(t, sets, Overlap)
}

// checkOverlaps compares Overlaps with what each two sets share, computed one after another.
func checkOverlaps(t rapid.TB, sets [][]uint64, share func(a, b []uint64) int) {
	visited := 0
	Overlaps(sets, func(i int, shared []int32) {
		if i != visited || len(shared) != i {
			t.Fatalf("visit %d is of set %d with %d numbers", visited, i, len(shared))
		}
		visited++
		for j, n := range shared {
			if want := share(sets[i], sets[j]); int(n) != want {
				t.Fatalf("sets %d and %d share %d, want %d", i, j, n, want)
			}
		}
	})
	if visited != len(sets) {
		t.Fatalf("%d of %d sets were visited", visited, len(sets))
	}
}
