package signature

import (
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/records"
)

// copies finds documents of a bundle with the same shingles as an earlier one, in whatever order:
// a table of open addressing, for a map costs several times as much for each document.
//
// It takes documents for copies by a sum of 64 bits. Of the 2^20 that it holds at most, two that are
// not are expected in one of 3·10^7 bundles; then one of the two is found only by way of the other.
type copies struct {
	slots []seenSlot // a power of two, at most half of them taken
	taken int
}

type seenSlot struct {
	sum  uint64
	next records.Key // the document's key and one, so that 0 is an empty slot
}

const (
	// usualSeen spares small bundles the growth.
	usualSeen = 1 << 15
	// maxSeen bounds the memory of the table; what it forgets meets in the buckets.
	maxSeen = 1 << 20
)

// reset forgets all documents.
func (c *copies) reset() { c.slots, c.taken = newSlots(usualSeen), 0 }

// newSlots returns slots for n documents. They are written once, since pages that are read before
// they are written cost two faults each, and the second stops all cores.
func newSlots(n int) []seenSlot {
	slots := make([]seenSlot, 2*n)
	clear(slots)
	return slots
}

// first returns the earlier document with these shingles, if there is one, and else remembers key.
func (c *copies) first(shingles []uint64, key records.Key) (first records.Key, ok bool) {
	sum := multiset(shingles)
	slot := c.slot(sum)
	if slot.next != 0 {
		return slot.next - 1, true
	}
	if 2*c.taken == len(c.slots) {
		if c.taken == maxSeen {
			c.reset()
		} else {
			c.grow()
		}
		slot = c.slot(sum)
	}
	*slot = seenSlot{sum: sum, next: key + 1}
	c.taken++
	return 0, false
}

// slot returns the slot of a sum, or the empty one where it belongs.
func (c *copies) slot(sum uint64) *seenSlot {
	last := uint64(len(c.slots) - 1)
	for i := sum & last; ; i = (i + 1) & last {
		if slot := &c.slots[i]; slot.next == 0 || slot.sum == sum {
			return slot
		}
	}
}

func (c *copies) grow() {
	old := c.slots
	c.slots = newSlots(len(old)) // half of them taken
	for _, s := range old {
		if s.next != 0 {
			*c.slot(s.sum) = s
		}
	}
}

// multiset returns a sum that does not depend on the order of shingles, which are hashes.
func multiset(shingles []uint64) (sum uint64) {
	const mask, multiplier = 0x13198a2e03707344, 0x9e3779b97f4a7c15 // digits of π, and 2^64/φ
	for _, v := range shingles {
		sum += hash.Fold(v^mask, multiplier)
	}
	return sum
}
