package setsim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

type pair struct{ i, j, shared int }

type join func(sets [][]uint64, t Threshold, emit func(i, j, shared int) bool)

func collect(j join, sets [][]uint64, t Threshold) []pair {
	var pairs []pair
	j(sets, t, func(i, j, shared int) bool {
		pairs = append(pairs, pair{i, j, shared})
		return true
	})
	return pairs
}

func threshold(t interface{ Fatal(...any) }, v float64) Threshold {
	th, err := ParseThreshold(v)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// set returns the sorted distinct elements.
func set(elements ...uint64) []uint64 {
	slices.Sort(elements)
	return slices.Compact(elements)
}

// overlapByMap is Overlap by definition.
func overlapByMap(a, b []uint64) int {
	in := make(map[uint64]bool)
	for _, x := range a {
		in[x] = true
	}
	shared := 0
	for _, x := range b {
		if in[x] {
			shared++
		}
	}
	return shared
}

func TestOverlap(t *testing.T) {
	elements := rapid.SliceOf(rapid.OneOf(rapid.Uint64Range(0, 30), rapid.Uint64()))
	rapid.Check(t, func(t *rapid.T) {
		a, b := set(elements.Draw(t, "a")...), set(elements.Draw(t, "b")...)
		want := overlapByMap(a, b)
		if got := Overlap(a, b); got != want {
			t.Fatalf("Overlap = %d, want %d", got, want)
		}
		for need := 1; need <= want+2; need++ {
			got, ok := overlapAtLeast(a, b, need)
			if ok != (want >= need) || ok && got != want {
				t.Fatalf("overlapAtLeast(%d) = %d, %v with %d shared", need, got, ok, want)
			}
		}
	})
}

func TestSimilarity(t *testing.T) {
	for _, c := range []struct {
		shared, a, b int
		want         float64
	}{{0, 0, 0, 0}, {0, 3, 4, 0}, {4, 5, 4, .8}, {3, 3, 3, 1}} {
		if got := Similarity(c.shared, c.a, c.b); got != c.want {
			t.Errorf("Similarity(%d, %d, %d) = %v, want %v", c.shared, c.a, c.b, got, c.want)
		}
	}
}

// families draws realistic groups: originals and their copies, equal or with some elements dropped and added, over a
// pool of elements that many sets have. Elements are hashes or, against code that relies on hashes, integers.
var families = rapid.Custom(func(t *rapid.T) [][]uint64 {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	element := hash.Mix
	if rapid.Bool().Draw(t, "raw") {
		element = func(x uint64) uint64 { return x }
	}
	pool := uint64(rapid.SampledFrom([]int{1, 30, 500}).Draw(t, "pool"))
	poolShare := rapid.SampledFrom([]float64{0, .2, .9}).Draw(t, "poolShare")
	mostSize := rapid.SampledFrom([]int{1, 5, 40, 300}).Draw(t, "mostSize")
	next := pool
	draw := func() uint64 {
		if rng.Float64() < poolShare {
			return element(rng.Uint64N(pool))
		}
		next++
		return element(next)
	}
	var sets [][]uint64
	for range rapid.IntRange(0, 12).Draw(t, "originals") {
		var original []uint64
		for range 1 + rng.IntN(mostSize) {
			original = append(original, draw())
		}
		for range 1 + rng.IntN(8) {
			edits := rng.Float64() * rng.Float64() * float64(rng.IntN(2))
			var edited []uint64
			for _, x := range original {
				if rng.Float64() >= edits {
					edited = append(edited, x)
				}
				if rng.Float64() < edits/2 {
					edited = append(edited, draw())
				}
			}
			sets = append(sets, set(edited...))
		}
	}
	if rapid.Bool().Draw(t, "empties") {
		sets = append(sets, nil, nil)
	}
	rng.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
	return sets
})

func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j))
}

func TestSelfJoinEqualsBruteForce(t *testing.T) {
	// All ways of joining groups of every size; the public one chooses a way.
	ways := map[string]join{"SelfJoin": selfJoin, "direct": ofSorted(plainJoin), "index": ofSorted(indexJoin)}
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.OneOf(families, crowds).Draw(t, "sets")
		for _, v := range []float64{.05, .3, .5, .7, .8, .9, 1} {
			th := threshold(t, v)
			want := collect(comparingAll, sets, th)
			for name, way := range ways {
				got := collect(way, sets, th)
				slices.SortFunc(got, comparePairs)
				if !slices.Equal(got, want) {
					t.Fatalf("t=%v, %s: %d pairs, brute force %d:\n%v\n%v", v, name, len(got), len(want), got, want)
				}
			}
		}
	})
}

func plainJoin(sets [][]uint64, border int, t Threshold, emit func(x, y, shared int) bool) {
	directJoin(sets, border, measure{t: t}, nil, overlaps(sets), emit)
}

