package setsim

import (
	"slices"

	"github.com/neardup/neardup/internal/parallel"
)

// rowsAhead is the number of rows per core that are counted before they are visited.
const rowsAhead = 32

// Overlaps calls visit for each set i in order with the numbers of elements that it shares with the sets before it:
// shared[j] with set j. The slice is valid until visit returns. If there are many elements, several cores count.
func Overlaps(sets [][]uint64, visit func(i int, shared []int32)) {
	counters := ranges(sets)
	lists, numbers := numberShared(sets, portionSize, counters)
	starts := make([]int, numbers+1)
	for _, list := range lists {
		for _, w := range list {
			starts[w+1]++
		}
	}
	for w := range numbers {
		starts[w+1] += starts[w]
	}
	// The sets with element w are members[starts[w]:starts[w+1]], in ascending order.
	members := make([]uint32, starts[numbers])
	ends := slices.Clone(starts)
	for i, list := range lists {
		for _, w := range list {
			members[ends[w]] = uint32(i)
			ends[w]++
		}
	}
	count := func(i int, counts []int32) {
		shared := counts[:i]
		clear(shared)
		for _, w := range lists[i] {
			for _, j := range members[starts[w]:starts[w+1]] {
				if int(j) >= len(shared) {
					break
				}
				shared[j]++
			}
		}
	}
	if counters == 1 {
		counts := make([]int32, len(sets))
		for i := range sets {
			count(i, counts)
			visit(i, counts[:i])
		}
		return
	}
	rows := make([][]int32, counters*rowsAhead)
	for k := range rows {
		rows[k] = make([]int32, len(sets))
	}
	for first := 0; first < len(sets); first += len(rows) {
		end := min(first+len(rows), len(sets))
		var group parallel.Group
		for k := range counters {
			group.Go(func() {
				for i := first + k; i < end; i += counters {
					count(i, rows[i-first])
				}
			})
		}
		group.Wait()
		for i := first; i < end; i++ {
			visit(i, rows[i-first][:i])
		}
	}
}
