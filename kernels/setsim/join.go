package setsim

import (
	"cmp"
	"slices"
)

// directLimit is the size of a group up to which it costs less to compare all pairs of similar size than to build an
// index. Most components have two or three members.
const directLimit = 64

// parityLeast is the size of a group from which most of its pairs are not similar, so that parities save more than they
// cost.
const parityLeast = 6

// SelfJoin calls emit once for every pair i < j of sets, by index, whose Jaccard similarity is at least t, with the
// number of elements they share. It misses none, except pairs that are apart, which it does not compare; a nil apart
// compares all. The join ends if emit returns false.
//
// Pairs are ordered by their larger set, then by the smaller one, where sets are ordered by size, then by index. The
// order therefore depends only on the sets.
//
// Under any fixed order of all elements, two sets that reach t share an element among the first few of each. The order
// is by frequency in the group, rare elements first, and an index of these prefixes yields the candidates (Chaudhuri et
// al. 2006; Bayardo et al. 2007). Partners of impossible size are skipped, as are those that cannot share enough after
// the element at which they were found (Xiao et al. 2008). An index allocates about 20 bytes per element of the sets,
// and up to 30 for small groups.
//
// Sets around a few templates have nearly all elements in common, and such an index would yield most pairs. Their core
// form makes it cheaper to compare all pairs.
func SelfJoin(sets [][]uint64, t Threshold, apart func(i, j int) bool, emit func(i, j, shared int) bool) {
	joinAll(sets, measure{t: t}, apart, emit)
}

// A measure says which sets are similar: those that reach a threshold, or of which the larger contains that fraction of
// the smaller.
type measure struct {
	t         Threshold
	contained bool
}

// minOverlap returns the minimum number of elements that similar sets of a and b elements share.
func (m measure) minOverlap(a, b int) int {
	if m.contained {
		return m.t.MinSize(min(a, b))
	}
	return m.t.minOverlap(a, b)
}

// minSize returns the size of the smallest set that is similar to one of n elements, which is also the minimum number
// of elements that they share.
func (m measure) minSize(n int) int {
	if m.contained {
		return 1
	}
	return m.t.MinSize(n)
}

func joinAll(sets [][]uint64, m measure, apart func(i, j int) bool, emit func(i, j, shared int) bool) {
	order, ordered := bySize(sets)
	emitOrdered := func(x, y, shared int) bool {
		i, j := order[x], order[y]
		return emit(min(i, j), max(i, j), shared)
	}
	apartOrdered := func(x, y int) bool { return apart(order[x], order[y]) }
	if apart == nil {
		apartOrdered = nil
	}
	joinOrdered(ordered, 0, m, apartOrdered, emitOrdered)
}

// CrossJoin is like SelfJoin, but only for pairs of a set i of small and a set j of large. No set of small may have
// more elements than a set of large.
func CrossJoin(small, large [][]uint64, t Threshold, apart func(i, j int) bool, emit func(i, j, shared int) bool) {
	if len(small) == 0 {
		return
	}
	order, ordered := bySize(slices.Concat(small, large))
	apartOrdered := func(x, y int) bool { return apart(order[y], order[x]-len(small)) }
	if apart == nil {
		apartOrdered = nil
	}
	joinOrdered(ordered, len(small), measure{t: t}, apartOrdered, func(x, y, shared int) bool {
		return emit(order[y], order[x]-len(small), shared)
	})
}

// joinOrdered emits the pairs y < x of sets of ascending size or, unless border is 0, those with y < border ≤ x. It
// omits pairs that are apart.
func joinOrdered(
	sets [][]uint64, border int, m measure, apart func(x, y int) bool, emit func(x, y, shared int) bool,
) {
	if len(sets) <= directLimit {
		overlap := overlaps(sets)
		if len(sets) >= parityLeast {
			overlap = overlapsByParity(sets)
		}
		directJoin(sets, border, m, apart, overlap, emit)
		return
	}
	index := newPrefixLists(sets, border, m)
	if c, ok := index.core(border); ok {
		directJoin(sets, border, m, apart, c.overlap, emit)
	} else {
		index.join(border, apart, emit)
	}
}

