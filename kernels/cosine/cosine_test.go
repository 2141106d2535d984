package cosine

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/vector"
)

type pair struct {
	i, j int
	dot  uint64
}

type emitter func(i, j int, dot uint64) bool

func collect(join func(emit emitter)) []pair {
	var pairs []pair
	join(func(i, j int, dot uint64) bool {
		pairs = append(pairs, pair{i, j, dot})
		return true
	})
	return pairs
}

func threshold(t interface{ Fatal(...any) }, v float64) setsim.Threshold {
	th, err := setsim.ParseThreshold(v)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// of returns the vector with a map's features and weights.
func of(weights map[uint64]uint32) vector.Vector {
	var v vector.Vector
	for x := range weights {
		v.Features = append(v.Features, x)
	}
	slices.Sort(v.Features)
	for _, x := range v.Features {
		v.Weights = append(v.Weights, weights[x])
	}
	return v
}

// dotByMap returns the dot product by definition.
func dotByMap(a, b vector.Vector) *big.Int {
	weights := make(map[uint64]int64)
	for i, x := range a.Features {
		weights[x] = int64(a.Weight(i))
	}
	dot := new(big.Int)
	for i, x := range b.Features {
		dot.Add(dot, new(big.Int).Mul(big.NewInt(weights[x]), big.NewInt(int64(b.Weight(i)))))
	}
	return dot
}

// reachedByRatios is Reached in rational numbers: dot²/(a·b) ≥ t².
func reachedByRatios(t setsim.Threshold, dot, a, b *big.Int) bool {
	if dot.Sign() == 0 {
		return false
	}
	square := new(big.Rat).SetFrac(new(big.Int).Mul(dot, dot), new(big.Int).Mul(a, b))
	ratio := new(big.Rat).SetFrac64(int64(t.Num), int64(t.Den))
	return square.Cmp(ratio.Mul(ratio, ratio)) >= 0
}

func TestReached(t *testing.T) {
	uniform := rapid.Map(rapid.Uint64(), func(seed uint64) uint64 { return hash.Mix(seed) })
	number := rapid.OneOf(rapid.Uint64Range(0, 100), rapid.Uint64(), uniform, uniform)
	rapid.Check(t, func(t *rapid.T) {
		th := threshold(t, float64(rapid.Int64Range(1, 1_000_000).Draw(t, "millionths"))/1e6)
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		bigA, bigB := new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)
		// Around ⌈t·√(a·b)⌉, the smallest dot product that reaches t, which a random one seldom hits.
		scaled := new(big.Int).Mul(bigA, bigB)
		scaled.Mul(scaled, new(big.Int).SetUint64(th.Num*th.Num))
		scaled.Div(scaled, new(big.Int).SetUint64(th.Den*th.Den))
		least := scaled.Sqrt(scaled).Uint64()
		for _, dot := range []uint64{0, least - min(least, 1), least, least + 1, number.Draw(t, "dot")} {
			want := a > 0 && b > 0 && reachedByRatios(th, new(big.Int).SetUint64(dot), bigA, bigB)
			if a == 0 || b == 0 {
				continue // no vectors have such a dot product
			}
			if got := Reached(th, dot, a, b); got != want {
				t.Fatalf("Reached(%v, %d, %d, %d) = %v", th, dot, a, b, got)
			}
		}
	})
}

func TestTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		x, y, z := rng.Uint64(), rng.Uint64(), rng.Uint64()
		want := new(big.Int).SetUint64(x)
		want.Mul(want, new(big.Int).SetUint64(y)).Mul(want, new(big.Int).SetUint64(z))
		high, mid, low := times(x, y, z)
		got := new(big.Int).SetUint64(high)
		for _, word := range []uint64{mid, low} {
			got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(word))
		}
		if got.Cmp(want) != 0 {
			t.Fatalf("%d·%d·%d = %v, want %v", x, y, z, got, want)
		}
	}
}

