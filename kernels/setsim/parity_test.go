package setsim

import (
	"testing"

	"pgregory.net/rapid"
)

// Parities of sets of any sizes differ in at most as many bits as the sets do in elements. Parities of one length
// differ in exactly the classes of which the two sets have an odd total.
func TestParity(t *testing.T) {
	elements := rapid.SliceOf(rapid.OneOf(rapid.Uint64Range(0, 30), rapid.Uint64()))
	rapid.Check(t, func(t *rapid.T) {
		a, b := set(elements.Draw(t, "a")...), set(elements.Draw(t, "b")...)
		if rapid.Bool().Draw(t, "larger") { // with a longer parity
			for i := range uint64(200) {
				b = append(b, i<<7)
			}
			b = set(b...)
		}
		p, q := parityOf(a, nil), parityOf(b, make(parity, 3))
		classes := make([]int, 64*min(len(p), len(q)))
		for _, x := range append(a, b...) {
			classes[x%uint64(len(classes))]++
		}
		want := 0
		for _, n := range classes {
			want += n % 2
		}
		if got, other := differing(p, q), differing(q, p); got != want || other != want {
			t.Fatalf("%d and %d bits differ, want %d", got, other, want)
		}
		if apart := len(a) + len(b) - 2*overlapByMap(a, b); want > apart {
			t.Fatalf("%d bits differ, %d elements", want, apart)
		}
	})
}
