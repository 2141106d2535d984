package blocks

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// SetHash is the 128-bit hash of a shingle set: documents with equal hashes are copies.
type SetHash struct{ Hi, Lo uint64 }

// Compare orders hashes.
func (h SetHash) Compare(o SetHash) int {
	return cmp.Or(cmp.Compare(h.Hi, o.Hi), cmp.Compare(h.Lo, o.Lo))
}

// Profile is what the decision needs to know of a document.
type Profile struct {
	Key   Key
	Hash  SetHash
	Size  int // distinct shingles
	ID    []byte
	HasID bool
	Rank  []byte
}

// Preferred compares documents: those that come first are kept rather.
func (in *Inputs) Preferred(a, b *Profile) int {
	return cmp.Or(
		cmp.Compare(in.Files[a.Key.File()].Preference, in.Files[b.Key.File()].Preference),
		bytes.Compare(a.Rank, b.Rank),
		cmp.Compare(a.Key, b.Key))
}

// AppendProfile appends a profile to a block.
func AppendProfile(block []byte, p *Profile) []byte {
	block = AppendKey(block, p.Key)
	block = AppendUint64(AppendUint64(block, p.Hash.Hi), p.Hash.Lo)
	block = binary.AppendUvarint(block, uint64(p.Size))
	block = AppendOptional(block, p.ID, p.HasID)
	return AppendBytes(block, p.Rank)
}

// Profile reads one profile of a block; its bytes share memory with the block.
func (d *Decoder) Profile() (p Profile) {
	p.Key = d.Key()
	p.Hash = SetHash{Hi: d.Uint64(), Lo: d.Uint64()}
	p.Size = int(d.Uvarint())
	p.ID, p.HasID = d.Optional()
	p.Rank = d.Bytes()
	return p
}
