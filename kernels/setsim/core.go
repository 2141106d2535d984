package setsim

import "math/bits"

const (
	// coreShare is the inverse of the fraction of the sets that have a core element.
	coreShare = 64

	// coreShrinks is the factor by which the core form must be smaller than the sets. It excludes mixtures of many
	// templates, whose sets leave most bits empty.
	coreShrinks = 4

	// parityWords is the length of a parity: 256 bits distinguish sets that share the whole core and have up to about a
	// hundred other elements.
	parityWords = 4
)

// A core is a different form of sets of ascending size that have most of their elements in common, such as variants of
// a template. Elements of many sets are bits; other shared elements stay in a list. Elements of a single set are in
// neither.
type core struct {
	lists [][]uint32 // of the elements that are not bits, as numberShared returns them
	words int        // of a set's bits
	bits  []uint64   // of each set: its core elements, then the parity of its list
}

// core returns the core form of the sets if it makes the join cheaper than prefixes do.
func (p *prefixLists) core(border int) (c *core, ok bool) {
	if !p.meetMost(border) {
		return nil, false
	}
	numbers := len(p.ends)
	first, ok := coreStart(p.sets, p.lists, numbers)
	if !ok {
		return nil, false
	}
	return newCore(p.lists, first, numbers), true
}

// coreStart returns the first number of the core elements of sets whose shared elements are numbered. ok is false if
// the core form is not much smaller than the sets.
func coreStart(sets [][]uint64, lists [][]uint32, numbers int) (first int, ok bool) {
	frequencies := make([]int, numbers)
	elements := 0
	for x, list := range lists {
		elements += len(sets[x])
		for _, w := range list {
			frequencies[w]++
		}
	}
	// Numbers ascend by frequency.
	others := 0
	for first < numbers && coreShare*frequencies[first] < len(sets) {
		others += frequencies[first]
		first++
	}
	const elementBytes, numberBytes = 8, 4
	form := elementBytes*len(sets)*(bitWords(numbers-first)+parityWords) + numberBytes*others
	return first, coreShrinks*form <= elementBytes*elements
}

// bitWords returns the number of words that hold n bits.
func bitWords(n int) int { return (n + 63) / 64 }

// newCore returns the form of sets in which numbers from first on are bits.
func newCore(lists [][]uint32, first, numbers int) *core {
	c := &core{lists: make([][]uint32, len(lists)), words: bitWords(numbers - first)}
	c.bits = make([]uint64, len(lists)*c.stride())
	for x, list := range lists {
		own := c.bits[x*c.stride():][:c.stride()]
		k := len(list)
		for ; k > 0 && int(list[k-1]) >= first; k-- {
			bit := int(list[k-1]) - first
			own[bit/64] |= 1 << (bit % 64)
		}
		c.lists[x] = list[:k]
		for _, w := range list[:k] {
			flip(own[c.words:], uint64(w))
		}
	}
	return c
}

// stride returns the number of words per set.
func (c *core) stride() int { return c.words + parityWords }

// overlap returns the number of elements that sets x and y share, or false if it is below need.
func (c *core) overlap(x, y, need int) (shared int, ok bool) {
	a, b := c.bits[x*c.stride():][:c.stride()], c.bits[y*c.stride():][:c.stride()]
	for k, word := range a[:c.words] {
		shared += bits.OnesCount64(word & b[k])
	}
	need -= shared
	if 2*need > len(c.lists[x])+len(c.lists[y])-differing(a[c.words:], b[c.words:]) {
		return 0, false
	}
	others, ok := overlapAtLeast(c.lists[x], c.lists[y], need)
	return shared + others, ok
}
