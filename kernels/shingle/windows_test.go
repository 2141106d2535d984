package shingle

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

// equalWindows compares both implementations with the definition, with separate memory and in that of the tokens.
func equalWindows(t rapid.TB, tokens []uint64, k int) {
	var want []uint64
	for i := range len(tokens) - k + 1 {
		want = append(want, window(tokens[i:i+k]))
	}
	for name, do := range map[string]func(dst, tokens []uint64, k int){"fast": hashWindows, "plain": hashWindowsPlain} {
		// What follows the tokens is neither read nor written.
		apart, place := append(make([]uint64, len(want)), 7), append(slices.Clone(tokens), 7)
		do(apart[:len(want)], tokens, k)
		do(place[:len(want)], place[:len(tokens)], k)
		rest := append(slices.Clone(tokens[len(want):]), 7)
		if !slices.Equal(apart, append(slices.Clone(want), 7)) || !slices.Equal(place, append(slices.Clone(want), rest...)) {
			t.Fatalf("%s, k=%d, of %x:\n%x\nin place %x\nwant %x", name, k, tokens, apart, place, want)
		}
	}
}

// window is the hash of one window by definition.
func window(tokens []uint64) (sum uint64) {
	for _, t := range tokens {
		sum = sum*multiplier + t
	}
	return hash.Mix(sum)
}

func TestHashWindows(t *testing.T) {
	edges := []uint64{0, 1, 1<<32 - 1, 1 << 32, 1 << 63, 1<<64 - 1, 1<<64 - 1<<32}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 20).Draw(t, "k")
		n := k + rapid.IntRange(0, 40).Draw(t, "more")
		equalWindows(t, rapid.SliceOfN(rapid.OneOf(rapid.Uint64(), rapid.SampledFrom(edges)), n, n).Draw(t, "tokens"), k)
	})
	next := hash.SplitMix64(1)
	long := make([]uint64, 3<<12+5) // more than windowsAtOnce
	for i := range long {
		long[i] = next()
	}
	equalWindows(t, long, 5)
}

func BenchmarkHashWindows(b *testing.B) {
	tokens := make([]uint64, 204)
	dst := make([]uint64, 200)
	for name, do := range map[string]func(dst, tokens []uint64, k int){"fast": hashWindows, "plain": hashWindowsPlain} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				do(dst, tokens, 5)
			}
		})
	}
}
