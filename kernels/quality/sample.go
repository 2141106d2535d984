package quality

import (
	"cmp"
	"maps"
	"slices"

	"github.com/neardup/neardup/kernels/hash"
)

// A Set is the hash of a set and its first document, the one with the smallest key.
type Set[K ~int64] struct {
	Hash  hash.Sum128
	First K
}

// Smallest draws the sets with the smallest seeded hashes: a uniform sample of the distinct sets, independent of their
// order and frequency (bottom-k; Cohen and Kaplan 2007). Draws from parts of the documents can be added to another
// Smallest in any order and repeatedly, and give the draw from all.
type Smallest[K ~int64] struct {
	limit int
	seed  uint64
	first map[hash.Sum128]K // up to twice the limit
	full  bool
	last  hash.Sum128 // once full, larger hashes are not among the smallest
}

// NewSmallest returns a draw of at most limit ≥ 1 sets. It holds up to twice as many. Draws with different seeds are
// independent.
func NewSmallest[K ~int64](limit int, seed uint64) *Smallest[K] {
	return &Smallest[K]{limit: limit, seed: hash.Mix(seed), first: map[hash.Sum128]K{}}
}

// compare orders sets by seeded hash, then by hash.
func (s *Smallest[K]) compare(a, b hash.Sum128) int {
	return cmp.Or(cmp.Compare(hash.Mix(a.Hi^s.seed), hash.Mix(b.Hi^s.seed)), a.Compare(b))
}

// Add adds a document with the hash of its set.
func (s *Smallest[K]) Add(set hash.Sum128, document K) {
	if s.full && s.compare(set, s.last) > 0 {
		return
	}
	if first, ok := s.first[set]; !ok || document < first {
		s.first[set] = document
	}
	if len(s.first) >= 2*s.limit {
		s.Sets()
	}
}

// Sets returns the drawn sets, ascending by seeded hash. More documents can be added afterwards.
func (s *Smallest[K]) Sets() (all []Set[K]) {
	for i, h := range slices.SortedFunc(maps.Keys(s.first), s.compare) {
		if i < s.limit {
			all = append(all, Set[K]{h, s.first[h]})
		} else {
			delete(s.first, h)
		}
	}
	if len(all) == s.limit {
		s.full, s.last = true, all[s.limit-1].Hash
	}
	return all
}
