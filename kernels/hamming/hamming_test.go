package hamming

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/simhash"
)

type pair struct{ i, j, distance int }

func collect(join func(emit func(i, j, distance int) bool)) []pair {
	var pairs []pair
	join(func(i, j, distance int) bool {
		pairs = append(pairs, pair{i, j, distance})
		return true
	})
	return pairs
}

// distanceByBits is Distance by definition.
func distanceByBits(a, b []uint64, m int) int {
	n := 0
	for i := range m {
		if a[i/64]>>(i%64)%2 != b[i/64]>>(i%64)%2 {
			n++
		}
	}
	return n
}

// families returns n signatures of m bits: random ones and copies with a few bits changed, shuffled.
func families(rng *rand.Rand, n, m, changes int) [][]uint64 {
	signatures := make([][]uint64, n)
	for k := range signatures {
		sig := make([]uint64, (m+63)/64)
		if k > 0 && rng.IntN(3) > 0 {
			copy(sig, signatures[rng.IntN(k)])
			for range rng.IntN(changes + 1) {
				i := rng.IntN(m)
				sig[i/64] ^= 1 << (i % 64)
			}
		} else {
			for i := range m {
				sig[i/64] |= rng.Uint64N(2) << (i % 64)
			}
		}
		signatures[k] = sig
	}
	rng.Shuffle(n, func(i, j int) { signatures[i], signatures[j] = signatures[j], signatures[i] })
	return signatures
}

type group struct {
	signatures [][]uint64
	m, d       int
}

var groups = rapid.Custom(func(t *rapid.T) group {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	n := rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(0, 3*directLimit)).Draw(t, "n")
	m := rapid.OneOf(rapid.IntRange(1, 20), rapid.SampledFrom([]int{63, 64, 65, 128, 200, 256})).Draw(t, "m")
	d := rapid.OneOf(rapid.IntRange(0, 4), rapid.IntRange(0, m+1)).Draw(t, "d")
	return group{families(rng, n, m, d+2), m, d}
})

func TestBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := groups.Draw(t, "group")
		var want []pair
		for j := range g.signatures {
			for i := range j {
				if distance := distanceByBits(g.signatures[i], g.signatures[j], g.m); distance <= g.d {
					want = append(want, pair{i, j, distance})
				}
			}
		}
		got := collect(func(emit func(i, j, distance int) bool) { bruteForce(g.signatures, g.d, emit) })
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// Each way of joining gives the pairs of the brute force, in its order; the public one chooses a way.
func TestSelfJoinEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := groups.Draw(t, "group")
		want := collect(func(emit func(i, j, distance int) bool) { bruteForce(g.signatures, g.d, emit) })
		ways := map[string]func(emit func(i, j, distance int) bool){
			"SelfJoin": func(emit func(i, j, distance int) bool) { SelfJoin(g.signatures, g.m, g.d, emit) },
			"direct":   func(emit func(i, j, distance int) bool) { directJoin(g.signatures, 0, g.d, emit) },
		}
		if g.d < g.m {
			ways["index"] = func(emit func(i, j, distance int) bool) {
				indexJoin(g.signatures, 0, simhash.Pieces{Bits: g.m, Count: g.d + 1}, emit)
			}
		}
		for name, way := range ways {
			if got := collect(way); !slices.Equal(got, want) {
				t.Fatalf("m=%d, d=%d, %s: %v, want %v", g.m, g.d, name, got, want)
			}
		}
	})
}

func TestCrossJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := groups.Draw(t, "group")
		border := rapid.IntRange(0, len(g.signatures)).Draw(t, "border")
		var want []pair
		bruteForce(g.signatures, g.d, func(i, j, distance int) bool {
			if i < border && border <= j {
				want = append(want, pair{i, j - border, distance})
			}
			return true
		})
		ways := map[string]func(emit func(i, j, distance int) bool){
			"CrossJoin": func(emit func(i, j, distance int) bool) {
				CrossJoin(g.signatures[:border], g.signatures[border:], g.m, g.d, emit)
			},
		}
		if g.d < g.m && border > 0 {
			ways["index"] = func(emit func(i, j, distance int) bool) {
				indexJoin(g.signatures, border, simhash.Pieces{Bits: g.m, Count: g.d + 1}, func(i, j, distance int) bool {
					return emit(i, j-border, distance)
				})
			}
		}
		for name, way := range ways {
			if got := collect(way); !slices.Equal(got, want) {
				t.Fatalf("m=%d, d=%d, %s: %v, want %v", g.m, g.d, name, got, want)
			}
		}
	})
}

