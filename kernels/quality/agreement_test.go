package quality

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Counts are those of going through all pairs, and the index is the Rand index (pairs on which both agree) adjusted for chance as Hubert
// and Arabie define it.
func TestAdjustedRand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "documents")
		labels := rapid.SliceOfN(rapid.IntRange(0, 3), n, n)
		found, truth := labels.Draw(t, "found"), labels.Draw(t, "true")
		a := Agreement{All: Pairs(n)}
		agree, all := 0., 0.
		for i := range n {
			for j := range i {
				inFound, inTrue := found[i] == found[j], truth[i] == truth[j]
				all++
				if inFound {
					a.Found++
				}
				if inTrue {
					a.True++
				}
				if inFound && inTrue {
					a.Both++
				}
				if inFound == inTrue {
					agree++
				}
			}
		}
		if all != a.All {
			t.Fatalf("%v pairs, want %v", a.All, all)
		}
		rand := agree / all
		expected := (a.Found*a.True + (all-a.Found)*(all-a.True)) / (all * all)
		want := 1.
		if expected != 1 {
			want = (rand - expected) / (1 - expected)
		}
		if got := a.AdjustedRand(); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v, want %v", got, want)
		}
		if p, r := a.Precision(), a.Recall(); a.Found > 0 && a.True > 0 && a.Both > 0 && math.Abs(a.F1()-2*p*r/(p+r)) > 1e-12 {
			t.Fatalf("F1 %v of %v and %v", a.F1(), p, r)
		}
	})
}
