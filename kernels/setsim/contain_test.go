package setsim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// containedByMap returns the pairs by definition, in fractions of integers, across a border or among all.
func containedByMap(sets [][]uint64, border int, t Threshold) (pairs []pair) {
	for j, b := range sets {
		for i, a := range sets[:j] {
			if border > 0 && (i < border) == (j < border) {
				continue
			}
			shared, smaller := overlapByMap(a, b), min(len(a), len(b))
			if smaller > 0 && uint64(shared)*t.Den >= t.Num*uint64(smaller) && shared > 0 {
				pairs = append(pairs, pair{i, j, shared})
			}
		}
	}
	return pairs
}

func sorted(pairs []pair) []pair {
	slices.SortFunc(pairs, func(a, b pair) int { return slices.Compare([]int{a.j, a.i}, []int{b.j, b.i}) })
	return pairs
}

// The joins find the pairs of the definition: for few sets, which are compared, and many, which are indexed; for
// elements that many sets have, or few; for subsets, copies and empty sets.
func TestContain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threshold := Threshold{uint64(rapid.IntRange(1, 10).Draw(t, "tenths")), 10}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n, alphabet := rapid.IntRange(0, 3*directLimit).Draw(t, "sets"), rapid.Uint64Range(1, 400).Draw(t, "alphabet")
		var sets [][]uint64
		for range n {
			var elements []uint64
			if len(sets) > 0 && r.IntN(2) == 0 { // a part of another set, and a few more elements
				for _, e := range sets[r.IntN(len(sets))] {
					if r.IntN(4) > 0 {
						elements = append(elements, e)
					}
				}
			}
			for range r.IntN(12) {
				elements = append(elements, r.Uint64N(alphabet)*0x9e3779b97f4a7c15)
			}
			sets = append(sets, set(elements...))
		}
		if got, want := sorted(collect(SelfContain, sets, threshold)), containedByMap(sets, 0, threshold); !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", threshold, got, want)
		}
		border := rapid.IntRange(0, n).Draw(t, "border")
		var got []pair
		CrossContain(sets[:border], sets[border:], threshold, func(i, j, shared int) bool {
			got = append(got, pair{i, border + j, shared})
			return true
		})
		want := containedByMap(sets, border, threshold)
		if border == 0 {
			want = nil
		}
		if !slices.Equal(sorted(got), want) {
			t.Fatalf("%v, border %d: %v, want %v", threshold, border, got, want)
		}
	})
}

func TestContainEnds(t *testing.T) {
	for _, n := range []int{5, 2 * directLimit} {
		sets := make([][]uint64, n)
		for i := range sets {
			sets[i] = []uint64{1, 2, uint64(i + 3)}
		}
		calls := 0
		SelfContain(sets, Threshold{1, 2}, func(_, _, _ int) bool { calls++; return calls < 2 })
		if calls != 2 {
			t.Errorf("%d sets: %d calls, want 2", n, calls)
		}
	}
}
