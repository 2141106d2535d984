package setsim

// Alone tells which elements only one of many sets has, by a sketch of two bits for each slot: no set, one, or more. An
// element that shares its slot with one of another set counts as shared, so what is alone is alone for certain.
type Alone struct {
	slots []uint64 // 32 in each: a bit if a set has an element there, and one if another has one, too
	shift int
	sizes Sizes
}

// Of the elements of all sets, a quarter are different ones where passages are shared, and nearly all where none are.
const (
	fewestSlots = 16 // as a power of two
	mostSlots   = 26 // 16 MB
)

// NewAlone returns a sketch for sets of so many elements in all.
func NewAlone(elements int) *Alone {
	width := fewestSlots
	for width < mostSlots && 1<<width < 2*elements {
		width++
	}
	return &Alone{slots: make([]uint64, 2<<width/64), shift: 64 - width}
}

// Count counts the elements of a set, each once. Every set must be counted before Shared is asked.
func (a *Alone) Count(set []uint64) {
	for _, hash := range set {
		slot := hash >> a.shift
		word, bit := &a.slots[slot/32], uint64(1)<<(2*(slot%32))
		if *word&bit != 0 {
			*word |= bit << 1
		}
		*word |= bit
	}
	a.sizes.Add(len(set))
}

// Shared returns how many elements of a counted set other sets may have.
func (a *Alone) Shared(set []uint64) (n int) {
	for _, hash := range set {
		slot := hash >> a.shift
		n += int(a.slots[slot/32] >> (2*(slot%32) + 1) & 1)
	}
	return n
}

// Lonely reports whether a counted set shares too few elements with all others together to be similar to one of them.
func (a *Alone) Lonely(set []uint64, t Threshold) bool {
	least, may := a.sizes.LeastOverlap(len(set), t), len(set) // be shared
	for i := 0; i < len(set) && may >= least; i++ {
		may -= 1 - a.Shared(set[i:i+1])
	}
	return may < least
}
