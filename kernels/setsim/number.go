package setsim

import (
	"math/bits"
	"runtime"
	"slices"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/kernels/radix"
)

const (
	// portionSize is what numberShared is called with: little memory beside the
	// sets of a large group, but not so little that most of the time goes into
	// visiting all sets for each portion.
	portionSize = 1 << 19

	// leastPortion is a portion that leaves room for its sets in a core's own cache.
	leastPortion = 1 << 15

	// visits is how often all sets are visited to gather many portions, several each time: each set
	// is a miss of the cache, and a portion has but a few elements of it.
	visits = 8
)

// An entry is one element of one set.
type entry struct {
	Key      uint64 // the element
	Document uint32 // the number of the set
}

// numberShared replaces the elements that occur in two sets or more by their
// numbers, 0 … numbers−1, ascending by (number of sets, hash), and leaves out the
// others. Each list ascends.
//
// About portion elements are sorted at a time, never all: a range of hashes is
// one stretch of every sorted set. So many ranges, a power of two up to visits, are
// looked through at once; what is found does not depend on it.
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
	shared, most := 0, 0              // runs, and sets in one
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

	// Numbered by a counting pass over the lengths of the runs, which keeps the
	// order of hashes among equals. Handing out the numbers in their own order
	// leaves every list sorted.
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
	byNumber := make([]span, numbers) // of members
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

// elements is how many elements the sets have.
func elements(sets [][]uint64) (n int) {
	for _, s := range sets {
		n += len(s)
	}
	return n
}

// manyElements is from how many elements on more than one core numbers them.
const manyElements = 1 << 17

// ranges is into how many ranges numberShared divides the hashes of sets: one for each core, as far as it can.
func ranges(sets [][]uint64) int {
	if elements(sets) < manyElements {
		return 1
	}
	return 1 << (bits.Len(uint(min(runtime.GOMAXPROCS(0), visits))) - 1)
}

// rangeRuns are the runs of equal hashes in a range, in hash order.
type rangeRuns struct {
	runs    []uint32 // how many sets each is of
	start   int      // of those sets, one run after another
	lengths []int    // by set, how many of its elements are in runs
}

// findRuns finds those of a range, and writes their sets to members, where there is a place for each element.
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

// An elementSorter sorts entries by hash, a portion of the hashes at a time. A width of 0 bits
// shifts by 64, which leaves 0: the only portion.
type elementSorter struct {
	ranges      int // so many sorters share the portions
	portionBits int
	gathered    [][]entry // of a stretch of portions
	sorter      radix.Sorter[entry, uint32]
	slots       radix.Slots
}

// newElementSorter returns one of so many sorters, which sort a portion together.
// Where so many visits allow portions that the cache holds, they are no larger.
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

// gather gathers the first elements of a set, or of what is left of it, that belong to the stretch
// of portions from first on, and returns how many they are.
func (s *elementSorter) gather(set []uint64, number uint32, first int) (n int) {
	for k, entries := range s.gathered {
		for ; n < len(set) && s.portion(set[n]) == first+k; n++ {
			entries = append(entries, entry{set[n], number})
		}
		s.gathered[k] = entries
	}
	return n
}

// gatherShared gathers those elements of portion p, from the cursors on, that share a slot, and sets ends to where the
// portion ends in each set. So it makes no entries for most elements that only one set has, which radix.Repeated drops
// from entries that were made. It visits all sets twice, which pays only where gather would visit them for each
// portion, too: in stretches of one portion.
func (s *elementSorter) gatherShared(sets [][]uint64, cursors, ends []int, p int) {
	clear(s.slots)
	slots, all, again := s.slots, 0, 0 // elements, and those whose slot another had before
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
	if most := min(all, 2*again) + 1; cap(entries) < most { // those of one slot, and the next, which may be of none
		entries = make([]entry, most+most/8) // other portions are about as large
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

// sort returns the entries gathered of the k-th portion of the stretch, sorted and less such as are
// alone, and forgets them. The result is valid until the next call.
func (s *elementSorter) sort(k int) []entry {
	entries := s.gathered[k]
	if len(s.gathered) > 1 {
		clear(s.slots)
		entries = radix.Repeated(s.slots, entries)
	}
	s.gathered[k] = entries[:0]
	return s.sorter.Sort(entries, s.portionBits, radix.ByKey)
}
