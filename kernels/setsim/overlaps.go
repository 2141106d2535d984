package setsim

import "slices"

// Overlaps calls visit for each set i in turn with the numbers of elements it shares with the sets
// before it: shared[j] with set j. The slice is valid until visit returns.
func Overlaps(sets [][]uint64, visit func(i int, shared []int32)) {
	lists, numbers := numberShared(sets, portionSize)
	ends := make([]int, numbers+1)
	for _, list := range lists {
		for _, w := range list {
			ends[w+1]++
		}
	}
	for w := range numbers {
		ends[w+1] += ends[w]
	}
	// The sets seen so far that have element w are at starts[w]:ends[w].
	members := make([]uint32, ends[numbers])
	ends = ends[:numbers]
	starts := slices.Clone(ends)

	counts := make([]int32, len(sets))
	for i, list := range lists {
		shared := counts[:i]
		clear(shared)
		for _, w := range list {
			for _, j := range members[starts[w]:ends[w]] {
				shared[j]++
			}
			members[ends[w]] = uint32(i)
			ends[w]++
		}
		visit(i, shared)
	}
}
