package setsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

type orderedJoin func(sets [][]uint64, border int, t Threshold, emit func(x, y, shared int) bool)

// coreFrom joins with a core that begins at a fraction of the numbers, whether or not it pays.
func coreFrom(share float64) orderedJoin {
	return func(sets [][]uint64, border int, t Threshold, emit func(x, y, shared int) bool) {
		lists, numbers := numberShared(sets, portionSize, ranges(sets))
		c := newCore(lists, int(share*float64(numbers)), numbers)
		directJoin(sets, border, measure{t: t}, nil, c.overlap, emit)
	}
}

// upTo returns at most the first most pairs of a join of sets of ascending size.
func upTo(most int, j orderedJoin, sets [][]uint64, border int, t Threshold) []pair {
	var pairs []pair
	j(sets, border, t, func(x, y, shared int) bool {
		pairs = append(pairs, pair{x, y, shared})
		return len(pairs) < most
	})
	return pairs
}

// Whatever elements are bits, the core form finds the pairs of the plain joins in the same order, and stops when told
// to. So does the join that chooses between the forms.
func TestCoreJoinEqualsPlainJoins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, sets := bySize(rapid.OneOf(families, crowds).Draw(t, "sets"))
		border := 0
		if len(sets) > 1 && rapid.Bool().Draw(t, "cross") {
			border = rapid.IntRange(1, len(sets)-1).Draw(t, "border")
		}
		ways := map[string]orderedJoin{
			"index":  indexJoin,
			"core":   coreFrom(rapid.SampledFrom([]float64{0, .1, .5, .9, 1}).Draw(t, "share")),
			"chosen": chosenJoin,
		}
		most := rapid.SampledFrom([]int{1, 7, math.MaxInt}).Draw(t, "most")
		for _, v := range []float64{.05, .3, .5, .7, .8, .9, 1} {
			th := threshold(t, v)
			want := upTo(most, plainJoin, sets, border, th)
			for name, way := range ways {
				if got := upTo(most, way, sets, border, th); !slices.Equal(got, want) {
					t.Fatalf("t=%v, border %d: %s finds %v, direct %v", v, border, name, got, want)
				}
			}
		}
	})
}

// templates returns sets around n templates of one size, with this many variants each, in which edits elements are
// replaced. Half of the replacements are shared with few other sets.
func templates(n, variants, size, edits int) (sets [][]uint64) {
	rng := rand.New(rand.NewPCG(13, 14))
	for range n {
		template := distinct(rng, size)
		for range variants {
			s := slices.Clone(template)
			for k, i := range rng.Perm(size)[:edits] {
				s[i] = rng.Uint64()
				if k%2 == 0 {
					s[i] = hash.Mix(rng.Uint64N(uint64(100 * edits)))
				}
			}
			sets = append(sets, set(s...))
		}
	}
	rng.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
	return sets
}

// Sets around few templates are joined by their core, and others are not.
func TestCoreIsChosen(t *testing.T) {
	for _, c := range []struct {
		name string
		sets [][]uint64
		want bool
	}{
		{"a template", templates(1, 200, 300, 15), true},
		{"two templates", templates(2, 100, 300, 15), true},
		{"many templates", templates(100, 10, 300, 15), false},
		{"a template of few elements", templates(1, 200, 20, 1), false},
		{"a template and others", slices.Concat(templates(1, 300, 300, 15), recombined(2000)), false},
		{"recombined", recombined(2000), false},
		{"empty", make([][]uint64, 100), false},
	} {
		_, sets := bySize(c.sets)
		if _, got := newPrefixLists(sets, 0, measure{t: Threshold{4, 5}}).core(0); got != c.want {
			t.Errorf("%s: chosen %v", c.name, got)
		}
	}
}

// BenchmarkSelfJoinOfTemplate joins variants of one template. Pairs with 40 replaced elements of 1,300 each are all
// similar, and those with 135 hardly ever.
func BenchmarkSelfJoinOfTemplate(b *testing.B) {
	for _, edits := range []int{40, 135} {
		_, sets := bySize(templates(1, 3000, 1300, edits))
		count := func(pairs *int) func(x, y, shared int) bool {
			return func(_, _, _ int) bool { *pairs++; return true }
		}
		b.Run(fmt.Sprintf("edits=%d/SelfJoin", edits), func(b *testing.B) {
			for b.Loop() {
				pairs := 0
				SelfJoin(sets, Threshold{4, 5}, nil, count(&pairs))
				b.ReportMetric(float64(pairs), "pairs")
			}
		})
		b.Run(fmt.Sprintf("edits=%d/index", edits), func(b *testing.B) {
			for b.Loop() {
				pairs := 0
				indexJoin(sets, 0, Threshold{4, 5}, count(&pairs))
				b.ReportMetric(float64(pairs), "pairs")
			}
		})
	}
}
