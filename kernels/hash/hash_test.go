package hash

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestVectors(t *testing.T) {
	table, err := os.ReadFile("testdata/vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(table)) {
		field := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(field) != 3 {
			t.Fatalf("line %q has %d fields, want 3", line, len(field))
		}
		kind, in, want := field[0], field[1], field[2]
		seen[kind]++
		var got string
		switch kind {
		case "bytes":
			b, err := hex.DecodeString(in)
			if err != nil {
				t.Fatal(err)
			}
			got = hex64(Bytes(b))
		case "text":
			b, err := hex.DecodeString(in)
			if err != nil {
				t.Fatal(err)
			}
			sum := Text(b)
			got = hex64(sum.Hi) + hex64(sum.Lo)
		case "mix":
			got = hex64(Mix(words(t, in)[0]))
		case "fold":
			factors := words(t, in)
			got = hex64(Fold(factors[0], factors[1]))
		case "sequence":
			sum := Sequence(words(t, in))
			got = hex64(sum.Hi) + hex64(sum.Lo)
		case "values":
			sum := Values(words(t, in))
			got = hex64(sum.Hi) + hex64(sum.Lo)
		default:
			t.Fatalf("unknown kind %q", kind)
		}
		if got != want {
			t.Errorf("%s(%s) = %s, want %s", kind, in, got, want)
		}
	}
	for _, kind := range []string{"bytes", "text", "mix", "fold", "sequence", "values"} {
		if seen[kind] == 0 {
			t.Errorf("no vector of kind %s", kind)
		}
	}
}

func hex64(x uint64) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, x))
}

func words(t *testing.T, list string) []uint64 {
	t.Helper()
	if list == "" {
		return nil
	}
	var values []uint64
	for item := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseUint(item, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	return values
}

// Flipping any input bit flips each output bit half the time. Over the trials, the fraction of flips has a standard
// deviation of .5/√4096 = .0078. The bound is 7 standard deviations, so that a perfect hash fails in any of the 10^5
// cells below with probability under 3·10^-7. The seed is fixed.
func TestAvalanche(t *testing.T) {
	const trials, bound = 4096, 7 * 0.5 / 64

	check := func(name string, inputBits int, draw func() []byte, sum func([]byte) uint64) {
		t.Helper()
		for bit := range inputBits {
			var flips [64]int
			for range trials {
				in := draw()
				before := sum(in)
				in[bit/8] ^= 1 << (bit % 8)
				changed := before ^ sum(in)
				for i := range flips {
					flips[i] += int(changed >> i & 1)
				}
			}
			for i, n := range flips {
				if bias := math.Abs(float64(n)/trials - 0.5); bias > bound {
					t.Errorf("%s: input bit %d moves output bit %d with bias %.3f, bound %.3f", name, bit, i, bias, bound)
				}
			}
		}
	}

	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) func() []byte {
		in := make([]byte, n)
		return func() []byte {
			for i := range in {
				in[i] = byte(rng.Uint32())
			}
			return in
		}
	}
	// One or two bytes have too few values for the bound.
	for _, n := range []int{3, 4, 8, 9, 16, 17} {
		check("Bytes of "+strconv.Itoa(n), 8*n, random(n), Bytes)
	}
	mix := func(in []byte) uint64 { return Mix(binary.LittleEndian.Uint64(in)) }
	check("Mix", 64, random(8), mix)

	// Small integers look like an unmixed rolling sum or a code point.
	small := make([]byte, 8)
	next := uint64(0)
	check("Mix of small integers", 64, func() []byte {
		next++
		binary.LittleEndian.PutUint64(small, next)
		return small
	}, mix)

	values := make([]uint64, 3)
	for name, half := range map[string]func(Sum128) uint64{
		"Hi": func(s Sum128) uint64 { return s.Hi },
		"Lo": func(s Sum128) uint64 { return s.Lo },
	} {
		check("Sequence."+name, 3*64, random(3*8), func(in []byte) uint64 {
			for i := range values {
				values[i] = binary.LittleEndian.Uint64(in[8*i:])
			}
			return half(Sequence(values))
		})
	}
}

// The bins of a MinHash signature are the low bits of mixed values, and inside a bin the high bits are compared, so
// both must be uniform for sequential integers. With 2^20 values in 256 bins, a bin's count has mean 4096 and standard
// deviation 64; χ² over 255 degrees of freedom stays below 400 with probability 1 − 10^-8.
func TestMixLevelsSequentialIntegers(t *testing.T) {
	for _, step := range []uint64{1, 2, 1 << 12, 1 << 44} {
		var low, high [256]float64
		for i := range uint64(1 << 20) {
			h := Mix(i * step)
			low[h&255]++
			high[h>>56]++
		}
		for name, counts := range map[string][256]float64{"low": low, "high": high} {
			var chi2 float64
			for _, n := range counts {
				chi2 += (n - 4096) * (n - 4096) / 4096
			}
			// Too uniform is as wrong as not uniform: this is the low end of the same χ².
			if chi2 > 400 || chi2 < 140 {
				t.Errorf("step %d: χ² of the %s 8 bits is %.0f, want 140…400", step, name, chi2)
			}
		}
	}
}

