package blocks

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// Hash is a 128-bit hash: what has equal ones is taken for the same.
type Hash struct{ Hi, Lo uint64 }

// Compare orders hashes.
func (h Hash) Compare(o Hash) int {
	return cmp.Or(cmp.Compare(h.Hi, o.Hi), cmp.Compare(h.Lo, o.Lo))
}

// Profile is what the decision needs to know of a document.
type Profile struct {
	Key   Key
	Hash  Hash // of what copies have in common
	Size  int  // distinct shingles
	ID    []byte
	HasID bool
	Rank  []byte
	// Traits are none where copies need not be told apart.
	Traits Traits
}

// Traits are hashes by which copies are told apart.
type Traits struct {
	Text, Tokens Hash
	Symbols      uint64
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
	block = AppendBytes(block, p.Rank)
	if p.Traits == (Traits{}) {
		return appendBool(block, false)
	}
	block = appendBool(block, true)
	block = AppendUint64(AppendUint64(block, p.Traits.Text.Hi), p.Traits.Text.Lo)
	block = AppendUint64(AppendUint64(block, p.Traits.Tokens.Hi), p.Traits.Tokens.Lo)
	return AppendUint64(block, p.Traits.Symbols)
}

// Profile reads one profile of a block; its bytes share memory with the block.
func (d *Decoder) Profile() (p Profile) {
	p.Key = d.Key()
	p.Hash = Hash{Hi: d.Uint64(), Lo: d.Uint64()}
	p.Size = int(d.Uvarint())
	p.ID, p.HasID = d.Optional()
	p.Rank = d.Bytes()
	if d.bool() {
		p.Traits = Traits{
			Text:    Hash{Hi: d.Uint64(), Lo: d.Uint64()},
			Tokens:  Hash{Hi: d.Uint64(), Lo: d.Uint64()},
			Symbols: d.Uint64(),
		}
	}
	return p
}
