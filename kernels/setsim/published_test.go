package setsim

import (
	"math/big"
	"slices"
	"testing"

	"github.com/neardup/neardup/kernels/hash"
)

// shares returns the similarity of two sets as a fraction.
func shares(a, b []uint64) string {
	shared := Overlap(a, b)
	if shared == 0 {
		return "0"
	}
	return big.NewRat(int64(shared), int64(len(a)+len(b)-shared)).RatString()
}

func setOf[T any](elements []T, value func(T) uint64) (set []uint64) {
	for _, e := range elements {
		set = append(set, value(e))
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// Published shingles of three words.
func TestPublishedShingles(t *testing.T) {
	documents := [][]string{
		{"I like you", "like you alot"},
		{"I like you", "like you and", "you and admire", "and admire you", "admire you alot"},
		{"I do not", "do not like", "not like green", "like green eggs", "green eggs and", "eggs and ham"},
		{"I do not", "do not like", "not like them", "like them and", "them and admire", "and admire them", "like you alot"},
	}
	var sets [][]uint64
	for _, shingles := range documents {
		sets = append(sets, setOf(shingles, func(s string) uint64 { return hash.Bytes([]byte(s)) }))
	}
	for _, c := range []struct {
		a, b int
		want string
	}{{1, 2, "1/6"}, {1, 3, "0"}, {1, 4, "1/8"}, {2, 3, "0"}, {3, 4, "2/11"}} {
		if got := shares(sets[c.a-1], sets[c.b-1]); got != c.want {
			t.Errorf("J(D%d, D%d) = %s, want %s", c.a, c.b, got, c.want)
		}
	}
	numbers := func(n ...uint64) []uint64 { return n }
	if got := shares(numbers(2, 5, 8, 9), numbers(5, 6, 7, 8, 9)); got != "1/2" {
		t.Errorf("of the sets of numbers %s, want 1/2", got)
	}
}

// The columns of a characteristic matrix.
func TestPublishedMatrix(t *testing.T) {
	rows := []string{"1010", "1001", "0101", "0101", "0101", "1010", "1010"}
	sets := make([][]uint64, 4)
	for element, row := range rows {
		for column, mark := range row {
			if mark == '1' {
				sets[column] = append(sets[column], uint64(element))
			}
		}
	}
	want := map[[2]int]string{{1, 3}: "3/4", {1, 4}: "1/7", {2, 4}: "3/4"}
	for a := 1; a <= 4; a++ {
		for b := a + 1; b <= 4; b++ {
			expected := "0"
			if w, ok := want[[2]int{a, b}]; ok {
				expected = w
			}
			if got := shares(sets[a-1], sets[b-1]); got != expected {
				t.Errorf("J(%d, %d) = %s, want %s", a, b, got, expected)
			}
		}
	}
	// Row orders that give the published signatures: a value is the position of the first row that a column has.
	orders := [][]int{{0, 2, 1, 3, 4, 5, 6}, {2, 1, 0, 3, 4, 5, 6}, {2, 3, 0, 1, 4, 5, 6}}
	signatures := make([][]uint64, 4)
	for i, published := range []string{"1212", "2131", "3131"} {
		for column, set := range sets {
			for place, row := range orders[i] {
				if slices.Contains(set, uint64(row)) {
					signatures[column] = append(signatures[column], uint64(place+1))
					break
				}
			}
			if want := uint64(published[column] - '0'); signatures[column][i] != want {
				t.Errorf("signature %d of column %d is %d, want %d", i+1, column+1, signatures[column][i], want)
			}
		}
	}
	for _, c := range []struct{ a, b, equal int }{{1, 3, 2}, {2, 4, 3}, {1, 2, 0}, {3, 4, 0}} {
		equal := 0
		for i, v := range signatures[c.a-1] {
			if v == signatures[c.b-1][i] {
				equal++
			}
		}
		if equal != c.equal {
			t.Errorf("signatures %d and %d agree in %d of 3 values, want %d", c.a, c.b, equal, c.equal)
		}
	}
}
