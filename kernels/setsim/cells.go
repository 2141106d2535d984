package setsim

// A Cell is a stretch of an order of sets by size, from First to before End. It has to be joined
// with itself and with each cell after it up to Last: sets further on are too large to be similar.
type Cell struct{ First, End, Last int }

// Cells cuts sets of ascending sizes into cells of at most the given number of elements each, or
// of one set. Joining the pairs of cells finds what one join of all sets does: sets are similar
// only if the smaller one has t times the elements of the larger one at least.
func Cells(sizes []int, elements int, t Threshold) (cells []Cell) {
	first, sum := 0, 0
	for i, size := range sizes {
		if i > first && sum+size > elements {
			cells = append(cells, Cell{First: first, End: i})
			first, sum = i, 0
		}
		sum += size
	}
	if len(sizes) > 0 {
		cells = append(cells, Cell{First: first, End: len(sizes)})
	}
	last := 0
	for i := range cells {
		largest := sizes[cells[i].End-1]
		for last+1 < len(cells) && t.MinSize(sizes[cells[last+1].First]) <= largest {
			last++
		}
		cells[i].Last = max(last, i)
	}
	return cells
}
