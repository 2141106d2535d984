//go:build !purego

package simhash

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/kernels/vector"
)

// Every possible entry, alone and among as many as are added at once, is estimated as accurately as estimateNormal
// assumes.
func TestEstimatesAreAccurate(t *testing.T) { onEachProcessor(t, testAccuracy) }

// onEachProcessor runs a test with AVX-512, and without it.
func onEachProcessor(t *testing.T, test func(t *testing.T)) {
	if !hasAVX2 {
		t.Skip("other processors estimate nothing")
	}
	if hasAVX512 {
		t.Run("AVX-512", test)
		hasAVX512 = false
		defer func() { hasAVX512 = true }()
	}
	t.Run("AVX2", test)
}

func testAccuracy(t *testing.T) {
	s := New(32, Normal, 7)
	rng := rand.New(rand.NewPCG(1, 2))
	sums := func(features []uint64) (estimated, exact []float64) {
		var room [2 * entriesAtOnce]float64
		estimated = estimateSums(&room, features, s.masks, curves())
		for k := range estimated {
			exact = append(exact, float64(s.normalSum(features, s.masks[k/perNormalHash], k%perNormalHash)))
		}
		return estimated, exact
	}
	seen := make(map[float64]bool)
	most := 0.
	for range 1 << 16 {
		estimated, exact := sums([]uint64{rng.Uint64()})
		for k := range exact {
			seen[exact[k]] = true
			most = max(most, math.Abs(estimated[k]-exact[k]))
		}
	}
	distinct := slices.Clone(quantiles()[:])
	slices.Sort(distinct)
	if want := len(slices.Compact(distinct)); len(seen) != want || most > inaccuracy-.25 {
		t.Errorf("of %d entries of %d, one is off by %v, want %v at most", len(seen), want, most, inaccuracy-.25)
	}
	for range 1000 {
		features := make([]uint64, 1+rng.IntN(featuresAtOnce))
		for i := range features {
			features[i] = rng.Uint64()
		}
		estimated, exact := sums(features)
		for k := range exact {
			if off := math.Abs(estimated[k] - exact[k]); off > inaccuracy*float64(len(features)) {
				t.Fatalf("the sum of %d features is off by %v", len(features), off)
			}
		}
	}
}

// Signatures by estimates equal those by all sums, whether the sums are near 0 or all large.
func TestEstimatesDecideNothingElse(t *testing.T) { onEachProcessor(t, testDecisions) }

func testDecisions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 3 * featuresAtOnce {
		features := make([]uint64, n)
		for i := range features {
			if features[i] = rng.Uint64(); n%3 == 0 && i > 0 {
				features[i] = features[0]
			}
		}
		s := New(1+rng.IntN(MaxBits), Normal, rng.Uint64())
		got := s.Sign(nil, vector.Vector{Features: features})
		hasAVX2 = false
		want := s.Sign(nil, vector.Vector{Features: features})
		hasAVX2 = true
		if !slices.Equal(got, want) {
			t.Fatalf("%d features: %x, want %x", n, got, want)
		}
	}
}
