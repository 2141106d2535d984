package dedup

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
)

// E(r) is the mean over all pairs, by the definition.
func TestBackgroundEqualsAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	common := make([]uint64, 40)
	for i := range common {
		common[i] = r.Uint64()
	}
	var sets [][]uint64
	for range 120 {
		var set []uint64
		for range r.IntN(30) {
			set = append(set, r.Uint64())
		}
		for range 1 + r.IntN(20) {
			set = append(set, common[r.IntN(len(common))])
		}
		sets = append(sets, shingle.Set(set))
	}
	const limit = .4
	similarities := []float64{limit}
	for i, a := range sets {
		for _, b := range sets[:i] {
			in := map[uint64]bool{}
			for _, s := range a {
				in[s] = true
			}
			shared := 0
			for _, s := range b {
				if in[s] {
					shared++
				}
			}
			if j := setsim.Similarity(shared, len(a), len(b)); j < limit {
				similarities = append(similarities, j)
			}
		}
	}
	got := setsim.Background(sets, limit, lsh.MaxSignature)
	for rows := range lsh.MaxSignature + 1 {
		sum := 0.
		for _, j := range similarities {
			sum += math.Pow(j, float64(rows))
		}
		if want := sum / float64(len(similarities)); math.Abs(got[rows]-want) > 1e-15+1e-9*want {
			t.Errorf("E(%d) = %g, want %g", rows, got[rows], want)
		}
	}
}
