package radix

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type document int64

type band struct {
	Key      uint64
	Document document
}

type element struct {
	Key      uint64
	Document uint32
}

func compareBands(a, b band) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Document, b.Document))
}

// keys draws keys of 64−skip bits: uniform, a few distinct ones, or all in one run.
func keys(t *rapid.T, n, skip int) []uint64 {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	different := rapid.SampledFrom([]int{1, 2, 5, 100, 1 << 20}).Draw(t, "different keys")
	narrow := rapid.SampledFrom([]int{0, 0, 10, 60}).Draw(t, "equal upper bits")
	var all []uint64
	for range n {
		key := uint64(rng.IntN(different)) * 0x9e3779b97f4a7c15 // the first is 0
		all = append(all, key>>min(63, skip+narrow))
	}
	return all
}

func TestSortEqualsLibrary(t *testing.T) {
	var s Sorter[band, document] // one for all, so that its memory is reused
	rapid.Check(t, func(t *rapid.T) {
		skip := rapid.SampledFrom([]int{0, 1, 24, 60}).Draw(t, "skip")
		n := rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(0, 3000)).Draw(t, "entries")
		var entries []band
		for i, key := range keys(t, n, skip) {
			entries = append(entries, band{key, document((i*7919)%(n+1) - n/2)})
		}
		want, before := slices.Clone(entries), slices.Clone(entries)
		slices.SortFunc(want, compareBands)
		if got := s.Sort(entries, skip, ByKeyAndDocument); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if !slices.Equal(entries, before) {
			t.Fatal("the entries themselves are changed")
		}
		got := slices.Clone(s.Sort(entries, skip, ByKey))
		if !slices.IsSortedFunc(got, func(a, b band) int { return cmp.Compare(a.Key, b.Key) }) {
			t.Fatalf("by key: %v", got)
		}
		slices.SortFunc(got, compareBands)
		if !slices.Equal(got, want) {
			t.Fatal("by key: other entries than before")
		}
	})
}

func TestSortNumbersOfSets(t *testing.T) {
	var s Sorter[element, uint32]
	rapid.Check(t, func(t *rapid.T) {
		var entries []element
		for _, key := range keys(t, rapid.IntRange(0, 500).Draw(t, "entries"), 3) {
			entries = append(entries, element{key, rapid.Uint32().Draw(t, "set")})
		}
		want := slices.Clone(entries)
		slices.SortFunc(want, func(a, b element) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Document, b.Document))
		})
		if got := s.Sort(entries, 3, ByKeyAndDocument); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// Once it has its memory, nothing is allocated.
func TestStorageIsKept(t *testing.T) {
	entries := random(1<<12, 1<<12)
	var s Sorter[band, document]
	s.Sort(entries, 24, ByKeyAndDocument)
	if n := testing.AllocsPerRun(10, func() { s.Sort(entries, 24, ByKeyAndDocument) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// random returns entries with keys of 40 bits, with this many distinct keys, and documents in random order.
func random(n, different int) []band {
	rng := rand.New(rand.NewPCG(1, 2))
	keys := make([]uint64, different)
	for i := range keys {
		keys[i] = rng.Uint64() >> 24
	}
	entries := make([]band, n)
	for i := range entries {
		entries[i] = band{keys[rng.IntN(different)], document(rng.Int64N(1 << 40))}
	}
	return entries
}

// BenchmarkSort sorts the entries of a shard: with all keys distinct, with a few documents per key, and with many.
func BenchmarkSort(b *testing.B) {
	const n = 1 << 18
	for _, different := range []int{n, n / 4, n / 1000} {
		entries := random(n, different)
		b.Run(fmt.Sprintf("keys=%d", different), func(b *testing.B) {
			var s Sorter[band, document]
			for b.Loop() {
				s.Sort(entries, 24, ByKeyAndDocument)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
		})
		b.Run(fmt.Sprintf("keys=%d/library", different), func(b *testing.B) {
			sorted := make([]band, n)
			for b.Loop() {
				copy(sorted, entries)
				slices.SortFunc(sorted, compareBands)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
		})
	}
}
