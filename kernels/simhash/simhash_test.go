package simhash

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/vector"
)

// entry returns an entry of the random vectors by the definition in the package comment.
func entry(entries Entries, seed, x uint64, i int) int64 {
	perHash := 64
	if entries == Normal {
		perHash = 4
	}
	next := hash.SplitMix64(seed)
	for range i / perHash {
		next()
	}
	high, low := bits.Mul64(x^next(), 0x9e3779b97f4a7c15)
	h := high ^ low
	if entries == Normal {
		return normalQuantile(int(h >> (16 * (i % 4)) % (1 << 16)))
	}
	if h>>(i%64)%2 == 1 {
		return 1
	}
	return -1
}

func normalQuantile(u int) int64 {
	p := (float64(u) + .5) / (1 << 16)
	return int64(math.Round(4096 * math.Sqrt2 * math.Erfinv(2*p-1)))
}

func TestQuantiles(t *testing.T) {
	for u, got := range quantiles() {
		if want := normalQuantile(u); int64(got) != want {
			t.Fatalf("quantile %d is %d, want %d", u, got, want)
		}
	}
}

// {x} and {w·x, y} agree in a bit with the probability 1 − θ/π, counted over all quantiles of x and y.
func TestQuantilesObeyTheLaw(t *testing.T) {
	table := quantiles()
	sorted := slices.Sorted(slices.Values(table[:]))
	for _, w := range []int{1, 2, 3, 10} {
		agree := 0
		for _, x := range table {
			// The number of y's with w·x + y at most 0.
			atMost, _ := slices.BinarySearchFunc(sorted, -w*int(x)+1, func(y int16, limit int) int { return int(y) - limit })
			if x > 0 {
				atMost = len(sorted) - atMost
			}
			agree += atMost
		}
		got, want := float64(agree)/(1<<32), 1-math.Atan(1/float64(w))/math.Pi
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("w = %d: %.9f, want %.9f", w, got, want)
		}
	}
}

// byHyperplanes signs documents by the first description: m random vectors over the vocabulary are the normals of
// hyperplanes, and a bit says on which side of one the document's vector lies.
func byHyperplanes(m int, entries Entries, seed uint64, documents []vector.Vector) [][]uint64 {
	occurring := make(map[uint64]bool)
	for _, d := range documents {
		for _, x := range d.Features {
			occurring[x] = true
		}
	}
	vocabulary := slices.Sorted(maps.Keys(occurring))
	signatures := make([][]uint64, len(documents))
	for i := range m {
		var plane []*big.Int
		for _, x := range vocabulary {
			plane = append(plane, big.NewInt(entry(entries, seed, x, i)))
		}
		for k, d := range documents {
			dense := make(map[uint64]uint32)
			for j, x := range d.Features {
				dense[x] = d.Weight(j)
			}
			dot := new(big.Int)
			for j, x := range vocabulary {
				dot.Add(dot, new(big.Int).Mul(plane[j], big.NewInt(int64(dense[x]))))
			}
			if i%64 == 0 {
				signatures[k] = append(signatures[k], 0)
			}
			if dot.Sign() > 0 {
				signatures[k][i/64] += 1 << (i % 64)
			}
		}
	}
	return signatures
}

// byFeatureVectors signs by the second description: each feature has a vector of m values, which are multiplied by its
// weight and summed; the sign of a sum is the bit. It is the plain twin of the kernels.
func byFeatureVectors(m int, vectors map[uint64][]int64, v vector.Vector) []uint64 {
	sums := make([]int64, m)
	for j, x := range v.Features {
		w := int64(v.Weight(j))
		for i, value := range vectors[x] {
			sums[i] += w * value
		}
	}
	sig := make([]uint64, (m+63)/64)
	for i, sum := range sums {
		if sum > 0 {
			sig[i/64] |= 1 << (i % 64)
		}
	}
	return sig
}

