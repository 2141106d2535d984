package setsim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// sketch returns frequencies of sets: exact ones, or with too high counts because of too few counters or sets counted
// twice, or none.
func sketch(t *rapid.T, sets [][]uint64) *Frequencies {
	f := NewFrequencies(0)
	times := 1
	switch rapid.IntRange(0, 3).Draw(t, "sketch") {
	case 0:
		return &Frequencies{}
	case 1:
		f = &Frequencies{counts: make([]uint32, 8), shift: 61}
	case 2:
		times = 2
	}
	for range times {
		for _, s := range sets {
			f.Count(s)
		}
	}
	return f
}

func rarePostings(sets [][]uint64, t Threshold, common *Frequencies) (all []RarePosting) {
	p := NewPrefixes(t, common, sizesOf(sets))
	for i, s := range sets {
		p.Postings(uint32(i), s, false, func(r RarePosting) { all = append(all, r) })
	}
	return all
}

func sizesOf(sets [][]uint64) *Sizes {
	sizes := new(Sizes)
	for _, s := range sets {
		sizes.Add(len(s))
	}
	return sizes
}

// Verified candidates of any ranges of hashes are the pairs of the sets, whatever the frequencies.
func TestRareJoinEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.OneOf(families, crowds).Draw(t, "sets")
		common := sketch(t, sets)
		ranges := make([][]RarePosting, rapid.SampledFrom([]int{1, 2, 7}).Draw(t, "ranges"))
		for _, v := range []float64{.05, .3, .5, .7, .8, .9, 1} {
			th := threshold(t, v)
			clear(ranges)
			postings := rarePostings(sets, th, common)
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(postings), func(i, j int) { postings[i], postings[j] = postings[j], postings[i] })
			for _, p := range postings {
				r := &ranges[p.Hash%uint64(len(ranges))]
				*r = append(*r, p)
			}
			var got []pair
			for _, r := range ranges {
				Candidates(r, th, func(i, j uint32) bool {
					if shared, ok := Similar(sets[i], sets[j], th); ok {
						got = append(got, pair{int(min(i, j)), int(max(i, j)), shared})
					}
					return true
				})
			}
			slices.SortFunc(got, comparePairs)
			got = slices.Compact(got) // sets found in several ranges
			if want := collect(comparingAll, sets, th); !slices.Equal(got, want) {
				t.Fatalf("t=%v: %v, brute force %v", v, got, want)
			}
		}
	})
}

