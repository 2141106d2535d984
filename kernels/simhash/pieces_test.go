package simhash

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/lsh"
)

var cuts = rapid.Custom(func(t *rapid.T) Pieces {
	m := rapid.OneOf(rapid.IntRange(1, 70), rapid.IntRange(1, MaxBits)).Draw(t, "bits")
	return Pieces{m, rapid.OneOf(rapid.IntRange(1, m), rapid.Just(m), rapid.Just(1)).Draw(t, "pieces")}
})

// A key depends on each bit of its piece and on no other. Each bit is in one piece, pieces are contiguous, and their
// lengths differ by at most one. The test fails by chance once in 2^64 comparisons.
func TestKeysDependOnTheirBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := cuts.Draw(t, "pieces")
		sig := rapid.SliceOfN(rapid.Uint64(), (p.Bits+63)/64, (p.Bits+63)/64).Draw(t, "signature")
		keys := p.Keys(nil, sig)
		if len(keys) != p.Count || p.Len() != p.Count {
			t.Fatalf("%d keys, Len %d, want %d", len(keys), p.Len(), p.Count)
		}
		lengths := make([]int, p.Count)
		last := 0
		for bit := range p.Bits {
			changed := slices.Clone(sig)
			changed[bit/64] ^= 1 << (bit % 64)
			piece := -1
			for i, key := range p.Keys(nil, changed) {
				if key == keys[i] {
					continue
				}
				if piece >= 0 {
					t.Fatalf("bit %d is in pieces %d and %d", bit, piece, i)
				}
				piece = i
			}
			if piece < last {
				t.Fatalf("bit %d is in piece %d, the one before in %d", bit, piece, last)
			}
			last = piece
			lengths[piece]++
		}
		if slices.Max(lengths)-slices.Min(lengths) > 1 {
			t.Fatalf("lengths %v", lengths)
		}
	})
}

func TestKeysDoNotMeetAcrossPieces(t *testing.T) {
	p := Pieces{1024, 1024}
	keys := p.Keys(nil, make([]uint64, 16))
	slices.Sort(keys)
	if distinct := len(slices.Compact(keys)); distinct != p.Count {
		t.Errorf("%d distinct keys of equal pieces, want %d", distinct, p.Count)
	}
	dst := make([]uint64, 0, p.Count)
	if got := p.Keys(dst, make([]uint64, 16)); &got[0] != &dst[:1][0] {
		t.Error("storage that suffices was not used")
	}
}

// Keys are cut to their upper bits and sharded by them, even if a piece has few values. Each chi-square statistic with
// 255 degrees of freedom has a standard deviation of 23; 400 is exceeded with probability 2e-8.
func TestKeysAreUniform(t *testing.T) {
	const documents = 50_000
	var counts [8][256]float64
	rng := rand.New(rand.NewPCG(1, 2))
	var keys []uint64
	for range documents {
		keys = Pieces{64, 2}.Keys(keys, []uint64{rng.Uint64()})
		for i := range counts {
			counts[i][byte(keys[1]>>(8*i))]++
		}
	}
	for i := range counts {
		statistic := 0.
		for _, n := range counts[i] {
			const want = documents / 256.
			statistic += (n - want) * (n - want) / want
		}
		if statistic > 400 {
			t.Errorf("byte %d of the keys: chi-square %.0f", i, statistic)
		}
	}
}

// The probability against its definition, piece by piece in 300-bit arithmetic.
func TestSharing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, agree := cuts.Draw(t, "pieces"), rapid.Float64Range(0, 1).Draw(t, "agree")
		none := number(1)
		for i := range p.Count {
			all := number(1)
			for range (i+1)*p.Bits/p.Count - i*p.Bits/p.Count {
				all.Mul(all, number(agree))
			}
			none.Mul(none, all.Sub(number(1), all))
		}
		want, _ := none.Sub(number(1), none).Float64()
		if got := p.Sharing(agree); math.Abs(got-want) > 1e-15*float64(p.Bits+p.Count) {
			t.Fatalf("%+v: Sharing(%v) = %v, want %v", p, agree, got, want)
		}
	})
}

func number(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }

