package setsim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Cells cover all sets in order, are no larger than asked unless of one set, and every two sets
// whose sizes allow them to be similar are in a pair of cells that is joined.
func TestCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 60), 0, 40).Draw(t, "sizes")
		slices.Sort(sizes)
		elements := rapid.IntRange(1, 300).Draw(t, "elements")
		threshold := Threshold{uint64(rapid.IntRange(1, 10).Draw(t, "tenths")), 10}
		cells := Cells(sizes, elements, threshold)
		cellOf := make([]int, 0, len(sizes))
		for c, cell := range cells {
			sum := 0
			for i := cell.First; i < cell.End; i++ {
				cellOf = append(cellOf, c)
				sum += sizes[i]
			}
			if cell.First != len(cellOf)-(cell.End-cell.First) || cell.End <= cell.First || cell.Last < c || cell.Last >= len(cells) {
				t.Fatalf("cell %d of %d is %+v", c, len(cells), cell)
			}
			if sum > elements && cell.End-cell.First > 1 {
				t.Errorf("cell %d has %d elements, more than %d", c, sum, elements)
			}
		}
		if len(cellOf) != len(sizes) {
			t.Fatalf("%d of %d sets are in cells", len(cellOf), len(sizes))
		}
		for j, large := range sizes {
			for i, small := range sizes[:j] {
				if threshold.Reached(small, small, large) && cells[cellOf[i]].Last < cellOf[j] {
					t.Errorf("sets of %d and %d may be similar, but cell %d ends at %d before %d", small, large, cellOf[i], cells[cellOf[i]].Last, cellOf[j])
				}
			}
		}
	})
}

// Sizes far apart are not paired: 10 | 10 20 | 40 at one half, where 20 is the last that 10 can
// be similar to, and 40 for 20.
func TestCellsFarApart(t *testing.T) {
	cells := Cells([]int{10, 10, 20, 40, 100}, 20, Threshold{1, 2})
	want := []Cell{
		{First: 0, End: 2, Lowest: 0, Last: 1}, {First: 2, End: 3, Lowest: 0, Last: 2},
		{First: 3, End: 4, Lowest: 1, Last: 2}, {First: 4, End: 5, Lowest: 3, Last: 3},
	}
	if !slices.Equal(cells, want) {
		t.Errorf("got %v, want %v", cells, want)
	}
}

// The work is that of going through all pairs of cells.
func TestCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 60), 0, 40).Draw(t, "sizes")
		slices.Sort(sizes)
		cells := Cells(sizes, rapid.IntRange(1, 300).Draw(t, "elements"), Threshold{uint64(rapid.IntRange(1, 10).Draw(t, "tenths")), 10})
		elements := func(c int) (sum int64) {
			for _, size := range sizes[cells[c].First:cells[c].End] {
				sum += int64(size)
			}
			return sum
		}
		var want Work
		for c, cell := range cells {
			want.Elements += elements(c)
			for other := range cells {
				joined := c <= other && other <= cell.Last
				if back := other <= c && c <= cells[other].Last; back != (cell.Lowest <= other && other <= c) {
					t.Fatalf("cell %d is %+v, and cell %d %+v", c, cell, other, cells[other])
				}
				switch {
				case joined && c == other:
					want.Pairs++
					want.Routed += elements(c)
				case joined:
					want.Pairs++
					want.Routed += elements(c) + elements(other)
				}
			}
		}
		if got := Cost(sizes, cells); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
