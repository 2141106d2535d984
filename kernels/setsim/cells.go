package setsim

// A Cell is some sets, of a stretch of their order by size.
type Cell struct {
	Smallest, Largest int // elements of a set
	Elements          int // of all
}

// CellPairs calls join for every two cells i ≤ j that may hold similar sets, each with itself included. The cells are in the order of
// the sets' sizes: joining these pairs finds what one join of all sets does, for sets are similar only if the smaller one has t times
// the elements of the larger one at least.
func CellPairs(cells []Cell, t Threshold, join func(i, j int)) {
	first := 0
	for j := range cells {
		for first < j && cells[first].Largest < t.MinSize(cells[j].Smallest) {
			first++
		}
		for i := first; i <= j; i++ {
			join(i, j)
		}
	}
}

// CellCost returns how many elements CellPairs' joins read.
func CellCost(cells []Cell, t Threshold) (elements int64) {
	CellPairs(cells, t, func(i, j int) {
		if elements += int64(cells[i].Elements); i != j {
			elements += int64(cells[j].Elements)
		}
	})
	return elements
}
