package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/unionfind"
	"github.com/neardup/neardup/kernels/verifier"
)

var jaccard = verifier.Spec{Measure: verifier.Jaccard}.New()

// families are sets that share most of their elements with some others.
func families(rng *rand.Rand, families, members, size, edits int) (sets [][]uint64) {
	for range families {
		template := make([]uint64, size)
		for i := range template {
			template[i] = rng.Uint64()
		}
		for range members {
			set := slices.Clone(template)
			for range rng.IntN(edits + 1) {
				set[rng.IntN(size)] = rng.Uint64()
			}
			slices.Sort(set)
			sets = append(sets, slices.Compact(set))
		}
	}
	return sets
}

// signsOf returns the signatures of an Estimator for a run with this seed.
func signsOf(n int, seed uint64) []Sign {
	signs := []Sign{fss.New(n, seed).Sign}
	for _, seed := range Seeds(seed) {
		signs = append(signs, fss.New(n, seed).Sign)
	}
	return signs
}

// exact computes the sum by definition: it signs every two sets and compares all their keys.
func exact(sets [][]uint64, t setsim.Threshold, b lsh.Banding, signs []Sign) (sum Sum) {
	for i, a := range sets {
		for j := i + 1; j < len(sets); j++ {
			shared := setsim.Overlap(a, sets[j])
			if !t.Reached(shared, len(a), len(sets[j])) {
				continue
			}
			sum.Found++
			similarity := setsim.Similarity(shared, len(a), len(sets[j]))
			p := 1 - math.Pow(1-math.Pow(similarity, float64(b.Rows)), float64(b.Bands))
			for s, sign := range signs {
				x, y := b.Keys(nil, sign(nil, a)), b.Keys(nil, sign(nil, sets[j]))
				for band := range b.Bands {
					if x[band] == y[band] {
						sum.Millionths[s] += int64(1e6 / p)
						break
					}
				}
			}
		}
	}
	return sum
}

func TestSumEqualsDefinition(t *testing.T) {
	var before *Estimator // one for several groups, so that its memory is reused
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		b := lsh.Banding{Bands: rapid.IntRange(1, 8).Draw(t, "bands"), Rows: rapid.IntRange(1, 8).Draw(t, "rows"), AsText: rapid.Bool().Draw(t, "as text")}
		signs := signsOf(64, 5)
		threshold := setsim.Threshold{Num: uint64(rapid.IntRange(1, 9).Draw(t, "tenths")), Den: 10}
		e := New(b, signs, jaccard)
		if before != nil && before.keys == b {
			e = before
		}
		before = e
		for range rapid.IntRange(1, 3).Draw(t, "groups") {
			sets := families(rng, rapid.IntRange(0, 3).Draw(t, "families"), 8, 40, 20)
			e.Begin(sets)
			setsim.SelfJoin(sets, threshold, nil, func(i, j, shared int) bool {
				e.Pair(i, j, shared)
				return true
			})
			got, want := e.End(), exact(sets, threshold, b, signs)
			// A quotient may be rounded to the next millionth.
			off := func(a, b int64) bool { return math.Abs(float64(a-b)) > float64(got.Found) }
			for s := range signs {
				if got.Found != want.Found || off(got.Millionths[s], want.Millionths[s]) {
					t.Fatalf("%+v: got %+v, want %+v", b, got, want)
				}
			}
		}
	})
}

