package quality

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

type document int64

// sorted draws the sample by sorting everything.
func sorted(all []Set[document], limit int, seed uint64) []Set[document] {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Set[document]) int {
		seeded := func(s Set[document]) uint64 { return hash.Mix(s.Hash.Hi ^ hash.Mix(seed)) }
		return cmp.Or(cmp.Compare(seeded(a), seeded(b)), a.Hash.Compare(b.Hash), cmp.Compare(a.First, b.First))
	})
	all = slices.CompactFunc(all, func(a, b Set[document]) bool { return a.Hash == b.Hash })
	return all[:min(len(all), limit)]
}

var documents = rapid.Custom(func(t *rapid.T) []Set[document] {
	different := rapid.SampledFrom([]int{1, 3, 40, 1000}).Draw(t, "different")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	var all []Set[document]
	for range rapid.IntRange(0, 300).Draw(t, "documents") {
		n := rng.Uint64N(uint64(different))
		sum := hash.Sum128{Hi: hash.Mix(n / 2), Lo: hash.Mix(n)} // some differ only in the lower half
		all = append(all, Set[document]{sum, document(rng.Int64N(1000))})
	}
	return all
})

func TestSmallestEqualsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := documents.Draw(t, "all")
		limit, seed := rapid.IntRange(1, 30).Draw(t, "limit"), rapid.Uint64Range(0, 9).Draw(t, "seed")
		s := NewSmallest[document](limit, seed)
		for i, d := range all {
			s.Add(d.Hash, d.First)
			if len(s.first) >= 2*limit {
				t.Fatalf("%d sets are held", len(s.first))
			}
			if i == len(all)/2 { // an early call does not disturb the draw
				if got, want := s.Sets(), sorted(all[:i+1], limit, seed); !slices.Equal(got, want) {
					t.Fatalf("halfway %v, want %v", got, want)
				}
			}
		}
		if got, want := s.Sets(), sorted(all, limit, seed); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// Samples of parts, which may overlap, merge into that of the whole.
func TestSamplesMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := documents.Draw(t, "all")
		limit, seed := rapid.IntRange(1, 30).Draw(t, "limit"), rapid.Uint64Range(0, 9).Draw(t, "seed")
		parts := rapid.IntRange(1, 5).Draw(t, "parts")
		merged := NewSmallest[document](limit, seed)
		for part := range parts {
			s := NewSmallest[document](limit, seed)
			for i, d := range all {
				if i%parts == part || i%7 == 0 {
					s.Add(d.Hash, d.First)
				}
			}
			for _, d := range s.Sets() {
				merged.Add(d.Hash, d.First)
			}
		}
		if got, want := merged.Sets(), sorted(all, limit, seed); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// Draws with two seeds overlap as by chance: of 100 out of 1,000 sets, 10 ± 2.8 are common, and more than 30 with a
// probability below 10⁻⁹.
func TestSeedsDrawIndependently(t *testing.T) {
	drawn := map[hash.Sum128]int{}
	for seed := range uint64(2) {
		s := NewSmallest[document](100, seed)
		for i := range uint64(1000) {
			s.Add(hash.Sequence([]uint64{i}), document(i))
		}
		for _, d := range s.Sets() {
			drawn[d.Hash]++
		}
	}
	if common := 200 - len(drawn); common > 30 {
		t.Errorf("%d of 100 sets are in both draws", common)
	}
}

func BenchmarkAdd(b *testing.B) {
	sums := make([]hash.Sum128, 1<<16)
	for i := range sums {
		sums[i] = hash.Sequence([]uint64{uint64(i)})
	}
	for b.Loop() {
		s := NewSmallest[document](1000, 1)
		for i, sum := range sums {
			s.Add(sum, document(i))
		}
		s.Sets()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(sums)), "ns/document")
}
