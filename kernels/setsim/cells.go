package setsim

// A Cell is a stretch of an order of sets by size, from First to before End. It has to be joined
// with itself and with the cells from Lowest to Last: sets of others are too small or too large to
// be similar.
type Cell struct{ First, End, Lowest, Last int }

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
	// Last never descends, so the cells that reach one are a stretch, too.
	lowest := 0
	for i := range cells {
		for cells[lowest].Last < i {
			lowest++
		}
		cells[i].Lowest = lowest
	}
	return cells
}

// Work is what joining cells comes to.
type Work struct {
	Pairs    int64 // of cells that are joined, each with itself included
	Elements int64 // of the sets
	Routed   int64 // elements sent to pairs of cells: those of a set once for each pair of its cell
}

// Cost returns the work of joining the cells of sets of these sizes, as Cells returns them.
func Cost(sizes []int, cells []Cell) (w Work) {
	for c, cell := range cells {
		own := int64(0)
		for _, size := range sizes[cell.First:cell.End] {
			own += int64(size)
		}
		w.Pairs += int64(cell.Last - c + 1)
		w.Elements += own
		w.Routed += own * int64(cell.Last-cell.Lowest+1)
	}
	return w
}