// Cosines that are exactly the threshold reach it, and the next smaller ones do not.
func TestReachedAtTheBound(t *testing.T) {
	for _, c := range []struct {
		t         float64
		dot, a, b uint64
		want      bool
	}{
		{.8, 4, 5, 5, true}, {.8, 4, 5, 6, false}, {.8, 3, 5, 5, false}, {.8, 8, 10, 10, true}, {.8, 8, 4, 25, true},
		{.6, 3, 25, 1, true}, {.6, 3, 26, 1, false}, {.96, 24, 625, 1, true}, {.7, 7, 10, 10, true}, {.7, 7, 100, 1, true}, {.9, 9, 10, 10, true},
		{.9, 9, 9, 11, true}, {.05, 1, 20, 20, true}, {.05, 1, 20, 21, false}, {.05, 1, 400, 1, true}, {.05, 1, 401, 1, false},
		{1, 3, 3, 3, true}, {1, 3, 3, 4, false}, {1, 1 << 62, 1 << 62, 1 << 62, true}, {1, 1<<62 - 1, 1 << 62, 1 << 62, false},
		{1, math.MaxUint64, math.MaxUint64, math.MaxUint64, true}, {1, math.MaxUint64 - 1, math.MaxUint64, math.MaxUint64, false},
		{.000001, 1, 1_000_000, 1_000_000, true}, {.000001, 1, 1_000_000, 1_000_001, false}, {.000001, 0, 1, 1, false}, {.5, 0, 0, 0, false}, {.5, 0, 0, 7, false},
	} {
		if got := Reached(threshold(t, c.t), c.dot, c.a, c.b); got != c.want {
			t.Errorf("t=%v: Reached(%d, %d, %d) = %v", c.t, c.dot, c.a, c.b, got)
		}
	}
}

func TestSimilarity(t *testing.T) {
	for _, c := range []struct {
		dot, a, b uint64
		want      float64
	}{{0, 0, 0, 0}, {0, 3, 4, 0}, {4, 5, 5, .8}, {3, 25, 1, .6}, {3, 3, 3, 1}, {6, 3, 12, 1}, {1 << 63, 1 << 63, 1 << 63, 1}, {1, 2, 1, math.Sqrt2 / 2}} {
		if got := Similarity(c.dot, c.a, c.b); math.Abs(got-c.want) > 1e-15 || c.want == 1 && got != 1 {
			t.Errorf("Similarity(%d, %d, %d) = %v, want %v", c.dot, c.a, c.b, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Uint64Range(1, math.MaxUint64).Draw(t, "x")
		if got := Similarity(x, x, x); got != 1 {
			t.Fatalf("a vector of squared length %d has the similarity %v to itself", x, got)
		}
	})
}

// families draws realistic groups: originals and their copies, equal or edited in features and weights, over features
// that many vectors have. Weights are 1, small, as of tf-idf, or maximal.
var families = rapid.Custom(func(t *rapid.T) []vector.Vector {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	pool := uint64(rapid.SampledFrom([]int{1, 30, 500}).Draw(t, "pool"))
	poolShare := rapid.SampledFrom([]float64{0, .2, .9}).Draw(t, "poolShare")
	mostSize := rapid.SampledFrom([]int{1, 5, 40, 100}).Draw(t, "mostSize")
	mostWeight := rapid.SampledFrom([]uint32{1, 4, 20 << 12, 1 << 28}).Draw(t, "mostWeight")
	next := pool
	feature := func() uint64 {
		if rng.Float64() < poolShare {
			return hash.Mix(rng.Uint64N(pool))
		}
		next++
		return hash.Mix(next)
	}
	weight := func() uint32 { return 1 + uint32(float64(mostWeight-1)*math.Pow(rng.Float64(), 4)) }
	var vectors []vector.Vector
	for range rapid.IntRange(0, 8).Draw(t, "originals") {
		original := make(map[uint64]uint32)
		for range 1 + rng.IntN(mostSize) {
			original[feature()] = weight()
		}
		originalVector := of(original)
		for range 1 + rng.IntN(8) {
			edits := rng.Float64() * rng.Float64() * float64(rng.IntN(2))
			edited := make(map[uint64]uint32)
			for i, x := range originalVector.Features {
				w := originalVector.Weights[i]
				if rng.Float64() < edits {
					w = weight()
				}
				if rng.Float64() >= edits {
					edited[x] = w
				}
				if rng.Float64() < edits/2 {
					edited[feature()] = weight()
				}
			}
			v := of(edited)
			if mostWeight == 1 && rng.IntN(2) == 0 {
				v.Weights = nil
			}
			vectors = append(vectors, v)
		}
	}
	if rapid.Bool().Draw(t, "empties") {
		vectors = append(vectors, vector.Vector{}, vector.Vector{})
	}
	rng.Shuffle(len(vectors), func(i, j int) { vectors[i], vectors[j] = vectors[j], vectors[i] })
	return vectors
})

var thresholds = []float64{.000001, .05, .3, .5, .6, .7, .8, .9, .96, 1}

func TestBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vectors := families.Draw(t, "vectors")
		for _, value := range thresholds {
			th := threshold(t, value)
			var want []pair
			for j, b := range vectors {
				for i, a := range vectors[:j] {
					if dot := dotByMap(a, b); reachedByRatios(th, dot, dotByMap(a, a), dotByMap(b, b)) {
						want = append(want, pair{i, j, dot.Uint64()})
					}
				}
			}
			if got := collect(func(emit emitter) { bruteForce(vectors, th, emit) }); !slices.Equal(got, want) {
				t.Fatalf("t=%v: %v, want %v", value, got, want)
			}
		}
	})
}

