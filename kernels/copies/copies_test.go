package copies

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

type document int64

// hashed is as a shingle is: sums of values that are not mixed meet by chance of another kind.
func hashed(x uint64) uint64 { return hash.Mix(x) }

// The table says what a map from sorted shingles says, over several growths and a reset.
func TestFirstEqualsMap(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	var table Table[document]
	for round := range 2 {
		model := map[[3]uint64]document{}
		copied := 0
		for i := range document(5 * usual) {
			// Few different ones at first, so that some are copies.
			shingles := [3]uint64{hashed(random.Uint64N(1 << 18)), hashed(random.Uint64N(2)), hashed(random.Uint64N(2))}
			sorted := shingles
			slices.Sort(sorted[:])
			want, isCopy := model[sorted]
			if got, ok := table.First(shingles[:], i); ok != isCopy || got != want {
				t.Fatalf("round %d, document %d: copy of %v, %v; want %v, %v", round, i, got, ok, want, isCopy)
			}
			if isCopy {
				copied++
			} else {
				model[sorted] = i
			}
		}
		if copied == 0 || len(model) < 2*usual {
			t.Fatalf("%d copies of %d documents: nothing is shown", copied, len(model))
		}
		table.Reset()
	}
}

// The sum is that of one shingle after another, and heeds how often each is there but not where.
func TestMultiset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shingles := rapid.SliceOfN(rapid.Uint64(), 0, 40).Draw(t, "shingles")
		plain := uint64(0)
		for _, s := range shingles {
			plain += s
		}
		if got := multiset(rapid.Permutation(shingles).Draw(t, "shuffled")); got != plain {
			t.Errorf("got %d, want %d", got, plain)
		}
	})
	if a, b := hashed(1), hashed(2); multiset([]uint64{a, a, b}) == multiset([]uint64{a, b, b}) {
		t.Error("how often a shingle is there makes no difference")
	}
}

// A full table forgets, and goes on.
func TestBounded(t *testing.T) {
	var table Table[document]
	for i := range document(most + 1) {
		if _, ok := table.First([]uint64{hashed(uint64(i))}, i); ok {
			t.Fatalf("document %d is taken for a copy", i)
		}
	}
	if len(table.slots) > 2*most {
		t.Errorf("%d slots", len(table.slots))
	}
	if first, ok := table.First([]uint64{hashed(most)}, 0); !ok || first != most {
		t.Errorf("the last document is forgotten: %v, %v", first, ok)
	}
	if _, ok := table.First([]uint64{hashed(0)}, 0); ok {
		t.Error("the first document is not forgotten")
	}
}

func BenchmarkFirst(b *testing.B) {
	for _, n := range []int{300, 60_000, 1 << 20} {
		shingles := make([]uint64, n)
		for i := range shingles {
			shingles[i] = hashed(uint64(i))
		}
		b.Run(fmt.Sprintf("documents=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var table Table[document]
				for i := range shingles {
					table.First(shingles[i:i+1], document(i))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/document")
		})
	}
}
