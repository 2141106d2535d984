package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/setsim"
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

// exact is the sum by definition: every two sets are signed and all their keys compared.
func exact(sets [][]uint64, t setsim.Threshold, b lsh.Banding, sign func(dst, set []uint64) []uint64) (sum Sum) {
	for i, a := range sets {
		for j := i + 1; j < len(sets); j++ {
			shared := setsim.Overlap(a, sets[j])
			if !t.Reached(shared, len(a), len(sets[j])) {
				continue
			}
			sum.Found++
			similarity := setsim.Similarity(shared, len(a), len(sets[j]))
			p := 1 - math.Pow(1-math.Pow(similarity, float64(b.Rows)), float64(b.Bands))
			sum.Deviation += int64(1e6 * math.Sqrt(1-p) / p)
			x, y := b.Keys(nil, sign(nil, a)), b.Keys(nil, sign(nil, sets[j]))
			for band := range b.Bands {
				if x[band] == y[band] {
					sum.Millionths += int64(1e6 / p)
					break
				}
			}
		}
	}
	return sum
}

func TestSumEqualsDefinition(t *testing.T) {
	var before *Estimator // one for several groups, so that storage is used again
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		b := lsh.Banding{Bands: rapid.IntRange(1, 8).Draw(t, "bands"), Rows: rapid.IntRange(1, 8).Draw(t, "rows"), AsText: rapid.Bool().Draw(t, "as text")}
		sign := fss.New(64, 5).Sign
		threshold := setsim.Threshold{Num: uint64(rapid.IntRange(1, 9).Draw(t, "tenths")), Den: 10}
		e := New(b, sign, jaccard)
		if before != nil && before.keys == b {
			e = before
		}
		before = e
		for range rapid.IntRange(1, 3).Draw(t, "groups") {
			sets := families(rng, rapid.IntRange(0, 3).Draw(t, "families"), 8, 40, 20)
			e.Begin(sets)
			setsim.SelfJoin(sets, threshold, func(i, j, shared int) bool {
				e.Pair(i, j, shared)
				return true
			})
			got, want := e.sum, exact(sets, threshold, b, sign)
			// A quotient may be rounded to the next millionth.
			if got.Found != want.Found || math.Abs(float64(got.Millionths-want.Millionths)) > float64(got.Found) ||
				math.Abs(float64(got.Deviation-want.Deviation)) > float64(got.Found) {
				t.Fatalf("%+v: got %+v, want %+v", b, got, want)
			}
		}
	})
}

// Over many signatures, what the pairs that share a bucket stand for is the number of all pairs on
// average, though far from all of them share one. (The sets are much larger than the signature:
// the values of small ones are not as good as independent, which p(J) takes for granted.)
func TestUnbiased(t *testing.T) {
	threshold := setsim.Threshold{Num: 1, Den: 2}
	sets := families(rand.New(rand.NewPCG(3, 4)), 20, 6, 1000, 350)
	const seeds = 100
	b := lsh.Banding{Bands: 4, Rows: 5}
	var estimates []float64
	found, met := 0, 0
	for seed := range uint64(seeds) {
		e := New(b, fss.New(64, seed).Sign, jaccard)
		e.Begin(sets)
		setsim.SelfJoin(sets, threshold, func(i, j, shared int) bool {
			before := e.sum
			e.Pair(i, j, shared)
			if e.sum.Millionths > before.Millionths {
				met++
			}
			return true
		})
		found = int(e.sum.Found)
		estimates = append(estimates, float64(e.sum.Millionths)/1e6)
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

// A pair of hardly any chance counts much, but not without bound.
func TestLeastProbability(t *testing.T) {
	e := New(lsh.Banding{Bands: 1, Rows: 64}, func(_, _ []uint64) []uint64 { return make([]uint64, 64) }, jaccard)
	e.Begin([][]uint64{{1, 2}, {2, 3}})
	e.Pair(0, 1, 1)
	if want := (Sum{1, 1e15, 1e15 - 500_001}); e.sum != want {
		t.Errorf("got %+v, want %+v", e.sum, want)
	}
}

// Once the storage is there, a group allocates nothing.
func TestStorageIsKept(t *testing.T) {
	sets := families(rand.New(rand.NewPCG(5, 6)), 1, 20, 40, 10)
	e := New(lsh.Banding{Bands: 4, Rows: 4}, fss.New(64, 0).Sign, jaccard)
	group := func() {
		e.Begin(sets)
		for j := range sets {
			for i := range j {
				e.Pair(i, j, setsim.Overlap(sets[i], sets[j]))
			}
		}
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
	if e.sum != (Sum{}) {
		t.Errorf("without bands the sum is %+v", e.sum)
	}
}
