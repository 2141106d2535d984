package verifier_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/verifier"
)

// The joins find the pairs that Compare finds and the rules allow, whatever is apart, and for sets in any order.
func TestMatched(t *testing.T) {
	half := setsim.Threshold{Num: 1, Den: 2}
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SampledFrom([][]match.Rule{
			{{Column: "a", Kind: match.Within, Most: 1, MissingOK: true}},
			{{Column: "a", Kind: match.Similar, Threshold: half}},
			{{Column: "a", Kind: match.Similar, Threshold: half, MissingOK: true}},
			{{Column: "a", Kind: match.Different, MissingOK: true}},
		}).Draw(t, "rules")
		set := rapid.SliceOfN(rapid.Uint64Range(1, 9), 1, 9)
		value := rapid.StringMatching(rapid.SampledFrom([]string{`|[1-4]{1,3}`, `[14]`}).Draw(t, "values")) // many or few
		n := rapid.IntRange(2, 12).Draw(t, "documents")
		var features, own [][]uint64
		var values []string
		apart := make([]bool, n)
		for i := range n {
			own = append(own, shingle.Set(set.Draw(t, "set")))
			values = append(values, value.Draw(t, "value"))
			packed := append(binary.AppendUvarint(nil, uint64(len(values[i]))), values[i]...)
			all, _ := match.Append(slices.Clone(own[i]), rules, packed, uint64(i), func(_ int, value []byte) []uint64 {
				return digits(string(value))
			})
			features = append(features, all)
			apart[i] = rapid.Bool().Draw(t, "apart")
		}
		spec := verifier.Spec{Measure: verifier.Jaccard, Threshold: half, Rules: rules}
		v := spec.New()
		split := rapid.IntRange(0, n).Draw(t, "split")
		self, cross := map[string]bool{}, map[string]bool{}
		var all []pair
		for j := range n {
			for i := range j {
				score, similar := setsim.Similar(own[i], own[j], half)
				meets := meet(rules[0], values[i], values[j], half)
				if _, ok := v.Compare(features[i], features[j]); ok != (similar && meets) {
					t.Fatalf("%v and %v: %v", features[i], features[j], ok)
				}
				if similar && meets {
					all = append(all, pair{i, j, score})
				}
				if similar && meets && (!apart[i] || !apart[j]) {
					self[fmt.Sprint(i, j)] = true
					if i < split && j >= split {
						cross[fmt.Sprint(i, j-split)] = true
					}
				}
			}
		}
		check := func(name string, want map[string]bool, join func(emit func(i, j, score int) bool)) {
			found := 0
			join(func(i, j, _ int) bool {
				if found++; !want[fmt.Sprint(i, j)] {
					t.Errorf("%s finds %d and %d", name, i, j)
				}
				return true
			})
			if found != len(want) {
				t.Errorf("%s finds %d pairs, want %d", name, found, len(want))
			}
		}
		check("self-join", self, func(emit func(i, j, score int) bool) { verifier.SelfJoin(v, features, apart, emit) })
		check("cross-join", cross, func(emit func(i, j, score int) bool) {
			verifier.CrossJoin(v, features[:split], features[split:], apart, emit)
		})
		if found := indexed(v, features, false); !slices.Equal(found, all) {
			t.Errorf("an index finds %v, want %v", found, all)
		}
		checkConnect(t, v, features, all)
	})
}

// digits returns the digits of a text as a set.
func digits(text string) (set []uint64) {
	for _, c := range text {
		set = append(set, uint64(c-'0'))
	}
	return shingle.Set(set)
}

// meet reports by definition whether two values satisfy a rule, or are left to the parts of documents.
func meet(r match.Rule, a, b string, half setsim.Threshold) bool {
	if a == "" || b == "" {
		return true
	}
	if r.Kind == match.Similar {
		_, ok := setsim.Similar(digits(a), digits(b), half)
		return ok
	}
	if r.Kind == match.Different {
		return a != b
	}
	var x, y int
	fmt.Sscan(a, &x)
	fmt.Sscan(b, &y)
	return max(x-y, y-x) <= 1
}
