package blocks

import "cmp"

// Member says that a document belongs to a component. A component's name is the key of its
// first document; Of is how many documents it has.
type Member struct {
	Key, Component Key
	Of             int
}

// Compare orders members by document.
func (m Member) Compare(o Member) int { return cmp.Compare(m.Key, o.Key) }

// AppendMember appends a member to a block.
func AppendMember(block []byte, m Member) []byte {
	return AppendUint32(AppendKey(AppendKey(block, m.Key), m.Component), uint32(m.Of))
}

// DecodeMembers appends the members of a block to dst.
func DecodeMembers(dst []Member, block []byte) ([]Member, error) {
	d := NewDecoder(block)
	for !d.Done() {
		dst = append(dst, Member{Key: d.Key(), Component: d.Key(), Of: int(d.Uint32())})
	}
	return dst, d.Err()
}

// Edge says that two documents are to be compared, or at least that they belong together: a
// component is what edges connect. A is before B in input order.
type Edge struct {
	A, B Key
}

// Compare orders edges by A, then B.
func (e Edge) Compare(o Edge) int {
	if e.A != o.A {
		return cmp.Compare(e.A, o.A)
	}
	return cmp.Compare(e.B, o.B)
}

// AppendEdge appends an edge to a block.
func AppendEdge(block []byte, e Edge) []byte { return AppendKey(AppendKey(block, e.A), e.B) }

// DecodeEdges appends the edges of a block to dst.
func DecodeEdges(dst []Edge, block []byte) ([]Edge, error) {
	d := NewDecoder(block)
	for !d.Done() {
		dst = append(dst, Edge{A: d.Key(), B: d.Key()})
	}
	return dst, d.Err()
}
