package records

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
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

// SetPart is a shingle set or, of a large one, a part.
type SetPart struct {
	Key    Key
	Hash   SetHash
	Total  int // shingles of the whole set
	First  int // index of the part's first
	Values []byte
}

// setPart is the number of shingles above which a set travels in parts: 512 KB.
const setPart = 64 << 10

// SetParts calls emit with the encoded parts of a document's set, made in buffer as far as it has
// room: with none, each is an element of its own.
func SetParts(buffer []byte, key Key, hash SetHash, set []uint64, emit func([]byte)) {
	for first := 0; first < len(set); first += setPart {
		values := set[first:min(first+setPart, len(set))]
		block := slices.Grow(buffer[:0], 8+16+8+8*len(values))
		block = AppendUint64(AppendUint64(AppendKey(block, key), hash.Hi), hash.Lo)
		block = AppendUint32(AppendUint32(block, uint32(len(set))), uint32(first))
		for _, v := range values {
			block = AppendUint64(block, v)
		}
		emit(block)
	}
}

// SetPart reads the rest of a block as a part of a set.
func (d *Decoder) SetPart() (p SetPart) {
	p.Key = d.Key()
	p.Hash = SetHash{Hi: d.Uint64(), Lo: d.Uint64()}
	p.Total, p.First = int(d.Uint32()), int(d.Uint32())
	p.Values = d.Fixed(len(d.data))
	if len(p.Values)%8 != 0 || p.First+len(p.Values)/8 > p.Total {
		d.fail()
		return SetPart{}
	}
	return p
}

// CopyTo writes the part's shingles to their places in set, which has Total.
func (p *SetPart) CopyTo(set []uint64) {
	for i := range len(p.Values) / 8 {
		set[p.First+i] = binary.LittleEndian.Uint64(p.Values[8*i:])
	}
}

// NearPair is a pair of representatives whose similarity was found exactly.
type NearPair struct {
	A, B   Key // A before B in input order
	Shared int
}

// AppendNearPair appends a pair to a block.
func AppendNearPair(block []byte, p NearPair) []byte {
	return binary.AppendUvarint(AppendKey(AppendKey(block, p.A), p.B), uint64(p.Shared))
}

// DecodeNearPairs appends the pairs of a block to dst.
func DecodeNearPairs(dst []NearPair, block []byte) ([]NearPair, error) {
	d := NewDecoder(block)
	for !d.Done() {
		dst = append(dst, NearPair{A: d.Key(), B: d.Key(), Shared: int(d.Uvarint())})
	}
	return dst, d.Err()
}
