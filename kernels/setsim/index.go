package setsim

import (
	"cmp"
	"math/bits"
	"slices"
)

// An Index holds sets, among which its Finders find those similar to another one. It is not safe for concurrent use.
//
// Sets x and y that reach t share at least MinSize(|x|) and at least MinSize(|y|) elements, because |x∩y| ≥ t·|x∪y|,
// which is at least t·|x| and t·|y|; the worst case is a partner of just that size, a subset. Under any fixed order of
// all elements, the first element that they share is therefore followed in x by at least MinSize(|x|)−1 others, and so
// is among the first |x|−MinSize(|x|)+1 elements of x; likewise for y. The index has these elements of every added set,
// and looks up those of a set that is searched for (Chaudhuri et al. 2006). The order is by frequency, rare elements
// first, then by hash.
//
// In addition to the sets and their parities it takes 16 to 20 bytes per indexed element of each set, and 20 to 39 per
// distinct indexed element.
type Index struct {
	prefixes Prefixes
	sets     [][]uint64
	parities []parity // of the sets
	words    int      // in all sets and parities
	postings []chained
	heads    map[uint64]head // by element
	variants *variation      // instead of postings, if there is a template
}

// A Finder finds sets in an Index. Finders of one index may be used concurrently as long as no set is added. A single
// Finder is not safe for concurrent use.
type Finder struct {
	index    *Index
	prefixes Prefixes
	queries  uint64
	metBy    []uint64 // by set, the last query that met it
	hits     []hit    // of a query; kept for the next one
	parity   parity   // of a query; kept for the next one

	deviations []uint64   // of a query; kept for the next one, like those below
	lists      [][]uint32 // of the deviations
	counts     []uint16   // by set, the number of these that the two share
}

// A chained posting says that a set has an element in its prefix, at which place of the prefix and where in the set. It
// links to the previous posting of that element, by its number plus 1, or 0.
type chained struct{ set, place, at, previous uint32 }

// A head links to the postings of one element.
type head struct{ latest, count uint32 } // number of the latest posting plus 1, and number of postings

type hit struct{ set, shared int }

// NewIndex returns an index without sets for Jaccard similarities of at least t. common affects its speed, but not its
// results.
func NewIndex(t Threshold, common *Frequencies) *Index {
	x := &Index{prefixes: Prefixes{t: t, common: common}, heads: map[uint64]head{}}
	if common != nil && len(common.template) > 0 {
		x.variants = &variation{t: t, template: common.template, lists: map[uint64][]uint32{}}
	}
	return x
}

// Finder returns a new Finder. It takes 8 bytes per set, and 16 per set found at once.
func (x *Index) Finder() *Finder {
	return &Finder{index: x, prefixes: Prefixes{t: x.prefixes.t, common: x.prefixes.common}}
}

// Add adds a set and returns its number: 0, 1, 2 … in the order of calls. The index keeps the slice, which must not
// change afterwards.
func (x *Index) Add(set []uint64) int {
	number := len(x.sets)
	x.sets = append(x.sets, set)
	x.parities = append(x.parities, parityOf(set, nil))
	x.words += len(set) + len(x.parities[number])
	if x.variants != nil {
		x.variants.add(uint32(number), set)
		return number
	}
	for place, at := range x.prefixes.rarest(set) {
		hash := set[uint32(at)]
		h := x.heads[hash]
		x.postings = append(x.postings, chained{uint32(number), uint32(place), uint32(at), h.latest})
		x.heads[hash] = head{uint32(len(x.postings)), h.count + 1}
	}
	return number
}