func featureVectors(m int, entries Entries, seed uint64, documents ...vector.Vector) map[uint64][]int64 {
	vectors := make(map[uint64][]int64)
	for _, d := range documents {
		for _, x := range d.Features {
			if vectors[x] == nil {
				for i := range m {
					vectors[x] = append(vectors[x], entry(entries, seed, x, i))
				}
			}
		}
	}
	return vectors
}

// documents draws vectors with common features: with every kind of weight, and up to the maximum length.
var documents = rapid.Custom(func(t *rapid.T) []vector.Vector {
	vocabulary := mixed(rapid.Uint64().Draw(t, "start"), rapid.SampledFrom([]int{1, 3, 10, 40}).Draw(t, "vocabulary"))
	weight := rapid.SampledFrom([]*rapid.Generator[uint32]{
		nil, rapid.Uint32Range(1, 3), rapid.Uint32Range(1, 100), rapid.Uint32Range(1, 1<<29), rapid.Just(uint32(1 << 29)),
	}).Draw(t, "weights")
	var vectors []vector.Vector
	for range rapid.IntRange(1, 3).Draw(t, "documents") {
		n := rapid.IntRange(1, len(vocabulary)).Draw(t, "features")
		v := vector.Vector{Features: slices.Sorted(slices.Values(rapid.Permutation(vocabulary).Draw(t, "all")[:n]))}
		for range v.Features {
			if weight != nil {
				v.Weights = append(v.Weights, weight.Draw(t, "weight"))
			}
		}
		vectors = append(vectors, v)
	}
	return vectors
})

// mixed returns the hashes of the integers from start on.
func mixed(start uint64, n int) []uint64 {
	features := make([]uint64, n)
	for i := range features {
		features[i] = hash.Mix(start + uint64(i))
	}
	return features
}

var distributions = rapid.SampledFrom([]Entries{Normal, Sign})

func TestBothDescriptions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom([]int{1, 2, 3, 5, 31, 63, 64, 65, 127, 130}).Draw(t, "m")
		entries, seed := distributions.Draw(t, "entries"), rapid.Uint64().Draw(t, "seed")
		s, docs := New(m, entries, seed), documents.Draw(t, "documents")
		vectors := featureVectors(m, entries, seed, docs...)
		for k, want := range byHyperplanes(m, entries, seed, docs) {
			if got := byFeatureVectors(m, vectors, docs[k]); !slices.Equal(got, want) {
				t.Fatalf("document %d: by feature vectors %x, by hyperplanes %x", k, got, want)
			}
			if got := s.Sign(nil, docs[k]); !slices.Equal(got, want) {
				t.Fatalf("document %d: %x, want %x", k, got, want)
			}
		}
	})
}

// Many features fill all planes of the counters; the plain sums are their twin.
func TestSignEqualsPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{7, 8, 9, 16, 100, 255, 256, 1000, 5000} {
		unit := vector.Vector{Features: mixed(rng.Uint64(), n)}
		weighted := vector.Vector{Features: unit.Features}
		for range n {
			weighted.Weights = append(weighted.Weights, 1+rng.Uint32()>>(7+rng.IntN(25)))
		}
		for _, entries := range []Entries{Normal, Sign} {
			for _, m := range []int{1, 70, 256, 1024} {
				if n*m > 1<<20 {
					continue
				}
				s, vectors := New(m, entries, 5), featureVectors(m, entries, 5, unit)
				for _, v := range []vector.Vector{unit, weighted} {
					if got, want := s.Sign(nil, v), byFeatureVectors(m, vectors, v); !slices.Equal(got, want) {
						t.Fatalf("%d features, m=%d, entries %d: %x, want %x", n, m, entries, got, want)
					}
				}
			}
		}
	}
}

