package setsim

// A Cell is some sets, of a stretch of their order by size.
type Cell struct {
	Smallest, Largest int // elements of a set
	Elements          int // of all
}

// CellPairs calls join for every two cells i ≤ j that may hold similar sets, each with itself included. The cells are
// in the order of the sets' sizes, and minSize returns the least size of a set that may be similar to one of a size, as
// Threshold.MinSize does: so joining these pairs finds what one join of all sets does.
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

// CellCost returns how many elements CellPairs' joins read.
func CellCost(cells []Cell, minSize func(size int) int) (elements int64) {
	CellPairs(cells, minSize, func(i, j int) {
		if elements += int64(cells[i].Elements); i != j {
			elements += int64(cells[j].Elements)
		}
	})
	return elements
}
