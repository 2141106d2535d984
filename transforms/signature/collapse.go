package signature

import (
	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/hash"
)

// collapse finds the documents of a block that have the same hash. The first of them stands for all; copies in
// other blocks are found by its hash.
type collapse struct {
	in     *blocks.Inputs
	shards uint64
	seen   []first  // of the block
	slots  []uint32 // where a first is in seen, from 1, at its hash or behind; 0 is free, as one in two or more

	firsts, copies *blocks.Buffers
}

// first is the first document of a block with a hash.
type first struct {
	sum       hash.Sum128
	key       blocks.Key
	hasCopies bool // and that is told
}

// leastSlots is a power of two, as all numbers of slots are.
const leastSlots = 1 << 9

func newCollapse(in *blocks.Inputs, shards int) collapse {
	return collapse{
		in: in, shards: uint64(shards), slots: make([]uint32, leastSlots),
		firsts: blocks.NewBuffers(), copies: blocks.NewBuffers(),
	}
}

// begin begins a block. Which documents are in one does not depend on the bundle.
func (c *collapse) begin() {
	c.seen = c.seen[:0]
	clear(c.slots)
}

// isCopy reports whether an earlier document of the block has the hash, and tells which documents are copies, and
// which have some.
func (c *collapse) isCopy(sum hash.Sum128, doc blocks.Key, firsts, copies func(int64, []byte)) bool {
	f := c.find(sum)
	if f == nil {
		c.add(first{sum: sum, key: doc})
		entry := blocks.First{Hash: blocks.Hash(sum), Key: doc}
		c.firsts.Add(int64(sum.Hi%c.shards), func(block []byte) []byte { return blocks.AppendFirst(block, entry) }, firsts)
		return false
	}
	split := int64(c.in.Split(doc)) // of the whole block
	tell := func(doc blocks.Key) {
		c.copies.Add(split, func(block []byte) []byte {
			return blocks.AppendMember(block, blocks.Member{Key: doc, Component: f.key})
		}, copies)
	}
	if !f.hasCopies {
		tell(f.key)
		f.hasCopies = true
	}
	tell(doc)
	return true
}

// find returns the first with the hash; nil if there is none.
func (c *collapse) find(sum hash.Sum128) *first {
	if at := c.slots[c.slot(sum)]; at > 0 {
		return &c.seen[at-1]
	}
	return nil
}

// add adds a first with a hash that none has.
func (c *collapse) add(f first) {
	c.seen = append(c.seen, f)
	if 2*len(c.seen) <= len(c.slots) {
		c.slots[c.slot(f.sum)] = uint32(len(c.seen))
		return
	}
	c.slots = make([]uint32, 2*len(c.slots))
	for i := range c.seen {
		c.slots[c.slot(c.seen[i].sum)] = uint32(i + 1)
	}
}

// slot returns where a hash is, or is to be.
func (c *collapse) slot(sum hash.Sum128) uint64 {
	mask := uint64(len(c.slots) - 1)
	at := sum.Lo & mask
	for c.slots[at] > 0 && c.seen[c.slots[at]-1].sum != sum {
		at = (at + 1) & mask
	}
	return at
}

func (c *collapse) flush(firsts, copies func(int64, []byte)) {
	c.firsts.Flush(firsts)
	c.copies.Flush(copies)
}
