package radix

import "math/bits"

// Slots count keys by their low bits: none, one, or more. Each slot has two bits, and their number is a power of two.
type Slots []uint64

const (
	slotsPerWord = 32

	// With 8 slots per entry, one in eight entries with a unique key shares its slot with another.
	slotsPerEntry = 8
)

// For returns about n·slotsPerEntry empty slots. It reuses the memory of s if that suffices.
func (s Slots) For(n int) Slots {
	words := 1 << bits.Len(uint(n*slotsPerEntry/slotsPerWord))
	if cap(s) < words {
		return make(Slots, words)
	}
	s = s[:words]
	clear(s)
	return s
}

// Add counts a key. It returns 1 if its slot already had one, else 0.
func (s Slots) Add(key uint64) (again int) {
	word, shift := &s[key/slotsPerWord&uint64(len(s)-1)], key%slotsPerWord*2
	had := *word >> shift & 3
	*word += (1 &^ (had >> 1)) << shift
	return int((had + 1) >> 1)
}

// Shared returns 1 if the slot of a key has more than one key, else 0.
func (s Slots) Shared(key uint64) int {
	return int(s[key/slotsPerWord&uint64(len(s)-1)] >> (key%slotsPerWord*2 + 1) & 1)
}

// Repeated removes, in place, most of the entries with a unique key, and no others. The slots, which count the keys,
// must be empty.
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
