package diff

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hamming"
	"github.com/neardup/neardup/kernels/vector"
)

// document has few distinct tokens, so that two documents often share many.
type document struct {
	tokens []uint64
	set    []uint64
	vector vector.Vector
	bits   []uint64
}

var documents = rapid.Custom(func(t *rapid.T) document {
	tokens := rapid.SliceOfN(rapid.Uint64Range(1, 5), 0, 8).Draw(t, "tokens")
	d := document{tokens: tokens, bits: rapid.SliceOfN(rapid.Uint64Range(0, 7), 2, 2).Draw(t, "bits")}
	d.set = slices.Compact(slices.Sorted(slices.Values(tokens)))
	if len(tokens) > 0 {
		d.vector = vector.TermFrequencies(slices.Clone(tokens))
	}
	return d
})

func sameWeights(a, b document) bool {
	return slices.Equal(a.vector.Features, b.vector.Features) && slices.Equal(a.vector.Weights, b.vector.Weights)
}

// parallel reports whether one vector is a multiple of the other.
func parallel(a, b document) bool {
	if !slices.Equal(a.set, b.set) {
		return false
	}
	for i := range a.set {
		if a.vector.Weight(i)*b.vector.Weight(0) != b.vector.Weight(i)*a.vector.Weight(0) {
			return false
		}
	}
	return true
}

// Each metric is in its range, is 0 exactly where it must be, is symmetric, and satisfies the triangle inequality.
func TestMetrics(t *testing.T) {
	const rounding = 1e-9
	for name, m := range map[string]struct {
		of   func(a, b document) float64
		zero func(a, b document) bool
		most float64
	}{
		"Jaccard": {func(a, b document) float64 { return jaccard(a.set, b.set) }, func(a, b document) bool { return slices.Equal(a.set, b.set) }, 1},
		"Angle":   {func(a, b document) float64 { return angle(a.vector, b.vector) }, parallel, 90},
		"L1":      {func(a, b document) float64 { return float64(manhattan(a.vector, b.vector)) }, sameWeights, 16},
		"L2":      {func(a, b document) float64 { return euclidean(a.vector, b.vector) }, sameWeights, 16},
		"Edit":    {func(a, b document) float64 { return float64(editDistance(a.tokens, b.tokens)) }, func(a, b document) bool { return slices.Equal(a.tokens, b.tokens) }, 16},
		"Hamming": {func(a, b document) float64 { return float64(hamming.Distance(a.bits, b.bits)) }, func(a, b document) bool { return slices.Equal(a.bits, b.bits) }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, b, c := documents.Draw(t, "a"), documents.Draw(t, "b"), documents.Draw(t, "c")
				if rapid.Bool().Draw(t, "equal") {
					b = a
				}
				ab := m.of(a, b)
				if !(ab >= 0 && ab <= m.most) {
					t.Fatalf("%v is not between 0 and %v", ab, m.most)
				}
				if zero := m.zero(a, b); zero != (ab == 0) {
					t.Fatalf("distance %v, want 0: %v", ab, zero)
				}
				if ba := m.of(b, a); ba != ab {
					t.Fatalf("%v, and %v the other way round", ab, ba)
				}
				if ac, cb := m.of(a, c), m.of(c, b); ab > ac+cb+rounding {
					t.Fatalf("%v, and %v + %v by way of c", ab, ac, cb)
				}
			})
		})
	}
}

// Containment is 1 exactly for subsets, and 0 exactly for sets that share nothing.
func TestContainment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := documents.Draw(t, "a").set, documents.Draw(t, "b").set
		got, shared := containment(a, b), 0
		for _, x := range a {
			if slices.Contains(b, x) {
				shared++
			}
		}
		if want := float64(shared) / float64(max(1, len(a))); len(a) > 0 && got != want || len(a) == 0 && got != 1 {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// Distances of vectors are those of the definitions, over all features.
func TestVectorsByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := documents.Draw(t, "a"), documents.Draw(t, "b")
		weights := map[uint64][2]float64{}
		for side, d := range []document{a, b} {
			for _, x := range d.tokens {
				w := weights[x]
				w[side]++
				weights[x] = w
			}
		}
		l1, l2, dot, lengthA, lengthB := 0., 0., 0., 0., 0.
		for w := range maps.Values(weights) {
			l1 += math.Abs(w[0] - w[1])
			l2 += (w[0] - w[1]) * (w[0] - w[1])
			dot += w[0] * w[1]
			lengthA += w[0] * w[0]
			lengthB += w[1] * w[1]
		}
		if got := manhattan(a.vector, b.vector); float64(got) != l1 {
			t.Fatalf("L1 %v, want %v", got, l1)
		}
		if got := euclidean(a.vector, b.vector); got != math.Sqrt(l2) {
			t.Fatalf("L2 %v, want %v", got, math.Sqrt(l2))
		}
		if lengthA > 0 && lengthB > 0 {
			want := math.Acos(min(1, dot/math.Sqrt(lengthA*lengthB))) * 180 / math.Pi
			if got := angle(a.vector, b.vector); math.Abs(got-want) > 1e-5 {
				t.Fatalf("angle %v, want %v", got, want)
			}
		}
	})
}

// longest returns the LCS by trying every way through two sequences.
func longest(a, b []uint64) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return max(1+longest(a[1:], b[1:]), longest(a[1:], b), longest(a, b[1:]))
	default:
		return max(longest(a[1:], b), longest(a, b[1:]))
	}
}

func TestEditEqualsDefinition(t *testing.T) {
	short := rapid.SliceOfN(rapid.Uint64Range(1, 3), 0, 7)
	rapid.Check(t, func(t *rapid.T) {
		a, b := short.Draw(t, "a"), short.Draw(t, "b")
		if got, want := editDistance(a, b), len(a)+len(b)-2*longest(a, b); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}

// Example 3.14 of Mining of Massive Datasets, abcde and acfdeg, and distances computed by hand.
func TestByHand(t *testing.T) {
	letters := func(s string) (tokens []uint64) {
		for _, r := range s {
			tokens = append(tokens, uint64(r))
		}
		return tokens
	}
	if got := editDistance(letters("abcde"), letters("acfdeg")); got != 3 {
		t.Errorf("abcde and acfdeg: %d, want 3", got)
	}
	a := vector.Vector{Features: []uint64{1, 2, 3}, Weights: []uint32{1, 2, 1}}
	b := vector.Vector{Features: []uint64{1, 2, 3}, Weights: []uint32{2, 1, 1}}
	if got, want := angle(a, b), math.Acos(5./6)*180/math.Pi; math.Abs(got-want) > 1e-9 {
		t.Errorf("angle %v, want %v", got, want)
	}
	if got := jaccard([]uint64{1, 2, 3, 4}, []uint64{2, 3, 5, 7}); got != 2./3 {
		t.Errorf("Jaccard %v", got)
	}
}

func BenchmarkEdit(b *testing.B) {
	from, to := make([]uint64, 5000), make([]uint64, 5000)
	for i := range from {
		from[i], to[i] = uint64(i%97), uint64(i%89)
	}
	for b.Loop() {
		editDistance(from, to)
	}
}
