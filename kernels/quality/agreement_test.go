package quality

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The counts are those over all pairs, and the index is the Rand index (the fraction of pairs on which both agree),
// adjusted for chance as Hubert and Arabie define it.
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

// drawnGroup is a group of documents in a simulation: their number, and the pairs that two clusterings of them join.
type drawnGroup struct {
	Agreement
	documents int
}

// groups draws groups of 1 to largest documents, mostly small. In each clustering a group stays whole with a
// probability; otherwise each of its documents joins one of two clusters.
func groups(r *rand.Rand, n, largest int, whole float64) (all []drawnGroup) {
	for range n {
		g := drawnGroup{documents: min(largest, int(math.Pow(1-r.Float64(), -1/1.5)))}
		var of [2][]int
		for i := range of {
			split := r.Float64() >= whole
			for range g.documents {
				part := 0
				if split {
					part = r.IntN(2)
				}
				of[i] = append(of[i], part)
			}
		}
		for a := range g.documents {
			for b := range a {
				found, truth := of[0][a] == of[0][b], of[1][a] == of[1][b]
				if found {
					g.Found++
				}
				if truth {
					g.True++
				}
				if found && truth {
					g.Both++
				}
			}
		}
		all = append(all, g)
	}
	return all
}

// together returns the agreement of groups that nothing connects.
func together(groups []drawnGroup) (sum Agreement, documents int) {
	for _, g := range groups {
		sum.Both, sum.Found, sum.True, documents = sum.Both+g.Both, sum.Found+g.Found, sum.True+g.True, documents+g.documents
	}
	return sum, documents
}

// For at least 90 % of 2,000 collections of each kind, drawn with fixed seeds, the intervals contain the F1 and the
// adjusted Rand index of the population. This includes small collections, in which chance would join many pairs, and
// collections with few errors or none.
func TestIntervalsOfAgreementCover(t *testing.T) {
	const runs = 2000
	for _, kind := range []struct {
		groups, largest int
		whole           float64
	}{{200, 30, .9}, {200, 30, .99}, {1000, 60, .8}, {20, 12, .5}, {200, 30, 1}} {
		t.Run(fmt.Sprintf("%+v", kind), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, 4))
			population := groups(r, 20_000, kind.largest, kind.whole)
			whole, documents := together(population)
			share := float64(kind.groups) / float64(len(population))
			part := Agreement{Both: whole.Both * share, Found: whole.Found * share, True: whole.True * share, All: Pairs(int(share * float64(documents)))}
			f1, adjusted := 0, 0
			for range runs {
				var drawn []drawnGroup
				var units []Agreement
				for range kind.groups {
					g := population[r.IntN(len(population))]
					drawn, units = append(drawn, g), append(units, g.Agreement)
				}
				a, documents := together(drawn)
				a.All = Pairs(documents)
				low, high, ok := F1Interval(units, .95)
				if !ok || low > a.F1() || high < a.F1() {
					t.Fatalf("%v to %v does not hold %v", low, high, a.F1())
				}
				if low <= whole.F1() && whole.F1() <= high {
					f1++
				}
				low, high, _ = a.RandInterval(units, .95)
				if low > a.AdjustedRand() || high < a.AdjustedRand() {
					t.Fatalf("%v to %v does not hold %v", low, high, a.AdjustedRand())
				}
				if low <= part.AdjustedRand() && part.AdjustedRand() <= high {
					adjusted++
				}
			}
			t.Logf("F1 %.4f, %.3f cover; adjusted Rand index %.4f, %.3f cover", whole.F1(), float64(f1)/runs, part.AdjustedRand(), float64(adjusted)/runs)
			if f1 < .9*runs || adjusted < .9*runs {
				t.Errorf("of %d, %d and %d cover", runs, f1, adjusted)
			}
		})
	}
}
