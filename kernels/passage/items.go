package passage

import (
	"cmp"
	"math/bits"
	"slices"
)

// LeastItem is the minimum number of words of an item that is searched for: shorter ones occur everywhere.
const LeastItem = 8

// Items are texts to search for in others, such as the items of a benchmark. An item consists of parts, which are the
// words of its columns; no run extends from one part into the next. The search is for runs of at least length words of
// a part or, if the part is shorter, for all of it. Parts of fewer than LeastItem words are not searched for.
type Items struct {
	length int
	seed   int // number of words in a seed
	power  uint64
	words  []uint64 // of all parts
	parts  []part
	seeds  []seed   // by hash
	from   []uint32 // by the upper bits of a hash, index of the first seed
	shift  int
	filter []uint64
}

// part is words[start:end], which belong to an item and begin at a position of it.
type part struct {
	start, end     int
	item, position int
}

// seed is words of a part, from words[at] on, by which runs are found.
type seed struct {
	hash uint64
	at   uint32
}

// A Run is Words words of an item, from ItemStart on, that occur in a text from Start on. Positions of an item skip one
// at the end of each part.
type Run struct {
	Item, ItemStart, Start, Words int
}

// NewItems returns empty Items for runs of at least length words.
func NewItems(length int) *Items {
	x := &Items{length: length, seed: min(length, LeastItem), power: 1}
	for range x.seed {
		x.power *= base
	}
	return x
}

// Add adds the next part of an item, at a position of it, and reports whether it will be searched for. It must not be
// called after Index.
func (x *Items) Add(item, position int, words []uint64) bool {
	if len(words) < min(x.length, LeastItem) {
		return false
	}
	p := part{len(x.words), len(x.words) + len(words), item, position}
	x.words, x.parts = append(x.words, words...), append(x.parts, p)
	return true
}

// base is the base of a rolling hash, which affects the cost of a search but not its result.
const base = 0x9e3779b97f4a7c15

// bitsPerSeed is the number of bits in the filter per seed.
const bitsPerSeed = 32

// Index indexes the parts for Find. It takes about 20 bytes per word.
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

// bit returns the position of a hash in the filter.
func (x *Items) bit(hash uint64) (at int, bit uint64) {
	hash ^= hash >> 32
	return int(hash>>6) & (len(x.filter) - 1), 1 << (hash & 63)
}

// roll calls do with the hash of each run of words that is as long as a seed.
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

// Find calls found for every maximal run of words that also occurs in an item, ordered by where the runs begin and then
// by item.
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

// run reports the run that begins with words[i] and x.words[at], unless it begins earlier.
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
