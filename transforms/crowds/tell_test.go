package crowds

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/transforms/verify"
)

var half = setsim.Threshold{Num: 1, Den: 2}

// jaccard is the verifier of Jaccard similarities of at least t.
func jaccard(t setsim.Threshold) verifier.Spec {
	return verifier.Spec{Measure: verifier.Jaccard, Threshold: t}
}

// If the sample is all sets, the number of pairs decides exactly.
func TestCrowdedByAllSets(t *testing.T) {
	for _, n := range []int{2, 3, 10, 60} {
		all := alike(n, n)
		all = append(all, []uint64{1 << 40}) // is in no pair
		pairs := n * (n - 1) / 2
		for _, budget := range []int{pairs - 1, pairs, pairs + 1} {
			p := Params{Params: verify.Params{Verifier: jaccard(half)}, PairBudget: budget}
			found, got := p.crowded(all, nil, len(all))
			if want := pairs > budget; got != want || !got && len(found) != pairs {
				t.Errorf("%d pairs with a budget of %d: a crowd: %v, %d found", pairs, budget, got, len(found))
			}
		}
	}
}

// If the sample is a part, pairs are extrapolated to all sets; a few pairs decide nothing.
func TestCrowdedByPart(t *testing.T) {
	for _, tt := range []struct {
		sampled, similar, of, budget int
		want                         bool
	}{
		{100, 100, 1000, 1 << 18, true},  // 4,950 pairs stand for 499,500
		{100, 100, 700, 1 << 18, false},  // and here for 244,650
		{100, 7, 10_000, 1 << 18, false}, // 21 stand for 212,100
		{100, 8, 10_000, 1 << 18, true},  // and 28 for 282,800
		{100, 4, 100_000, 10, false},     // 6 stand for six millions, but are few
		{100, 5, 100_000, 10, true},
		{2, 2, 1_000_000, 10, false},
		{1, 1, 1_000_000, 0, false},
		{0, 0, 1_000_000, 0, false},
	} {
		p := Params{Params: verify.Params{Verifier: jaccard(half)}, PairBudget: tt.budget}
		if _, got := p.crowded(alike(tt.sampled, tt.similar), nil, tt.of); got != tt.want {
			t.Errorf("%+v: a crowd: %v", tt, got)
		}
	}
}

// alike returns n sets, of which similar ones are similar to each other, and no others.
func alike(n, similar int) (all [][]uint64) {
	for i := range uint64(n) {
		set := []uint64{1, 2, 3, 4, 5, 6, 1<<20 + i}
		if int(i) >= similar {
			set = []uint64{i<<32 + 1, i<<32 + 2}
		}
		all = append(all, set)
	}
	return all
}

// A sample is the sets of smallest hash that fit, whatever the order of their parts and the number of copies that send
// the same set.
func TestSmallest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	type sent struct {
		hash blocks.Hash
		set  []uint64
	}
	var all []sent
	var parts [][]byte
	total, keys := 0, map[uint64]blocks.Key{} // keys of the first documents, by first element of the set
	for i := range 60 {
		size := 1 + rng.IntN(200)
		if i%20 == 7 {
			size = 100_000 + rng.IntN(100_000) // several parts
		}
		s := sent{hash: blocks.Hash{Hi: rng.Uint64N(30), Lo: uint64(i)}}
		for k := range size {
			s.set = append(s.set, uint64(i)<<32|uint64(k))
		}
		all = append(all, s)
		total += blocks.ShingleBytes * size
		for range 1 + i%3 {
			key := blocks.NewKey(0, int64(len(parts)))
			if _, ok := keys[s.set[0]]; !ok {
				keys[s.set[0]] = key
			}
			blocks.SetParts(nil, key, s.hash, s.set, func(part []byte) { parts = append(parts, part) })
		}
	}
	slices.SortFunc(all, func(a, b sent) int { return a.hash.Compare(b.hash) })
	for _, bytes := range []int{0, 1, 1000, 20_000, total / 3, total - 1, total, 2 * total} {
		want := map[string]bool{}
		for left, rest := bytes, all; len(rest) > 0 && blocks.ShingleBytes*len(rest[0].set) <= left; rest = rest[1:] {
			left -= blocks.ShingleBytes * len(rest[0].set)
			want[fmt.Sprint(rest[0].set[0], len(rest[0].set))] = true
		}
		for range 5 {
			rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			sample, err := smallest(beamtest.Values(parts...), len(parts), bytes)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for i, set := range sample.Sets {
				got[fmt.Sprint(set[0], len(set))] = true
				if first := keys[set[0]]; sample.Keys[i] != first {
					t.Errorf("a set has the key %v, its first document is %v", sample.Keys[i], first)
				}
			}
			if len(sample.Sets) != len(want) || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("of %d bytes %d sets are sampled, %d of them distinct, want %d", bytes, len(sample.Sets), len(got), len(want))
			}
		}
	}
	if _, err := smallest(beamtest.Values([]byte("no part")), 1, 1); err == nil {
		t.Error("no error of what is no part")
	}
}

// In a component of many documents, a set with a large hash is omitted, though it was sent.
func TestSmallestOfMany(t *testing.T) {
	var parts [][]byte
	for i, hi := range []uint64{0, 1<<64 - 1} {
		blocks.SetParts(nil, blocks.NewKey(0, int64(i)), blocks.Hash{Hi: hi}, []uint64{uint64(i)}, func(part []byte) { parts = append(parts, part) })
	}
	for documents, want := range map[int]int{2: 2, 4096: 2, 8192: 1} {
		if sample, err := smallest(beamtest.Values(parts...), documents, 100); err != nil || len(sample.Sets) != want || sample.Sets[0][0] != 0 {
			t.Errorf("of %d documents: sample %v, error %v, want %d sets", documents, sample, err, want)
		}
	}
}
