package blocks

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// Hash is a 128-bit hash: values with equal hashes are taken to be equal.
type Hash struct{ Hi, Lo uint64 }

// Compare orders hashes.
func (h Hash) Compare(o Hash) int {
	return cmp.Or(cmp.Compare(h.Hi, o.Hi), cmp.Compare(h.Lo, o.Lo))
}

// Profile is what the decision needs to know about a document.
type Profile struct {
	Key   Key
	Hash  Hash // of what copies have in common
	Size  int  // as the verifier defines it
	Words int  // of the features
	ID    []byte
	HasID bool
	Rank  []byte
	// Traits is zero if copies need not be distinguished.
	Traits Traits
	// Copies is the number of other documents that are copies of this one. Best is the preferred document among them
	// all, or nil if it is this one.
	Copies int
	Best   *Profile
}

// Preferred returns the profile of the preferred document among p and its copies.
func (p *Profile) Preferred() *Profile {
	if p.Best != nil {
		return p.Best
	}
	return p
}

// Traits are the hashes that distinguish copies.
type Traits struct {
	Text, Tokens     Hash
	Symbols, Numbers uint64
}

// Preferred compares two documents by the order of preference: the lower one is preferably kept.
func (in *Inputs) Preferred(a, b *Profile) int {
	return cmp.Or(
		cmp.Compare(in.Standing(b.Key.File()), in.Standing(a.Key.File())),
		cmp.Compare(in.preference(a.Key.File()), in.preference(b.Key.File())),
		bytes.Compare(a.Rank, b.Rank),
		cmp.Compare(a.Key, b.Key))
}

// RankOf returns the key by which Preferred orders documents of one standing, given the rank of a document of file. It
// is empty if only input order decides.
func (in *Inputs) RankOf(file int, rank []byte) []byte {
	if len(in.preferences) == 0 {
		return bytes.Clone(rank)
	}
	return append(binary.BigEndian.AppendUint32(nil, in.preference(file)), rank...)
}

// AppendPreferred appends bytes whose order is that of documents by standing, then by the given bytes, which have one
// length for all, and then by Preferred.
func (in *Inputs) AppendPreferred(dst []byte, p *Profile, bytes []byte) []byte {
	file := p.Key.File()
	dst = append(append(dst, byte(Reference-in.Standing(file))), bytes...)
	dst = binary.BigEndian.AppendUint32(dst, in.preference(file))
	for _, b := range p.Rank {
		if dst = append(dst, b); b == 0 {
			dst = append(dst, 1) // a rank sorts after its own prefixes
		}
	}
	return AppendOrdered(append(dst, 0, 0), p.Key)
}

// StandingOf returns the standing in a result of AppendPreferred(nil, ...).
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

// appendOwn appends the fields that a document does not share with its copies.
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
