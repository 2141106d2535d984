package setsim

import "math/bits"

// Alone finds the elements that only one of many sets has, with a sketch of two bits per slot: no set, one, or more. An
// element that shares its slot with an element of another set counts as shared, so an element reported as alone is
// certainly alone.
type Alone struct {
	slots []uint64 // 32 per word: one bit if a set has an element there, one more if another set has, too
	scale uint64   // number of slots for all elements
	sizes Sizes
}

// Of the elements of all sets, a quarter are distinct if passages are shared, and nearly all if none are.
const (
	fewestSlots = 16 // as a power of two
	mostSlots   = 26 // 16 MB
)

// NewAlone returns a sketch for sets with this many elements in total. With parts above 1 it covers only the first of
// as many equal parts of the elements, and is smaller by that factor; elements of other parts count as shared.
func NewAlone(elements, parts int) *Alone {
	width := fewestSlots
	for width < mostSlots && 1<<width < 2*elements/parts {
		width++
	}
	return newAlone(width, parts)
}

func newAlone(width, parts int) *Alone {
	return &Alone{slots: make([]uint64, 2<<width/64), scale: uint64(parts) << width}
}

// Parts returns the number of parts of which one suffices to recognise most sets that have nothing in common with
// others: it has twice as many elements as must be alone.
func (t Threshold) Parts() int {
	const most = 4 // with more parts, small sets have too few elements in one
	return int(max(1, min(t.Den/(2*max(1, t.Den-t.Num)), most)))
}

// Count counts the elements of a set, which must ascend, once each. All sets must be counted before the first call of
// Lonely.
func (a *Alone) Count(set []uint64) {
	for _, hash := range set {
		slot, _ := bits.Mul64(hash, a.scale)
		if slot/32 >= uint64(len(a.slots)) {
			break
		}
		word, bit := &a.slots[slot/32], uint64(1)<<(2*(slot%32))
		*word |= *word&bit<<1 | bit // without a branch, which would be unpredictable
	}
	a.sizes.Add(len(set))
}

// Lonely reports whether a counted set shares too few elements with all other sets together to be similar to any of
// them.
func (a *Alone) Lonely(set []uint64, t Threshold) bool {
	least, may := a.sizes.leastOverlap(len(set), t), len(set) // may be shared
	for i := 0; i < len(set) && may >= least; i++ {
		may -= 1 - a.shared(set[i])
	}
	return may < least
}

// shared returns 1 if another set may have an element of a counted set, else 0.
func (a *Alone) shared(hash uint64) int {
	slot, _ := bits.Mul64(hash, a.scale)
	if slot/32 >= uint64(len(a.slots)) {
		return 1
	}
	return int(a.slots[slot/32] >> (2*(slot%32) + 1) & 1)
}
