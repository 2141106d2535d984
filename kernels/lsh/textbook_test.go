package lsh

import (
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/minhash/classic"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/minhash/salted"
)

func TestTextOfBand(t *testing.T) {
	for want, values := range map[string][]uint64{
		"15_355_89_2":            {15, 355, 89, 2},
		"0":                      {0},
		"18446744073709551615_1": {math.MaxUint64, 1},
	} {
		if got := string(appendText(nil, values)); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}

// The names of a band and its bucket.
func TestNames(t *testing.T) {
	sig := []uint64{1, 2, 3, 4, 15, 355, 89, 2, 9}
	b := Banding{Signature: 9, Bands: 2, Rows: 4, AsText: true}
	if label, bucket := b.Label(sig, 1), b.Bucket(b.Keys(nil, sig)[1]); label != "15_355_89_2" || bucket != "556eecce" {
		t.Errorf("the bucket of %s is %s", label, bucket)
	}
	b.AsText = false
	if got := b.Bucket(0xab); got != "00000000000000ab" {
		t.Errorf("bucket %s", got)
	}
}

// The bucket of 15_355_89_2 as computed by Python's zlib: '%08x' % zlib.crc32(b'15_355_89_2').
func TestTextKeys(t *testing.T) {
	sig := []uint64{15, 355, 89, 2, 15, 355, 89, 2, 15, 355, 892, 1}
	keys := textKeys([]uint64{1, 2, 3, 4, 5}, sig, 3, 4)
	if got := fmt.Sprintf("%08x", keys[0]>>32); got != "556eecce" {
		t.Errorf("bucket of 15_355_89_2: %s", got)
	}
	if len(keys) != 3 || keys[0] != keys[1] || keys[0] == keys[2] {
		t.Errorf("keys %x: the first two bands are equal, the third is not", keys)
	}
	if keys[2]>>32 != uint64(crc32.ChecksumIEEE([]byte("15_355_892_1"))) || keys[2]<<32 != 0 {
		t.Errorf("key %x of the third band", keys[2])
	}
}

// The signatures of kernels/classic's matrix as one band of three rows: the sums are 1, 6, 0, 6,
// 3 and 1, so columns 1, 2, 4 and 6 share bucket 1 of 5.
func TestSumBucket(t *testing.T) {
	var got []uint64
	for _, signature := range [][]uint64{{1, 0, 0}, {1, 2, 3}, {0, 0, 0}, {1, 2, 3}, {3, 0, 0}, {0, 1, 0}} {
		got = append(got, sumBucket(signature, 5))
	}
	if want := []uint64{1, 1, 0, 1, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("buckets %v, want %v", got, want)
	}
	if got := sumBucket([]uint64{math.MaxUint64, math.MaxUint64}, 5); got != 0 { // 2^64 − 1 is a multiple of 5
		t.Errorf("a sum beyond 64 bits: bucket %d, want 0", got)
	}
}

// The tables of Mining of Massive Datasets: example 3.11 (20 bands of 5 rows) and the 4-way AND
// followed by a 4-way OR of example 3.19.
func TestTextbookTables(t *testing.T) {
	for _, table := range []struct {
		b, r   int
		digits float64
		p      map[float64]float64
	}{
		{20, 5, 1e-3, map[float64]float64{.2: .006, .3: .047, .4: .186, .5: .470, .6: .802, .7: .975, .8: .9996}},
		{4, 4, 1e-4, map[float64]float64{.2: .0064, .3: .0320, .4: .0985, .5: .2275, .6: .4260, .7: .6666, .8: .8785, .9: .9860}},
	} {
		for s, want := range table.p {
			if got := SCurve(s, table.b, table.r); math.Abs(got-want) > table.digits/2+1e-9 {
				t.Errorf("%d bands of %d rows at %v: %v, want %v", table.b, table.r, s, got, want)
			}
		}
	}
	// Example 3.19: a (.2, .6, .8, .4)-sensitive family becomes (.2, .6, .8785, .0985)-sensitive.
	if p1, p2 := sensitivity(.2, .6, 4, 4); math.Abs(p1-.8785) > 5e-5 || math.Abs(p2-.0985) > 5e-5 {
		t.Errorf("Sensitivity(.2, .6, 4, 4) = %v, %v; want .8785, .0985", p1, p2)
	}
}

// The table of docs/algorithms/lsh.md, whose numbers were computed in another language.
func TestDocumentedSensitivity(t *testing.T) {
	page, err := os.ReadFile("../../docs/algorithms/lsh.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		var b, r int
		var d1, d2, p1, p2 float64
		if n, _ := fmt.Sscanf(line, "| %d × %d | %f | %f | %f | %f |", &b, &r, &d1, &d2, &p1, &p2); n < 6 {
			continue
		}
		rows++
		if got1, got2 := sensitivity(d1, d2, b, r); math.Abs(got1-p1) > 5.1e-5 || math.Abs(got2-p2) > 5.1e-5 {
			t.Errorf("%d bands of %d rows: (%v, %v, %.4f, %.4f), the page says %s", b, r, d1, d2, got1, got2, line)
		}
	}
	if rows != 7 {
		t.Errorf("%d rows, want 7", rows)
	}
}

// family signs sets of numbers below universe, drawn for one pair, with n functions.
type family struct {
	name string
	sign func(t *testing.T, n int, seed uint64, elements []uint64) []uint64
}

const universe = 5000

var families = []family{
	{"classic", func(t *testing.T, n int, seed uint64, elements []uint64) []uint64 {
		s, err := classic.New(n, universe, seed)
		if err != nil {
			t.Fatal(err)
		}
		return s.Sign(nil, elements)
	}},
	{"salted", func(t *testing.T, n int, seed uint64, elements []uint64) []uint64 {
		s, err := salted.New(n, seed>>16) // salts have 64 bits
		if err != nil {
			t.Fatal(err)
		}
		return s.Sign(nil, func(yield func([]byte) bool) {
			var text []byte
			for _, x := range elements {
				if text = fmt.Appendf(text[:0], "shingle %d", x); !yield(text) {
					return
				}
			}
		})
	}},
	{"fss", func(_ *testing.T, n int, seed uint64, elements []uint64) []uint64 {
		mixed := make([]uint64, len(elements))
		for i, x := range elements {
			mixed[i] = hash.Mix(x)
		}
		return fss.New(n, seed).Sign(nil, mixed)
	}},
}

// drawPair draws two sets of 40 numbers that share 30, so J = 30/50.
func drawPair(r *rand.Rand) (a, b []uint64) {
	numbers := r.Perm(universe)[:50]
	for i, x := range numbers {
		if i < 40 {
			a = append(a, uint64(x))
		}
		if i >= 10 {
			b = append(b, uint64(x))
		}
	}
	return a, b
}

const pairSimilarity = .6

// The fraction of equal values is an unbiased estimate of J. Its variance is J(1−J)/n for the textbook families, and
// about half of that for Fast Similarity Sketching if sets are no larger than the signature. Bounds: the mean of m
// estimates is within five standard errors; a variance from m estimates has a relative standard error of √(2/m), 4.5 %
// here, and is within four.
func TestEstimatorVariance(t *testing.T) {
	const n, m = 64, 1000
	const classicVariance = pairSimilarity * (1 - pairSimilarity) / n
	bounds := map[string][2]float64{"classic": {.82, 1.18}, "salted": {.82, 1.18}, "fss": {.35, .75}}
	for _, f := range families {
		r := rand.New(rand.NewPCG(5, 8))
		sum, squares := 0., 0.
		for range m {
			a, b := drawPair(r)
			seed := r.Uint64()
			estimate := float64(fss.Equal(f.sign(t, n, seed, a), f.sign(t, n, seed, b))) / n
			sum += estimate
			squares += (estimate - pairSimilarity) * (estimate - pairSimilarity)
		}
		mean, ratio := sum/m, squares/m/classicVariance
		t.Logf("%s: mean %.4f of %v, variance %.3f of J(1-J)/n", f.name, mean, pairSimilarity, ratio)
		if math.Abs(mean-pairSimilarity) > 5*math.Sqrt(classicVariance/m) {
			t.Errorf("%s: mean estimate %v, want %v", f.name, mean, pairSimilarity)
		}
		if ratio < bounds[f.name][0] || ratio > bounds[f.name][1] {
			t.Errorf("%s: variance %.3f of J(1-J)/n, want between %v and %v", f.name, ratio, bounds[f.name][0], bounds[f.name][1])
		}
	}
}

// Pairs share a bucket with probability 1−(1−s^r)^b, whatever the family and the key.
func TestFamiliesFollowSCurve(t *testing.T) {
	const n, m = 64, 1000
	for _, f := range families {
		keys := Keys
		if f.name == "classic" {
			keys = textKeys
		}
		shapes := [][2]int{{16, 4}, {12, 5}, {8, 8}, {32, 2}}
		hits := make([]int, len(shapes))
		r := rand.New(rand.NewPCG(13, 21))
		for range m {
			a, b := drawPair(r)
			seed := r.Uint64()
			sigA, sigB := f.sign(t, n, seed, a), f.sign(t, n, seed, b)
			for i, shape := range shapes {
				keysA, keysB := keys(nil, sigA, shape[0], shape[1]), keys(nil, sigB, shape[0], shape[1])
				for band := range keysA {
					if keysA[band] == keysB[band] {
						hits[i]++
						break
					}
				}
			}
		}
		for i, shape := range shapes {
			p := SCurve(pairSimilarity, shape[0], shape[1])
			got := float64(hits[i]) / m
			t.Logf("%s, %d x %d: %.3f, theory %.3f", f.name, shape[0], shape[1], got, p)
			slack := 4 * math.Sqrt(p*(1-p)/m)
			if f.name == "fss" {
				slack += .02 // its values are slightly dependent
			}
			if math.Abs(got-p) > slack+1e-3 { // for p that rounds to 1
				t.Errorf("%s, %d bands of %d rows: %.3f of the pairs share a bucket, want %.3f", f.name, shape[0], shape[1], got, p)
			}
		}
	}
}

// sumBucket returns the bucket of a band by the simplest hash: the sum of its values modulo the number of buckets.
func sumBucket(values []uint64, buckets uint64) uint64 {
	sum := uint64(0)
	for _, v := range values {
		sum = (sum + v%buckets) % buckets
	}
	return sum
}

// sensitivity returns the p1 and p2 of b bands of r rows for Jaccard distances d1 < d2. MinHash is a (d1, d2, 1−d1,
// 1−d2)-sensitive family, and banding turns it into a (d1, d2, p1, p2)-sensitive one: sets at most d1 apart share a
// bucket with probability at least p1, and sets at least d2 apart with at most p2.
func sensitivity(d1, d2 float64, b, r int) (p1, p2 float64) {
	return SCurve(1-d1, b, r), SCurve(1-d2, b, r)
}