func TestLengthCounts(t *testing.T) {
	seen := map[uint64]string{}
	for n := range 40 {
		for _, fill := range []byte{0, 'a', 0xff} {
			b := bytes.Repeat([]byte{fill}, n)
			for _, in := range [][]byte{b, append([]byte("a"), b...)} {
				h := Bytes(in)
				if other, ok := seen[h]; ok && other != string(in) {
					t.Errorf("Bytes(%q) = Bytes(%q)", in, other)
				}
				seen[h] = string(in)
			}
		}
	}
	if Bytes(nil) != Bytes([]byte{}) {
		t.Error("nil and empty differ")
	}
}

// All sequences of up to five values from a small alphabet. Unless a value equals one of the constants, each half alone
// distinguishes them (an accident has probability 10^-10). A value equal to a chain's state zeroes that chain, and then
// the other half must still distinguish them.
func TestSequenceTellsOrderAndLengthApart(t *testing.T) {
	plain := []uint64{0, 1, 2, 1 << 63, math.MaxUint64, mulIn, mulOut}
	check := func(alphabet []uint64, key func(Sum128) Sum128) {
		t.Helper()
		seen := map[Sum128]bool{}
		count := 0
		var extend func(prefix []uint64)
		extend = func(prefix []uint64) {
			seen[key(Sequence(prefix))] = true
			count++
			if len(prefix) == 5 {
				return
			}
			for _, v := range alphabet {
				extend(append(prefix, v))
			}
		}
		extend(nil)
		if len(seen) != count {
			t.Errorf("%d sequences have %d sums", count, len(seen))
		}
	}
	check(plain, func(s Sum128) Sum128 { return Sum128{Hi: s.Hi} })
	check(plain, func(s Sum128) Sum128 { return Sum128{Lo: s.Lo} })
	aimed := append(plain, maskLow, maskHigh, -maskHigh&math.MaxUint64)
	check(aimed, func(s Sum128) Sum128 { return s })
}

// For every length up to 16, whole loads equal the definition, which reads byte by byte, wherever the slice lies in its
// array.
func FuzzBytesReadsOnlyItsSlice(f *testing.F) {
	f.Add([]byte("a token"), uint8(0))
	f.Add([]byte("0123456789abcdef"), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, around uint8) {
		padded := append(bytes.Repeat([]byte{around}, 9), b...)
		padded = append(padded, bytes.Repeat([]byte{^around}, 9)...)
		if got, want := Bytes(padded[9:9+len(b)]), Bytes(b); got != want {
			t.Errorf("inside an array %x, alone %x", got, want)
		}
		if len(b) > 8 {
			return
		}
		var low uint64
		for i, c := range b {
			low |= uint64(c) << (8 * i)
		}
		want := Fold(Fold(low^maskLow, maskHigh)^maskOut^uint64(len(b)), mulOut)
		if got := Bytes(b); got != want {
			t.Errorf("Bytes(%x) = %x, want %x", b, got, want)
		}
	})
}

func TestCompare(t *testing.T) {
	ascending := []Sum128{{0, 0}, {0, 1}, {0, math.MaxUint64}, {1, 0}, {math.MaxUint64, 0}, {math.MaxUint64, 1}}
	for i, a := range ascending {
		for j, b := range ascending {
			if got := a.Compare(b); got != cmp.Compare(i, j) {
				t.Errorf("%v compared with %v is %d", a, b, got)
			}
		}
	}
}

func BenchmarkBytes(b *testing.B) {
	for _, n := range []int{3, 6, 12, 40} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			in := bytes.Repeat([]byte("x"), n)
			b.SetBytes(int64(n))
			for b.Loop() {
				Bytes(in)
			}
		})
	}
}

func BenchmarkSequence(b *testing.B) {
	values := make([]uint64, 512)
	for i := range values {
		values[i] = Mix(uint64(i))
	}
	b.SetBytes(8 * int64(len(values)))
	for b.Loop() {
		Sequence(values)
	}
}

// TestValues compares both implementations, around the lengths at which XXH3 changes its algorithm and at an unaligned
// address.
func TestValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]uint64, 600)
	for i := range values {
		values[i] = rng.Uint64()
	}
	for n := range len(values) {
		for from := range 3 {
			values := values[from:max(from, n)]
			if got, want := Values(values), valuesPlain(values); got != want {
				t.Fatalf("%d values: %x, want %x", len(values), got, want)
			}
		}
	}
	if got, want := Values(nil), valuesPlain(nil); got != want {
		t.Errorf("no values: %x, want %x", got, want)
	}
}
