package fss

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

// signPlain implements Sign by the definition in the package comment: it plays every round to its end, and computes
// each bin separately.
func signPlain(s *Signer, shingles []uint64) []uint64 {
	n := uint64(len(s.spare))
	sig := slices.Repeat([]uint64{empty}, int(n))
	for r := range uint64(rounds) {
		for _, x := range shingles {
			y := x
			switch {
			case r > 0:
				y = hash.Fold(x^s.throws[r], multiplier)
			case s.seed != 0:
				y = hash.Fold(x^s.mask, multiplier)
			}
			if value := r<<55 | y>>9; value < sig[y%n] {
				sig[y%n] = value
			}
		}
	}
	for i := range sig {
		if sig[i] != empty {
			continue
		}
		for _, x := range shingles {
			if value := 64<<55 | hash.Fold(x^s.spare[i], multiplier)>>9; value < sig[i] {
				sig[i] = value
			}
		}
	}
	return sig
}

var signers = rapid.Custom(func(t *rapid.T) *Signer {
	n := rapid.SampledFrom([]int{32, 64, 128, 256, 512, 1024}).Draw(t, "n")
	seed := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "seed")
	return New(n, seed)
})

// shingleSets yields mostly mixed sequences, like real shingles, and occasionally raw values, which the definition also
// covers.
func shingleSets(most int) *rapid.Generator[[]uint64] {
	return rapid.OneOf(
		rapid.SliceOfN(rapid.Uint64(), 1, 40),
		rapid.Custom(func(t *rapid.T) []uint64 {
			size := rapid.IntRange(1, most).Draw(t, "size")
			return mixed(rapid.Uint64().Draw(t, "start"), size)
		}),
	)
}

// mixed returns the hashes of the integers from start on.
func mixed(start uint64, size int) []uint64 {
	set := make([]uint64, size)
	for i := range set {
		set[i] = hash.Mix(start + uint64(i))
	}
	return set
}

func TestSignEqualsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := signers.Draw(t, "signer")
		set := shingleSets(5000).Draw(t, "set")
		if got, want := s.Sign(nil, set), signPlain(s, set); !slices.Equal(got, want) {
			t.Fatalf("got  %x\nwant %x", got, want)
		}
	})
}

func FuzzSign(f *testing.F) {
	f.Add(uint64(0), uint8(1), []byte("a shingle and part of another"))
	f.Add(uint64(1), uint8(4), make([]byte, 64))
	f.Fuzz(func(t *testing.T, seed uint64, logN uint8, data []byte) {
		s := New(minN<<(logN%6), seed)
		var set []uint64
		for ; len(data) >= 8; data = data[8:] {
			set = append(set, binary.LittleEndian.Uint64(data))
		}
		if len(set) == 0 {
			t.Skip()
		}
		if got, want := s.Sign(nil, set), signPlain(s, set); !slices.Equal(got, want) {
			t.Fatalf("got  %x\nwant %x", got, want)
		}
	})
}

// repeated yields few distinct shingles, and many that repeat some of them, as in a text of one word.
var repeated = rapid.Custom(func(t *rapid.T) []uint64 {
	different := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(maxDistinct-1, maxDistinct+1)).Draw(t, "different")
	set := mixed(rapid.Uint64().Draw(t, "start"), different)
	if rapid.Bool().Draw(t, "with 0") {
		set[0] = 0
	}
	length := rapid.IntRange(different, 40_000).Draw(t, "length")
	for i := range length - different {
		set = append(set, set[i*i%different])
	}
	return set
})

func TestRepeatedSignEqualsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := signers.Draw(t, "signer")
		set := repeated.Draw(t, "set")
		before := slices.Clone(set)
		if got, want := s.Sign(nil, set), signPlain(s, set); !slices.Equal(got, want) {
			t.Fatalf("got  %x\nwant %x", got, want)
		}
		if !slices.Equal(set, before) {
			t.Fatal("the shingles are not as they were")
		}
	})
}

// TestThrows: repetitions are thrown only until they are noticed. After that, each distinct shingle is thrown once per
// round.
func TestThrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := signers.Draw(t, "signer")
		n := len(s.spare)
		set := repeated.Draw(t, "set")
		different := len(slices.Compact(slices.Sorted(slices.Values(set))))
		if different > maxDistinct {
			t.Skip("these stay")
		}
		most := max(len(set), 16*n) + (rounds-1+n)*different
		if got := s.fill(make([]uint64, n), set); got > most {
			t.Fatalf("n=%d: %d throws of %d shingles, %d of them different; want at most %d", n, got, len(set), different, most)
		}
	})
}

