package signature

import (
	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/hash"
)

// A Collapse finds the documents of a block that have the same hash. The first of them represents the others; copies in
// other blocks are found by its hash.
type Collapse struct {
	in     *blocks.Inputs
	shards uint64
	byHash map[hash.Sum128]first // of the block

	firsts, copies blocks.Buffers
}

// first is the first document of a block with a hash.
type first struct {
	key       blocks.Key
	hasCopies bool // and its member was emitted
}

// NewCollapse returns a Collapse that spreads hashes over this many shards.
func NewCollapse(in *blocks.Inputs, shards int) Collapse {
	return Collapse{in: in, shards: uint64(shards), byHash: map[hash.Sum128]first{}}
}

// Begin starts a block. The documents in a block do not depend on the bundle.
func (c *Collapse) Begin() { clear(c.byHash) }

// IsCopy reports whether an earlier document of the block has the hash. It emits the first document of each hash, and
// members for copies and for documents that have some.
func (c *Collapse) IsCopy(sum hash.Sum128, doc blocks.Key, firsts, copies func(int64, []byte)) bool {
	f, ok := c.byHash[sum]
	if !ok {
		c.byHash[sum] = first{key: doc}
		entry := blocks.First{Hash: blocks.Hash(sum), Key: doc}
		c.firsts.Add(int64(sum.Hi%c.shards), func(block []byte) []byte { return blocks.AppendFirst(block, entry) }, firsts)
		return false
	}
	if c.in.IsReference(doc) { // and so is the first, which represents it
		return true
	}
	split := int64(c.in.Split(doc)) // all documents of a block are in one split
	tell := func(doc blocks.Key) {
		c.copies.Add(split, func(block []byte) []byte {
			return blocks.AppendMember(block, blocks.Member{Key: doc, Component: f.key})
		}, copies)
	}
	if !f.hasCopies {
		tell(f.key)
		f.hasCopies = true
		c.byHash[sum] = f
	}
	tell(doc)
	return true
}

// Flush emits the remaining blocks.
func (c *Collapse) Flush(firsts, copies func(int64, []byte)) {
	c.firsts.Flush(firsts)
	c.copies.Flush(copies)
}
