package vector

import (
	"bufio"
	"fmt"
	"math/big"
	"math/bits"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The file comes from testdata/idf.py, which implements the definition literally.
func TestGoldenInverseFrequencies(t *testing.T) {
	f, err := os.Open("testdata/idf.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := 0
	for s := bufio.NewScanner(f); s.Scan(); cases++ {
		var documents, having uint64
		var want uint32
		if _, err := fmt.Sscan(s.Text(), &documents, &having, &want); err != nil {
			t.Fatal(err)
		}
		if got := InverseFrequency(documents, having); got != want {
			t.Errorf("InverseFrequency(%d, %d) = %d, want %d", documents, having, got, want)
		}
	}
	if cases == 0 {
		t.Fatal("no cases")
	}
}

// 2^k ≤ (1 + documents/having)^4096 < 2^(k+1). A result may be wrong only if the logarithm is within 2^-50 of a
// multiple of 2^-12: fewer than one in 2^37 cases.
func TestInverseFrequency(t *testing.T) {
	number := rapid.OneOf(rapid.Uint64Range(1, 1000), rapid.Uint64Range(1, 1<<63-1))
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		documents, having := max(a, b), min(a, b)
		exponent := big.NewInt(1 << FractionBits)
		power := new(big.Int).Exp(new(big.Int).SetUint64(documents+having), exponent, nil)
		unit := new(big.Int).Exp(new(big.Int).SetUint64(having), exponent, nil)
		k := uint(InverseFrequency(documents, having))
		if new(big.Int).Lsh(unit, k).Cmp(power) > 0 || new(big.Int).Lsh(unit, k+1).Cmp(power) <= 0 {
			t.Fatalf("InverseFrequency(%d, %d) = %d", documents, having, k)
		}
	})
}

func TestTermFrequencies(t *testing.T) {
	shingles := rapid.SliceOf(rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Uint64()))
	rapid.Check(t, func(t *rapid.T) {
		in := shingles.Draw(t, "shingles")
		want := make(map[uint64]uint32)
		for _, x := range in {
			want[x]++
		}
		v := TermFrequencies(slices.Clone(in))
		if len(v.Features) != len(want) || len(v.Weights) != len(want) || !slices.IsSorted(v.Features) {
			t.Fatalf("%v of %v", v, in)
		}
		for i, x := range v.Features {
			if v.Weights[i] != want[x] {
				t.Fatalf("%d occurs %d times, want %d", x, v.Weights[i], want[x])
			}
		}
	})
}

// The products are halved the minimum number of times that makes the vector short enough.
func TestTimesIDF(t *testing.T) {
	frequency := rapid.OneOf(rapid.Uint32Range(1, 50), rapid.Uint32Range(1, 1<<31))
	idf := rapid.OneOf(rapid.Uint32Range(1<<12, 20<<12), rapid.Uint32Range(1<<12, 63<<12))
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(frequency, 0, 6).Draw(t, "frequencies")
		v := Vector{Features: make([]uint64, len(weights)), Weights: weights}
		factors := make([]uint32, len(weights))
		for i := range weights {
			v.Features[i] = uint64(i)
			factors[i] = idf.Draw(t, "idf")
		}
		scaled := func(halvings int) (w []*big.Int, short bool) {
			sum := new(big.Int)
			for i := range weights {
				p := new(big.Int).SetUint64(uint64(weights[i]) * uint64(factors[i]))
				if p.Rsh(p, uint(halvings)); p.Sign() == 0 {
					p.SetInt64(1)
				}
				w = append(w, p)
				sum.Add(sum, new(big.Int).Mul(p, p))
			}
			return w, sum.BitLen() <= 64
		}
		halvings := 0
		want, short := scaled(0)
		for !short {
			halvings++
			want, short = scaled(halvings)
		}
		got := v.TimesIDF(func(x uint64) uint32 { return factors[x] })
		if !slices.Equal(got.Features, v.Features) || len(got.Weights) != len(want) {
			t.Fatalf("%v of %v", got, v)
		}
		sum := new(big.Int)
		for i, w := range got.Weights {
			if uint64(w) != want[i].Uint64() {
				t.Fatalf("weight %d is %d, want %v after %d halvings", i, w, want[i], halvings)
			}
			sum.Add(sum, new(big.Int).Mul(want[i], want[i]))
		}
		if got := got.SquaredLength(); got != sum.Uint64() {
			t.Fatalf("squared length %d, want %v", got, sum)
		}
	})
	// 2^32 times 2^17 is halved at least 17 times, which leaves nothing of the other weight.
	uneven := Vector{Features: []uint64{1, 2}, Weights: []uint32{1<<32 - 1, 1}}
	if got := uneven.TimesIDF(func(x uint64) uint32 { return []uint32{1 << 17, 1 << 12}[x-1] }); got.Weights[1] != 1 {
		t.Errorf("a weight became %d", got.Weights[1])
	}
	// Only the sum of the squares reaches 2^64.
	edge := Vector{Features: []uint64{1, 2, 3, 4}, Weights: slices.Repeat([]uint32{1 << 19}, 4)}
	if got := edge.TimesIDF(func(uint64) uint32 { return 1 << 12 }); got.Weights[0] != 1<<30 {
		t.Errorf("four weights of 2^31 became %d", got.Weights[0])
	}
}

func TestUnitWeights(t *testing.T) {
	v := Vector{Features: []uint64{3, 5, 8}}
	if v.SquaredLength() != 3 || v.Weight(2) != 1 {
		t.Errorf("squared length %d, weight %d", v.SquaredLength(), v.Weight(2))
	}
	ones := Vector{Features: v.Features, Weights: []uint32{1, 1, 1}}
	double := func(uint64) uint32 { return 2 }
	if got, want := v.TimesIDF(double), ones.TimesIDF(double); !slices.Equal(got.Weights, want.Weights) {
		t.Errorf("weights %v, want %v", got.Weights, want.Weights)
	}
}

func BenchmarkTermFrequencies(b *testing.B) {
	shingles := make([]uint64, 225)
	for i := range shingles {
		shingles[i] = bits.Reverse64(uint64(i) % 150 * 0x9e3779b97f4a7c15)
	}
	buffer := make([]uint64, len(shingles))
	for b.Loop() {
		copy(buffer, shingles)
		TermFrequencies(buffer)
	}
}

func BenchmarkInverseFrequency(b *testing.B) {
	for b.Loop() {
		InverseFrequency(100_000, 17)
	}
}