// Similar calls found for every added set whose number is at least first and whose Jaccard similarity to set is at
// least t, in ascending order of its number, with the number of elements they share. It misses none, whatever the sizes
// and the order of calls. found must not call methods of the index.
func (f *Finder) Similar(set []uint64, first int, found func(i, shared int)) {
	x := f.index
	f.parity = f.parity[:0]
	unmet := len(x.sets) - first
	if unmet <= fewSets {
		f.similarToEach(set, first, found)
		return
	}
	if x.variants != nil && f.similarVariants(set, first, found) {
		return
	}
	f.parity = parityOf(set, f.parity)
	if x.variants != nil {
		f.similarToEach(set, first, found)
		return
	}
	prefix := f.prefixes.rarest(set)
	met := 0
	for _, at := range prefix {
		met += int(x.heads[set[uint32(at)]].count)
	}
	if met >= timesMet*len(x.sets) {
		f.similarToEach(set, first, found)
		return
	}
	f.metBy = append(f.metBy, make([]uint64, len(x.sets)-len(f.metBy))...)
	f.queries++
	f.hits = f.hits[:0]
	for place, at := range prefix {
		if unmet == 0 {
			break // in a crowd this is long before the end of the prefix
		}
		for next := x.heads[set[uint32(at)]].latest; next > 0; {
			p := x.postings[next-1]
			if int(p.set) < first {
				break // and so are all postings before
			}
			next = p.previous
			if f.metBy[p.set] == f.queries {
				continue
			}
			// This is the first element that the two sets share.
			f.metBy[p.set] = f.queries
			unmet--
			partner := x.sets[p.set]
			need := x.prefixes.t.minOverlap(len(set), len(partner))
			if min(len(set)-place, len(partner)-int(p.place)) < need {
				continue
			}
			if shared, ok := f.overlap(set, int(p.set), need); ok {
				f.hits = append(f.hits, hit{int(p.set), shared})
			}
		}
	}
	slices.SortFunc(f.hits, func(a, b hit) int { return cmp.Compare(a.set, b.set) })
	for _, h := range f.hits {
		found(h.set, h.shared)
	}
}

const (
	// fewSets is the number of sets up to which comparing them one by one costs less than ordering a set's elements:
	// crowds around one template keep one set.
	fewSets = 4

	// timesMet is the number of postings per added set from which a query compares all sets one by one: a crowd's
	// postings lead to nearly all sets, in no order.
	timesMet = 4
)

// similarToEach compares set with each added set from first on.
func (f *Finder) similarToEach(set []uint64, first int, found func(i, shared int)) {
	x := f.index
	for i := first; i < len(x.sets); i++ {
		other := x.sets[i]
		need := x.prefixes.t.minOverlap(len(set), len(other))
		if need > min(len(set), len(other)) {
			continue
		}
		if shared, ok := f.overlap(set, i, need); ok {
			found(i, shared)
		}
	}
}

// overlap returns the number of elements that set and the i-th set share, or false if it is below need. The query's
// parity, unless empty, avoids most comparisons.
func (f *Finder) overlap(set []uint64, i, need int) (shared int, ok bool) {
	other := f.index.sets[i]
	if 2*need > len(set)+len(other)-differing(f.parity, f.index.parities[i]) {
		return 0, false
	}
	return overlapAtLeast(set, other, need)
}

// Bytes returns the approximate size of the index, sets included.
func (x *Index) Bytes() int {
	const header, word, perPosting, perHead = 24, 8, 16, 28
	n := header*(cap(x.sets)+cap(x.parities)) + word*x.words + perPosting*cap(x.postings) + perHead*len(x.heads)
	if x.variants != nil {
		n += x.variants.bytes()
	}
	return n
}

// Bytes returns the approximate size of the finder, without the index.
func (f *Finder) Bytes() int {
	const stamp, perHit, counter = 8, 16, 2
	return stamp*cap(f.metBy) + perHit*cap(f.hits) + counter*cap(f.counts)
}

// Frequencies estimate how many sets have an element: the upper bound of a count-min sketch with one row (Cormode and
// Muthukrishnan 2005), which is never below the truth. The zero value has no counts.
type Frequencies struct {
	counts   []uint32 // by the first bits of a hash
	shift    int
	sets     int      // number of sets counted
	template []uint64 // ascending; empty if the sets are not known to be variants of one
}

// The minimum number of counters is 2^frequencyBits, 4 MB, which is little compared with a large group's sets and
// enough to distinguish common elements from rare ones. The maximum is 2^maxFrequencyBits, 64 MB.
const (
	frequencyBits    = 20
	maxFrequencyBits = 24
)

// NewFrequencies returns frequencies without counts, for sets with this many distinct elements in all. There are two to
// four counters per three elements, of 4 bytes each, but at least 2^20 and at most 2^24: an element of a single set has
// a counter to itself with a probability of e^(−elements/counters), 0.22 to 0.47.
func NewFrequencies(elements int) *Frequencies {
	width := min(max(frequencyBits, bits.Len(uint(2*elements/3))), maxFrequencyBits)
	return &Frequencies{counts: make([]uint32, 1<<width), shift: 64 - width}
}

// Count counts the elements of a set.
func (f *Frequencies) Count(set []uint64) {
	if f.counts == nil {
		*f = *NewFrequencies(0)
	}
	f.sets++
	for _, hash := range set {
		f.counts[hash>>f.shift]++
	}
}

func (f *Frequencies) count(hash uint64) uint32 {
	if f.counts == nil {
		return 0
	}
	return f.counts[hash>>f.shift]
}