// Random bits that agree with a given probability share a piece as often as Sharing says, in pieces of unequal lengths.
// The standard deviation of the fraction is at most .0016, and .008 is five of them.
func TestKeysMeetAsExpected(t *testing.T) {
	const trials = 100_000
	rng := rand.New(rand.NewPCG(3, 4))
	var keysA, keysB []uint64
	for _, c := range []struct {
		p     Pieces
		agree float64
	}{{Pieces{130, 17}, .7}, {Pieces{100, 1}, .99}, {Pieces{11, 4}, .2}, {Pieces{70, 70}, .01}} {
		met := 0
		for range trials {
			a, b := make([]uint64, 3), make([]uint64, 3)
			for i := range c.p.Bits {
				if rng.Float64() >= c.agree {
					b[i/64] |= 1 << (i % 64)
				}
			}
			keysA, keysB = c.p.Keys(keysA, a), c.p.Keys(keysB, b)
			for i, key := range keysA {
				if key == keysB[i] {
					met++
					break
				}
			}
		}
		if got, want := float64(met)/trials, c.p.Sharing(c.agree); math.Abs(got-want) > .008 {
			t.Errorf("%+v, agree %v: %.4f meet, want %.4f", c.p, c.agree, got, want)
		}
	}
}

func TestAgree(t *testing.T) {
	for cosine, want := range map[float64]float64{0: .5, .5: 2. / 3, math.Sqrt(.5): .75, math.Sqrt(.75): 5. / 6, 1: 1} {
		if got := Agree(cosine); math.Abs(got-want) > 1e-15 {
			t.Errorf("Agree(%v) = %v, want %v", cosine, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		cosine := rapid.Float64Range(0, 1).Draw(t, "cosine")
		if got, want := Agree(cosine), 1-math.Acos(cosine)/math.Pi; math.Abs(got-want) > 1e-15 {
			t.Fatalf("Agree(%v) = %v, want %v", cosine, got, want)
		}
	})
}

// The choice is the fewest pieces that suffice, and its description of itself is true.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{
			Bits:      rapid.IntRange(1, 300).Draw(t, "bits"),
			Agree:     Agree(rapid.Float64Range(0, 1).Draw(t, "cosine")),
			Documents: rapid.Int64Range(0, 1_000_000).Draw(t, "documents"),
		}
		recall := rapid.Float64Range(.01, .9999).Draw(t, "recall")
		got, err := Choose(in, recall)
		for count := 1; count <= in.Bits; count++ {
			p := Pieces{in.Bits, count}
			if p.Sharing(in.Agree) < recall {
				continue
			}
			want, assessErr := Assess(in, count)
			if err != nil || assessErr != nil || got != want || got.Pieces != p || got.ExpectedRecall != p.Sharing(in.Agree) {
				t.Fatalf("%+v, recall %v: %+v, %v; want %+v", in, recall, got, err, want)
			}
			return
		}
		if err == nil {
			t.Fatalf("%+v, recall %v: %+v, which does not reach it", in, recall, got)
		}
	})
}

// Edges are counted piece by piece.
func TestBackgroundEdges(t *testing.T) {
	for _, c := range []struct {
		background []float64
		p          Pieces
		documents  int64
		want       float64
	}{
		{nil, Pieces{256, 32}, 100_001, 100_000 * 32. / 256},
		{nil, Pieces{10, 4}, 11, 10 * (2./8 + 2./4)}, // lengths 2, 3, 2, 3
		{nil, Pieces{8, 1}, 0, 0},
		{[]float64{1, .6, .4}, Pieces{3, 2}, 2, .6 + .4},
		{[]float64{1, .6, .4}, Pieces{8, 2}, 2, 2 * .4 / 4},
		{[]float64{1}, Pieces{8, 2}, 2, 2. / 16},
	} {
		in := Input{Bits: c.p.Bits, Agree: .8, Documents: c.documents, Background: c.background}
		got, err := Assess(in, c.p.Count)
		if err != nil || math.Abs(got.BackgroundEdges-c.want) > 1e-9 || got.Percolates != (c.want > lsh.MaxBackgroundEdges) {
			t.Errorf("%+v of %d documents, background %v: %+v, %v; want %v edges", c.p, c.documents, c.background, got, err, c.want)
		}
	}
}

