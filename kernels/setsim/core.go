package setsim

import "math/bits"

const (
	// coreShare is the share of the sets, 1/coreShare, that have a core element.
	coreShare = 64

	// coreShrinks is how many times smaller than the sets their core form is. It keeps
	// mixtures of many templates out, whose sets leave most bits empty.
	coreShrinks = 4

	// parityWords is the length of a parity: 256 bits tell sets apart that share all the core
	// and have up to some hundred other elements.
	parityWords = 4
)

// A core is another form of sets of ascending size that have most of their
// elements in common, such as variants of a template. The elements of many sets
// are bits; the others that sets share stay in a list. Elements of one set only are
// in neither.
type core struct {
	sets  [][]uint64
	t     Threshold
	lists [][]uint32 // of the elements that are no bits, as numberShared returns them
	words int        // of a set's bits
	bits  []uint64   // of each set: its core elements, and the parity of its list
}

// core returns the core form of the sets, if a join of it costs less than one by the prefixes.
func (p *prefixLists) core(border int) (c *core, ok bool) {
	if !p.meetMost(border) {
		return nil, false
	}
	numbers := len(p.ends)
	first, ok := coreStart(p.sets, p.lists, numbers)
	if !ok {
		return nil, false
	}
	return newCore(p.sets, p.t, p.lists, first, numbers), true
}

// coreStart returns the first number of the core elements of sets whose shared elements are
// numbered, or false if the core form is not much smaller than the sets.
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

// bitWords is the number of words that hold so many bits.
func bitWords(n int) int { return (n + 63) / 64 }

// newCore returns a form of sets whose numbers from first on are bits.
func newCore(sets [][]uint64, t Threshold, lists [][]uint32, first, numbers int) *core {
	c := &core{sets: sets, t: t, lists: make([][]uint32, len(lists)), words: bitWords(numbers - first)}
	c.bits = make([]uint64, len(lists)*c.stride())
	for x, list := range lists {
		own := c.bits[x*c.stride():][:c.stride()]
		k := len(list)
		for ; k > 0 && int(list[k-1]) >= first; k-- {
			bit := int(list[k-1]) - first
			own[bit/64] |= 1 << (bit % 64)
		}
		c.lists[x] = list[:k]
		parity := own[c.words:]
		for _, w := range list[:k] {
			parity[w/64%parityWords] ^= 1 << (w % 64)
		}
	}
	return c
}

// stride is the number of words of a set.
func (c *core) stride() int { return c.words + parityWords }

// join joins like indexJoin, by comparing each set with all that are not too small for it.
//
// The parity of a list has a bit for each class of numbers, set if the list has an odd number
// of them. Where two parities differ, so do the lists, in at least one element for each bit;
// and lists that differ in d elements share half of the others.
func (c *core) join(border int, emit func(x, y, shared int) bool) {
	first := 0
	for x := border; x < len(c.sets); x++ {
		size := len(c.sets[x])
		for smallest := c.t.MinSize(size); first < x && len(c.sets[first]) < smallest; {
			first++
		}
		end := x
		if border > 0 {
			end = border
		}
		own := c.bits[x*c.stride():][:c.stride()]
		ownBits, ownParity := own[:c.words], (*[parityWords]uint64)(own[c.words:])
		list := c.lists[x]
		partner, need := -1, 0
		for y := first; y < end; y++ {
			if n := len(c.sets[y]); n != partner {
				partner, need = n, c.t.MinOverlap(size, n)
			}
			other := c.bits[y*c.stride():][:c.stride()]
			shared := 0
			for k, word := range ownBits {
				shared += bits.OnesCount64(word & other[k])
			}
			parity := (*[parityWords]uint64)(other[c.words:])
			differ := bits.OnesCount64(ownParity[0]^parity[0]) + bits.OnesCount64(ownParity[1]^parity[1]) +
				bits.OnesCount64(ownParity[2]^parity[2]) + bits.OnesCount64(ownParity[3]^parity[3])
			if 2*(need-shared) > len(list)+len(c.lists[y])-differ {
				continue
			}
			more, ok := overlapAtLeast(list, c.lists[y], need-shared)
			if ok && !emit(x, y, shared+more) {
				return
			}
		}
	}
}
