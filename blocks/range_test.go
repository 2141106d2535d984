package blocks

import (
	"testing"

	"pgregory.net/rapid"
)

// Each number is in exactly one wave, whatever the weights, and no wave is empty.
func TestWaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []weighed
		for i, weight := range rapid.SliceOfN(rapid.Int64Range(0, 1<<20), 1, 40).Draw(t, "weights") {
			all = append(all, weighed{int64(3*i + 1), weight})
		}
		n := rapid.IntRange(1, 50).Draw(t, "n")
		ranges := waves(n, all)
		if len(ranges) > min(n, len(all)) {
			t.Fatalf("%d waves of %d numbers, at most %d", len(ranges), len(all), n)
		}
		held := make([]int, len(ranges))
		for number := range all[len(all)-1].number + 5 {
			in := 0
			for i, r := range ranges {
				if r.Has(number) {
					in++
					if number%3 == 1 && number <= all[len(all)-1].number {
						held[i]++
					}
				}
			}
			if in != 1 {
				t.Fatalf("%d is in %d of %v", number, in, ranges)
			}
		}
		for i, n := range held {
			if n == 0 {
				t.Errorf("nothing is in wave %d of %v", i, ranges)
			}
		}
	})
}