// The background is the mean over all pairs, by the arc cosine and powers.
func TestBackground(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) [4]bool {
			return [4]bool{rapid.Bool().Draw(t, "a"), rapid.Bool().Draw(t, "b"), rapid.Bool().Draw(t, "c"), true}
		}), 0, 8, func(s [4]bool) [4]bool { return s }).Draw(t, "sets")
		var of [][]uint64
		for i, members := range sets {
			set := []uint64{uint64(10 + i%3)} // so that some pairs share nothing
			for x, in := range members[:3] {
				if in {
					set = append(set, uint64(20+x))
				}
			}
			of = append(of, set)
		}
		limit, bits := rapid.Float64Range(.1, 1).Draw(t, "limit"), rapid.IntRange(1, 70).Draw(t, "bits")
		got := Background(of, limit, bits)
		if len(of) < 2 {
			if len(got) > 0 {
				t.Fatalf("%v: background %v", of, got)
			}
			return
		}
		for r := range bits + 1 {
			sum, pairs := 0., 0.
			for j, b := range of {
				for _, a := range of[:j] {
					shared := 0.
					for _, x := range a {
						if slices.Contains(b, x) {
							shared++
						}
					}
					pairs++
					if cosine := shared / math.Sqrt(float64(len(a)*len(b))); cosine < limit {
						sum += math.Pow(1-math.Acos(cosine)/math.Pi, float64(r))
					}
				}
			}
			want := sum / pairs
			if r == 0 {
				want = 1
			}
			if math.Abs(got[r]-want) > 1e-12 {
				t.Fatalf("%v below %v: %v of %d bits, want %v", of, limit, got[r], r, want)
			}
		}
	})
}

func TestInvalidInput(t *testing.T) {
	valid := Input{Bits: 64, Agree: .8, Documents: 10}
	for name, change := range map[string]func(in *Input, recall *float64, count *int){
		"no bits":           func(in *Input, _ *float64, count *int) { in.Bits, *count = 0, 0 },
		"too many bits":     func(in *Input, _ *float64, _ *int) { in.Bits = MaxBits + 1 },
		"probability":       func(in *Input, _ *float64, _ *int) { in.Agree = 1.1 },
		"no probability":    func(in *Input, _ *float64, _ *int) { in.Agree = math.NaN() },
		"documents":         func(in *Input, _ *float64, _ *int) { in.Documents = -1 },
		"background":        func(in *Input, _ *float64, _ *int) { in.Background = []float64{1, 2} },
		"recall or pieces":  func(_ *Input, recall *float64, count *int) { *recall, *count = 0, 0 },
		"recall or pieces ": func(_ *Input, recall *float64, count *int) { *recall, *count = 1, 65 },
	} {
		in, recall, count := valid, .5, 8
		change(&in, &recall, &count)
		if _, err := Choose(in, recall); err == nil {
			t.Errorf("%s: Choose takes it", name)
		}
		if _, err := Assess(in, count); err == nil {
			t.Errorf("%s: Assess takes it", name)
		}
	}
	// A pair at a right angle agrees in at least one bit of two with probability 3/4.
	if _, err := Choose(Input{Bits: 2, Agree: .5}, .76); err == nil {
		t.Error("two bits reach more than they can")
	}
}

// Pieces.Keys can replace lsh.Banding.Keys.
var _ = []func(dst, sig []uint64) []uint64{Pieces{}.Keys, lsh.Banding{}.Keys}

func BenchmarkKeys(b *testing.B) {
	sig := []uint64{hash.Mix(1), hash.Mix(2), hash.Mix(3), hash.Mix(4)}
	var keys []uint64
	for b.Loop() {
		keys = Pieces{256, 32}.Keys(keys, sig)
	}
}

// The concatenated labels of all pieces are the bits of the signature.
func TestLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(1, 200).Draw(t, "bits")
		p := Pieces{bits, rapid.IntRange(1, bits).Draw(t, "pieces")}
		sig := make([]uint64, (bits+63)/64)
		var want, got []byte
		for i := range bits {
			bit := rapid.Uint64Range(0, 1).Draw(t, "bit")
			sig[i/64] |= bit << (i % 64)
			want = append(want, '0'+byte(bit))
		}
		for i := range p.Count {
			got = append(got, p.Label(sig, i)...)
		}
		if string(got) != string(want) {
			t.Fatalf("%+v: %s, want %s", p, got, want)
		}
	})
}
