package setsim

import (
	"math"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestParseThreshold(t *testing.T) {
	for _, c := range []struct {
		in   float64
		want Threshold
	}{
		{1, Threshold{1, 1}},
		{.8, Threshold{4, 5}},
		{.7, Threshold{7, 10}},
		{.05, Threshold{1, 20}},
		{.333333, Threshold{333333, 1000000}},
		{.000001, Threshold{1, 1000000}},
	} {
		if got, err := ParseThreshold(c.in); err != nil || got != c.want {
			t.Errorf("ParseThreshold(%v) = %v, %v; want %v", c.in, got, err, c.want)
		}
	}
	for _, in := range []float64{
		0, -.5, 1.000001, math.NaN(), math.Inf(1), 1. / 3, .1234567, 1e-7,
		math.Nextafter(.8, 1), math.Nextafter(.8, 0),
	} {
		if got, err := ParseThreshold(in); err == nil {
			t.Errorf("ParseThreshold(%v) = %v, want an error", in, got)
		}
	}
}

// Every decimal of six digits, as strconv reads it, is the fraction it denotes.
func TestParseThresholdIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		millionths := rapid.Int64Range(1, 1_000_000).Draw(t, "millionths")
		f, err := strconv.ParseFloat(strconv.FormatInt(millionths, 10)+"e-6", 64)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseThreshold(f)
		if err != nil {
			t.Fatal(err)
		}
		want := big.NewRat(millionths, 1_000_000)
		if new(big.Rat).SetFrac64(int64(got.Num), int64(got.Den)).Cmp(want) != 0 || got.Den != want.Denom().Uint64() {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// The bounds against Jaccard's definition in rational numbers.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		th, err := ParseThreshold(float64(rapid.Int64Range(1, 1_000_000).Draw(t, "millionths")) / 1e6)
		if err != nil {
			t.Fatal(err)
		}
		size := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 1<<30))
		a, b := size.Draw(t, "a"), size.Draw(t, "b")
		reaches := func(shared, a, b int) bool {
			union := int64(a + b - shared)
			return union > 0 && shared > 0 &&
				big.NewRat(int64(shared), union).Cmp(big.NewRat(int64(th.Num), int64(th.Den))) >= 0
		}
		most := min(a, b)
		shared := rapid.IntRange(0, most).Draw(t, "shared")
		if got, want := th.Reached(shared, a, b), reaches(shared, a, b); got != want {
			t.Fatalf("Reached(%d, %d, %d) = %v", shared, a, b, got)
		}
		// Test around the bound itself, which a random number of shared elements seldom hits.
		need := th.minOverlap(a, b)
		if need <= most && !reaches(need, a, b) {
			t.Fatalf("minOverlap(%d, %d) = %d does not reach %v", a, b, need, th)
		}
		if need-1 <= most && reaches(need-1, a, b) {
			t.Fatalf("minOverlap(%d, %d) = %d, but one less reaches %v", a, b, need, th)
		}
		smallest := th.MinSize(a)
		if a > 0 && !reaches(smallest, smallest, a) {
			t.Fatalf("MinSize(%d) = %d, whose subset does not reach %v", a, smallest, th)
		}
		if reaches(smallest-1, smallest-1, a) {
			t.Fatalf("MinSize(%d) = %d, but one less reaches %v", a, smallest, th)
		}
	})
}

func TestReachedAtTheBound(t *testing.T) {
	for _, c := range []struct {
		t            float64
		shared, a, b int
		want         bool
	}{
		{.8, 4, 5, 4, true}, {.8, 8, 9, 9, true}, {.8, 8, 10, 8, true}, {.8, 7, 8, 8, false},
		{.7, 7, 10, 7, true}, {.7, 70, 85, 85, true}, {.7, 69, 84, 85, false},
		{.6, 3, 5, 3, true}, {.3, 3, 10, 3, true}, {.9, 9, 10, 9, true}, {.05, 1, 20, 1, true}, {.05, 1, 20, 2, false},
		{1, 3, 3, 3, true}, {1, 3, 3, 4, false},
		{.000001, 0, 0, 0, false}, {.000001, 0, 3, 4, false},
	} {
		th, err := ParseThreshold(c.t)
		if err != nil {
			t.Fatal(err)
		}
		if got := th.Reached(c.shared, c.a, c.b); got != c.want {
			t.Errorf("t=%v: Reached(%d, %d, %d) = %v", c.t, c.shared, c.a, c.b, got)
		}
	}
}