// The golden file comes from testdata/golden.py, which shares no code with
// this package.
func TestGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		N        int
		Seed     string
		Shingles int
		Head     []string
		SHA256   string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		seed, err := strconv.ParseUint(c.Seed, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		set := make([]uint64, c.Shingles)
		for i := range set {
			sum := sha256.Sum256([]byte(strconv.Itoa(i)))
			set[i] = binary.LittleEndian.Uint64(sum[:])
		}
		sig := New(c.N, seed).Sign(nil, set)
		var head []string
		for _, v := range sig[:4] {
			head = append(head, fmt.Sprintf("%016x", v))
		}
		if !slices.Equal(head, c.Head) {
			t.Errorf("n=%d seed=%s, %d shingles: starts %v, want %v", c.N, c.Seed, c.Shingles, head, c.Head)
		}
		var raw []byte
		for _, v := range sig {
			raw = binary.LittleEndian.AppendUint64(raw, v)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(raw)); sum != c.SHA256 {
			t.Errorf("n=%d seed=%s, %d shingles: SHA-256 %s, want %s", c.N, c.Seed, c.Shingles, sum, c.SHA256)
		}
	}
}

func TestOrderAndDuplicatesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := signers.Draw(t, "signer")
		set := shingleSets(600).Draw(t, "set")
		shuffled := rapid.Permutation(append(slices.Clone(set), set[:len(set)/2+1]...)).Draw(t, "shuffled")
		if got, want := s.Sign(nil, shuffled), s.Sign(nil, set); !slices.Equal(got, want) {
			t.Fatalf("got  %x\nwant %x", got, want)
		}
	})
}

// The signature of a union is the minimum of the two in every component. That makes agreement a Jaccard similarity, and
// a round cut short would break it.
func TestUnionIsMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := signers.Draw(t, "signer")
		a := shingleSets(600).Draw(t, "a")
		b := shingleSets(600).Draw(t, "b")
		got := s.Sign(nil, slices.Concat(a, b))
		signA, signB := s.Sign(nil, a), s.Sign(nil, b)
		for i := range got {
			if want := min(signA[i], signB[i]); got[i] != want {
				t.Fatalf("component %d of the union is %x, want %x", i, got[i], want)
			}
		}
	})
}

func TestSignReusesStorage(t *testing.T) {
	s := New(64, 0)
	dst := make([]uint64, 0, 64)
	if got := s.Sign(dst, mixed(0, 100)); &got[0] != &dst[:1][0] {
		t.Error("storage that suffices was not used")
	}
	if got := s.Sign(make([]uint64, 3), mixed(0, 100)); len(got) != 64 {
		t.Errorf("signature of %d components, want 64", len(got))
	}
	if got := s.Sign(dst, nil); len(got) != 0 {
		t.Errorf("the empty set has a signature of %d components", len(got))
	}
}

func TestNewPanics(t *testing.T) {
	for _, n := range []int{-32, 0, 16, 100, 2048} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%d, 0) did not panic", n)
				}
			}()
			New(n, 0)
		}()
	}
}

func TestEqual(t *testing.T) {
	if got := Equal([]uint64{1, 2, 3, 4}, []uint64{1, 0, 3, 0}); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
}

// estimate returns the estimated Jaccard similarity of two sets, from their signatures.
func estimate(a, b []uint64) float64 { return float64(Equal(a, b)) / float64(len(a)) }

