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
	seeds  []seed   // by hash, then by what precedes them in the part: nothing or a word
	from   []uint32 // by the upper bits of a hash, index of the first seed
	shift  int
	filter []uint64
}

// part is words[start:end], which belong to an item and begin at a position of it.
type part struct {
	start, end     int
	item, position int
}

// seed is words of a part, from words[at] on, by which runs are found. next is the index of the first seed with another
// hash or after another word: if one of these seeds continues a run, so do all, which saves visiting the seeds of items
// that begin with the same words.
type seed struct {
	hash uint64
	at   uint32
	next uint32
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
	const first = 1 // in next, until it has its value: nothing precedes the seed
	for _, p := range x.parts {
		x.roll(x.words[p.start:p.end], func(i int, hash uint64) {
			x.seeds = append(x.seeds, seed{hash, uint32(p.start + i), first >> min(i, 1)})
		})
	}
	alike := func(a, b seed) int {
		order := cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.next, b.next))
		if order == 0 && a.next != first {
			order = cmp.Compare(x.words[a.at-1], x.words[b.at-1])
		}
		return order
	}
	slices.SortFunc(x.seeds, func(a, b seed) int { return cmp.Or(alike(a, b), cmp.Compare(a.at, b.at)) })
	for start, end := 0, 1; start < len(x.seeds); start, end = end, end+1 {
		for end < len(x.seeds) && alike(x.seeds[start], x.seeds[end]) == 0 {
			end++
		}
		for i := range x.seeds[start:end] {
			x.seeds[start+i].next = uint32(end)
		}
	}
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
	var begin []uint32 // positions in x.words of the runs that begin with a word
	x.roll(words, func(i int, hash uint64) {
		if at, bit := x.bit(hash); x.filter[at]&bit == 0 {
			return
		}
		begin = begin[:0]
		upper, groups := hash>>x.shift, 0
		for k := x.from[upper]; k < x.from[upper+1]; {
			s := x.seeds[k]
			if s.hash == hash && !x.continues(words, i, int(s.at)) {
				groups++
				for _, alike := range x.seeds[k:s.next] {
					begin = append(begin, alike.at)
				}
			}
			k = s.next
		}
		if groups > 1 {
			slices.Sort(begin)
		}
		for _, at := range begin {
			x.run(words, i, int(at), found)
		}
	})
}

// partOf returns the part that has x.words[at].
func (x *Items) partOf(at int) part {
	k, _ := slices.BinarySearchFunc(x.parts, at+1, func(p part, at int) int { return cmp.Compare(p.end, at) })
	return x.parts[k]
}

// continues reports whether a run with words[i] and x.words[at] begins before these.
func (x *Items) continues(words []uint64, i, at int) bool {
	return i > 0 && at > 0 && words[i-1] == x.words[at-1] && at > x.partOf(at).start
}

// run reports the run that begins with words[i] and x.words[at].
func (x *Items) run(words []uint64, i, at int, found func(Run)) {
	p, n := x.partOf(at), 0
	for i+n < len(words) && at+n < p.end && words[i+n] == x.words[at+n] {
		n++
	}
	if n >= min(x.length, p.end-p.start) {
		found(Run{p.item, p.position + at - p.start, i, n})
	}
}