func indexJoin(sets [][]uint64, border int, t Threshold, emit func(x, y, shared int) bool) {
	newPrefixLists(sets, border, measure{t: t}).join(border, nil, emit)
}

func chosenJoin(sets [][]uint64, border int, t Threshold, emit func(x, y, shared int) bool) {
	joinOrdered(sets, border, measure{t: t}, nil, emit)
}

func selfJoin(sets [][]uint64, t Threshold, emit func(i, j, shared int) bool) {
	SelfJoin(sets, t, nil, emit)
}

// ofSorted turns a join of sets of ascending size into one of sets in any order.
func ofSorted(j func(sets [][]uint64, border int, t Threshold, emit func(x, y, shared int) bool)) join {
	return func(sets [][]uint64, t Threshold, emit func(i, j, shared int) bool) {
		order, ordered := bySize(sets)
		j(ordered, 0, t, func(x, y, shared int) bool {
			return emit(min(order[x], order[y]), max(order[x], order[y]), shared)
		})
	}
}

func TestSelfJoinOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := families.Draw(t, "sets")
		pairs := collect(selfJoin, sets, threshold(t, .3))
		later := func(i, j int) int { return cmp.Or(cmp.Compare(len(sets[i]), len(sets[j])), cmp.Compare(i, j)) }
		key := func(p pair) (larger, smaller int) {
			if later(p.i, p.j) > 0 {
				return p.i, p.j
			}
			return p.j, p.i
		}
		for k := 1; k < len(pairs); k++ {
			largerA, smallerA := key(pairs[k-1])
			largerB, smallerB := key(pairs[k])
			if cmp.Or(later(largerA, largerB), later(smallerA, smallerB)) >= 0 {
				t.Fatalf("%v before %v", pairs[k-1], pairs[k])
			}
		}
	})
}

func TestEmitStopsTheJoin(t *testing.T) {
	equal := slices.Repeat([][]uint64{set(1, 2, 3)}, directLimit+2)
	for name, j := range map[string]join{"direct": selfJoin, "brute force": comparingAll, "index": selfJoin} {
		sets := equal
		if name == "direct" {
			sets = equal[:directLimit]
		}
		calls := 0
		j(sets, Threshold{1, 2}, func(int, int, int) bool {
			calls++
			return calls < 3
		})
		if calls != 3 {
			t.Errorf("%s: %d calls, want 3", name, calls)
		}
	}
}

// Pairs at exactly the threshold belong to the result, and pairs one element below do not, whatever other sets do to
// the order of the elements.
func TestSelfJoinAtTheBound(t *testing.T) {
	for _, c := range []struct {
		t           float64
		both, a, b  int
		wantReached bool
	}{
		{.8, 4, 1, 0, true}, {.8, 8, 1, 1, true}, {.8, 8, 2, 0, true}, {.8, 7, 1, 1, false}, {.8, 80, 13, 7, true}, {.8, 79, 13, 7, false},
		{.7, 7, 3, 0, true}, {.7, 7, 1, 2, true}, {.9, 9, 0, 1, true}, {.3, 3, 4, 3, true}, {.3, 2, 3, 2, false},
		{.05, 1, 10, 9, true}, {.05, 1, 10, 10, false}, {1, 6, 0, 0, true}, {1, 6, 1, 0, false},
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		for range 10 {
			shared := distinct(rng, c.both)
			sets := [][]uint64{
				set(slices.Concat(shared, distinct(rng, c.a))...),
				set(slices.Concat(shared, distinct(rng, c.b))...),
			}
			for range 2 * directLimit { // makes some of the shared elements frequent
				sets = append(sets, set(slices.Concat(shared[:rng.IntN(len(shared))], distinct(rng, 400))...))
			}
			reached := false
			SelfJoin(sets, threshold(t, c.t), nil, func(i, j, n int) bool {
				reached = reached || i == 0 && j == 1 && n == c.both
				return true
			})
			if reached != c.wantReached {
				t.Fatalf("%+v: found %v", c, reached)
			}
		}
	}
}

func distinct(rng *rand.Rand, n int) []uint64 {
	var s []uint64
	for range n {
		s = append(s, rng.Uint64())
	}
	return s
}

// Numbers against a count by map and a sort of everything.
func TestNumberShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := families.Draw(t, "sets")
		frequency := make(map[uint64]int)
		for _, s := range sets {
			for _, x := range s {
				frequency[x]++
			}
		}
		var shared []uint64
		for x, n := range frequency {
			if n > 1 {
				shared = append(shared, x)
			}
		}
		slices.SortFunc(shared, func(x, y uint64) int {
			return cmp.Or(cmp.Compare(frequency[x], frequency[y]), cmp.Compare(x, y))
		})
		numbers := make(map[uint64]uint32)
		for number, x := range shared {
			numbers[x] = uint32(number)
		}
		portion := rapid.SampledFrom([]int{8, 100, portionSize}).Draw(t, "portion")
		ranges := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "ranges")
		lists, n := numberShared(sets, portion, ranges)
		if n != len(shared) {
			t.Fatalf("%d numbers, want %d", n, len(shared))
		}
		for i, s := range sets {
			var want []uint32
			for _, x := range s {
				if number, ok := numbers[x]; ok {
					want = append(want, number)
				}
			}
			slices.Sort(want)
			if !slices.Equal(lists[i], want) {
				t.Fatalf("set %d: numbers %v, want %v", i, lists[i], want)
			}
		}
	})
}

