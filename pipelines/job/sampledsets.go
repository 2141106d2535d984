package job

import (
	"container/heap"
	"maps"
	"slices"

	"github.com/neardup/neardup/kernels/hash"
)

const (
	// mostShingles is the maximum number of shingles in all sets of a sample.
	mostShingles = 8 << 20
	// mostOfSet is the maximum for one set; a larger one is thinned.
	mostOfSet = 1 << 20
)

// sampledSets holds distinct sets, those of smallest hash if there is no room for all. Its content does not depend on
// the order in which sets are added.
type sampledSets struct {
	sets     map[hash.Sum128][]uint64 // nil for a set that was added but is not held
	held     largestFirst             // hashes of the sets that are held
	shingles int                      // in these sets
	bound    *hash.Sum128             // the smallest hash that is not held, or nil
}

func newSampledSets() *sampledSets { return &sampledSets{sets: map[hash.Sum128][]uint64{}} }

// add adds a set that thin returned, and retains it.
func (s *sampledSets) add(sum hash.Sum128, set []uint64) {
	if _, seen := s.sets[sum]; seen {
		return
	}
	if s.bound != nil && sum.Compare(*s.bound) > 0 {
		s.sets[sum] = nil
		return
	}
	s.sets[sum] = set
	s.shingles += len(set)
	heap.Push(&s.held, sum)
	for s.shingles > mostShingles {
		largest := heap.Pop(&s.held).(hash.Sum128)
		s.shingles -= len(s.sets[largest])
		s.sets[largest] = nil
		s.bound = &largest
	}
}

// all returns the sets that are held, by hash, and the number of distinct sets that were added.
func (s *sampledSets) all() (sets [][]uint64, different int) {
	for _, sum := range slices.SortedFunc(maps.Keys(s.sets), hash.Sum128.Compare) {
		if set := s.sets[sum]; set != nil {
			sets = append(sets, set)
		}
	}
	return sets, len(s.sets)
}

// thin returns a copy of a set or, if it is too large, its shingles below a bound: a half, a quarter and so on of all
// possible values. Sets with the same bound are about as similar as before.
func thin(set []uint64) []uint64 {
	n := len(set)
	for bound := uint64(1) << 63; n > mostOfSet; bound >>= 1 {
		n, _ = slices.BinarySearch(set, bound)
	}
	return slices.Clone(set[:n])
}

// largestFirst is a heap of hashes.
type largestFirst []hash.Sum128

func (h largestFirst) Len() int           { return len(h) }
func (h largestFirst) Less(i, j int) bool { return h[i].Compare(h[j]) > 0 }
func (h largestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *largestFirst) Push(x any)        { *h = append(*h, x.(hash.Sum128)) }
func (h *largestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
