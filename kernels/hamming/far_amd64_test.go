//go:build !purego

package hamming

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// On every kind of processor, all pairs are found among more signatures than a tile has.
func TestDirectJoinOfProcessors(t *testing.T) {
	defer func(a2, a512 bool) { hasAVX2, hasAVX512 = a2, a512 }(hasAVX2, hasAVX512)
	kinds := map[string][2]bool{"plain": {}}
	if hasAVX2 {
		kinds["AVX2"] = [2]bool{true, false}
	}
	if hasAVX512 {
		kinds["AVX-512"] = [2]bool{true, true}
	}
	for _, c := range []struct{ m, d int }{{64, 3}, {100, 20}, {256, 12}, {256, 51}, {256, 128}, {1024, 200}, {1024, 1024}} {
		n := 2*tileSize + 5
		if c.d >= c.m/2 {
			n = 5*blockSize + 3 // nearly all are near
		}
		signatures := families(rand.New(rand.NewPCG(1, 2)), n, c.m, c.d+2)
		want := collect(func(emit func(i, j, distance int) bool) { bruteForce(signatures, c.d, emit) })
		if len(want) == 0 {
			t.Fatalf("m=%d, d=%d: there are no pairs", c.m, c.d)
		}
		for name, has := range kinds {
			hasAVX2, hasAVX512 = has[0], has[1]
			got := collect(func(emit func(i, j, distance int) bool) { directJoin(signatures, 0, c.d, emit) })
			if !slices.Equal(got, want) {
				t.Errorf("%s, m=%d, d=%d: %d pairs, want %d", name, c.m, c.d, len(got), len(want))
			}
			for k := range min(n, 200) { // a block passes exactly if no signature in it is near
				one := columnsOf(signatures[:blockSize], len(signatures[0]))
				near := slices.ContainsFunc(signatures[:blockSize], func(s []uint64) bool {
					return Distance(s, signatures[k]) <= c.d
				})
				if passed := far(one, signatures[k], c.d) == 1; passed == near && name != "plain" {
					t.Fatalf("%s, m=%d, d=%d: signature %d passed: %v", name, c.m, c.d, k, passed)
				}
			}
		}
	}
}