// Each way of joining gives the pairs of the brute force, in its order; the public one chooses a way.
func TestSelfJoinEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vectors := families.Draw(t, "vectors")
		for _, value := range thresholds {
			th := threshold(t, value)
			want := collect(func(emit emitter) { bruteForce(vectors, th, emit) })
			for name, way := range map[string]func(emit emitter){
				"SelfJoin": func(emit emitter) { SelfJoin(vectors, th, emit) },
				"direct":   func(emit emitter) { directJoin(vectors, lengths(vectors), 0, th, emit) },
				"index":    func(emit emitter) { indexJoin(vectors, lengths(vectors), 0, th, emit) },
			} {
				if got := collect(way); !slices.Equal(got, want) {
					t.Fatalf("t=%v, %s: %d pairs, brute force %d:\n%v\n%v", value, name, len(got), len(want), got, want)
				}
			}
		}
	})
}

func lengths(vectors []vector.Vector) (squared []uint64) {
	for _, v := range vectors {
		squared = append(squared, v.SquaredLength())
	}
	return squared
}

func TestCrossJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vectors := families.Draw(t, "vectors")
		border := rapid.IntRange(0, len(vectors)).Draw(t, "border")
		th := threshold(t, rapid.SampledFrom(thresholds).Draw(t, "t"))
		var want []pair
		bruteForce(vectors, th, func(i, j int, dot uint64) bool {
			if i < border && border <= j {
				want = append(want, pair{i, j - border, dot})
			}
			return true
		})
		ways := map[string]func(emit emitter){
			"CrossJoin": func(emit emitter) { CrossJoin(vectors[:border], vectors[border:], th, emit) },
		}
		if border > 0 {
			ways["index"] = func(emit emitter) {
				indexJoin(vectors, lengths(vectors), border, th, func(i, j int, dot uint64) bool { return emit(i, j-border, dot) })
			}
		}
		for name, way := range ways {
			if got := collect(way); !slices.Equal(got, want) {
				t.Fatalf("t=%v, %s: %v, want %v", th, name, got, want)
			}
		}
	})
}

// With weights of 1, the cosine is that of sets, |A∩B| / √(|A|·|B|).
func TestUnitWeightsAreSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vectors := families.Draw(t, "vectors")
		var sets [][]uint64
		for i := range vectors {
			vectors[i].Weights = nil
			sets = append(sets, vectors[i].Features)
		}
		th := threshold(t, rapid.SampledFrom(thresholds).Draw(t, "t"))
		var want []pair
		for j, b := range sets {
			for i, a := range sets[:j] {
				shared := int64(setsim.Overlap(a, b))
				if reachedByRatios(th, big.NewInt(shared), big.NewInt(int64(len(a))), big.NewInt(int64(len(b)))) {
					want = append(want, pair{i, j, uint64(shared)})
				}
			}
		}
		if got := collect(func(emit emitter) { SelfJoin(vectors, th, emit) }); !slices.Equal(got, want) {
			t.Fatalf("t=%v: %v, want %v", th, got, want)
		}
	})
}

