// Package unionfind finds the connected components of document keys: in a Forest or, in parts, by contraction.
package unionfind

import (
	"iter"
	"slices"

	"github.com/neardup/neardup/kernels/hash"
)

// Parents are the parents of items 0 … n−1 in trees; a root is its own parent. To join two trees, make one root the
// parent of the other.
type Parents []uint32

// Root returns the root of an item's tree, and halves the path to it. That alone keeps trees flat, whichever root
// becomes the parent.
func (p Parents) Root(item uint32) uint32 {
	for p[item] != item {
		p[item] = p[p[item]]
		item = p[item]
	}
	return item
}

// A Forest is a set of disjoint trees of keys. The root of a tree is its smallest key, so the contents depend only on
// which keys were joined: forests of parts of the edges, merged in any order and repeatedly, agree. The zero Forest is
// empty and ready to use. It must not be copied after the first Union, and is not safe for concurrent use, not even
// Find.
//
// It takes 17 to 26 bytes per key, in three slices without pointers.
type Forest struct {
	keys    []int64 // by id, in order of arrival
	parents Parents
	slots   []uint32 // hash table with linear probing: id+1, or 0 if free
}

// Union joins the trees of a and b, adding keys not seen before, and reports whether they were different. Union(a, a)
// adds a as a tree of its own.
func (f *Forest) Union(a, b int64) bool {
	x, y := f.parents.Root(f.add(a)), f.parents.Root(f.add(b))
	if x == y {
		return false
	}
	// Linking by key instead of by size keeps the root the smallest key.
	if f.keys[x] > f.keys[y] {
		x, y = y, x
	}
	f.parents[y] = x
	return true
}

// Find returns the smallest key of key's tree, or key itself if it was never added.
func (f *Forest) Find(key int64) int64 {
	if len(f.slots) == 0 {
		return key
	}
	slot := f.slots[f.slot(key)]
	if slot == 0 {
		return key
	}
	return f.keys[f.parents.Root(slot-1)]
}

// Len returns the number of keys.
func (f *Forest) Len() int { return len(f.keys) }

// All yields every key with the root of its tree, in ascending order of keys. The forest must not change meanwhile.
func (f *Forest) All() iter.Seq2[int64, int64] {
	return func(yield func(key, root int64) bool) {
		keys := slices.Clone(f.keys)
		slices.Sort(keys)
		for _, k := range keys {
			if !yield(k, f.Find(k)) {
				return
			}
		}
	}
}

// AsAdded is like All, but in the order in which keys were added, which takes a fraction of the time and no memory.
func (f *Forest) AsAdded() iter.Seq2[int64, int64] {
	return func(yield func(key, root int64) bool) {
		for id, key := range f.keys {
			if !yield(key, f.keys[f.parents.Root(uint32(id))]) {
				return
			}
		}
	}
}

// add returns the id of key.
func (f *Forest) add(key int64) uint32 {
	if 4*len(f.keys) >= 3*len(f.slots) {
		f.grow()
	}
	slot := &f.slots[f.slot(key)]
	if *slot == 0 {
		f.keys = append(f.keys, key)
		f.parents = append(f.parents, uint32(len(f.parents)))
		*slot = uint32(len(f.keys))
	}
	return *slot - 1
}

// slot returns the place of key, or the free one where it belongs.
func (f *Forest) slot(key int64) int {
	last := len(f.slots) - 1
	i := int(hash.Mix(uint64(key))) & last
	for f.slots[i] != 0 && f.keys[f.slots[i]-1] != key {
		i = (i + 1) & last
	}
	return i
}

func (f *Forest) grow() {
	f.slots = make([]uint32, max(8, 2*len(f.slots)))
	for id, key := range f.keys {
		f.slots[f.slot(key)] = uint32(id + 1)
	}
}
