package setsim

import (
	"math/bits"
	"runtime"
	"slices"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/kernels/radix"
)

const (
	// portionSize is the portion that callers pass to numberShared: little memory compared with the sets of a large
	// group, but enough that the visits of all sets for each portion do not dominate.
	portionSize = 1 << 19

	// leastPortion is a portion that leaves room for its sets in a core's own cache.
	leastPortion = 1 << 15

	// visits is the number of times that all sets are visited if there are many portions, several of which are gathered
	// at once: each visit of a set is a cache miss, and a portion has only a few of its elements.
	visits = 8
)

// An entry is one element of one set.
type entry struct {
	Key      uint64 // the element
	Document uint32 // the number of the set
}

// numberShared replaces the elements that occur in at least two sets by their numbers, 0 … numbers−1, ascending by
// (number of sets, hash), and omits the others. Each list ascends.
//
// It sorts about portion elements at a time, which is possible because a range of hashes is one stretch of every sorted
// set. It searches ranges ranges concurrently, a power of two up to visits, which does not affect the result.
func numberShared(sets [][]uint64, portion, ranges int) (lists [][]uint32, numbers int) {
	total := elements(sets)
	members := make([]uint32, total)
	found := make([]rangeRuns, ranges)
	var group parallel.Group
	for r := 1; r < ranges; r++ {
		group.Go(func() { found[r] = findRuns(sets, members, newElementSorter(total, portion, ranges), r) })
	}
	found[0] = findRuns(sets, members, newElementSorter(total, portion, ranges), 0)
	group.Wait()

	lengths := make([]int, len(sets)) // of the lists
	shared, most := 0, 0              // total length of the runs, and maximum length
	for _, f := range found {
		numbers += len(f.runs)
		for _, n := range f.runs {
			most = max(most, int(n))
		}
		for i, n := range f.lengths {
			lengths[i] += n
			shared += n
		}
	}

	// Number the runs by a counting pass over their lengths, which keeps the order of hashes among equal lengths.
	// Assigning the numbers in ascending order keeps every list sorted.
	firsts := make([]int, most+2)
	for _, f := range found {
		for _, n := range f.runs {
			firsts[n+1]++
		}
	}
	for n := range most + 1 {
		firsts[n+1] += firsts[n]
	}
	type span struct{ start, end int }
	byNumber := make([]span, numbers) // ranges of members
	for _, f := range found {
		start := f.start
		for _, n := range f.runs {
			byNumber[firsts[n]] = span{start, start + int(n)}
			firsts[n]++
			start += int(n)
		}
	}
	flat := make([]uint32, 0, shared)
	lists = make([][]uint32, len(sets))
	for i, n := range lengths {
		at := len(flat)
		flat = flat[:at+n]
		lists[i] = flat[at:at:len(flat)]
	}
	for number, run := range byNumber {
		for _, i := range members[run.start:run.end] {
			lists[i] = append(lists[i], uint32(number))
		}
	}
	return lists, numbers
}

// elements returns the total number of elements.
func elements(sets [][]uint64) (n int) {
	for _, s := range sets {
		n += len(s)
	}
	return n
}

// manyElements is the number of elements from which several cores number them.
const manyElements = 1 << 17

// ranges returns the number of ranges into which numberShared should divide the hashes of sets: about one per core.
func ranges(sets [][]uint64) int {
	if elements(sets) < manyElements {
		return 1
	}
	return 1 << (bits.Len(uint(min(runtime.GOMAXPROCS(0), visits))) - 1)
}

// rangeRuns are the runs of equal hashes in a range, in hash order.
type rangeRuns struct {
	runs    []uint32 // number of sets in each run
	start   int      // index in members of their sets, one run after another
	lengths []int    // by set, number of its elements in runs
}

