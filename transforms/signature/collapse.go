package signature

import (
	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/kernels/hash"
)

// A Collapse finds the documents of a block that have the same hash. The first of them stands for all; copies in
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
	hasCopies bool // and that is told
}

// NewCollapse returns a Collapse of documents whose hashes are spread over so many shards.
func NewCollapse(in *blocks.Inputs, shards int) Collapse {
	return Collapse{in: in, shards: uint64(shards), byHash: map[hash.Sum128]first{}}
}

// Begin begins a block. Which documents are in one does not depend on the bundle.
func (c *Collapse) Begin() { clear(c.byHash) }

// IsCopy reports whether an earlier document of the block has the hash, and tells which documents are copies, and
// which have some.
func (c *Collapse) IsCopy(sum hash.Sum128, doc blocks.Key, firsts, copies func(int64, []byte)) bool {
	f, ok := c.byHash[sum]
	if !ok {
		c.byHash[sum] = first{key: doc}
		entry := blocks.First{Hash: blocks.Hash(sum), Key: doc}
		c.firsts.Add(int64(sum.Hi%c.shards), func(block []byte) []byte { return blocks.AppendFirst(block, entry) }, firsts)
		return false
	}
	if c.in.IsReference(doc) { // and so is the first, which stands for it
		return true
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
		c.byHash[sum] = f
	}
	tell(doc)
	return true
}

// Flush emits what is left.
func (c *Collapse) Flush(firsts, copies func(int64, []byte)) {
	c.firsts.Flush(firsts)
	c.copies.Flush(copies)
}
