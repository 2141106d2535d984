package salted

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func shingles(texts ...string) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for _, text := range texts {
			if !yield([]byte(text)) {
				return
			}
		}
	}
}

// The vectors come from a second implementation, testdata/vectors.py.
func TestVectors(t *testing.T) {
	table, err := os.ReadFile("testdata/vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		field := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		n, err := strconv.Atoi(field[1])
		if err != nil {
			t.Fatal(err)
		}
		seed, err := strconv.ParseUint(field[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		s, err := New(n, seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Sign(nil, shingles(strings.Split(field[0], "|")...)) {
			got = append(got, strconv.FormatUint(v, 10))
		}
		if got := strings.Join(got, ","); got != field[3] {
			t.Errorf("%d functions of seed %d, shingles %q:\n got %s\nwant %s", n, seed, field[0], got, field[3])
		}
	}
}

func TestNoShingleHasNoSignature(t *testing.T) {
	s, err := New(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Sign(make([]uint64, 3), shingles()); len(got) != 0 {
		t.Errorf("no shingle: %v", got)
	}
}

// A seed is rejected if and only if the last salt has more than 64 bits.
func TestLargestSeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1024).Draw(t, "n")
		near := rapid.Map(rapid.Uint64Range(0, 4), func(back uint64) uint64 { return math.MaxUint64/uint64(n) - back })
		seed := rapid.OneOf(rapid.Uint64(), near).Draw(t, "seed")
		last := new(big.Int).SetUint64(seed)
		last.Mul(last, big.NewInt(int64(n))).Add(last, big.NewInt(int64(n-1)))
		s, err := New(n, seed)
		if fits := last.BitLen() <= 64; fits != (err == nil) {
			t.Fatalf("%d functions of seed %d, last salt %v: %v", n, seed, last, err)
		}
		if err == nil && !strings.HasSuffix(string(s.salts), fmt.Sprintf("%020d", last)) {
			t.Fatalf("%d functions of seed %d: salts %s, want %v last", n, seed, s.salts, last)
		}
	})
}

// The signature of a union is the minimum of each two values; neither order nor repetition matters.
func TestUnionIsMinimum(t *testing.T) {
	texts := rapid.SliceOfN(rapid.StringN(0, 12, -1), 1, 8)
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(rapid.IntRange(1, 12).Draw(t, "n"), rapid.Uint64Range(0, math.MaxUint64/12-1).Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		want := s.Sign(nil, shingles(a...))
		for i, v := range s.Sign(nil, shingles(b...)) {
			want[i] = min(want[i], v)
		}
		if got := s.Sign(nil, shingles(slices.Concat(b, a, b)...)); !slices.Equal(got, want) {
			t.Fatalf("union %v, minimum %v", got, want)
		}
	})
}
