package setsim

import (
	"math/bits"
	"slices"
)

const (
	// portionSize is what rankShared is called with: little memory beside the
	// sets of a large group, but not so little that most of the time goes into
	// visiting all sets for each portion.
	portionSize = 1 << 19

	// bucketSize is the expected size of a bucket of the counting pass, and
	// shortSort the one up to which insertion sorts it. Mixed hashes stay
	// below; others only sort slower.
	bucketSize = 4
	shortSort  = 24

	// slotsPerEntry decides how many elements of one set only are sorted after
	// all: one of eight. With a portion the slots still fit a core's own cache.
	slotsPerEntry = 8
)

// An entry is one element of one set.
type entry struct {
	hash uint64
	set  uint32
}

// rankShared replaces the elements that occur in two sets or more by their
// ranks, 0 … ranks−1, ascending by (number of sets, hash), and leaves out the
// others. Each list ascends.
//
// About portion elements are sorted at a time, never all: a range of hashes is
// one stretch of every sorted set.
func rankShared(sets [][]uint64, portion int) (lists [][]uint32, ranks int) {
	total := 0
	for _, s := range sets {
		total += len(s)
	}

	// Runs of equal hashes, in hash order: run k is the sets
	// members[ends[k-1]:ends[k]].
	members := make([]uint32, 0, total)
	var ends []int
	lengths := make([]int, len(sets)) // of the lists
	most := 0                         // sets in a run
	sorter := newElementSorter(total, portion)
	cursors := make([]int, len(sets))
	for p := range sorter.portions() {
		for i, s := range sets {
			c := cursors[i]
			for ; c < len(s) && sorter.portion(s[c]) == p; c++ {
				sorter.entries = append(sorter.entries, entry{s[c], uint32(i)})
			}
			cursors[i] = c
		}
		entries := sorter.sort()
		for len(entries) > 0 {
			n := 1
			for n < len(entries) && entries[n].hash == entries[0].hash {
				n++
			}
			if n > 1 {
				for _, e := range entries[:n] {
					members = append(members, e.set)
					lengths[e.set]++
				}
				ends = append(ends, len(members))
				most = max(most, n)
			}
			entries = entries[n:]
		}
	}

	// Ranked by a counting pass over the lengths of the runs, which keeps the
	// order of hashes among equals. Handing out the ranks in their own order
	// leaves every list sorted.
	firsts := make([]int, most+2)
	start := 0
	for _, end := range ends {
		firsts[end-start+1]++
		start = end
	}
	for n := range most + 1 {
		firsts[n+1] += firsts[n]
	}
	byRank := make([]int, len(ends))
	start = 0
	for k, end := range ends {
		byRank[firsts[end-start]] = k
		firsts[end-start]++
		start = end
	}
	flat := make([]uint32, 0, len(members))
	lists = make([][]uint32, len(sets))
	for i, n := range lengths {
		at := len(flat)
		flat = flat[:at+n]
		lists[i] = flat[at:at:len(flat)]
	}
	for rank, k := range byRank {
		start := 0
		if k > 0 {
			start = ends[k-1]
		}
		for _, i := range members[start:ends[k]] {
			lists[i] = append(lists[i], uint32(rank))
		}
	}
	return lists, len(ends)
}

// An elementSorter sorts entries by hash, a portion of the hashes at a time: by
// one counting pass over the bits below those of the portion, then within each
// bucket. A width of 0 bits shifts by 64, which leaves 0: the only portion, or
// the only bucket.
type elementSorter struct {
	portionBits, bucketBits int
	entries, sorted         []entry
	counts                  []int
	once, twice             []uint64 // bits by the low bits of a hash
}

func newElementSorter(total, portion int) *elementSorter {
	s := &elementSorter{
		portionBits: bits.Len(uint(total / portion)),
		bucketBits:  bits.Len(uint(min(total, portion) / bucketSize)),
	}
	s.counts = make([]int, 1<<s.bucketBits+1)
	s.entries = make([]entry, 0, min(total, portion+portion/8))
	words := 1 << bits.Len(uint(min(total, portion)*slotsPerEntry/64))
	s.once, s.twice = make([]uint64, words), make([]uint64, words)
	return s
}

func (s *elementSorter) portions() int { return 1 << s.portionBits }

func (s *elementSorter) portion(hash uint64) int { return int(hash >> (64 - s.portionBits)) }

func (s *elementSorter) bucket(hash uint64) int {
	return int(hash << s.portionBits >> (64 - s.bucketBits))
}

// dropSingles forgets most of the entries that no other has the hash of. In most
// corpora those are most of all.
func (s *elementSorter) dropSingles() {
	clear(s.once)
	clear(s.twice)
	mask := uint64(len(s.once)*64 - 1)
	for i := range s.entries {
		slot := s.entries[i].hash & mask
		word, bit := slot/64, uint64(1)<<(slot%64)
		s.twice[word] |= s.once[word] & bit
		s.once[word] |= bit
	}
	kept := 0
	for _, e := range s.entries {
		slot := e.hash & mask
		s.entries[kept] = e
		kept += int(s.twice[slot/64] >> (slot % 64) & 1)
	}
	s.entries = s.entries[:kept]
}

// sort returns the entries gathered so far, sorted and less such as are alone,
// and forgets them. The result is valid until the next call.
func (s *elementSorter) sort() []entry {
	s.dropSingles()
	clear(s.counts)
	for _, e := range s.entries {
		s.counts[s.bucket(e.hash)+1]++
	}
	for b := range len(s.counts) - 1 {
		s.counts[b+1] += s.counts[b]
	}
	s.sorted = slices.Grow(s.sorted[:0], len(s.entries))[:len(s.entries)]
	for _, e := range s.entries {
		at := &s.counts[s.bucket(e.hash)]
		s.sorted[*at] = e
		*at++
	}
	s.entries = s.entries[:0]
	start := 0
	for _, end := range s.counts[:len(s.counts)-1] { // now the ends of the buckets
		sortByHash(s.sorted[start:end])
		start = end
	}
	return s.sorted
}

// sortByHash sorts a bucket, which is short, or most of it is one element that
// many sets have: near-duplicates make nothing but such ones. So it is cut in
// three around its middle element, and the equals are done.
func sortByHash(b []entry) {
	for len(b) > shortSort {
		pivot := b[len(b)/2].hash
		less, greater := 0, len(b)
		for i := 0; i < greater; {
			switch h := b[i].hash; {
			case h < pivot:
				b[i], b[less] = b[less], b[i]
				less++
				i++
			case h > pivot:
				greater--
				b[i], b[greater] = b[greater], b[i]
			default:
				i++
			}
		}
		sortByHash(b[:less])
		b = b[greater:]
	}
	for i := 1; i < len(b); i++ {
		e := b[i]
		j := i
		for ; j > 0 && b[j-1].hash > e.hash; j-- {
			b[j] = b[j-1]
		}
		b[j] = e
	}
}