// candidatesByDefinition returns the pairs of sets that both have a posting of an element, in the indexed part of the
// smaller set's prefix, and enough elements from there on.
func candidatesByDefinition(postings []RarePosting, t Threshold) (pairs [][2]uint32) {
	sizes := map[uint32]uint32{}
	for _, p := range postings {
		sizes[p.Set] = p.Size
		for _, q := range postings {
			larger := cmp.Or(cmp.Compare(p.Size, q.Size), cmp.Compare(p.Set, q.Set)) > 0
			a, b := int(q.Size), int(p.Size)
			if p.Hash == q.Hash && larger && a >= t.MinSize(b) && int(q.Place) <= a-t.minOverlap(a, a) &&
				min(a-int(q.Place), b-int(p.Place)) >= t.minOverlap(a, b) {
				pairs = append(pairs, [2]uint32{q.Set, p.Set})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b [2]uint32) int {
		return cmp.Or(cmp.Compare(sizes[a[1]], sizes[b[1]]), cmp.Compare(a[1], b[1]), cmp.Compare(sizes[a[0]], sizes[b[0]]), cmp.Compare(a[0], b[0]))
	})
	return slices.Compact(pairs)
}

func TestCandidates(t *testing.T) {
	posting := rapid.Custom(func(t *rapid.T) RarePosting {
		set := rapid.Uint32Range(0, 12).Draw(t, "set")
		size := 1 + set*7%5*3
		return RarePosting{
			Hash: rapid.Uint64Range(0, 3).Draw(t, "hash") << rapid.SampledFrom([]int{0, 62}).Draw(t, "shift"),
			Set:  set, Size: size, Place: rapid.Uint32Range(0, size-1).Draw(t, "place"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		postings := rapid.SliceOfNDistinct(posting, 0, 60, func(p RarePosting) [2]uint64 { return [2]uint64{p.Hash, uint64(p.Set)} }).Draw(t, "postings")
		th := Threshold{uint64(rapid.IntRange(1, 10).Draw(t, "tenths")), 10}
		want := candidatesByDefinition(postings, th)
		most := rapid.IntRange(1, len(want)+1).Draw(t, "most")
		var got [][2]uint32
		Candidates(postings, th, func(i, j uint32) bool {
			got = append(got, [2]uint32{i, j})
			return len(got) < most
		})
		if want = want[:min(most, len(want))]; !slices.Equal(got, want) {
			t.Fatalf("t=%v: %v, by definition %v", th.Float(), got, want)
		}
	})
}

// An element of a single set has no posting, but takes a place.
func TestPostingsWithoutSingles(t *testing.T) {
	sets := [][]uint64{{1 << 60, 2 << 60, 3 << 60, 4 << 60}, {2 << 60, 3 << 60, 4 << 60}, {3 << 60, 4 << 60, 5 << 60}}
	var common Frequencies
	for _, s := range sets {
		common.Count(s)
	}
	got := rarePostings(sets[:1], Threshold{1, 2}, &common) // one size: 3 of 4 must be shared
	want := []RarePosting{{Hash: 2 << 60, Size: 4, Place: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The estimate is 64 times that of the sampled hashes.
func TestRareWork(t *testing.T) {
	th := Threshold{1, 2}
	sets := recombined(3000)
	common := NewFrequencies(1 << 20)
	for _, s := range sets {
		common.Count(s)
	}
	var sample []RarePosting
	for _, p := range rarePostings(sets, th, common) {
		if p.Hash%64 == 0 {
			sample = append(sample, p)
		}
	}
	var s RareSample
	prefixes := NewPrefixes(th, common, sizesOf(sets))
	for i, set := range sets {
		s.Add(prefixes, uint32(i), set, false)
	}
	candidates := int64(len(candidatesByDefinition(sample, th)))
	if want := (RareWork{Postings: 64 * int64(len(sample)), Candidates: 64 * candidates}); s.Work(th, 1<<40) != want || candidates == 0 {
		t.Errorf("got %+v, want %+v", s.Work(th, 1<<40), want)
	}
	if got := s.Work(th, 64).Candidates; got != 128 {
		t.Errorf("counted %d candidates, most 64", got)
	}
}

// Elements that all sets have count, even if no sampled hash is among them.
func TestRareWorkOfFrequent(t *testing.T) {
	const n = 2 * frequent
	th := Threshold{1, 2}
	common := NewFrequencies(0)
	var sets [][]uint64
	for i := range uint64(n) {
		sets = append(sets, []uint64{1, 1<<40 | i<<43 | 1, 1 << 63}) // all sets have 1 and 2^63
		common.Count(sets[i])
	}
	var s RareSample
	prefixes := NewPrefixes(th, common, sizesOf(sets))
	for i, set := range sets {
		s.Add(prefixes, uint32(i), set, false)
	}
	if got := s.Work(th, 1<<40); got.Candidates < n*(n-1)/2 || got.Postings < n {
		t.Errorf("%+v of %d sets that have an element in common", got, n)
	}
}

// Counts are never below the truth, and there are as many counters as the elements require.
func TestFrequencies(t *testing.T) {
	for _, c := range []struct{ elements, counters int }{
		{0, 1 << 20}, {1 << 20, 1 << 20}, {3 << 20, 1 << 22}, {100 << 20, 1 << 24}, {1 << 40, 1 << 24},
	} {
		f := NewFrequencies(c.elements)
		if len(f.counts) != c.counters {
			t.Errorf("%d elements: %d counters, want %d", c.elements, len(f.counts), c.counters)
		}
		f.Count([]uint64{0, 1 << 63, 1<<64 - 1})
		f.Count([]uint64{1<<64 - 1})
		if f.count(0) != 1 || f.count(1<<63) != 1 || f.count(1<<64-1) != 2 || f.count(1<<62) != 0 {
			t.Errorf("%d elements: %d %d %d %d", c.elements, f.count(0), f.count(1<<63), f.count(1<<64-1), f.count(1<<62))
		}
	}
}
