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
	Size  int  // as the verifier says
	Words int  // of the features
	ID    []byte
	HasID bool
	Rank  []byte
	// Traits are none where copies need not be told apart.
	Traits Traits
	// Copies is how many others are copies of the document, and Best the preferred one of all of them; nil if it
	// is the document itself.
	Copies int
	Best   *Profile
}

// Preferred returns the profile of the preferred one of the document and its copies.
func (p *Profile) Preferred() *Profile {
	if p.Best != nil {
		return p.Best
	}
	return p
}

// Traits are hashes by which copies are told apart.
type Traits struct {
	Text, Tokens     Hash
	Symbols, Numbers uint64
}

// Preferred compares documents: those that come first are kept rather.
func (in *Inputs) Preferred(a, b *Profile) int {
	return cmp.Or(
		cmp.Compare(in.Standing(b.Key.File()), in.Standing(a.Key.File())),
		cmp.Compare(in.preference(a.Key.File()), in.preference(b.Key.File())),
		bytes.Compare(a.Rank, b.Rank),
		cmp.Compare(a.Key, b.Key))
}

// AppendPreferred appends bytes that sort as documents do by standing, then by bytes of so many each, and then as
// Preferred has it.
func (in *Inputs) AppendPreferred(dst []byte, p *Profile, bytes []byte) []byte {
	file := p.Key.File()
	dst = append(append(dst, byte(Reference-in.Standing(file))), bytes...)
	dst = binary.BigEndian.AppendUint32(dst, in.preference(file))
	for _, b := range p.Rank {
		if dst = append(dst, b); b == 0 {
			dst = append(dst, 1) // a rank that goes on comes after one that ends
		}
	}
	return AppendOrdered(append(dst, 0, 0), p.Key)
}

// StandingOf is the standing in what AppendPreferred has appended to nothing.
func StandingOf(preferred []byte) Standing { return Reference - Standing(preferred[0]) }

// AppendProfile appends a profile to a block.
func AppendProfile(block []byte, p *Profile) []byte {
	block = AppendKey(block, p.Key)
	block = appendHash(block, p.Hash)
	block = binary.AppendUvarint(binary.AppendUvarint(block, uint64(p.Size)), uint64(p.Words))
	block = appendOwn(block, p)
	block = binary.AppendUvarint(block, uint64(p.Copies))
	if p.Copies == 0 {
		return block
	}
	block = appendBool(block, p.Best != nil)
	if p.Best != nil {
		block = appendOwn(AppendKey(block, p.Best.Key), p.Best)
	}
	return block
}

// Profile reads one profile of a block; its bytes share memory with the block.
func (d *Decoder) Profile() (p Profile) {
	p.Key = d.Key()
	p.Hash = d.hash()
	p.Size, p.Words = int(d.Uvarint()), int(d.Uvarint())
	d.own(&p)
	p.Copies = int(d.Uvarint())
	if p.Copies > 0 && d.bool() {
		p.Best = &Profile{Key: d.Key(), Hash: p.Hash, Size: p.Size, Words: p.Words}
		d.own(p.Best)
	}
	return p
}

// appendOwn appends what a document does not share with its copies.
func appendOwn(block []byte, p *Profile) []byte {
	block = AppendOptional(block, p.ID, p.HasID)
	block = AppendBytes(block, p.Rank)
	if p.Traits == (Traits{}) {
		return appendBool(block, false)
	}
	block = appendBool(block, true)
	block = appendHash(appendHash(block, p.Traits.Text), p.Traits.Tokens)
	return AppendUint64(AppendUint64(block, p.Traits.Symbols), p.Traits.Numbers)
}

func (d *Decoder) own(p *Profile) {
	p.ID, p.HasID = d.Optional()
	p.Rank = d.Bytes()
	if d.bool() {
		p.Traits = Traits{Text: d.hash(), Tokens: d.hash(), Symbols: d.Uint64(), Numbers: d.Uint64()}
	}
}

func appendHash(block []byte, h Hash) []byte { return AppendUint64(AppendUint64(block, h.Hi), h.Lo) }

func (d *Decoder) hash() Hash { return Hash{Hi: d.Uint64(), Lo: d.Uint64()} }
