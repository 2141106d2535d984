package setsim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Each way of joining omits pairs of two sets that are apart, and no others.
func TestApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, sets := bySize(rapid.OneOf(families, crowds).Draw(t, "sets"))
		share := rapid.SampledFrom([]int{1, 5, 9, 10}).Draw(t, "tenths")
		alone := make([]bool, len(sets))
		for i := range alone {
			alone[i] = rapid.IntRange(0, 9).Draw(t, "tenth") < share
		}
		sevenths := rapid.IntRange(0, 7).Draw(t, "sevenths")
		apart := func(x, y int) bool { return alone[x] && alone[y] || (x+y)%7 < sevenths }
		border := 0
		if len(sets) > 1 && rapid.Bool().Draw(t, "cross") {
			border = rapid.IntRange(1, len(sets)-1).Draw(t, "border")
		}
		// The core begins at a fraction of the numbers.
		lists, numbers := numberShared(sets, portionSize, ranges(sets))
		core := newCore(lists, numbers/2, numbers)
		for _, v := range []float64{.05, .5, .8, 1} {
			th := threshold(t, v)
			var want []pair
			plainJoin(sets, border, th, func(x, y, shared int) bool {
				if !apart(x, y) {
					want = append(want, pair{y, x, shared})
				}
				return true
			})
			slices.SortFunc(want, comparePairs)
			for name, way := range map[string]func(func(x, y, shared int) bool){
				"direct": func(emit func(x, y, shared int) bool) {
					directJoin(sets, border, measure{t: th}, apart, overlaps(sets), emit)
				},
				"core": func(emit func(x, y, shared int) bool) {
					directJoin(sets, border, measure{t: th}, apart, core.overlap, emit)
				},
				"index": func(emit func(x, y, shared int) bool) {
					newPrefixLists(sets, border, measure{t: th}).join(border, apart, emit)
				},
				"joined": func(emit func(x, y, shared int) bool) {
					if border == 0 {
						SelfJoin(sets, th, apart, func(i, j, shared int) bool { return emit(j, i, shared) })
						return
					}
					crossApart := func(i, j int) bool { return apart(i, border+j) }
					CrossJoin(sets[:border], sets[border:], th, crossApart, func(i, j, shared int) bool {
						return emit(border+j, i, shared)
					})
				},
			} {
				var got []pair
				way(func(x, y, shared int) bool {
					got = append(got, pair{y, x, shared})
					return true
				})
				slices.SortFunc(got, comparePairs)
				if !slices.Equal(got, want) {
					t.Fatalf("t=%v, border %d: %s finds %v, want %v", v, border, name, got, want)
				}
			}
		}
	})
}

// Two sets that are both apart are no candidates by rare elements, either.
func TestCandidatesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.OneOf(families, crowds).Draw(t, "sets")
		th := threshold(t, rapid.SampledFrom([]float64{.3, .5, .8}).Draw(t, "threshold"))
		apart := func(i uint32) bool { return i%3 != 0 }
		postings := rarePostings(sets, th, sketch(t, sets))
		type both struct{ i, j uint32 }
		var want, got []both
		Candidates(slices.Clone(postings), th, func(i, j uint32) bool {
			if !apart(i) || !apart(j) {
				want = append(want, both{i, j})
			}
			return true
		})
		for i := range postings {
			postings[i].Apart = apart(postings[i].Set)
		}
		Candidates(postings, th, func(i, j uint32) bool {
			got = append(got, both{i, j})
			return true
		})
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
