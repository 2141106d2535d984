package setsim

import (
	"math/bits"

	"github.com/neardup/neardup/kernels/radix"
)

const (
	// portionSize is what numberShared is called with: little memory beside the
	// sets of a large group, but not so little that most of the time goes into
	// visiting all sets for each portion.
	portionSize = 1 << 19

	// slotsPerEntry decides how many elements of one set only are sorted after
	// all: one of eight. With a portion the slots still fit a core's own cache.
	slotsPerEntry = 8

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
// one stretch of every sorted set.
func numberShared(sets [][]uint64, portion int) (lists [][]uint32, numbers int) {
	total := 0
	for _, s := range sets {
		total += len(s)
	}

	// Runs of equal hashes, in hash order: the sets of each one after another, and how many they are.
	members := make([]uint32, 0, total)
	var runs []uint32
	lengths := make([]int, len(sets)) // of the lists
	most := 0                         // sets in a run
	sorter := newElementSorter(total, portion)
	cursors := make([]int, len(sets))
	for p := range sorter.portions() {
		stretch := len(sorter.gathered)
		if p%stretch == 0 {
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
					members = append(members, e.Document)
					lengths[e.Document]++
				}
				runs = append(runs, uint32(n))
				most = max(most, n)
			}
			entries = entries[n:]
		}
	}

	// Numbered by a counting pass over the lengths of the runs, which keeps the
	// order of hashes among equals. Handing out the numbers in their own order
	// leaves every list sorted.
	firsts := make([]int, most+2)
	for _, n := range runs {
		firsts[n+1]++
	}
	for n := range most + 1 {
		firsts[n+1] += firsts[n]
	}
	type span struct{ start, end int }
	byNumber := make([]span, len(runs)) // of members
	start := 0
	for _, n := range runs {
		byNumber[firsts[n]] = span{start, start + int(n)}
		firsts[n]++
		start += int(n)
	}
	flat := make([]uint32, 0, len(members))
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
	return lists, len(runs)
}

// An elementSorter sorts entries by hash, a portion of the hashes at a time. A width of 0 bits
// shifts by 64, which leaves 0: the only portion.
type elementSorter struct {
	portionBits int
	gathered    [][]entry // of a stretch of portions
	sorter      radix.Sorter[entry, uint32]
	once, twice []uint64 // bits by the low bits of a hash
}

func newElementSorter(total, portion int) *elementSorter {
	s := &elementSorter{portionBits: bits.Len(uint(total / portion))}
	s.gathered = make([][]entry, max(1, s.portions()/visits))
	usual := total >> s.portionBits
	for p := range s.gathered {
		s.gathered[p] = make([]entry, 0, usual+usual/8)
	}
	words := 1 << bits.Len(uint(min(total, portion)*slotsPerEntry/64))
	s.once, s.twice = make([]uint64, words), make([]uint64, words)
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

// dropSingles leaves out most of the entries that no other has the hash of. In most
// corpora those are most of all.
func (s *elementSorter) dropSingles(entries []entry) []entry {
	clear(s.once)
	clear(s.twice)
	mask := uint64(len(s.once)*64 - 1)
	for i := range entries {
		slot := entries[i].Key & mask
		word, bit := slot/64, uint64(1)<<(slot%64)
		s.twice[word] |= s.once[word] & bit
		s.once[word] |= bit
	}
	kept := 0
	for _, e := range entries {
		slot := e.Key & mask
		entries[kept] = e
		kept += int(s.twice[slot/64] >> (slot % 64) & 1)
	}
	return entries[:kept]
}

// sort returns the entries gathered of the k-th portion of the stretch, sorted and less such as are
// alone, and forgets them. The result is valid until the next call.
func (s *elementSorter) sort(k int) []entry {
	entries := s.dropSingles(s.gathered[k])
	s.gathered[k] = entries[:0]
	return s.sorter.Sort(entries, s.portionBits, radix.ByKey)
}
