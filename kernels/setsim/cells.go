package setsim

// A Cell is a range of sets in the order of their sizes.
type Cell struct {
	Smallest, Largest int // elements of a set
	Elements          int // elements of all sets
}

// CellPairs calls join for every two cells i ≤ j that may hold similar sets, including each cell with itself. The cells
// must be in the order of their sets' sizes. minSize returns the minimum size of a set that may be similar to one of
// the given size, as Threshold.MinSize does. Joining these pairs finds the same pairs as one join of all sets.
func CellPairs(cells []Cell, minSize func(size int) int, join func(i, j int)) {
	first := 0
	for j := range cells {
		for first < j && cells[first].Largest < minSize(cells[j].Smallest) {
			first++
		}
		for i := first; i <= j; i++ {
			join(i, j)
		}
	}
}

// CellCost returns the number of elements that the joins of CellPairs read.
func CellCost(cells []Cell, minSize func(size int) int) (elements int64) {
	CellPairs(cells, minSize, func(i, j int) {
		if elements += int64(cells[i].Elements); i != j {
			elements += int64(cells[j].Elements)
		}
	})
	return elements
}
