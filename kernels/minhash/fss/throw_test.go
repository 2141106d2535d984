package fss

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

// TestThrow compares the processor's throw with the plain one, round by round, for any number of shingles and bins.
func TestThrow(t *testing.T) {
	edges := []uint64{0, 1, 1<<32 - 1, 1 << 32, 1<<64 - 1, 1<<64 - 1<<32}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 3*32).Draw(t, "shingles")
		if rapid.Bool().Draw(t, "many") {
			size = rapid.IntRange(100, 400).Draw(t, "shingles")
		}
		shingles := rapid.SliceOfN(rapid.SampledFrom(edges), size, size).Draw(t, "edges")
		next := hash.SplitMix64(rapid.Uint64().Draw(t, "seed"))
		for i := rapid.IntRange(0, size).Draw(t, "random"); i < size; i++ {
			shingles[i] = next()
		}
		fast := slices.Repeat([]uint64{empty}, minN<<rapid.IntRange(0, 5).Draw(t, "bins"))
		plain := slices.Clone(fast)
		for round := range uint64(5) {
			mask := next()
			got, want := throw(fast, shingles, mask, round), throwPlain(plain, shingles, mask, round)
			if got != want || !slices.Equal(fast, plain) {
				t.Fatalf("round %d: filled %d, want %d\n%x\n%x", round, got, want, fast, plain)
			}
		}
	})
}