// findRuns finds the runs of a range, and writes their sets to members, which has a place for each element.
func findRuns(sets [][]uint64, members []uint32, sorter *elementSorter, number int) rangeRuns {
	f := rangeRuns{lengths: make([]int, len(sets))}
	cursors, ends := make([]int, len(sets)), make([]int, len(sets))
	first := number * sorter.portions() / sorter.ranges
	if number > 0 {
		for i, s := range sets {
			cursors[i], _ = slices.BinarySearch(s, uint64(first)<<(64-sorter.portionBits))
			f.start += cursors[i]
		}
	}
	at := f.start
	for p := first; p < first+sorter.portions()/sorter.ranges; p++ {
		stretch := len(sorter.gathered)
		switch {
		case stretch == 1:
			sorter.gatherShared(sets, cursors, ends, p)
			cursors, ends = ends, cursors
		case p%stretch == 0:
			for i, s := range sets {
				cursors[i] += sorter.gather(s[cursors[i]:], uint32(i), p)
			}
		}
		entries := sorter.sort(p % stretch)
		for len(entries) > 0 {
			n := 1
			for n < len(entries) && entries[n].Key == entries[0].Key {
				n++
			}
			if n > 1 {
				for _, e := range entries[:n] {
					members[at] = e.Document
					at++
					f.lengths[e.Document]++
				}
				f.runs = append(f.runs, uint32(n))
			}
			entries = entries[n:]
		}
	}
	return f
}

// An elementSorter sorts entries by hash, one portion of the hashes at a time. With portionBits 0, a shift by 64 leaves
// 0, the only portion.
type elementSorter struct {
	ranges      int // number of sorters that share the portions
	portionBits int
	gathered    [][]entry // by portion of the current stretch
	sorter      radix.Sorter[entry, uint32]
	slots       radix.Slots
}

// newElementSorter returns one of several sorters, one per range, that share the memory of a portion. Portions are no
// larger than the cache if visits allows it.
func newElementSorter(total, portion, ranges int) *elementSorter {
	portion = max(1, min(portion/ranges, max(leastPortion, total/visits+1)))
	s := &elementSorter{ranges: ranges, portionBits: max(bits.Len(uint(total/portion)), bits.Len(uint(ranges-1)))}
	s.gathered = make([][]entry, max(1, s.portions()/visits))
	usual := total >> s.portionBits
	if len(s.gathered) > 1 {
		for p := range s.gathered {
			s.gathered[p] = make([]entry, 0, usual+usual/8)
		}
	}
	s.slots = s.slots.For(usual)
	return s
}

func (s *elementSorter) portions() int { return 1 << s.portionBits }

func (s *elementSorter) portion(hash uint64) int { return int(hash >> (64 - s.portionBits)) }

// gather gathers the first elements of set that are in the stretch of portions from first on, and returns their number.
func (s *elementSorter) gather(set []uint64, number uint32, first int) (n int) {
	for k, entries := range s.gathered {
		for ; n < len(set) && s.portion(set[n]) == first+k; n++ {
			entries = append(entries, entry{set[n], number})
		}
		s.gathered[k] = entries
	}
	return n
}

// gatherShared gathers the elements of portion p, from the cursors on, that share a slot, and sets ends to the end of
// the portion in each set. It thus makes no entries for most elements of a single set, which radix.Repeated would have
// to remove. It visits all sets twice, which pays only if gather would visit them for each portion, too: in stretches
// of one portion.
func (s *elementSorter) gatherShared(sets [][]uint64, cursors, ends []int, p int) {
	clear(s.slots)
	slots, all, again := s.slots, 0, 0 // elements, and those whose slot already had one
	last := uint64(p+1)<<(64-s.portionBits) - 1
	for i, set := range sets {
		n := cursors[i]
		for ; n < len(set) && set[n] <= last; n++ {
			again += slots.Add(set[n])
		}
		all += n - cursors[i]
		ends[i] = n
	}
	entries := s.gathered[0]
	if most := min(all, 2*again) + 1; cap(entries) < most { // those that share slots, and one more that is overwritten
		entries = make([]entry, most+most/8) // other portions have a similar size
	}
	entries = entries[:cap(entries)]
	kept := 0
	for i, set := range sets {
		for _, hash := range set[cursors[i]:ends[i]] {
			entries[kept] = entry{hash, uint32(i)}
			kept += slots.Shared(hash)
		}
	}
	s.gathered[0] = entries[:kept]
}

// sort returns the sorted entries of the k-th portion of the stretch, without most that are unique, and removes them
// from the sorter. The result is valid until the next call.
func (s *elementSorter) sort(k int) []entry {
	entries := s.gathered[k]
	if len(s.gathered) > 1 {
		clear(s.slots)
		entries = radix.Repeated(s.slots, entries)
	}
	s.gathered[k] = entries[:0]
	return s.sorter.Sort(entries, s.portionBits, radix.ByKey)
}
