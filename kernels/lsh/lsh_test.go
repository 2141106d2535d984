package lsh

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/minhash/fss"
)

// The curve against its definition in 300-bit arithmetic.
func TestSCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := rapid.Float64Range(0, 1).Draw(t, "j")
		b, r := rapid.IntRange(1, 1024).Draw(t, "b"), rapid.IntRange(1, 1024).Draw(t, "r")
		got := SCurve(j, b, r)
		want, _ := new(big.Float).Sub(one(), miss(j, b, r)).Float64()
		// Each band's rounding enters up to b times.
		if math.Abs(got-want) > 1e-15*float64(b+r) {
			t.Fatalf("SCurve(%v, %d, %d) = %v, want %v", j, b, r, got, want)
		}
	})
	// ln(.001) / ln(1−.8^5) = 17.4.
	if SCurve(.8, 18, 5) < .999 || SCurve(.8, 17, 5) >= .999 {
		t.Error("recall .999 at .8 takes 18 bands of 5")
	}
}

func one() *big.Float { return big.NewFloat(1).SetPrec(300) }

// miss returns (1−j^r)^b.
func miss(j float64, b, r int) *big.Float {
	pow := func(x *big.Float, n int) *big.Float {
		p := one()
		for range n {
			p.Mul(p, x)
		}
		return p
	}
	return pow(one().Sub(one(), pow(new(big.Float).SetPrec(300).SetFloat64(j), r)), b)
}

var signatures = rapid.SliceOfN(rapid.Uint64(), 64, 64)

// A key depends on each row of its band, on their order, and on nothing else. The test fails by chance once in 2^64
// comparisons.
func TestKeysDependOnTheirRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sig := signatures.Draw(t, "sig")
		r := rapid.IntRange(1, 16).Draw(t, "r")
		b := rapid.IntRange(1, 64/r).Draw(t, "b")
		keys := Keys(nil, sig, b, r)
		if len(keys) != b {
			t.Fatalf("%d keys, want %d", len(keys), b)
		}
		at := rapid.IntRange(0, 63).Draw(t, "at")
		bit := rapid.IntRange(0, 63).Draw(t, "bit")
		changed := slices.Clone(sig)
		changed[at] ^= 1 << bit
		for band, key := range Keys(nil, changed, b, r) {
			if differs := key != keys[band]; differs != (at/r == band) {
				t.Fatalf("bit %d of component %d changed, key of band %d differs: %v", bit, at, band, differs)
			}
		}
		if r > 1 && sig[0] != sig[1] {
			swapped := slices.Clone(sig)
			swapped[0], swapped[1] = sig[1], sig[0]
			if Keys(nil, swapped, b, r)[0] == keys[0] {
				t.Fatal("the order of the rows does not matter")
			}
		}
	})
}

func TestKeysDoNotMeetAcrossBands(t *testing.T) {
	sig := slices.Repeat([]uint64{42}, 64)
	keys := Keys(nil, sig, 64, 1)
	slices.Sort(keys)
	if distinct := len(slices.Compact(keys)); distinct != 64 {
		t.Errorf("%d distinct keys of equal bands, want 64", distinct)
	}
}

func TestKeysReusesStorage(t *testing.T) {
	dst := make([]uint64, 0, 8)
	if got := Keys(dst, make([]uint64, 64), 8, 8); &got[0] != &dst[:1][0] {
		t.Error("storage that suffices was not used")
	}
}

// Groups are sharded and sorted by bytes of the key, even if the values are those of long documents, all of round 0 and
// small. Each chi-square statistic with 255 degrees of freedom has a standard deviation of 23; 400 is exceeded with
// probability 2e-8, and there are 16 of them.
func TestKeysAreUniform(t *testing.T) {
	const documents = 50_000
	signer := fss.New(64, 0)
	for _, r := range []int{1, 5} {
		var counts [8][256]float64
		var sig, shingles, keys []uint64
		for d := range uint64(documents) {
			shingles = shingles[:0]
			for i := range uint64(200) {
				shingles = append(shingles, hash.Mix(d<<10|i))
			}
			sig = signer.Sign(sig, shingles)
			keys = Keys(keys, sig, 1, r)
			for i := range counts {
				counts[i][byte(keys[0]>>(8*i))]++
			}
		}
		for i := range counts {
			statistic := 0.
			for _, n := range counts[i] {
				const want = documents / 256.
				statistic += (n - want) * (n - want) / want
			}
			if statistic > 400 {
				t.Errorf("%d rows: byte %d of the keys has a chi-square of %.0f, want 255 ± 23", r, i, statistic)
			}
		}
	}
}

// Signatures of Fast Similarity Sketching share a key about as often as independent components would: within .03 or
// better, that is, less often for pairs unlikely to be wanted and more often for the others. A rate over 8,000 pairs
// has a standard deviation of at most .0056, so a correct program exceeds .03 for one seed in 10^7 per cell; seeds are
// fixed.
func TestBandingFollowsSCurve(t *testing.T) {
	const pairs = 8000
	for _, p := range []Banding{
		{Bands: 10, Rows: 3, Signature: 32}, {Bands: 8, Rows: 4, Signature: 32},
		{Bands: 18, Rows: 5, Signature: 128}, {Bands: 16, Rows: 8, Signature: 128},
	} {
		signer := fss.New(p.Signature, 0)
		for _, c := range []struct{ both, only int }{{14, 3}, {10, 10}, {40, 10}, {160, 40}, {100, 100}, {400, 100}} {
			union := c.both + c.only
			half := c.both + c.only/2
			hits := 0
			var a, b, keysA, keysB []uint64
			x := make([]uint64, union)
			for i := range pairs {
				for k := range x {
					x[k] = hash.Mix(uint64(i*union + k))
				}
				a = signer.Sign(a, x[:half])
				b = signer.Sign(b, append(x[half:], x[:c.both]...))
				keysA, keysB = Keys(keysA, a, p.Bands, p.Rows), Keys(keysB, b, p.Bands, p.Rows)
				for k := range keysA {
					if keysA[k] == keysB[k] {
						hits++
						break
					}
				}
			}
			rate := float64(hits) / pairs
			want := SCurve(float64(c.both)/float64(union), p.Bands, p.Rows)
			if d := rate - want; d > .03 && want < .5 || d < -.03 && want >= .5 || math.Abs(d) > .06 {
				t.Errorf("%d × %d, %d of %d shared: rate %.4f, S-curve %.4f", p.Bands, p.Rows, c.both, union, rate, want)
			}
		}
	}
}

func BenchmarkKeys(b *testing.B) {
	sig := make([]uint64, 128)
	for i := range sig {
		sig[i] = hash.Mix(uint64(i)) >> 9
	}
	var keys []uint64
	for b.Loop() {
		keys = Keys(keys, sig, 18, 5)
	}
}

// A Banding has one key per band, and documents share one with the probability of SCurve.
func TestBandingIsAKeyer(t *testing.T) {
	var k Keyer = Banding{Signature: 12, Bands: 3, Rows: 4}
	if keys := k.Keys(nil, make([]uint64, 12)); len(keys) != 3 || k.Len() != 3 {
		t.Errorf("%d keys, Len %d, want 3", len(keys), k.Len())
	}
	for _, j := range []float64{0, .3, .9, 1} {
		if got, want := k.Sharing(j), SCurve(j, 3, 4); got != want {
			t.Errorf("Sharing(%v) = %v, want %v", j, got, want)
		}
	}
}
