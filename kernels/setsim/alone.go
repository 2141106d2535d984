package setsim

import "math/bits"

// Alone tells which elements only one of many sets has, by a sketch of two bits for each slot: no set, one, or more. An
// element that shares its slot with one of another set counts as shared, so what is alone is alone for certain.
type Alone struct {
	slots []uint64 // 32 in each: a bit if a set has an element there, and one if another has one, too
	scale uint64   // slots that all elements would have
	sizes Sizes
}

// Of the elements of all sets, a quarter are different ones where passages are shared, and nearly all where none are.
const (
	fewestSlots = 16 // as a power of two
	mostSlots   = 26 // 16 MB
)

// NewAlone returns a sketch for sets of so many elements in all, or of the first of so many equal parts of them: the
// sketch is as much smaller, and an element of another part counts as shared.
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

// Parts returns how many parts there may be for one of them to tell most sets that have nothing in common with others:
// it has twice the elements that must be alone.
func (t Threshold) Parts() int {
	const most = 4 // of more, small sets have too few elements in one
	return int(max(1, min(t.Den/(2*max(1, t.Den-t.Num)), most)))
}

// Count counts the elements of a set, which ascend, each once. Every set must be counted before Lonely is asked.
func (a *Alone) Count(set []uint64) {
	for _, hash := range set {
		slot, _ := bits.Mul64(hash, a.scale)
		if slot/32 >= uint64(len(a.slots)) {
			break
		}
		word, bit := &a.slots[slot/32], uint64(1)<<(2*(slot%32))
		*word |= *word&bit<<1 | bit // without a branch, which could not be predicted
	}
	a.sizes.Add(len(set))
}

// Lonely reports whether a counted set shares too few elements with all others together to be similar to one of them.
func (a *Alone) Lonely(set []uint64, t Threshold) bool {
	least, may := a.sizes.leastOverlap(len(set), t), len(set) // be shared
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
