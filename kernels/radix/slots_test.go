package radix

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Repeated keeps the entries whose key is repeated, in order, and adds none.
func TestRepeated(t *testing.T) {
	var slots Slots // one for all, so that its memory is reused
	rapid.Check(t, func(t *rapid.T) {
		var entries, want []band
		times := map[uint64]int{}
		for i, key := range keys(t, rapid.IntRange(0, 2000).Draw(t, "entries"), 0) {
			entries = append(entries, band{key, document(i)})
			times[key]++
		}
		for _, e := range entries {
			if times[e.Key] > 1 {
				want = append(want, e)
			}
		}
		slots = slots.For(len(entries))
		kept := Repeated(slots, slices.Clone(entries))
		if !slices.IsSortedFunc(kept, func(a, b band) int { return int(a.Document - b.Document) }) {
			t.Fatal("entries have moved")
		}
		got := slices.DeleteFunc(slices.Clone(kept), func(e band) bool { return times[e.Key] == 1 && entries[e.Document] == e })
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// Of entries with distinct keys few are kept, whatever the number of earlier ones.
func TestRepeatedDropsMost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var slots Slots
	for _, n := range []int{1000, 100_000, 1000, 1000, 1000, 1000, 1000} {
		entries := make([]band, n)
		for i := range entries {
			entries[i].Key = rng.Uint64()
		}
		slots = slots.For(n)
		if kept := Repeated(slots, entries); len(kept) > n/4 {
			t.Errorf("%d of %d entries are kept", len(kept), n)
		}
	}
}
