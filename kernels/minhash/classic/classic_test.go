package classic

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

// rowByRow computes signatures as in Mining of Massive Datasets, §3.3.5: it visits the rows of the characteristic
// matrix, computes the functions of a row, and lowers the values of each column that has a 1 there. It is the oracle of
// Sign.
func rowByRow(rows []string, functions ...func(x uint64) uint64) (signatures [][]uint64) {
	signatures = make([][]uint64, len(rows[0]))
	for c := range signatures {
		signatures[c] = slices.Repeat([]uint64{math.MaxUint64}, len(functions))
	}
	for x, row := range rows {
		for i, h := range functions {
			value := h(uint64(x))
			for c, cell := range row {
				if cell == '1' && value < signatures[c][i] {
					signatures[c][i] = value
				}
			}
		}
	}
	return signatures
}

// column lists the rows that have a 1 in column c.
func column(rows []string, c int) (elements []uint64) {
	for x, row := range rows {
		if row[c] == '1' {
			elements = append(elements, uint64(x))
		}
	}
	return elements
}

// A matrix of eight rows and three functions (x+i) mod 8, with its signatures.
func TestMatrix(t *testing.T) {
	rows := []string{"111101", "110100", "010111", "000110", "001111", "101011", "101010", "001001"}
	want := []string{"1 1 0 1 3 0", "0 2 0 2 0 1", "0 3 0 3 0 0"}
	// (x+i) mod 8 is of the family's form: a = 1, b = i, c = 8.
	s := &Signer{c: 8, a: []uint64{1, 1, 1}, b: []uint64{1, 2, 3}}
	plus := func(i uint64) func(uint64) uint64 { return func(x uint64) uint64 { return (x + i) % 8 } }
	byRow := rowByRow(rows, plus(1), plus(2), plus(3))
	for i, line := range want {
		var oracle, signed []string
		for c := range byRow {
			oracle = append(oracle, fmt.Sprint(byRow[c][i]))
			signed = append(signed, fmt.Sprint(s.Sign(nil, column(rows, c))[i]))
		}
		if got := strings.Join(oracle, " "); got != line {
			t.Errorf("function %d, row by row: %s, want %s", i+1, got, line)
		}
		if got := strings.Join(signed, " "); got != line {
			t.Errorf("function %d, signed: %s, want %s", i+1, got, line)
		}
	}
}

// The permutation b, e, a, d, c of the rows a … e gives four sets the minhash values a, c, b, a (Mining of Massive
// Datasets, example 3.7).
func TestPermutation(t *testing.T) {
	rows := []string{"1001", "0010", "0101", "1011", "0010"}
	const order = "beadc"
	signatures := rowByRow(rows, func(x uint64) uint64 { return uint64(strings.IndexByte(order, byte('a'+x))) })
	var got []byte
	for _, signature := range signatures {
		got = append(got, order[signature[0]])
	}
	if string(got) != "acba" {
		t.Errorf("minhash values %s, want acba", got)
	}
}

// Sign equals the row-by-row algorithm for the same functions, written out here.
func TestSignEqualsRowByRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		columns := rapid.IntRange(1, 5).Draw(t, "columns")
		rows := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("01")), columns, columns, -1), n, 40).Draw(t, "rows")
		s, err := New(n, uint64(len(rows)), rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		var functions []func(uint64) uint64
		for i := range n {
			a, b, c := s.a[i], s.b[i], s.c
			functions = append(functions, func(x uint64) uint64 { return ((a%c)*(x%c)%c + b%c) % c })
		}
		for c, want := range rowByRow(rows, functions...) {
			elements := column(rows, c)
			if len(elements) == 0 {
				if got := s.Sign(nil, nil); len(got) != 0 {
					t.Fatalf("the empty set has the signature %v", got)
				}
				continue
			}
			if got := s.Sign(nil, elements); !slices.Equal(got, want) {
				t.Fatalf("column %d: %v, row by row %v", c, got, want)
			}
		}
	})
}

// The division for small primes and that for large ones agree.
func TestSmallEqualsLarge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]uint64{50, 1 << 20, math.MaxUint32 - 10}).Draw(t, "limit")
		s, err := New(8, rapid.Uint64Range(8, limit).Draw(t, "distinct"), rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		elements := rapid.SliceOfN(rapid.Uint64Range(0, s.c-1), 1, 30).Draw(t, "elements")
		small, large := make([]uint64, 8), make([]uint64, 8)
		s.signLarge(large, elements)
		if s.c > math.MaxUint32 {
			return // the first prime above 2^32 − 11 does not fit
		}
		s.signSmall(small, elements)
		if !slices.Equal(small, large) {
			t.Fatalf("c = %d: %v and %v", s.c, small, large)
		}
	})
}