func TestEmitStopsTheJoin(t *testing.T) {
	many := slices.Repeat([][]uint64{{7}}, directLimit+2)
	few := many[:directLimit]
	for name, join := range map[string]func(emit func(i, j, distance int) bool){
		"index":       func(emit func(i, j, distance int) bool) { SelfJoin(many, 64, 3, emit) },
		"direct":      func(emit func(i, j, distance int) bool) { SelfJoin(few, 64, 3, emit) },
		"cross":       func(emit func(i, j, distance int) bool) { CrossJoin(many, few, 64, 3, emit) },
		"brute force": func(emit func(i, j, distance int) bool) { bruteForce(few, 3, emit) },
	} {
		calls := 0
		join(func(int, int, int) bool {
			calls++
			return calls < 3
		})
		if calls != 3 {
			t.Errorf("%s: %d calls, want 3", name, calls)
		}
	}
}

// A pair reaches the threshold exactly up to the largest distance, computed in rational numbers.
func TestMaxDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		th, err := setsim.ParseThreshold(float64(rapid.Int64Range(1, 1_000_000).Draw(t, "millionths")) / 1e6)
		if err != nil {
			t.Fatal(err)
		}
		m := rapid.IntRange(1, simhash.MaxBits).Draw(t, "m")
		d := MaxDistance(th, m)
		reaches := func(d int) bool {
			return big.NewRat(int64(m-d), int64(m)).Cmp(big.NewRat(int64(th.Num), int64(th.Den))) >= 0
		}
		if !reaches(d) || reaches(d+1) {
			t.Fatalf("MaxDistance(%v, %d) = %d", th, m, d)
		}
	})
	// In floating point (1−.9)·100 is below 10.
	if d := MaxDistance(setsim.Threshold{Num: 9, Den: 10}, 100); d != 10 {
		t.Errorf("MaxDistance(.9, 100) = %d, want 10", d)
	}
}

func BenchmarkSelfJoin(b *testing.B) {
	for _, c := range []struct{ n, m, d int }{{100_000, 64, 3}, {20_000, 256, 12}, {20_000, 256, 25}, {20_000, 256, 38}, {20_000, 256, 51}} {
		signatures := families(rand.New(rand.NewPCG(1, 2)), c.n, c.m, c.m/5)
		pieces := simhash.Pieces{Bits: c.m, Count: c.d + 1}
		ways := map[string]func(emit func(i, j, distance int) bool){
			"index": func(emit func(i, j, distance int) bool) { indexJoin(signatures, 0, pieces, emit) },
		}
		if c.n <= 20_000 {
			ways["direct"] = func(emit func(i, j, distance int) bool) { directJoin(signatures, 0, c.d, emit) }
		}
		for name, way := range ways {
			b.Run(fmt.Sprintf("%s/n=%d/m=%d/d=%d", name, c.n, c.m, c.d), func(b *testing.B) {
				for b.Loop() {
					way(func(int, int, int) bool { return true })
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.n)/float64(c.n)*2, "ns/pair")
				b.ReportMetric(meeting(c.m, c.d+1), "meeting")
			})
		}
	}
}

// bruteForce calls emit for the same pairs as SelfJoin, in the same order, after comparing all of them.
func bruteForce(signatures [][]uint64, d int, emit func(i, j, distance int) bool) {
	for j, b := range signatures {
		for i, a := range signatures[:j] {
			if distance := Distance(a, b); distance <= d && !emit(i, j, distance) {
				return
			}
		}
	}
}