// Over many signatures, the pairs that share a bucket represent on average the number of all pairs, though far from all
// share one. (The sets are much larger than the signature: the values of small ones are less independent than p(J)
// assumes.)
func TestUnbiased(t *testing.T) {
	threshold := setsim.Threshold{Num: 1, Den: 2}
	sets := families(rand.New(rand.NewPCG(3, 4)), 20, 6, 1000, 350)
	const seeds = 100
	b := lsh.Banding{Bands: 4, Rows: 5}
	var estimates []float64
	found, met := 0, 0
	for seed := range uint64(seeds) {
		e := New(b, []Sign{fss.New(64, seed).Sign}, jaccard)
		e.Begin(sets)
		setsim.SelfJoin(sets, threshold, nil, func(i, j, shared int) bool {
			before := e.sum.Millionths[0]
			e.Pair(i, j, shared)
			e.count()
			if e.sum.Millionths[0] > before {
				met++
			}
			return true
		})
		sum := e.End()
		found = int(sum.Found)
		estimates = append(estimates, float64(sum.Millionths[0])/1e6)
	}
	if share := float64(met) / float64(found*seeds); share > .9 || share < .1 {
		t.Fatalf("%v of the pairs share a bucket: nothing is shown", share)
	}
	mean, square := 0., 0.
	for _, estimate := range estimates {
		mean += estimate / seeds
	}
	for _, estimate := range estimates {
		square += (estimate - mean) * (estimate - mean)
	}
	deviation := math.Sqrt(square / (seeds - 1) / seeds)
	if math.Abs(mean-float64(found)) > 4*deviation {
		t.Errorf("%v pairs on average, want %d; the standard deviation of the mean is %v", mean, found, deviation)
	}
	t.Logf("%d pairs, estimated %.1f ± %.1f", found, mean, deviation)
}

// collection is sets, and their pairs at a threshold with their similarities.
type collection struct {
	sets  [][]uint64
	pairs []similar
}

type similar struct{ i, j, shared int }

// drawn returns sets of families and as many sets outside families. A family has a template and members with some of
// its elements replaced. Elements are drawn from a vocabulary by Zipf's law, like words, or are all distinct, like
// shingles of several words.
func drawn(rng *rand.Rand, families, members, size int, edits float64, vocabulary int, t setsim.Threshold) (c collection) {
	zipf := rand.NewZipf(rng, 1.07, 8, uint64(vocabulary))
	element := func() uint64 {
		if vocabulary == 0 {
			return rng.Uint64()
		}
		return hash.Mix(zipf.Uint64() + 1)
	}
	template := func() []uint64 {
		words := make([]uint64, size)
		for i := range words {
			words[i] = element()
		}
		return words
	}
	add := func(words []uint64) {
		slices.Sort(words)
		words = slices.Compact(words)
		if !slices.ContainsFunc(c.sets, func(set []uint64) bool { return slices.Equal(set, words) }) {
			c.sets = append(c.sets, words)
		}
	}
	for range families {
		words := template()
		n := 2 + int(float64(members-2)*math.Pow(rng.Float64(), 3)) // mostly few
		for range n {
			copied := slices.Clone(words)
			for i := range copied {
				if rng.Float64() < edits {
					copied[i] = element()
				}
			}
			add(copied)
			add(template())
		}
	}
	setsim.SelfJoin(c.sets, t, nil, func(i, j, shared int) bool {
		c.pairs = append(c.pairs, similar{i, j, shared})
		return true
	})
	return c
}

// found returns the pairs of documents that keys of a seed connect, directly or through others.
func (c *collection) found(b lsh.Banding, seed uint64) (found []similar) {
	sign := fss.New(b.Signature, seed).Sign
	type bucket struct {
		band int
		key  uint32
	}
	first := map[bucket]int64{}
	var connected unionfind.Forest
	for i, set := range c.sets {
		connected.Union(int64(i), int64(i))
		for band, key := range b.Keys(nil, sign(nil, set)) {
			in := bucket{band, uint32(key >> 32)}
			if other, ok := first[in]; ok {
				connected.Union(other, int64(i))
			} else {
				first[in] = int64(i)
			}
		}
	}
	for _, p := range c.pairs {
		if connected.Find(int64(p.i)) == connected.Find(int64(p.j)) {
			found = append(found, p)
		}
	}
	return found
}

