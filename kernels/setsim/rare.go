package setsim

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/kernels/radix"
)

// A RarePosting says that a set has an element in its prefix, and where. The postings of all sets, in any number of
// ranges of hashes, give the candidates of a group that does not fit in memory.
type RarePosting struct {
	Hash  uint64 // the element
	Set   uint32 // number of the set
	Size  uint32 // size of the set
	Place uint32 // number of rarer elements in the set
	Apart bool   // whether the set is apart
}

// Prefixes finds the rarest elements of sets. It is not safe for concurrent use.
type Prefixes struct {
	t      Threshold
	common *Frequencies
	sizes  *Sizes
	order  []uint64 // of a set's elements; kept for the next one
}

// NewPrefixes returns prefixes for Jaccard similarities of at least t among sets of these sizes. common and sizes must
// not change afterwards.
func NewPrefixes(t Threshold, common *Frequencies, sizes *Sizes) *Prefixes {
	return &Prefixes{t: t, common: common, sizes: sizes}
}

// Postings calls emit for the elements of a set by which similar sets are found, rarest first.
//
// Elements are ordered by frequency, then by hash. An element that was counted once is in no other set: it takes its
// place in the order, but has no posting. Therefore every set must have been counted, or none. Counting more than that,
// or with fewer counters, only gives more postings.
func (p *Prefixes) Postings(number uint32, set []uint64, apart bool, emit func(RarePosting)) {
	for place, o := range p.rarest(set) {
		if frequency := o >> 32; frequency != 1 {
			emit(RarePosting{Hash: set[uint32(o)], Set: number, Size: uint32(len(set)), Place: uint32(place), Apart: apart})
		}
	}
}

// rarest returns the positions of set's prefix elements in the low halves, rarest first; any similar set has one of
// them in its own prefix. The high halves are frequencies. The result is valid until the next call.
func (p *Prefixes) rarest(set []uint64) []uint64 {
	p.order = p.order[:0]
	for at, hash := range set {
		p.order = append(p.order, uint64(p.common.count(hash))<<32|uint64(at))
	}
	slices.Sort(p.order)
	return p.order[:max(0, len(set)-p.sizes.leastOverlap(len(set), p.t)+1)]
}

// Candidates calls emit once for each two sets, not both apart, that may be similar according to these postings, which
// must be all postings of some hashes. The postings of all hashes give every similar pair, at the rarest element that
// the two share; Similar decides which are similar. It ends if emit returns false.
//
// Set j is the larger one, or of equals the one with the higher number. Pairs are ordered by the size and number of j,
// then of i.
//
// It sorts postings in place, and allocates up to 60 bytes per posting; the pairs take no memory.
func Candidates(postings []RarePosting, t Threshold, emit func(i, j uint32) bool) {
	slices.SortFunc(postings, func(a, b RarePosting) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Set, b.Set))
	})
	g := newRareLists(postings, t)
	metBy := make([]uint32, len(g.numbers)) // by rank, the last set that met it, as rank + 1
	var met []uint32                        // ranks
	next := 0
	for x, number := range g.numbers {
		size, apart := int(postings[next].Size), postings[next].Apart
		smallest := uint32(t.MinSize(size))
		for ; next < len(postings) && postings[next].Set == number; next++ {
			behind := size - int(postings[next].Place)
			list := &g.lists[g.listOf[next]]
			// Sizes ascend, so a set that is too small for this one is too small for all later ones.
			for list.start < list.end && g.indexed[list.start].size < smallest {
				list.start++
			}
			partner, need := uint32(0), 0
			for _, y := range g.indexed[list.start:list.end] {
				if int(y.rank) >= x {
					break
				}
				if metBy[y.rank] == uint32(x)+1 || apart && y.apart {
					continue
				}
				if y.size != partner {
					partner, need = y.size, t.minOverlap(size, int(y.size))
				}
				// Similar sets pass at the rarest element that they share, since they share none before it.
				if min(behind, int(y.behind)) >= need {
					metBy[y.rank] = uint32(x) + 1
					met = append(met, y.rank)
				}
			}
		}
		slices.Sort(met)
		for _, y := range met {
			if !emit(g.numbers[y], number) {
				return
			}
		}
		met = met[:0]
	}
}

