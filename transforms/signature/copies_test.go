package signature

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/hash"
)

// TestCopies compares the table with a map from sorted shingles, over several growths and a bundle's
// end: documents are copies that have the same shingles, each as often, in any order.
func TestCopies(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	var seen copies
	for bundle := range 2 {
		seen.reset()
		model := map[[3]uint64]blocks.Key{}
		copied := 0
		for i := range 5 * usualSeen {
			// Few different ones at first, so that some are copies; all values are hashes.
			doc := [3]uint64{hashed(random.Uint64N(1 << 18)), hashed(random.Uint64N(2)), hashed(random.Uint64N(2))}
			sorted := doc
			slices.Sort(sorted[:])
			key := blocks.NewKey(0, int64(i))
			want, isCopy := model[sorted]
			if got, ok := seen.first(doc[:], key); ok != isCopy || got != want {
				t.Fatalf("bundle %d, document %d: copy of %v, %v; want %v, %v", bundle, i, got, ok, want, isCopy)
			}
			if isCopy {
				copied++
			} else {
				model[sorted] = key
			}
		}
		if copied == 0 || len(model) < 2*usualSeen {
			t.Fatalf("%d copies of %d documents: nothing is shown", copied, len(model))
		}
	}
}

// hashed is as a shingle is: sums of values that are not mixed meet by chance of another kind.
func hashed(x uint64) uint64 { return hash.Mix(x) }

// TestCopiesAreBounded: a full table forgets, and goes on.
func TestCopiesAreBounded(t *testing.T) {
	var seen copies
	seen.reset()
	for i := range maxSeen + 1 {
		if _, ok := seen.first([]uint64{hashed(uint64(i))}, blocks.NewKey(0, int64(i))); ok {
			t.Fatalf("document %d is taken for a copy", i)
		}
	}
	if len(seen.slots) > 2*maxSeen {
		t.Errorf("%d slots", len(seen.slots))
	}
	if first, ok := seen.first([]uint64{hashed(maxSeen)}, 0); !ok || first.Position() != maxSeen {
		t.Errorf("the last document is forgotten: %v, %v", first, ok)
	}
}