// bySize returns the sets ordered by size, then by index, and the index of each.
func bySize(sets [][]uint64) (order []int, ordered [][]uint64) {
	order = make([]int, len(sets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(len(sets[i]), len(sets[j])), cmp.Compare(i, j))
	})
	ordered = make([][]uint64, len(sets))
	for k, i := range order {
		ordered[k] = sets[i]
	}
	return order, ordered
}

// overlaps returns a function that compares two of the sets by merging them.
func overlaps[T uint32 | uint64](sets [][]T) func(x, y, need int) (shared int, ok bool) {
	return func(x, y, need int) (shared int, ok bool) { return overlapAtLeast(sets[x], sets[y], need) }
}

// overlapsByParity is like overlaps, for sets of which most pairs share too little.
func overlapsByParity(sets [][]uint64) func(x, y, need int) (shared int, ok bool) {
	parities := make([]parity, len(sets))
	for x, set := range sets {
		parities[x] = parityOf(set, nil)
	}
	return func(x, y, need int) (shared int, ok bool) {
		if 2*need > len(sets[x])+len(sets[y])-differing(parities[x], parities[y]) {
			return 0, false
		}
		return overlapAtLeast(sets[x], sets[y], need)
	}
}

// directJoin compares each set with all earlier ones that are large enough. overlap returns the number of elements that
// two sets share, or false if it is below need.
func directJoin(
	sets [][]uint64, border int, m measure, apart func(x, y int) bool,
	overlap func(x, y, need int) (shared int, ok bool), emit func(x, y, shared int) bool,
) {
	first := 0
	for x := border; x < len(sets); x++ {
		size := len(sets[x])
		for smallest := m.minSize(size); first < x && len(sets[first]) < smallest; {
			first++
		}
		end := x
		if border > 0 {
			end = border
		}
		partner, need := -1, 0
		for y := first; y < end; y++ {
			if apart != nil && apart(x, y) {
				continue
			}
			if n := len(sets[y]); n != partner {
				partner, need = n, m.minOverlap(size, n)
			}
			shared, ok := overlap(x, y, need)
			if ok && !emit(x, y, shared) {
				return
			}
		}
	}
}

// A posting says that a set has an element in the indexed part of its prefix, and where.
type posting struct{ set, pos uint32 }

// prefixLists are the postings of sets of ascending size, in one slice: those of element w are at starts[w]:ends[w].
//
// Elements that occur in a single set are the rarest. They take places at the front of the order, but are not stored:
// set k begins with len(sets[k]) − len(lists[k]) of them.
type prefixLists struct {
	sets         [][]uint64
	m            measure
	lists        [][]uint32 // of numbers, as numberShared returns them
	postings     []posting
	starts, ends []int // by number
}

// newPrefixLists returns empty lists with capacity for the postings of all sets or, unless border is 0, of the sets
// before border.
func newPrefixLists(sets [][]uint64, border int, m measure) *prefixLists {
	p := &prefixLists{sets: sets, m: m}
	var numbers int
	p.lists, numbers = numberShared(sets, portionSize, ranges(sets))
	ends := make([]int, numbers+1)
	for x := range p.indexedSets(border) {
		for _, w := range p.indexed(x) {
			ends[w+1]++
		}
	}
	for w := range numbers {
		ends[w+1] += ends[w]
	}
	p.postings = make([]posting, ends[numbers])
	p.ends = ends[:numbers] // from here on, the end of w's postings so far
	p.starts = slices.Clone(p.ends)
	return p
}

// indexedSets returns the number of sets, the smallest ones, that are indexed.
func (p *prefixLists) indexedSets(border int) int {
	if border > 0 {
		return border
	}
	return len(p.sets)
}