// The golden file comes from testdata/golden.py, which shares no code with this package.
func TestGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Entries   string
		Bits      int
		Seed      string
		Features  int
		Weights   string
		Signature []string
		Pieces    int
		Keys      []string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	hex := func(values []uint64) (s []string) {
		for _, v := range values {
			s = append(s, fmt.Sprintf("%016x", v))
		}
		return s
	}
	for _, c := range cases {
		seed, err := strconv.ParseUint(c.Seed, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		var v vector.Vector
		for i := range c.Features {
			sum := sha256.Sum256([]byte(strconv.Itoa(i)))
			v.Features = append(v.Features, binary.LittleEndian.Uint64(sum[:]))
		}
		slices.Sort(v.Features)
		for _, x := range v.Features {
			switch c.Weights {
			case "small":
				v.Weights = append(v.Weights, uint32(1+x%7))
			case "large":
				v.Weights = append(v.Weights, uint32(1+x%(1<<24)))
			}
		}
		sig := New(c.Bits, map[string]Entries{"normal": Normal, "sign": Sign}[c.Entries], seed).Sign(nil, v)
		if got := hex(sig); !slices.Equal(got, c.Signature) {
			t.Errorf("%s, %d bits: %v, want %v", c.Entries, c.Bits, got, c.Signature)
		}
		if got := hex(Pieces{c.Bits, c.Pieces}.Keys(nil, sig)); !slices.Equal(got, c.Keys) {
			t.Errorf("%s, %d bits: keys %v, want %v", c.Entries, c.Bits, got, c.Keys)
		}
	}
}

// Two features of opposite Sign entries sum to 0, which gives the bit 0.
func TestTiesGiveZero(t *testing.T) {
	const m = 1024
	s, x := New(m, Sign, 1), mixed(0, 2)
	a, b := s.Sign(nil, vector.Vector{Features: x[:1]}), s.Sign(nil, vector.Vector{Features: x[1:]})
	for w, got := range s.Sign(nil, vector.Vector{Features: x}) {
		if got != a[w]&b[w] {
			t.Fatalf("word %d of both is %x, want the bits that each alone has", w, got)
		}
	}
}

func TestSignReusesStorage(t *testing.T) {
	v := vector.Vector{Features: mixed(0, 5)}
	for _, entries := range []Entries{Normal, Sign} {
		s := New(100, entries, 0)
		dst := []uint64{^uint64(0), ^uint64(0), ^uint64(0)}
		want := s.Sign(nil, v)
		if got := s.Sign(dst[:0], v); &got[0] != &dst[0] || !slices.Equal(got, want) {
			t.Errorf("entries %d: %x, want %x in the storage given", entries, got, want)
		}
		if got := s.Sign(dst, vector.Vector{}); len(got) != 0 {
			t.Errorf("a vector without features has a signature of %d words", len(got))
		}
	}
	s, dst := New(100, Normal, 0), make([]uint64, 2)
	if n := testing.AllocsPerRun(10, func() { s.Sign(dst, v) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNewPanics(t *testing.T) {
	for _, m := range []int{-1, 0, MaxBits + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%d) did not panic", m)
				}
			}()
			New(m, Sign, 0)
		}()
	}
}

// agreeing returns the bits in which two signatures of whole words agree.
func agreeing(a, b []uint64) []uint64 {
	same := make([]uint64, len(a))
	for i := range a {
		same[i] = ^(a[i] ^ b[i])
	}
	return same
}

