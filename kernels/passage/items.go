package passage

import (
	"cmp"
	"math/bits"
	"slices"
)

// LeastItem is the least number of words of an item that is looked for: shorter ones stand everywhere.
const LeastItem = 8

// Items are texts to be looked for in others, such as the items of a benchmark. An item consists of parts, the words of
// its columns; no run goes from one into the next. Looked for are runs of at least so many words of a part or, if that
// is shorter, all of it. A part of fewer than LeastItem words is not looked for.
type Items struct {
	length int
	seed   int // words by which runs are found
	power  uint64
	words  []uint64 // of all parts
	parts  []part
	seeds  []seed   // by hash
	from   []uint32 // by the upper bits of a hash, the first seed
	shift  int
	filter []uint64
}

// part is words[start:end], those of an item from a position on.
type part struct {
	start, end     int
	item, position int
}

// seed is words of a part, from words[at] on.
type seed struct {
	hash uint64
	at   uint32
}

// A Run is words of an item from ItemStart on that stand in a text from Start on. Positions of an item count one more
// where a part ends.
type Run struct {
	Item, ItemStart, Start, Words int
}

// NewItems returns none yet, of which runs of at least length words are to be found.
func NewItems(length int) *Items {
	x := &Items{length: length, seed: min(length, LeastItem), power: 1}
	for range x.seed {
		x.power *= base
	}
	return x
}

// Add adds the next part of an item, at a position of it, and reports whether it is looked for. It must not be called
// once Find was.
func (x *Items) Add(item, position int, words []uint64) bool {
	if len(words) < min(x.length, LeastItem) {
		return false
	}
	p := part{len(x.words), len(x.words) + len(words), item, position}
	x.words, x.parts = append(x.words, words...), append(x.parts, p)
	return true
}

// base is that of a rolling hash, which decides what is looked at and not what is found.
const base = 0x9e3779b97f4a7c15

// bitsPerSeed is how many bits of the filter a seed has.
const bitsPerSeed = 32

// Index makes the parts ready to be found. It takes some 20 bytes per word.
func (x *Items) Index() {
	x.seeds = make([]seed, 0, len(x.words))
	for _, p := range x.parts {
		x.roll(x.words[p.start:p.end], func(i int, hash uint64) {
			x.seeds = append(x.seeds, seed{hash, uint32(p.start + i)})
		})
	}
	slices.SortFunc(x.seeds, func(a, b seed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	x.shift = 64 - bits.Len(uint(len(x.seeds)))
	x.from = make([]uint32, 1<<(64-x.shift)+1)
	for _, s := range x.seeds {
		x.from[s.hash>>x.shift+1]++
	}
	for i := range x.from[1:] {
		x.from[i+1] += x.from[i]
	}
	x.filter = make([]uint64, 1<<bits.Len(uint(bitsPerSeed*len(x.seeds)/64)))
	for _, s := range x.seeds {
		at, bit := x.bit(s.hash)
		x.filter[at] |= bit
	}
}

// bit is where the filter has a hash.
func (x *Items) bit(hash uint64) (at int, bit uint64) {
	hash ^= hash >> 32
	return int(hash>>6) & (len(x.filter) - 1), 1 << (hash & 63)
}

// roll calls do with the hash of each run of words as long as a seed.
func (x *Items) roll(words []uint64, do func(i int, hash uint64)) {
	hash := uint64(0)
	for i, w := range words {
		hash = hash*base + w
		if i >= x.seed {
			hash -= words[i-x.seed] * x.power
		}
		if i >= x.seed-1 {
			do(i-x.seed+1, hash)
		}
	}
}

// Find calls found for every run of words that an item has, and that is as long as it can be, in the order of where
// they begin and of the items.
func (x *Items) Find(words []uint64, found func(Run)) {
	x.roll(words, func(i int, hash uint64) {
		if at, bit := x.bit(hash); x.filter[at]&bit == 0 {
			return
		}
		upper := hash >> x.shift
		for _, s := range x.seeds[x.from[upper]:x.from[upper+1]] {
			if s.hash == hash {
				x.run(words, i, int(s.at), found)
			}
		}
	})
}

// run tells of the run of words[i:] and those of a part at a place, unless it begins before.
func (x *Items) run(words []uint64, i, at int, found func(Run)) {
	k, _ := slices.BinarySearchFunc(x.parts, at+1, func(p part, at int) int { return cmp.Compare(p.end, at) })
	p := x.parts[k]
	if i > 0 && at > p.start && words[i-1] == x.words[at-1] {
		return
	}
	n := 0
	for i+n < len(words) && at+n < p.end && words[i+n] == x.words[at+n] {
		n++
	}
	if n >= min(x.length, p.end-p.start) {
		found(Run{p.item, p.position + at - p.start, i, n})
	}
}
