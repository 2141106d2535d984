package signature

import "github.com/neardup/neardup/blocks"

// collapse connects the documents of a block that are copies by what they have in common, a hash, so
// that only the first of them needs keys.
type collapse[H comparable] struct {
	first map[H]blocks.Key
	edges []byte
}

func newCollapse[H comparable]() collapse[H] { return collapse[H]{first: map[H]blocks.Key{}} }

// begin begins a block. Which documents are in one does not depend on the bundle.
func (c *collapse[H]) begin() { clear(c.first) }

// isCopy reports whether an earlier document of the block has the hash, and then connects the two.
func (c *collapse[H]) isCopy(hash H, doc blocks.Key, emit func([]byte)) bool {
	first, ok := c.first[hash]
	if !ok {
		c.first[hash] = doc
		return false
	}
	c.edges = blocks.AppendEdge(c.edges, blocks.Edge{A: first, B: doc})
	if len(c.edges) >= blocks.BlockBytes {
		c.flush(emit)
	}
	return true
}

func (c *collapse[H]) flush(emit func([]byte)) {
	if len(c.edges) > 0 {
		emit(c.edges)
		c.edges = nil
	}
}