// rareLists are the postings of some hashes, in ascending order of size and number of their sets. The rank of a set is
// its place in this order.
type rareLists struct {
	numbers []uint32   // of the sets, by rank
	listOf  []uint32   // by posting
	lists   []rareList // by hash
	indexed []rareSet  // the sets of each list, by rank
}

type rareList struct{ start, end uint32 } // indexes in indexed

// A rareSet is a set that has an element in its indexed prefix; behind is the number of its elements from that place
// on.
type rareSet struct {
	rank, size, behind uint32
	apart              bool
}

func newRareLists(postings []RarePosting, t Threshold) *rareLists {
	g := &rareLists{listOf: make([]uint32, len(postings))}
	ranks := make([]uint32, len(postings))
	entries := make([]entry, len(postings))
	differ := uint64(0)
	for i, p := range postings {
		if i == 0 || p.Set != postings[i-1].Set {
			g.numbers = append(g.numbers, p.Set)
		}
		ranks[i] = uint32(len(g.numbers) - 1)
		entries[i] = entry{Key: p.Hash, Document: uint32(i)}
		differ |= p.Hash ^ postings[0].Hash
	}
	var sorter radix.Sorter[entry, uint32]
	last := uint64(0)
	for i, e := range sorter.Sort(entries, bits.LeadingZeros64(differ), radix.ByKeyAndDocument) {
		if i == 0 || e.Key != last {
			end := uint32(len(g.indexed))
			g.lists = append(g.lists, rareList{end, end})
		}
		last = e.Key
		list := uint32(len(g.lists) - 1)
		g.listOf[e.Document] = list
		p := postings[e.Document]
		// A larger set needs at least the overlap of two sets of this size.
		size := int(p.Size)
		if int(p.Place) < size-t.minOverlap(size, size)+1 {
			g.indexed = append(g.indexed,
				rareSet{rank: ranks[e.Document], size: p.Size, behind: p.Size - p.Place, apart: p.Apart})
			g.lists[list].end++
		}
	}
	return g
}

// rareSample is the inverse of the fraction of hashes whose postings a RareSample keeps.
const rareSample = 64

// frequent is the number of sets from which an element is counted rather than sampled: a few such elements decide the
// cost, and a sample has all or none of them.
const frequent = 512

// A RareSample samples the work of finding the candidates of sets.
type RareSample struct {
	postings []RarePosting // of some elements
	frequent int64         // postings of frequent elements
	met      int64         // pairs of sets that share one of these, counted once per element
}

// RareWork is the work of finding the candidates of sets.
type RareWork struct {
	Postings   int64
	Candidates int64 // a pair counts once for each hash that gives it
}

// Add adds a set.
func (s *RareSample) Add(p *Prefixes, number uint32, set []uint64, apart bool) {
	p.Postings(number, set, apart, func(posting RarePosting) {
		if sets := int64(p.common.count(posting.Hash)); sets >= frequent {
			s.frequent++
			s.met += sets
		} else if posting.Hash%rareSample == 0 {
			s.postings = append(s.postings, posting)
		}
	})
}

// Work estimates the work for the sets that were added. It counts candidates only up to about most. Add must not be
// called afterwards.
func (s *RareSample) Work(t Threshold, most int64) RareWork {
	w := RareWork{Postings: s.frequent + rareSample*int64(len(s.postings)), Candidates: s.met / 2}
	if w.Candidates <= most {
		Candidates(s.postings, t, func(_, _ uint32) bool {
			w.Candidates += rareSample
			return w.Candidates <= most
		})
	}
	return w
}
