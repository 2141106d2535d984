package copies

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

// The sum is that of one shingle after another, and heeds how often each is there but not where.
func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shingles := rapid.SliceOfN(rapid.Uint64(), 0, 40).Draw(t, "shingles")
		plain := uint64(0)
		for _, s := range shingles {
			plain += s
		}
		if got := Sum(rapid.Permutation(shingles).Draw(t, "shuffled")); got != plain {
			t.Errorf("got %d, want %d", got, plain)
		}
	})
	if a, b := hash.Mix(1), hash.Mix(2); Sum([]uint64{a, a, b}) == Sum([]uint64{a, b, b}) {
		t.Error("how often a shingle is there makes no difference")
	}
}
