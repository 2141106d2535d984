// Package copies finds documents with the same shingles as an earlier one.
package copies

// A Table finds the first document of those with the same shingles, each as often, in whatever order.
//
// It takes documents for copies by a sum of 64 bits. Of the 2^20 that it holds at most, two that are
// not are expected in one of 3·10^7 tables; then one of the two is found only by way of the other.
//
// It is a table of open addressing, for a map costs several times as much for each document. Each
// slot has its sum and key: with both in slices of their own, as kernels/unionfind has its keys, half
// the memory suffices, but 60,000 documents take 2.7 times as long.
//
// The zero Table is empty and ready to use.
type Table[K ~int64] struct {
	slots []slot[K] // a power of two, at most half of them taken
	taken int
}

type slot[K ~int64] struct {
	sum  uint64
	next K // the document's key and one, so that 0 is an empty slot
}

const (
	// usual is the number of documents that a new table holds, which spares small ones the growth.
	usual = 1 << 15
	// most bounds the memory of a table, to 32 MB, and 16 more while it grows. The pipeline finds the
	// copies of what it forgets later, in buckets.
	most = 1 << 20
)

// Reset forgets all documents.
func (t *Table[K]) Reset() { t.slots, t.taken = newSlots[K](usual), 0 }

// newSlots returns slots for n documents. They are written once, since pages that are read before
// they are written cost two faults each, and the second stops all cores.
func newSlots[K ~int64](n int) []slot[K] {
	slots := make([]slot[K], 2*n)
	clear(slots)
	return slots
}

// First returns the earlier document with these shingles, if there is one, and else remembers key,
// which is not negative. Shingles are hashes. After 2^20 different documents it forgets them.
func (t *Table[K]) First(shingles []uint64, key K) (first K, ok bool) {
	if t.slots == nil {
		t.Reset()
	}
	sum := multiset(shingles)
	s := t.slot(sum)
	if s.next != 0 {
		return s.next - 1, true
	}
	if 2*t.taken == len(t.slots) {
		if t.taken == most {
			t.Reset()
		} else {
			t.grow()
		}
		s = t.slot(sum)
	}
	*s = slot[K]{sum: sum, next: key + 1}
	t.taken++
	return 0, false
}

// slot returns the slot of a sum, or the empty one where it belongs.
func (t *Table[K]) slot(sum uint64) *slot[K] {
	last := uint64(len(t.slots) - 1)
	for i := sum & last; ; i = (i + 1) & last {
		if s := &t.slots[i]; s.next == 0 || s.sum == sum {
			return s
		}
	}
}

func (t *Table[K]) grow() {
	old := t.slots
	t.slots = newSlots[K](len(old)) // half of them taken
	for _, s := range old {
		if s.next != 0 {
			*t.slot(s.sum) = s
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