// Above 2^32 products have up to 124 bits: Sign is the definition in integers of any size.
func TestSignLargeEqualsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := uint64(1) << rapid.IntRange(32, 61).Draw(t, "bits")
		distinct := low + rapid.Uint64Range(0, low).Draw(t, "more")
		s, err := New(5, distinct, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		near := rapid.Map(rapid.Uint64Range(1, 1000), func(back uint64) uint64 { return distinct - back })
		elements := rapid.SliceOfN(rapid.OneOf(rapid.Uint64Range(0, distinct-1), near), 1, 10).Draw(t, "elements")
		number := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
		got := s.Sign(nil, elements)
		for i := range s.a {
			least := number(s.c)
			for _, x := range elements {
				value := new(big.Int).Mul(number(s.a[i]), number(x))
				value.Add(value, number(s.b[i])).Mod(value, number(s.c))
				if value.Cmp(least) < 0 {
					least = value
				}
			}
			if least.Cmp(number(got[i])) != 0 {
				t.Fatalf("N = %d, c = %d, a = %d, b = %d, elements %v: %d, want %d", distinct, s.c, s.a[i], s.b[i], elements, got[i], least)
			}
		}
	})
}

// Numbers are drawn from 1…N, once each, and are equal for equal seeds.
func TestDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "n")
		distinct := uint64(n) + rapid.Uint64Range(0, 50).Draw(t, "more")
		seed := rapid.Uint64().Draw(t, "seed")
		s, err := New(n, distinct, seed)
		if err != nil {
			t.Fatal(err)
		}
		for name, drawn := range map[string][]uint64{"a": s.a, "b": s.b} {
			seen := map[uint64]bool{}
			for _, v := range drawn {
				if v < 1 || v > distinct || seen[v] {
					t.Fatalf("%s of N = %d: %v", name, distinct, drawn)
				}
				seen[v] = true
			}
			if len(drawn) != n {
				t.Fatalf("%d numbers, want %d", len(drawn), n)
			}
		}
		again, err := New(n, distinct, seed)
		if err != nil || !slices.Equal(again.a, s.a) || !slices.Equal(again.b, s.b) {
			t.Fatalf("the same seed draws other numbers: %v, %v, %v", again, s, err)
		}
	})
}

// All ordered choices of 2 of 4 numbers are equally likely: 12 choices, 12,000 draws.
func TestDrawIsUniform(t *testing.T) {
	counts := map[string]int{}
	next := hash.SplitMix64(7)
	const each = 1000
	for range 12 * each {
		counts[fmt.Sprint(draw(2, 4, next))]++
	}
	if len(counts) != 12 {
		t.Fatalf("%d choices occur, want 12: %v", len(counts), counts)
	}
	for choice, n := range counts {
		if math.Abs(float64(n-each)) > 5*math.Sqrt(each) {
			t.Errorf("%s was drawn %d times, want about %d", choice, n, each)
		}
	}
}

// The first primes above N, by trial division.
func TestPrimeAbove(t *testing.T) {
	prime := func(n uint64) bool {
		for d := uint64(2); d*d <= n; d++ {
			if n%d == 0 {
				return false
			}
		}
		return n > 1
	}
	for _, n := range []uint64{1, 2, 3, 7, 8, 100, 113, 5000, 1 << 20, 1<<32 - 6, 1<<32 - 5} {
		want := n + 1
		for !prime(want) {
			want++
		}
		if got := primeAbove(n); got != want {
			t.Errorf("the first prime above %d: %d, want %d", n, got, want)
		}
	}
}

// Each function is a permutation of 0…c−1: its minimum is 0, and no two values are equal.
func TestFunctionsArePermutations(t *testing.T) {
	s, err := New(30, 1000, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.a {
		seen := map[uint64]bool{}
		for x := range s.c {
			seen[s.Value(i, x)] = true
		}
		if len(seen) != int(s.c) {
			t.Errorf("function %d takes %d of %d values", i, len(seen), s.c)
		}
	}
}

func TestTooFewShingles(t *testing.T) {
	_, err := New(50, 49, 1)
	if err == nil || !strings.Contains(err.Error(), "49 distinct") || !strings.Contains(err.Error(), "50 hash functions") {
		t.Errorf("49 shingles and 50 functions: %v", err)
	}
	if _, err := New(50, 50, 1); err != nil {
		t.Errorf("50 shingles and 50 functions: %v", err)
	}
}
