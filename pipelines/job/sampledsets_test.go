package job

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
)

// setOf returns the set of n hashes from first on.
func setOf(first, n uint64) []uint64 {
	set := make([]uint64, n)
	for i := range set {
		set[i] = hash.Mix(first + uint64(i))
	}
	slices.Sort(set)
	return set
}

// A sample of few shingles is held entirely; of a larger one the sets of smallest hash are held, in whatever order they
// are added.
func TestSampledSets(t *testing.T) {
	const each = mostOfSet / 2
	for _, n := range []int{10, 3 * mostShingles / each} {
		var want []uint64 // the first shingle of each
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		for round := range 3 {
			s := newSampledSets()
			for _, i := range append(order, order[0], order[n-1]) {
				set := make([]uint64, each)
				set[0] = uint64(i) + 1
				s.add(hash.Sum128{Hi: uint64(i)}, set)
			}
			sets, different := s.all()
			if different != n || len(sets) != min(n, mostShingles/each) {
				t.Fatalf("%d sets: %d different, %d held", n, different, len(sets))
			}
			var got []uint64
			for _, set := range sets {
				got = append(got, set[0])
			}
			if round == 0 {
				want = got
			}
			if !slices.Equal(got, want) || !slices.IsSorted(got) || got[0] != 1 {
				t.Errorf("%d sets, round %d: held are %v, want %v", n, round, got, want)
			}
			rand.New(rand.NewPCG(1, uint64(round))).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
	}
}

// A large set is thinned, and is as similar to others as before.
func TestLargeSetsAreThinned(t *testing.T) {
	const n = 3 * mostOfSet
	a, b := thin(setOf(0, n)), thin(setOf(n/2, n))
	if len(a) > mostOfSet || len(a) < mostOfSet/2 {
		t.Errorf("%d of %d shingles are held", len(a), n)
	}
	if got := setsim.Similarity(setsim.Overlap(a, b), len(a), len(b)); got < 0.32 || got > 0.35 {
		t.Errorf("similarity %v, want about 1/3", got)
	}
	if whole := setOf(0, mostOfSet); !slices.Equal(thin(whole), whole) {
		t.Error("a set that is small enough is thinned")
	}
}
