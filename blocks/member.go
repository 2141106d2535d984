package blocks

import "cmp"

// Member says why a document is read again. If Of > 0, the document belongs to the component whose first document is
// Component and which has Of documents. If Of is 0, it is a copy of the document Component. If Component is the
// document itself and Of ≤ 0, it has copies, and −Of of them are documents with an edge.
type Member struct {
	Key, Component Key
	Of             int32
	// Copied reports that the document has copies. It is not encoded.
	Copied bool
}

// IsCopy reports whether the document is a copy of Component.
func (m Member) IsCopy() bool { return m.Of == 0 && m.Component != m.Key }

// HasCopies reports whether the document has copies.
func (m Member) HasCopies() bool { return m.Of <= 0 && m.Component == m.Key }

// Compare orders members by document. For one document, members that make it a copy come first, ordered by the document
// that it is a copy of.
func (m Member) Compare(o Member) int {
	if m.Key != o.Key { // nearly always
		return cmp.Compare(m.Key, o.Key)
	}
	return cmp.Or(cmp.Compare(m.rank(), o.rank()), cmp.Compare(m.Component, o.Component), cmp.Compare(m.Of, o.Of))
}

func (m Member) rank() int {
	switch {
	case m.IsCopy():
		return 0
	case m.HasCopies():
		return 1
	default:
		return 2
	}
}

// AppendMember appends a member to a block.
func AppendMember(block []byte, m Member) []byte {
	return AppendUint32(AppendKey(AppendKey(block, m.Key), m.Component), uint32(m.Of))
}

// DecodeMembers appends the members of a block to dst.
func DecodeMembers(dst []Member, block []byte) ([]Member, error) {
	d := NewDecoder(block)
	for !d.Done() {
		dst = append(dst, Member{Key: d.Key(), Component: d.Key(), Of: int32(d.Uint32())})
	}
	return dst, d.Err()
}

// Edge says that two documents are to be compared, or at least that they belong together: edges connect components. A
// is before B in input order.
type Edge struct {
	A, B Key
}

// NewEdge returns the edge between two documents, in either order.
func NewEdge(a, b Key) Edge { return Edge{A: min(a, b), B: max(a, b)} }

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

// EdgeWriter packs edges into blocks.
type EdgeWriter struct {
	Emit func([]byte)

	block []byte
}

// Add adds an edge between two documents, in either order.
func (w *EdgeWriter) Add(a, b Key) {
	w.block = AppendEdge(w.block, NewEdge(a, b))
	if len(w.block) >= BlockBytes {
		w.Flush()
	}
}

// Flush emits the remaining edges.
func (w *EdgeWriter) Flush() {
	if len(w.block) > 0 {
		w.Emit(w.block)
		w.block = nil
	}
}