// The fraction of agreeing bits, and of agreeing pieces of 8 bits, against exact values. Normal entries obey the law 1
// − θ/π, whatever the vectors; for Sign entries the value is counted by definition.
//
// Bits and pieces of 40,000 pairs are independent trials. Their fractions may differ by five standard deviations, at
// most .0008 and .0022, which a correct program exceeds with probability 6e-7; there are 20. The variance over pairs of
// the number of agreeing bits is that of independent bits, too: its relative standard deviation is .0071, and .045 is
// more than six of them.
func TestAgreement(t *testing.T) {
	const m, pairs = 256, 40_000
	differ := func(got, want float64, trials int) bool {
		return math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/float64(trials))
	}
	for _, c := range []struct {
		name string
		a, b []uint32 // weights of features 0, 1, 2 …; 0 for an absent one
		sign float64
	}{
		{"{x,y}, {x,z}", []uint32{1, 1, 0}, []uint32{1, 0, 1}, .75},
		{"{x,y}, {z,w}", []uint32{1, 1, 0, 0}, []uint32{0, 0, 1, 1}, .625},
		{"{x,y}, {x,y,z}", []uint32{1, 1, 0}, []uint32{1, 1, 1}, .75},
		{"{3x,y}, {x}", []uint32{3, 1}, []uint32{1, 0}, 1},
		{"{5x,2y,z}, {x,4z}", []uint32{5, 2, 1}, []uint32{1, 0, 4}, .5},
	} {
		for _, entries := range []Entries{Normal, Sign} {
			want := c.sign
			if entries == Normal {
				want = 1 - angle(c.a, c.b)/math.Pi
			}
			var ones, pieces int
			var squares float64
			var a, b []uint64
			s := New(m, entries, 3)
			for i := range pairs {
				x := mixed(uint64(i*len(c.a)), len(c.a))
				a, b = s.Sign(a, sparse(x, c.a)), s.Sign(b, sparse(x, c.b))
				here := 0
				for _, word := range agreeing(a, b) {
					here += bits.OnesCount64(word)
					for ; word > 0; word >>= 8 {
						if byte(word) == 0xff {
							pieces++
						}
					}
				}
				ones += here
				squares += (float64(here) - m*want) * (float64(here) - m*want)
			}
			if got := float64(ones) / (m * pairs); differ(got, want, m*pairs) {
				t.Errorf("%s, entries %d: bits agree with %.5f, want %.5f", c.name, entries, got, want)
			}
			if got, want := float64(pieces)/(m/8*pairs), math.Pow(want, 8); differ(got, want, m/8*pairs) {
				t.Errorf("%s, entries %d: pieces agree with %.5f, want %.5f", c.name, entries, got, want)
			}
			if variance := m * want * (1 - want); variance > 0 && math.Abs(squares/pairs/variance-1) > .045 {
				t.Errorf("%s, entries %d: variance %.3f of that of independent bits", c.name, entries, squares/pairs/variance)
			}
		}
	}
}

func angle(a, b []uint32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return math.Acos(ab / math.Sqrt(aa*bb))
}

// sparse returns the vector of the features with weights above 0.
func sparse(features []uint64, weights []uint32) vector.Vector {
	var v vector.Vector
	for i, w := range weights {
		if w > 0 {
			v.Features = append(v.Features, features[i])
			v.Weights = append(v.Weights, w)
		}
	}
	return v
}