// Pairs at exactly the threshold belong to the result, whatever other vectors do to the order of the features: (3, 4)
// and (1) at .6, and so on, scaled to any length. Pairs one unit longer do not.
func TestSelfJoinAtTheBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		t         float64
		with, not uint32
	}{{.6, 3, 4}, {.8, 4, 3}, {.28, 7, 24}, {.96, 24, 7}} {
		for range 50 {
			scale := 1 + rng.Uint32N(1<<24)
			x, y := rng.Uint64(), rng.Uint64()
			exact := of(map[uint64]uint32{x: c.with * scale, y: c.not * scale})
			longer := of(map[uint64]uint32{x: c.with * scale, y: c.not*scale + 1})
			vectors := []vector.Vector{exact, of(map[uint64]uint32{x: 1 + rng.Uint32N(1<<30)}), longer}
			for range 2 * directLimit { // makes one of them frequent, and is not similar
				weights := map[uint64]uint32{rng.Uint64(): 1 << 30}
				weights[[]uint64{x, y}[rng.IntN(2)]] = 1
				vectors = append(vectors, of(weights))
			}
			var found []pair
			SelfJoin(vectors, threshold(t, c.t), func(i, j int, dot uint64) bool {
				if j < 3 && (i == 1 || j == 1) {
					found = append(found, pair{i: i, j: j})
				}
				return true
			})
			if !slices.Equal(found, []pair{{i: 0, j: 1}}) {
				t.Fatalf("t=%v, scale %d: %v", c.t, scale, found)
			}
		}
	}
}

// Ranks against a count by map and a sort of everything.
func TestRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vectors := families.Draw(t, "vectors")
		having := make(map[uint64]int)
		for _, v := range vectors {
			for _, x := range v.Features {
				having[x]++
			}
		}
		var shared []uint64
		for x, n := range having {
			if n > 1 {
				shared = append(shared, x)
			}
		}
		slices.SortFunc(shared, func(x, y uint64) int { return cmp.Or(cmp.Compare(having[x], having[y]), cmp.Compare(x, y)) })
		lists, features := rank(vectors)
		if features != len(shared) {
			t.Fatalf("%d features, want %d", features, len(shared))
		}
		for i, v := range vectors {
			var want []component
			for r, x := range shared {
				if k, ok := slices.BinarySearch(v.Features, x); ok {
					want = append(want, component{uint32(r), v.Weight(k)})
				}
			}
			if !slices.Equal(lists[i], want) {
				t.Fatalf("vector %d: %v, want %v", i, lists[i], want)
			}
		}
	})
}

func TestEmitStopsTheJoin(t *testing.T) {
	many := slices.Repeat([]vector.Vector{{Features: []uint64{1, 2, 3}}}, directLimit+2)
	few, th := many[:directLimit], setsim.Threshold{Num: 1, Den: 2}
	for name, join := range map[string]func(emit emitter){
		"index":       func(emit emitter) { SelfJoin(many, th, emit) },
		"direct":      func(emit emitter) { SelfJoin(few, th, emit) },
		"cross":       func(emit emitter) { CrossJoin(many, few, th, emit) },
		"brute force": func(emit emitter) { bruteForce(few, th, emit) },
	} {
		calls := 0
		join(func(int, int, uint64) bool {
			calls++
			return calls < 3
		})
		if calls != 3 {
			t.Errorf("%s: %d calls, want 3", name, calls)
		}
	}
}

