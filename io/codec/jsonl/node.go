package jsonl

import "slices"

// node is a place in the objects of a file that leads to a column: the nodes are a trie of keys. Any other place is a
// nil node, whose values are checked but not kept.
type node struct {
	key      string
	children []*node
	slot     int // of the column whose value is here, or none
}

// none is the slot of a node without a column.
const none = -1

// child returns the child for key, and makes it if it does not exist.
func (n *node) child(key string) *node {
	for _, c := range n.children {
		if c.key == key {
			return c
		}
	}
	c := &node{key: key, slot: none}
	n.children = append(n.children, c)
	return c
}

// descend returns the node at path below n, and makes it if it does not exist.
func (n *node) descend(path []string) *node {
	for _, key := range path {
		n = n.child(key)
	}
	return n
}

// lookup returns the child for a key, given as written between its quotes, or nil.
func (n *node) lookup(quoted []byte, escaped bool) *node {
	if n == nil {
		return nil
	}
	if escaped {
		var buf [64]byte
		quoted = appendUnescaped(buf[:0], quoted)
	}
	for _, c := range n.children {
		if c.key == string(quoted) {
			return c
		}
	}
	return nil
}

// fill sets the slots at and below n to v.
func (n *node) fill(found []value, v value) {
	if n.slot != none {
		found[n.slot] = v
	}
	for _, c := range n.children {
		c.fill(found, v)
	}
}

// has reports whether slot is at or below n.
func (n *node) has(slot int) bool {
	return n.slot == slot || slices.ContainsFunc(n.children, func(c *node) bool { return c.has(slot) })
}
