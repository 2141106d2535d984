package setsim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every two sets whose sizes allow them to be similar are in a pair of cells, and no pair of cells is joined twice or
// needlessly.
func TestCellPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 60), 0, 40).Draw(t, "sizes")
		slices.Sort(sizes)
		threshold := Threshold{uint64(rapid.IntRange(1, 10).Draw(t, "tenths")), 10}
		var cells []Cell
		var of [][]int // sizes
		for rest := sizes; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			sum := 0
			for _, size := range rest[:n] {
				sum += size
			}
			cells, of, rest = append(cells, Cell{Smallest: rest[0], Largest: rest[n-1], Elements: sum}), append(of, rest[:n]), rest[n:]
		}
		joined, cost := map[[2]int]bool{}, 0
		CellPairs(cells, threshold.MinSize, func(i, j int) {
			if i > j || joined[[2]int{i, j}] {
				t.Fatalf("cells %d and %d", i, j)
			}
			joined[[2]int{i, j}] = true
			for _, c := range slices.Compact([]int{i, j}) {
				cost += cells[c].Elements
			}
		})
		for j := range of {
			for i := range j + 1 {
				possible := i == j
				for _, small := range of[i] {
					for _, large := range of[j] {
						possible = possible || threshold.Reached(small, small, large)
					}
				}
				if possible != joined[[2]int{i, j}] {
					t.Errorf("%v and %v are joined: %v", of[i], of[j], !possible)
				}
			}
		}
		if got := CellCost(cells, threshold.MinSize); got != int64(cost) {
			t.Errorf("the joins read %d elements, want %d", got, cost)
		}
	})
}