// recombined returns vectors of 225 components on average, like those of word shingles: three in four features occur
// nowhere else, the others are phrases from a Zipf law, and every fourth vector is an edited copy of an earlier one.
// Single words, which are more alike, come from a Zipf law alone.
func recombined(n int, words bool) []vector.Vector {
	rng := rand.New(rand.NewPCG(5, 6))
	phrases := rand.NewZipf(rng, 1.1, 50, 1<<22)
	fresh := uint64(1 << 32)
	draw := func() uint64 {
		if words || rng.IntN(4) == 0 {
			return hash.Mix(phrases.Uint64())
		}
		fresh++
		return hash.Mix(fresh)
	}
	texts := make([][]uint64, n)
	having := make(map[uint64]uint64)
	vectors := make([]vector.Vector, n)
	for i := range texts {
		if i > 0 && rng.IntN(4) == 0 {
			edits := .4 * rng.Float64()
			for _, x := range texts[rng.IntN(i)] {
				if rng.Float64() < edits {
					x = draw()
				}
				texts[i] = append(texts[i], x)
			}
		} else {
			for range 20 + rng.IntN(430) {
				texts[i] = append(texts[i], draw())
			}
		}
		vectors[i] = vector.TermFrequencies(slices.Clone(texts[i]))
		for _, x := range vectors[i].Features {
			having[x]++
		}
	}
	for i, v := range vectors {
		vectors[i] = v.TimesIDF(func(x uint64) uint32 { return vector.InverseFrequency(uint64(n), having[x]) })
	}
	return vectors
}

// BenchmarkSelfJoin joins vectors with tf-idf weights, and with weights of 1.
func BenchmarkSelfJoin(b *testing.B) {
	for name, n := range map[string]int{"shingles": 20_000, "words": 5_000} {
		tfidf := recombined(n, name == "words")
		unit := make([]vector.Vector, n)
		for i, v := range tfidf {
			unit[i].Features = v.Features
		}
		for _, c := range []struct {
			weights string
			vectors []vector.Vector
		}{{"1", unit}, {"tf-idf", tfidf}} {
			for _, v := range []float64{.5, .8, .9} {
				b.Run(fmt.Sprintf("%s/n=%d/weights=%s/t=%v", name, n, c.weights, v), func(b *testing.B) {
					b.ReportAllocs()
					pairs := 0
					for b.Loop() {
						pairs = len(collect(func(emit emitter) { SelfJoin(c.vectors, threshold(b, v), emit) }))
					}
					b.ReportMetric(float64(pairs), "pairs")
				})
			}
		}
	}
}

func BenchmarkSelfJoinOfComponent(b *testing.B) {
	for _, n := range []int{2, 8, directLimit, directLimit + 1, 32, 100} {
		vectors := make([]vector.Vector, n)
		rng := rand.New(rand.NewPCG(7, 8))
		base := recombined(1, true)[0]
		for i := range vectors {
			weights := make(map[uint64]uint32)
			for k, x := range base.Features {
				if rng.IntN(15) == 0 {
					x = rng.Uint64()
				}
				weights[x] = base.Weights[k]
			}
			vectors[i] = of(weights)
		}
		for name, way := range map[string]func(emit emitter){
			"direct": func(emit emitter) { directJoin(vectors, lengths(vectors), 0, setsim.Threshold{Num: 4, Den: 5}, emit) },
			"index":  func(emit emitter) { indexJoin(vectors, lengths(vectors), 0, setsim.Threshold{Num: 4, Den: 5}, emit) },
		} {
			b.Run(fmt.Sprintf("%s/vectors=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					way(func(int, int, uint64) bool { return true })
				}
			})
		}
	}
}

// Vectors of any length that share a feature reach setsim.Any, and others do not.
func TestAny(t *testing.T) {
	for _, dot := range []uint64{1, 1 << 40, math.MaxUint64} {
		if !Reached(setsim.Any, dot, math.MaxUint64, math.MaxUint64) {
			t.Errorf("a dot product of %d does not reach any similarity", dot)
		}
	}
	if Reached(setsim.Any, 0, 1, 1) {
		t.Error("vectors that share nothing have a similarity")
	}
}

// bruteForce calls emit for the same pairs as SelfJoin, in the same order, after comparing all of them.
func bruteForce(vectors []vector.Vector, t setsim.Threshold, emit func(i, j int, dot uint64) bool) {
	for j, b := range vectors {
		for i, a := range vectors[:j] {
			dot := Dot(a, b)
			if Reached(t, dot, a.SquaredLength(), b.SquaredLength()) && !emit(i, j, dot) {
				return
			}
		}
	}
}