// Sequential integers, mixed once, are the least random shingles possible. The estimate must be unbiased on them, and
// its error is known in closed form (varianceRatio).
//
// With 8,000 independent pairs, the mean's standard deviation is at most .0056/√n, at J = .5, so a bias of .024/√n
// exceeds 4.2 standard deviations: < 3e-5 per cell, with 36 cells per seed. The ratio of the error has a relative
// standard deviation of 1/sqrt(16,000) = .8 %, and 5 % is six of them. Over all cells, a correct program fails with
// probability < 1e-3 per seed; the seeds are fixed.
func TestAccuracy(t *testing.T) {
	const pairs = 8000
	for _, seed := range []uint64{0, 42} {
		for _, n := range []int{32, 64, 128, 256} {
			for _, c := range []struct{ both, onlyA, onlyB int }{
				{1, 0, 1}, {1, 1, 1}, {3, 1, 0},
				{16, 2, 2}, {14, 3, 3}, {40, 6, 4}, {25, 5, 75}, {178, 22, 22}, {450, 50, 190},
			} {
				s := New(n, seed)
				union := c.both + c.onlyA + c.onlyB
				j := float64(c.both) / float64(union)
				var sum, squares float64
				var a, b []uint64
				for i := range pairs {
					x := mixed(uint64(i*union), union)
					a = s.Sign(a, x[:c.both+c.onlyA])
					b = s.Sign(b, append(x[c.both+c.onlyA:], x[:c.both]...))
					miss := estimate(a, b) - j
					sum += miss
					squares += miss * miss
				}
				if bias := sum / pairs; math.Abs(bias) >= .024/math.Sqrt(float64(n)) {
					t.Errorf("seed %d, n=%d, %+v: bias %+.4f", seed, n, c, bias)
				}
				if union < 20 {
					continue // the spare functions, which are independent, raise the variance
				}
				ratio := math.Sqrt(squares / pairs / (j * (1 - j) / float64(n)))
				want := math.Sqrt(varianceRatio(n, union))
				if math.Abs(ratio/want-1) > .05 {
					t.Errorf("seed %d, n=%d, %+v: error %.3f of classic MinHash's, want %.3f", seed, n, c, ratio, want)
				}
			}
		}
	}
}

// varianceRatio returns the variance of SuperMinHash divided by that of classic MinHash, for n components and a union
// of u (Ertl 2017, theorem 1). Fast Similarity Sketching fills its bins by the same law as long as no bin is left to
// the spare functions.
func varianceRatio(n, u int) float64 {
	k, e := float64(n), float64(u)
	sum := 0.
	for l := 1.; l < k; l++ {
		sum += math.Pow(l/(k-1), e) * (math.Pow((l+1)/k, e) + math.Pow((l-1)/k, e) - 2*math.Pow(l/k, e))
	}
	return 1 - sum*(k-1)/(e-1)
}

// Two seeds must err independently, even if round 0 leaves many bins empty: a seed that only permuted the bins or the
// values would not. The correlation of 8,000 independent pairs of errors has a standard deviation of .011, and .07 is
// more than six of them: 4e-10 for each of three cells.
func TestSeedsAreIndependent(t *testing.T) {
	const pairs = 8000
	for _, seeds := range [][2]uint64{{0, 1}, {1, 2}, {7, 1 << 63}} {
		first, second := New(128, seeds[0]), New(128, seeds[1])
		var xy, xx, yy float64
		for i := range pairs {
			set := mixed(uint64(i*30), 30)
			a, b := set[:25], set[5:]
			const j = 20. / 30
			x := estimate(first.Sign(nil, a), first.Sign(nil, b)) - j
			y := estimate(second.Sign(nil, a), second.Sign(nil, b)) - j
			xy, xx, yy = xy+x*y, xx+x*x, yy+y*y
			if got := estimate(first.Sign(nil, a), second.Sign(nil, a)); got != 0 {
				t.Fatalf("seeds %v agree in %v of the components of one set", seeds, got)
			}
		}
		if r := xy / math.Sqrt(xx*yy); math.Abs(r) > .07 {
			t.Errorf("seeds %v: errors correlate by %.3f", seeds, r)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	for _, seed := range []uint64{0, 1} {
		for _, n := range []int{32, 64, 128, 256} {
			for _, size := range []int{1, 20, 50, 200, 500, 5000} {
				b.Run(fmt.Sprintf("seed=%d/n=%d/shingles=%d", seed, n, size), func(b *testing.B) {
					s := New(n, seed)
					rng := rand.New(rand.NewPCG(1, 2))
					sets := make([][]uint64, 64) // more than the branch predictor learns
					for i := range sets {
						sets[i] = mixed(rng.Uint64(), size)
					}
					var sig []uint64
					i := 0
					for b.Loop() {
						sig = s.Sign(sig, sets[i%len(sets)])
						i++
					}
				})
			}
		}
	}
	b.Run("repeated", func(b *testing.B) { // 5,000 shingles, of which two differ
		s := New(128, 0)
		set := slices.Repeat(mixed(0, 2), 2500)
		var sig []uint64
		for b.Loop() {
			sig = s.Sign(sig, set)
		}
	})
}
