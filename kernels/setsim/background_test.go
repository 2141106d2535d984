package setsim

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The means are those of the definition, over all pairs of sets compared one by one.
func TestBackground(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.OneOf(families, crowds).Draw(t, "sets")
		limit := rapid.SampledFrom([]float64{.01, .25, .4, .5}).Draw(t, "limit")
		const rows = 40
		pairs := 0
		var similarities []float64
		for i := range sets {
			for j := range i {
				pairs++
				if s := Similarity(Overlap(sets[i], sets[j]), len(sets[i]), len(sets[j])); s < limit {
					similarities = append(similarities, s)
				}
			}
		}
		copies := rapid.IntRange(0, 100).Draw(t, "copies")
		documents := len(sets) + copies
		got := Background(sets, int64(documents), limit, rows)
		if len(got) != rows+1 || got[0] != 1 {
			t.Fatalf("%d means, the first %v", len(got), got[0])
		}
		for r := 1; r <= rows; r++ {
			want := math.Pow(limit, float64(r)) / float64(1+documents*(documents-1)/2)
			for _, s := range similarities {
				want += math.Pow(s, float64(r)) / float64(1+pairs)
			}
			// Negligible terms are omitted.
			if math.Abs(got[r]-want) > 1e-12*want+negligible {
				t.Fatalf("E(%d) = %v, want %v", r, got[r], want)
			}
		}
	})
}

// If nothing is known, the worst is assumed: all pairs at the limit.
func TestBackgroundOfNothing(t *testing.T) {
	for r, e := range Background(nil, 0, .5, 10) {
		if want := math.Pow(.5, float64(r)); e != want {
			t.Errorf("E(%d) = %v, want %v", r, e, want)
		}
	}
}

// Equal sets are one set here, but count as several documents.
func TestBackgroundOfCopies(t *testing.T) {
	for r, e := range Background([][]uint64{{1, 2, 3}}, 5, .5, 10) {
		if want := math.Pow(.5, float64(r)) / 11; r > 0 && e != want {
			t.Errorf("E(%d) = %v, want %v", r, e, want)
		}
	}
}

func BenchmarkBackground(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	common := distinct(rng, 2000)
	sets := make([][]uint64, 2000)
	for i := range sets {
		s := distinct(rng, 200)
		for k := range 20 {
			s[k] = common[rng.IntN(len(common))]
		}
		sets[i] = set(s...)
	}
	for b.Loop() {
		Background(sets, int64(len(sets)), .4, 1024)
	}
}
