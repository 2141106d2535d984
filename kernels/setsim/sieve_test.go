package setsim

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A sieve counts like a plain loop, whatever bits the hashes share.
func TestSieve(t *testing.T) {
	element := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64Range(math.MaxUint64-20, math.MaxUint64), rapid.Uint64())
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfN(element, 0, 100).Draw(t, "set")
		slices.Sort(set)
		set = slices.Compact(set)
		shingles := rapid.SliceOfN(rapid.OneOf(element, rapid.SampledFrom(append(set, 7))), 0, 60).Draw(t, "shingles")
		elements, own := 0, map[uint64]bool{}
		for _, e := range shingles {
			own[e] = true
			if slices.Contains(set, e) {
				elements++
			}
		}
		sieve := NewSieve(set)
		if got := sieve.Count(shingles); got != elements {
			t.Fatalf("%d of %v in %v, want %d", got, shingles, set, elements)
		}
		shared := Overlap(set, slices.Sorted(maps.Keys(own)))
		similarity, bound := Similarity(shared, len(set), len(own)), sieve.AtMost(elements, shingles)
		if bound < similarity || bound > 1 {
			t.Fatalf("%v and %v have similarity %v, and %v at most", set, shingles, similarity, bound)
		}
	})
}

// Nearly all distinct uniform hashes differ in their top bits, whatever was seen before, and repetitions do not count.
func TestSieveBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sieve := NewSieve(nil)
	for range 10 {
		var shingles []uint64
		for range 1000 {
			shingles = append(shingles, r.Uint64())
		}
		shingles = append(shingles, shingles...)
		if n := sieve.distinct(shingles); n > 1000 || n < 960 {
			t.Errorf("%d of 1000 distinct ones", n)
		}
	}
}

// A large set has as many bits as fit into a cache, and loses nothing.
func TestSieveOfLargeSet(t *testing.T) {
	set := make([]uint64, 100_000)
	for i := range set {
		set[i] = uint64(i) << 46
	}
	sieve := NewSieve(set)
	for _, e := range set {
		if sieve.Count([]uint64{e + 1, e}) != 1 {
			t.Fatalf("%#x is in the set, and %#x is not", e, e+1)
		}
	}
}

// Any two sets that share an element reach Any, and no others do.
func TestAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 1<<31)
		a, b := size.Draw(t, "a"), size.Draw(t, "b")
		if Any.Reached(0, a, b) || !Any.Reached(1, a, b) || Any.MinSize(a) != 1 {
			t.Fatalf("sets of %d and %d", a, b)
		}
	})
}

func BenchmarkSieve(b *testing.B) {
	own, other := make([]uint64, 150), make([]uint64, 150)
	for i := range own {
		own[i], other[i] = uint64(i+1)*0x9e3779b97f4a7c15, uint64(i+1)*0xd1342543de82ef95
	}
	slices.Sort(own)
	sieve := NewSieve(own)
	for b.Loop() {
		sieve.Count(other)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(other)), "ns/shingle")
}
