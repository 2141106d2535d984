package radix

import "math/bits"

// Slots count keys by their low bits: none, one, or more. Each has two bits, and they are a power of two.
type Slots []uint64

const (
	slotsPerWord = 32

	// With 8 slots for each entry, one in eight entries whose key no other has shares its slot with another.
	slotsPerEntry = 8
)

// For returns slots for about n entries, all empty. It uses the storage of s if that suffices.
func (s Slots) For(n int) Slots {
	words := 1 << bits.Len(uint(n*slotsPerEntry/slotsPerWord))
	if cap(s) < words {
		return make(Slots, words)
	}
	s = s[:words]
	clear(s)
	return s
}

// Add counts a key, and returns 1 if its slot had one before, else 0.
func (s Slots) Add(key uint64) (again int) {
	word, shift := &s[key/slotsPerWord&uint64(len(s)-1)], key%slotsPerWord*2
	had := *word >> shift & 3
	*word += (1 &^ (had >> 1)) << shift
	return int((had + 1) >> 1)
}

// Shared returns 1 if the slot of a key has more than one, else 0.
func (s Slots) Shared(key uint64) int {
	return int(s[key/slotsPerWord&uint64(len(s)-1)] >> (key%slotsPerWord*2 + 1) & 1)
}

// Repeated leaves out, in place, most of the entries whose key no other entry
// has, and none of the others. The slots, which count them, must be empty.
func Repeated[E ~struct {
	Key      uint64
	Document D
}, D Number](slots Slots, entries []E) []E {
	for i := range entries {
		slots.Add(entry[D](entries[i]).Key)
	}
	kept := 0
	for _, e := range entries {
		entries[kept] = e
		kept += slots.Shared(entry[D](e).Key)
	}
	return entries[:kept]
}
