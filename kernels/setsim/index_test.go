package setsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Sets that are queried and added alternately, or only queried, against a comparison with all added sets.
func TestIndexEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.OneOf(families, crowds).Draw(t, "sets")
		keep := rapid.SampledFrom([]float64{.1, .5, 1}).Draw(t, "keep")
		seed := rapid.Uint64().Draw(t, "seed")
		for _, v := range []float64{.000001, .05, .3, .5, .7, .8, .9, 1} {
			rng := rand.New(rand.NewPCG(seed, 2))
			th := threshold(t, v)
			index := NewIndex(th, frequencies(t, sets))
			finder := index.Finder()
			var added [][]uint64
			for _, s := range sets {
				var got, want []hit
				finder.Similar(s, 0, func(i, shared int) { got = append(got, hit{i, shared}) })
				for i, other := range added {
					if shared := Overlap(s, other); th.Reached(shared, len(s), len(other)) {
						want = append(want, hit{i, shared})
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("t=%v, %d sets: %v, want %v", v, len(added), got, want)
				}
				if rng.Float64() < keep {
					if number := index.Add(s); number != len(added) {
						t.Fatalf("number %d of set %d", number, len(added))
					}
					added = append(added, s)
				}
			}
		}
	})
}

// Few sets are compared one by one, including impossible sizes, the empty set, and one set more than fewSets.
func TestIndexOfFewSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		common := distinct(rng, 40)
		draw := func(label string) []uint64 {
			shared, own := rapid.IntRange(0, len(common)).Draw(t, label), rapid.IntRange(0, 3).Draw(t, "own")
			return set(slices.Concat(common[:shared], distinct(rng, own))...)
		}
		th := threshold(t, rapid.SampledFrom([]float64{.05, .5, .8, 1}).Draw(t, "t"))
		index := NewIndex(th, &Frequencies{})
		var added [][]uint64
		for range rapid.IntRange(0, fewSets+1).Draw(t, "sets") {
			added = append(added, draw("set"))
			index.Add(added[len(added)-1])
		}
		for range 10 {
			query := draw("query")
			var got, want []hit
			index.Finder().Similar(query, 0, func(i, shared int) { got = append(got, hit{i, shared}) })
			for i, other := range added {
				if shared := Overlap(query, other); th.Reached(shared, len(query), len(other)) {
					want = append(want, hit{i, shared})
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("t=%v: %v of %d sets, want %v", th, got, len(added), want)
			}
		}
	})
}

// frequencies returns those of the sets, of other ones or none: results must not depend on them.
func frequencies(t *rapid.T, sets [][]uint64) *Frequencies {
	switch rapid.IntRange(0, 3).Draw(t, "frequencies of") {
	case 0:
		return &Frequencies{}
	case 1:
		return counted(sets)
	case 2: // and a template, if there is one
		f := counted(sets)
		f.Template(sets)
		return f
	default:
		return counted(sets[:len(sets)/2])
	}
}

func counted(sets [][]uint64) *Frequencies {
	f := &Frequencies{}
	for _, set := range sets {
		f.Count(set)
	}
	return f
}

// Joining an index with itself gives the pairs of the brute force.
func TestIndexAsSelfJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := families.Draw(t, "sets")
		th := threshold(t, float64(rapid.IntRange(1, 1000).Draw(t, "thousandths"))/1000)
		var got []pair
		index := NewIndex(th, frequencies(t, sets))
		for j, s := range sets {
			index.Finder().Similar(s, 0, func(i, shared int) { got = append(got, pair{i, j, shared}) })
			index.Add(s)
		}
		slices.SortFunc(got, comparePairs)
		if want := collect(comparingAll, sets, th); !slices.Equal(got, want) {
			t.Fatalf("t=%v: %v, want %v", th, got, want)
		}
	})
}

