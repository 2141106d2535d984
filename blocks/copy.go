package blocks

import "encoding/binary"

// First is the first document of a block that has this hash.
type First struct {
	Hash Hash
	Key  Key
}

// AppendFirst appends a document to a block.
func AppendFirst(block []byte, f First) []byte { return AppendKey(appendHash(block, f.Hash), f.Key) }

// DecodeFirsts appends the documents of a block to dst.
func DecodeFirsts(dst []First, block []byte) ([]First, error) {
	d := NewDecoder(block)
	for !d.Done() {
		dst = append(dst, First{Hash: d.hash(), Key: d.Key()})
	}
	return dst, d.Err()
}

// Copy is a document of a copy group: the group's first document or a copy of it. A copy's profile holds only key, id,
// rank and traits, and omits the tokens' hash if the whole group has the same tokens.
type Copy struct {
	Of      Key // the group's first document
	Profile Profile
	// Component is the component of the first document, and Documents the number of documents in it.
	Component Key
	Documents int
}

// IsFirst reports whether this is the first document of its group.
func (c *Copy) IsFirst() bool { return c.Profile.Key == c.Of }

// AppendCopy appends a document to a block.
func AppendCopy(block []byte, c *Copy) []byte {
	p := &c.Profile
	block = AppendKey(AppendKey(block, c.Of), p.Key)
	block = AppendBytes(AppendOptional(block, p.ID, p.HasID), p.Rank)
	block = AppendUint64(AppendUint64(appendHash(block, p.Traits.Text), p.Traits.Symbols), p.Traits.Numbers)
	if p.Traits.Tokens == (Hash{}) {
		block = appendBool(block, false)
	} else {
		block = appendHash(appendBool(block, true), p.Traits.Tokens)
	}
	if c.IsFirst() {
		block = binary.AppendUvarint(appendHash(block, p.Hash), uint64(p.Size))
		block = binary.AppendUvarint(block, uint64(p.Words))
		block = binary.AppendUvarint(AppendKey(block, c.Component), uint64(c.Documents))
	}
	return block
}

// Copy reads what AppendCopy wrote; its bytes share memory with the block.
func (d *Decoder) Copy() (c Copy) {
	p := &c.Profile
	c.Of, p.Key = d.Key(), d.Key()
	p.ID, p.HasID = d.Optional()
	p.Rank = d.Bytes()
	p.Traits.Text, p.Traits.Symbols, p.Traits.Numbers = d.hash(), d.Uint64(), d.Uint64()
	if d.bool() {
		p.Traits.Tokens = d.hash()
	}
	if c.IsFirst() {
		p.Hash, p.Size, p.Words = d.hash(), int(d.Uvarint()), int(d.Uvarint())
		c.Component, c.Documents = d.Key(), int(d.Uvarint())
	}
	return c
}

// Verdict is the decision about the document Of and its copies.
type Verdict struct {
	Of Key
	// Tokens is the hash of Of's tokens, and Size its size as the verifier defines it.
	Tokens Hash
	Size   int
	// First is the representative of Of, which their pairs name, and Kept the document kept in their place. Both hold
	// only key, id and traits; First's traits lack symbols and numbers.
	First, Kept Profile
	// Cluster is the first document of their cluster, and Members the number of documents in it.
	Cluster Key
	Members int
	// Near reports that Kept has a different set from Of. Similarity is the similarity of the two, or 0 if they are not
	// a pair.
	Near       bool
	Similarity float64
	// Nearest is the similarity of First to the most similar document, or 0 if that is a copy. It is set only if none is
	// kept.
	Nearest float64
	// Partial reports that pairs of the cluster may not be listed.
	Partial bool
}

// AppendVerdict appends a verdict to a block.
func AppendVerdict(block []byte, v *Verdict) []byte {
	block = binary.AppendUvarint(appendHash(AppendKey(block, v.Of), v.Tokens), uint64(v.Size))
	block = AppendOptional(AppendKey(block, v.First.Key), v.First.ID, v.First.HasID)
	block = appendHash(appendHash(block, v.First.Traits.Text), v.First.Traits.Tokens)
	block = AppendOptional(AppendKey(block, v.Kept.Key), v.Kept.ID, v.Kept.HasID)
	block = appendHash(appendHash(block, v.Kept.Traits.Text), v.Kept.Traits.Tokens)
	block = AppendUint64(AppendUint64(block, v.Kept.Traits.Symbols), v.Kept.Traits.Numbers)
	block = binary.AppendUvarint(AppendKey(block, v.Cluster), uint64(v.Members))
	block = AppendFloat64(AppendFloat64(appendBool(block, v.Near), v.Similarity), v.Nearest)
	return appendBool(block, v.Partial)
}

// Verdict reads what AppendVerdict wrote; its bytes share memory with the block.
func (d *Decoder) Verdict() (v Verdict) {
	v.Of, v.Tokens, v.Size = d.Key(), d.hash(), int(d.Uvarint())
	v.First.Key = d.Key()
	v.First.ID, v.First.HasID = d.Optional()
	v.First.Traits = Traits{Text: d.hash(), Tokens: d.hash()}
	v.Kept.Key = d.Key()
	v.Kept.ID, v.Kept.HasID = d.Optional()
	v.Kept.Traits = Traits{Text: d.hash(), Tokens: d.hash(), Symbols: d.Uint64(), Numbers: d.Uint64()}
	v.Cluster, v.Members = d.Key(), int(d.Uvarint())
	v.Near, v.Similarity, v.Nearest, v.Partial = d.bool(), d.Float64(), d.Float64(), d.bool()
	return v
}
