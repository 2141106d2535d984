package signature

import "github.com/neardup/neardup/blocks"

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
	next blocks.Key // the document's key and one, so that 0 is an empty slot
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
func (c *copies) first(shingles []uint64, key blocks.Key) (first blocks.Key, ok bool) {
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

// multiset returns a sum that does not depend on the order of shingles. They are hashes, so nothing
// but their sum needs to be taken; four at a time do not wait for one another.
func multiset(shingles []uint64) uint64 {
	var a, b, c, d uint64
	for ; len(shingles) >= 4; shingles = shingles[4:] {
		a += shingles[0]
		b += shingles[1]
		c += shingles[2]
		d += shingles[3]
	}
	for _, v := range shingles {
		a += v
	}
	return a + b + c + d
}