// In short messages, the bits of similar pairs agree as often as the law says with Normal entries, under each
// weighting, and more often with Sign entries and weights of 1. Each pair has its own seed, so all bits are
// independent, and the standard deviation of the mean is at most ½/√n. Five of them are exceeded with probability 6e-7,
// and there are three means.
func TestAgreementOfMessages(t *testing.T) {
	const m = 1024
	f, err := os.Open("../../../shared/data/sms_spam/sms.tsv")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	var messages []vector.Vector
	having := make(map[uint64]uint64)
	for s := bufio.NewScanner(f); s.Scan(); {
		var words []uint64
		for _, word := range strings.Fields(s.Text())[1:] {
			words = append(words, hash.Bytes([]byte(strings.ToLower(word))))
		}
		v := vector.TermFrequencies(words)
		for _, x := range v.Features {
			having[x]++
		}
		messages = append(messages, v)
	}
	idf := func(x uint64) uint32 { return vector.InverseFrequency(uint64(len(messages)), having[x]) }
	weightings := map[string]func(v vector.Vector) vector.Vector{
		"1":      func(v vector.Vector) vector.Vector { return vector.Vector{Features: v.Features} },
		"tf":     func(v vector.Vector) vector.Vector { return v },
		"tf-idf": func(v vector.Vector) vector.Vector { return v.TimesIDF(idf) },
	}
	for name, weighting := range weightings {
		var vectors []vector.Vector
		for _, v := range messages[:1000] {
			vectors = append(vectors, weighting(v))
		}
		var excess [Sign + 1]float64
		pairs := 0
		for i, a := range vectors {
			for _, b := range vectors[:i] {
				cosine := cosineOf(a, b)
				if cosine < .4 || cosine > .999 {
					continue
				}
				pairs++
				law := 1 - math.Acos(cosine)/math.Pi
				for _, entries := range []Entries{Normal, Sign} {
					s, agree := New(m, entries, uint64(pairs)), 0
					for _, word := range agreeing(s.Sign(nil, a), s.Sign(nil, b)) {
						agree += bits.OnesCount64(word)
					}
					excess[entries] += float64(agree)/m - law
				}
			}
		}
		if pairs < 50 {
			t.Fatalf("weights %s: %d pairs", name, pairs)
		}
		five := 5 * .5 / math.Sqrt(float64(pairs*m))
		t.Logf("weights %s: %d pairs; more bits agree than the law says: Normal %+.4f, Sign %+.4f, five standard deviations %.4f",
			name, pairs, excess[Normal]/float64(pairs), excess[Sign]/float64(pairs), five)
		if got := excess[Normal] / float64(pairs); math.Abs(got) > five {
			t.Errorf("weights %s: Normal entries differ from the law by %+.4f", name, got)
		}
		if got := excess[Sign] / float64(pairs); name == "1" && got < five {
			t.Errorf("weights %s: Sign entries differ from the law by %+.4f only", name, got)
		}
	}
}

func cosineOf(a, b vector.Vector) float64 {
	weights := make(map[uint64]float64)
	for i, x := range a.Features {
		weights[x] = float64(a.Weight(i))
	}
	dot := 0.
	for i, x := range b.Features {
		dot += weights[x] * float64(b.Weight(i))
	}
	return dot / math.Sqrt(float64(a.SquaredLength())) / math.Sqrt(float64(b.SquaredLength()))
}

// BenchmarkSign signs 225 features with 256 bits; plain is byFeatureVectors in a straightforward form for Sign entries,
// with a hash per 64 bits.
func BenchmarkSign(b *testing.B) {
	const m, n = 256, 225
	rng := rand.New(rand.NewPCG(1, 2))
	unit := vector.Vector{Features: mixed(0, n)}
	tf, tfidf := vector.Vector{Features: unit.Features}, vector.Vector{Features: unit.Features}
	for range n {
		w := uint32(1)
		for rng.IntN(4) == 0 {
			w++
		}
		tf.Weights = append(tf.Weights, w)
		tfidf.Weights = append(tfidf.Weights, w*vector.InverseFrequency(100_000, 1+rng.Uint64N(1000)))
	}
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/(m/64), "ns/feature/64bits")
	}
	for _, c := range []struct {
		name string
		v    vector.Vector
	}{{"1", unit}, {"tf", tf}, {"tf-idf", tfidf}} {
		for name, entries := range map[string]Entries{"normal": Normal, "sign": Sign} {
			b.Run(name+"/weights="+c.name, func(b *testing.B) {
				s := New(m, entries, 0)
				var sig []uint64
				for b.Loop() {
					sig = s.Sign(sig, c.v)
				}
				report(b)
			})
		}
		b.Run("plain sign/weights="+c.name, func(b *testing.B) {
			s := New(m, Sign, 0)
			var sig [m / 64]uint64
			for b.Loop() {
				var sums [m]int64
				for i, x := range c.v.Features {
					w := int64(c.v.Weight(i))
					for j, mask := range s.masks {
						h := hash.Fold(x^mask, multiplier)
						for k := range 64 {
							sums[j*64+k] += w * (int64(h>>k&1)*2 - 1)
						}
					}
				}
				clear(sig[:])
				for i, sum := range sums {
					sig[i/64] |= uint64(-sum) >> 63 << (i % 64)
				}
			}
			report(b)
		})
	}
}