// Over 200 runs of each of ten corpora, from shingles in pairs to common words in large families, at least 93 % of the
// intervals cover the number of pairs. Seeds are fixed.
func TestIntervalCovers(t *testing.T) {
	runs := nightly.Or(200, 25)
	all, allRuns := 0, 0
	for _, c := range []struct {
		name                    string
		families, members, size int
		edits                   float64
		vocabulary, threshold   int // tenths
		bands, rows, signature  int
	}{
		{"shingles, pairs", 300, 2, 100, .08, 0, 7, 4, 4, 32},
		{"shingles, families", 60, 20, 100, .12, 0, 6, 8, 4, 32},
		{"shingles, large families", 4, 150, 120, .12, 0, 6, 13, 5, 128},
		{"words, pairs", 300, 2, 60, .1, 3000, 7, 6, 5, 32},
		{"words, families", 60, 20, 60, .12, 3000, 7, 8, 6, 64},
		{"words, large families", 4, 150, 120, .1, 3000, 7, 12, 8, 128},
		{"few words, pairs", 400, 3, 12, .1, 500, 7, 5, 4, 32},
		{"three pairs", 3, 2, 80, .04, 3000, 7, 6, 5, 32},
		{"many sure pairs", 400, 2, 80, .03, 3000, 7, 6, 5, 32},
		{"few pairs", 12, 3, 80, .1, 3000, 7, 6, 5, 32},
	} {
		rng := rand.New(rand.NewPCG(7, 8))
		threshold := setsim.Threshold{Num: uint64(c.threshold), Den: 10}
		corpus := drawn(rng, c.families, c.members, c.size, c.edits, c.vocabulary, threshold)
		b := lsh.Banding{Signature: c.signature, Bands: c.bands, Rows: c.rows}
		covered, recall, width := 0, 0., 0.
		for run := range runs {
			e := New(b, signsOf(c.signature, uint64(run)), jaccard)
			e.Begin(corpus.sets)
			for _, p := range corpus.found(b, uint64(run)) {
				e.Pair(p.i, p.j, p.shared)
			}
			sum := e.End()
			_, low, high, ok := sum.All()
			if n := float64(len(corpus.pairs)); ok && low <= n && n <= high {
				covered++
			}
			recall += float64(sum.Found) / float64(len(corpus.pairs)*runs)
			width += float64(sum.Found) * (1/low - 1/high) / float64(runs)
		}
		t.Logf("%-26s %5d pairs of %4d sets: recall %.3f, %d of %d cover, %.4f wide", c.name, len(corpus.pairs), len(corpus.sets), recall, covered, runs, width)
		if nightly.On() && covered < runs*9/10 {
			t.Errorf("%s: %d of %d intervals cover", c.name, covered, runs)
		}
		all, allRuns = all+covered, allRuns+runs
	}
	if 100*all < 93*allRuns {
		t.Errorf("%d of %d intervals cover", all, allRuns)
	}
}

// A pair with a tiny probability counts much, but not without bound.
func TestLeastProbability(t *testing.T) {
	e := New(lsh.Banding{Bands: 1, Rows: 64}, []Sign{func(_, _ []uint64) []uint64 { return make([]uint64, 64) }}, jaccard)
	e.Begin([][]uint64{{1, 2}, {2, 3}})
	e.Pair(0, 1, 1)
	if got, want := e.End(), (Sum{Found: 1, Millionths: [1 + Others]int64{1e15}}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Once it has its memory, a group allocates nothing.
func TestStorageIsKept(t *testing.T) {
	sets := families(rand.New(rand.NewPCG(5, 6)), 1, 20, 40, 10)
	e := New(lsh.Banding{Bands: 4, Rows: 4}, signsOf(64, 0), jaccard)
	group := func() {
		e.Begin(sets)
		for j := range sets {
			for i := range j {
				e.Pair(i, j, setsim.Overlap(sets[i], sets[j]))
			}
		}
		e.End()
	}
	group()
	if n := testing.AllocsPerRun(50, group); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if n := len(e.cut); n != 4*len(sets) {
		t.Errorf("%d keys of %d sets", n, len(sets))
	}
}

func TestNoBands(t *testing.T) {
	e := New(nil, nil, nil)
	e.Begin([][]uint64{{1}, {1}})
	e.Pair(0, 1, 1)
	if sum := e.End(); sum != (Sum{}) {
		t.Errorf("without bands the sum is %+v", sum)
	}
}
