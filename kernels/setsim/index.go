package setsim

import (
	"cmp"
	"math/bits"
	"slices"
)

// An Index finds, among the sets added to it, those similar to another one. It
// is not safe for concurrent use, Similar included; a Finder is for each goroutine.
//
// Sets x and y that reach t share at least MinSize(|x|) elements and MinSize(|y|),
// for |x∩y| ≥ t·|x∪y|, which is no less than t·|x| and t·|y|: a partner of just
// that size, a subset, is the least favourable. So in any one order of all elements
// the first that they share has MinSize(|x|)−1 others behind it in x, and it is
// among the first |x|−MinSize(|x|)+1 of x; likewise of y. Those of every added set
// are indexed, and those of a set are looked for (Chaudhuri et al. 2006). The order
// is by frequency, rare first, and equals by hash.
//
// Beside the sets and their parities it takes 16 to 20 bytes per indexed element of each, and 20 to
// 39 per distinct one.
type Index struct {
	prefixes Prefixes
	sets     [][]uint64
	parities []parity // of the sets
	words    int      // of all sets and parities
	postings []chained
	heads    map[uint64]head // by element
	variants *variation      // instead of postings, if there is a template
	finder   *Finder
}

// A Finder finds sets in an Index. Finders of one index may be used concurrently as long as no set is added; a Finder
// is not safe for concurrent use.
type Finder struct {
	index    *Index
	prefixes Prefixes
	queries  uint64
	metBy    []uint64 // by set, the last query that met it
	hits     []hit    // of a query, kept for the next one
	parity   parity   // of a query, kept for the next one

	deviations []uint64   // of a query, kept for the next one, as are those below
	lists      [][]uint32 // of the deviations
	counts     []uint16   // by set, how many of these the two have in common
}

// A chained posting says that a set has an element in its prefix, at which place of
// it and where in the set, and leads to the previous one of that element: its number
// plus 1, or 0.
type chained struct{ set, place, at, previous uint32 }

// A head leads to the postings of one element.
type head struct{ latest, count uint32 } // the number of the latest plus 1, and of all

type hit struct{ set, shared int }

// NewIndex returns an index without sets for Jaccard similarities of at least t.
// What is common decides its speed, not what it finds.
func NewIndex(t Threshold, common *Frequencies) *Index {
	x := &Index{prefixes: Prefixes{t: t, common: common}, heads: map[uint64]head{}}
	if common != nil && len(common.template) > 0 {
		x.variants = &variation{t: t, template: common.template, lists: map[uint64][]uint32{}}
	}
	x.finder = x.Finder()
	return x
}

// Finder returns a new one. It takes 8 bytes for each set, and 16 for each that is found at once.
func (x *Index) Finder() *Finder {
	return &Finder{index: x, prefixes: Prefixes{t: x.prefixes.t, common: x.prefixes.common}}
}

// Add adds a set and returns its number: 0, 1, 2 … in the order of calls. The
// index keeps the slice itself, which must not change any more.
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

// Similar calls found for every added set whose Jaccard similarity to set is at
// least t, by its number and ascending, with the number of elements they share.
// It misses none, whatever their sizes and the order of calls. found must not
// call methods of the index.
func (x *Index) Similar(set []uint64, found func(i, shared int)) { x.finder.Similar(set, 0, found) }

// Similar is Index.Similar of the sets whose number is at least first.
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
			break // in a crowd long before the end of the prefix
		}
		for next := x.heads[set[uint32(at)]].latest; next > 0; {
			p := x.postings[next-1]
			if int(p.set) < first {
				break // and so are all before
			}
			next = p.previous
			if f.metBy[p.set] == f.queries {
				continue
			}
			// Here the two meet first: they share nothing before.
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
	// fewSets is up to how many sets are compared one by one, which is cheaper than to order a set's
	// elements: crowds around one template have one kept set.
	fewSets = 4

	// timesMet is the number of postings per added set from which a query compares all sets one by one:
	// a crowd's postings lead to nearly all of them, in no order.
	timesMet = 4
)

// similarToEach compares set with each added one from first on.
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

// overlap returns the number of elements that a set and the i-th one share, or false if it is below need. The
// query's parity, unless it is empty, spares most comparisons.
func (f *Finder) overlap(set []uint64, i, need int) (shared int, ok bool) {
	other := f.index.sets[i]
	if 2*need > len(set)+len(other)-differing(f.parity, f.index.parities[i]) {
		return 0, false
	}
	return overlapAtLeast(set, other, need)
}

// Bytes returns about how many bytes the index holds, the sets included.
func (x *Index) Bytes() int {
	const header, word, perPosting, perHead = 24, 8, 16, 28
	n := header*(cap(x.sets)+cap(x.parities)) + word*x.words + perPosting*cap(x.postings) + perHead*len(x.heads) +
		x.finder.Bytes()
	if x.variants != nil {
		n += x.variants.bytes()
	}
	return n
}

// Bytes returns about how many bytes the finder holds beside the index.
func (f *Finder) Bytes() int {
	const stamp, perHit, counter = 8, 16, 2
	return stamp*cap(f.metBy) + perHit*cap(f.hits) + counter*cap(f.counts)
}

// Frequencies tell which elements many sets have: the bound of a count-min sketch
// with one row (Cormode and Muthukrishnan 2005), never less than the truth. The
// zero value knows of none.
type Frequencies struct {
	counts   []uint32 // by the first bits of a hash
	shift    int
	sets     int      // that were counted
	template []uint64 // ascending; none, if the sets are not known to be variants of one
}

// Least and most counters are 2^frequencyBits, 4 MB, which is little beside a large group's sets and
// enough to tell common elements from rare ones, and 2^maxFrequencyBits, 64 MB.
const (
	frequencyBits    = 20
	maxFrequencyBits = 24
)

// NewFrequencies returns frequencies that know of none, for sets of so many different elements in all. There are two to
// four counters for three elements, of 4 bytes each, but at least 2^20 and at most 2^24: an element of one set only
// has a counter to itself with a probability of e^(−elements/counters), 0.22 to 0.47.
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