// metSample is the approximate number of sets from which meetMost estimates the postings met.
const metSample = 128

// meetMost reports whether a join would meet about as many postings as there are pairs. It estimates this from a sample
// of the sets, before any posting is added, and ignores sizes.
func (p *prefixLists) meetMost(border int) bool {
	met, asked := 0, 0
	for x := border; x < len(p.sets); x += 1 + (len(p.sets)-border)/metSample {
		asked++
		for _, w := range p.probed(x) {
			end := len(p.postings)
			if int(w)+1 < len(p.starts) {
				end = p.starts[w+1]
			}
			met += end - p.starts[w]
		}
	}
	return met >= asked*p.indexedSets(border)
}

// indexed returns the prefix in which larger sets look for x. It needs only the overlap of two sets of its own size; x
// itself looks for smaller partners.
func (p *prefixLists) indexed(x int) []uint32 {
	size := len(p.sets[x])
	return prefix(p.lists[x], size, p.m.minOverlap(size, size))
}

// probed returns the prefix by which x looks for smaller sets.
func (p *prefixLists) probed(x int) []uint32 {
	size := len(p.sets[x])
	return prefix(p.lists[x], size, p.m.minSize(size))
}

// add adds the postings of x, which must be the next larger set.
func (p *prefixLists) add(x int) {
	single := len(p.sets[x]) - len(p.lists[x])
	for i, w := range p.indexed(x) {
		p.postings[p.ends[w]] = posting{uint32(x), uint32(single + i)}
		p.ends[w]++
	}
}

// A candidate is what the probing set knows about an earlier one: the number of elements that their prefixes share so
// far, and the number that the sets must share.
type candidate struct{ shared, need int32 }

// ruledOut in candidate.shared marks a set that cannot reach the threshold.
const ruledOut = -1

// join joins by prefixes. It adds the postings, and must be called only once.
func (p *prefixLists) join(border int, apart func(x, y int) bool, emit func(x, y, shared int) bool) {
	sets, m, lists, postings, starts, ends := p.sets, p.m, p.lists, p.postings, p.starts, p.ends
	candidates := make([]candidate, len(sets))
	var met []uint32
	for x, list := range lists {
		if x < border {
			p.add(x)
			continue
		}
		size := len(sets[x])
		single := size - len(list)
		smallest := m.minSize(size)
		for i, w := range p.probed(x) {
			// Sizes ascend, so a set that is too small for this one is too small for all later ones.
			for starts[w] < ends[w] && len(sets[postings[starts[w]].set]) < smallest {
				starts[w]++
			}
			for _, q := range postings[starts[w]:ends[w]] {
				c := &candidates[q.set]
				if c.shared == ruledOut {
					continue
				}
				partner := len(sets[q.set])
				if c.need == 0 {
					c.need = int32(m.minOverlap(size, partner))
					met = append(met, q.set)
					if apart != nil && apart(x, int(q.set)) {
						c.shared = ruledOut
						continue
					}
				}
				behind := min(size-(single+i), partner-int(q.pos))
				if int(c.shared)+behind < int(c.need) {
					c.shared = ruledOut
				} else {
					c.shared++
				}
			}
		}
		slices.Sort(met)
		for _, y := range met {
			c := candidates[y]
			candidates[y] = candidate{}
			if c.shared == ruledOut {
				continue
			}
			shared, ok := overlapAtLeast(list, lists[y], int(c.need))
			if ok && !emit(x, int(y), shared) {
				return
			}
		}
		met = met[:0]
		if border == 0 {
			p.add(x)
		}
	}
}

// prefix returns the shared elements among the first size−need+1 of a set. A set that shares need elements with it
// shares one of those.
func prefix(list []uint32, size, need int) []uint32 {
	single := size - len(list)
	return list[:max(0, size-need+1-single)]
}