// Finders find concurrently what the index finds among the sets from a number on.
func TestFinders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.OneOf(families, crowds).Draw(t, "sets")
		th := threshold(t, float64(rapid.IntRange(1, 1000).Draw(t, "thousandths"))/1000)
		index := NewIndex(th, frequencies(t, sets))
		early := index.Finder()
		half := len(sets) / 2
		for _, s := range sets[:half] {
			index.Add(s)
			early.Similar(s, 0, func(int, int) {}) // it also finds sets added later
		}
		for _, s := range sets[half:] {
			index.Add(s)
		}
		first := rapid.IntRange(0, len(sets)).Draw(t, "first")
		finders := []*Finder{early, index.Finder()}
		got := make([][]pair, len(finders))
		var wait sync.WaitGroup
		for n, finder := range finders {
			wait.Go(func() {
				for j, s := range sets {
					finder.Similar(s, first, func(i, shared int) { got[n] = append(got[n], pair{i, j, shared}) })
				}
			})
		}
		wait.Wait()
		var want []pair
		for j, s := range sets {
			for i := first; i < len(sets); i++ {
				if shared := Overlap(sets[i], s); th.Reached(shared, len(sets[i]), len(s)) {
					want = append(want, pair{i, j, shared})
				}
			}
		}
		for n := range finders {
			if !slices.Equal(got[n], want) {
				t.Fatalf("t=%v, from %d, finder %d: %v, want %v", th, first, n, got[n], want)
			}
		}
	})
}

func TestIndexBytes(t *testing.T) {
	index := NewIndex(Threshold{7, 10}, &Frequencies{})
	empty := index.Bytes()
	sets := variants(1000, 300, 300)
	for _, s := range sets {
		index.Add(s)
	}
	// 91 of 300 elements are indexed; postings have up to a quarter to spare.
	least := 1000 * (24 + 8 + 8*300 + 91*(16+28))
	if got := index.Bytes() - empty; got < least || got > least+1000*91*(16/4+3)+10_000 {
		t.Errorf("%d bytes, want %d or somewhat more", got, least)
	}
	finder := index.Finder()
	finder.Similar(sets[0], 0, func(int, int) {})
	if got := finder.Bytes(); got < 1000*8 || got > 1000*(8+16)*5/4 {
		t.Errorf("a finder holds %d bytes", got)
	}
}

// 10,000 queries of 300 elements against 100 kept sets: variants of one template with so many edits that all are
// similar (15), few (30) or none (90), or of different templates. For comparison, a comparison with every kept set.
func BenchmarkIndex(b *testing.B) {
	th := Threshold{7, 10}
	for _, c := range []struct {
		name    string
		queries [][]uint64
		kept    [][]uint64
	}{
		{"edits=15", variants(10_000, 300, 15), nil},
		{"edits=30", variants(10_000, 300, 30), nil},
		{"edits=90", variants(10_000, 300, 90), nil},
		{"unlike", variants(10_000, 300, 15), variants(100, 300, 300)},
	} {
		if c.kept == nil {
			c.kept, c.queries = c.queries[:100], c.queries[100:]
		}
		b.Run(fmt.Sprintf("%s/index", c.name), func(b *testing.B) {
			b.ReportAllocs()
			index := NewIndex(th, counted(c.kept))
			for _, s := range c.kept {
				index.Add(s)
			}
			finder, hits := index.Finder(), 0
			for b.Loop() {
				hits = 0
				for _, s := range c.queries {
					finder.Similar(s, 0, func(int, int) { hits++ })
				}
			}
			b.ReportMetric(float64(hits), "hits")
			b.ReportMetric(float64(index.Bytes())/float64(len(c.kept)), "B/set")
		})
		b.Run(fmt.Sprintf("%s/direct", c.name), func(b *testing.B) {
			hits := 0
			for b.Loop() {
				hits = 0
				for _, s := range c.queries {
					for _, other := range c.kept {
						_, ok := overlapAtLeast(s, other, th.minOverlap(len(s), len(other)))
						hits += one(ok)
					}
				}
			}
			b.ReportMetric(float64(hits), "hits")
		})
	}
}