// recombined returns sets of 225 elements on average, like those of word shingles: three in four elements occur nowhere
// else, the others are phrases from a Zipf law, and every fourth set is an edited copy of an earlier one.
func recombined(n int) [][]uint64 {
	rng := rand.New(rand.NewPCG(5, 6))
	phrases := rand.NewZipf(rng, 1.1, 50, 1<<22)
	fresh := uint64(1 << 32)
	draw := func() uint64 {
		if rng.IntN(4) == 0 {
			return hash.Mix(phrases.Uint64())
		}
		fresh++
		return hash.Mix(fresh)
	}
	sets := make([][]uint64, n)
	for i := range sets {
		var s []uint64
		if i > 0 && rng.IntN(4) == 0 {
			edits := .4 * rng.Float64()
			for _, x := range sets[rng.IntN(i)] {
				if rng.Float64() < edits {
					x = draw()
				}
				s = append(s, x)
			}
		} else {
			for range 20 + rng.IntN(430) {
				s = append(s, draw())
			}
		}
		sets[i] = set(s...)
	}
	return sets
}

func BenchmarkSelfJoin(b *testing.B) {
	sets := recombined(100_000)
	for _, v := range []float64{.5, .8, .9} {
		b.Run(fmt.Sprintf("t=%v", v), func(b *testing.B) {
			b.ReportAllocs()
			pairs := 0
			for b.Loop() {
				pairs = len(collect(selfJoin, sets, threshold(b, v)))
			}
			b.ReportMetric(float64(pairs), "pairs")
		})
	}
}

func BenchmarkSelfJoinOfComponent(b *testing.B) {
	for _, n := range []int{2, 8, directLimit, directLimit + 1, 100} {
		b.Run(fmt.Sprintf("sets=%d", n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(7, 8))
			base := distinct(rng, 225)
			var sets [][]uint64
			for range n {
				s := slices.Clone(base)
				for range 15 {
					s[rng.IntN(len(s))] = rng.Uint64()
				}
				sets = append(sets, set(s...))
			}
			for b.Loop() {
				SelfJoin(sets, Threshold{4, 5}, nil, func(int, int, int) bool { return true })
			}
		})
	}
}

// BenchmarkNumberShared numbers the elements of a large group, of a crowd around one template, and of a small
// component.
func BenchmarkNumberShared(b *testing.B) {
	for _, c := range []struct {
		name string
		sets [][]uint64
	}{
		{"recombined", recombined(20_000)},
		{"crowd", variants(5000, 300, 15)},
		{"component", variants(50, 300, 15)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			elements := 0
			for _, s := range c.sets {
				elements += len(s)
			}
			for b.Loop() {
				numberShared(c.sets, portionSize, ranges(c.sets))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(elements), "ns/element")
		})
	}
}

func BenchmarkOverlap(b *testing.B) {
	for _, both := range []int{91, 333, 444, 474} { // J = .1, .5, .8, .9
		rng := rand.New(rand.NewPCG(9, 10))
		var as, bs [256][]uint64 // more than the branch predictor learns
		for i := range as {
			shared := distinct(rng, both)
			as[i] = set(slices.Concat(shared, distinct(rng, 500-both))...)
			bs[i] = set(slices.Concat(shared, distinct(rng, 500-both))...)
		}
		b.Run(fmt.Sprintf("exact/shared=%d", both), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				Overlap(as[i%256], bs[i%256])
			}
		})
		b.Run(fmt.Sprintf("atLeast/shared=%d", both), func(b *testing.B) {
			need := Threshold{4, 5}.minOverlap(500, 500)
			for i := 0; b.Loop(); i++ {
				overlapAtLeast(as[i%256], bs[i%256], need)
			}
		})
	}
}

// comparingAll calls emit for the same pairs as SelfJoin, ordered by i and then j, after comparing all of them. It ends
// if emit returns false.
func comparingAll(sets [][]uint64, t Threshold, emit func(i, j, shared int) bool) {
	for i, a := range sets {
		for j := i + 1; j < len(sets); j++ {
			shared := Overlap(a, sets[j])
			if t.Reached(shared, len(a), len(sets[j])) && !emit(i, j, shared) {
				return
			}
		}
	}
}
