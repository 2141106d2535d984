package blocks

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// ShingleBytes is the encoded size of a shingle.
const ShingleBytes = 8

// SetPart is a shingle set or, of a large set, a part.
type SetPart struct {
	Key    Key
	Hash   Hash
	Total  int // shingles of the whole set
	First  int // index of the part's first shingle
	Values []byte
}

// setPart is the maximum number of shingles in one part (64 KiB): a merge of shuffled parts holds one per run.
const setPart = 8 << 10

// SetParts calls emit with the encoded parts of a document's set. It encodes them in buffer if that has capacity; with
// a nil buffer, each part has its own memory.
func SetParts(buffer []byte, key Key, hash Hash, set []uint64, emit func([]byte)) {
	for first := 0; first < len(set); first += setPart {
		emit(appendSetPart(buffer[:0], key, hash, set, first))
	}
}

// setPartHead is the size of a part's header.
const setPartHead = 8 + 16 + 8

// SetBytes returns the total size of the parts of a set of this many shingles.
func SetBytes(shingles int) int {
	return (shingles+setPart-1)/setPart*setPartHead + ShingleBytes*shingles
}

// appendSetPart appends the part of a set that begins at first.
func appendSetPart(block []byte, key Key, hash Hash, set []uint64, first int) []byte {
	values := set[first:min(first+setPart, len(set))]
	block = slices.Grow(block, setPartHead+ShingleBytes*len(values))
	block = AppendUint64(AppendUint64(AppendKey(block, key), hash.Hi), hash.Lo)
	return appendShingles(AppendUint32(AppendUint32(block, uint32(len(set))), uint32(first)), values)
}

// AddSet adds the parts of a document's set to a shard's block, each preceded by the document's component, and returns
// the total size of the parts.
func AddSet(b *Shards, shard int64, component, key Key, hash Hash, set []uint64, emit func(int64, []byte)) (bytes int) {
	for first := 0; first < len(set); first += setPart {
		size := setPartHead + ShingleBytes*min(setPart, len(set)-first)
		b.fit(shard, 8+binary.MaxVarintLen32+size, emit)
		b.Add(shard, func(block []byte) []byte {
			block = binary.AppendUvarint(AppendKey(block, component), uint64(size))
			return appendSetPart(block, key, hash, set, first)
		}, emit)
		bytes += size
	}
	return bytes
}

// SetPart reads the rest of a block as one part of a set.
func (d *Decoder) SetPart() (p SetPart) {
	p.Key = d.Key()
	p.Hash = Hash{Hi: d.Uint64(), Lo: d.Uint64()}
	p.Total, p.First = int(d.Uint32()), int(d.Uint32())
	p.Values = d.Fixed(d.Left())
	if len(p.Values)%ShingleBytes != 0 || p.First+len(p.Values)/ShingleBytes > p.Total {
		d.fail()
		return SetPart{}
	}
	return p
}

// ComponentPart reads a component and a part that AddSet added; part shares memory with the block.
func (d *Decoder) ComponentPart() (component Key, part []byte) { return d.Key(), d.Bytes() }

// CopyTo copies the part's shingles to their places in set, whose length is Total.
func (p *SetPart) CopyTo(set []uint64) {
	for i := range len(p.Values) / ShingleBytes {
		set[p.First+i] = binary.LittleEndian.Uint64(p.Values[ShingleBytes*i:])
	}
}

// Sets holds the distinct shingle sets of documents in input order, each with the key of its first document.
type Sets struct {
	Keys []Key
	Sets [][]uint64
}

// SetAssembler assembles sets from their parts and reuses its memory. A result is valid until the next call, and may
// share memory with the parts, which must not change meanwhile.
type SetAssembler struct {
	sets  Sets
	room  []uint64 // holds the sets that are copied
	parts []SetPart
	seen  map[Hash]bool
}

// AssembleSets assembles sets from their encoded parts, which may come in any order.
func AssembleSets(parts [][]byte) (Sets, error) { return new(SetAssembler).Assemble(parts) }

// Assemble is like AssembleSets.
func (a *SetAssembler) Assemble(parts [][]byte) (Sets, error) {
	a.parts = a.parts[:0]
	for _, block := range parts {
		d := NewDecoder(block)
		a.parts = append(a.parts, d.SetPart())
		if err := d.Err(); err != nil {
			return Sets{}, err
		}
	}
	slices.SortFunc(a.parts, func(a, b SetPart) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.First, b.First))
	})
	if a.seen == nil {
		a.seen = map[Hash]bool{}
	}
	clear(a.seen)
	total := 0 // shingles to copy
	for _, p := range a.parts {
		if _, ok := p.inPlace(); !ok {
			total += len(p.Values) / ShingleBytes
		}
	}
	a.room = slices.Grow(a.room[:0], total)
	g := Sets{Keys: a.sets.Keys[:0], Sets: a.sets.Sets[:0]}
	for parts := a.parts; len(parts) > 0; {
		first, n, size := parts[0], 0, 0
		for n < len(parts) && parts[n].Key == first.Key {
			size += len(parts[n].Values) / ShingleBytes
			n++
		}
		if size != first.Total {
			return Sets{}, fmt.Errorf("%d of %d shingles of document %v: %w", size, first.Total, first.Key, ErrCorrupt)
		}
		if !a.seen[first.Hash] {
			a.seen[first.Hash] = true
			set, ok := first.inPlace()
			if !ok {
				at := len(a.room)
				a.room = a.room[:at+size]
				set = a.room[at:len(a.room):len(a.room)]
				for _, p := range parts[:n] {
					p.CopyTo(set)
				}
			}
			g.Keys, g.Sets = append(g.Keys, first.Key), append(g.Sets, set)
		}
		parts = parts[n:]
	}
	clear(a.parts) // releases their blocks
	a.sets = g
	return g, nil
}

// Write writes the sets in the layout that DecodeSets reads: their number, the key and size of each, then all shingles.
func (s Sets) Write(w io.Writer) error {
	buffer := AppendUint32(nil, uint32(len(s.Sets)))
	for i, set := range s.Sets {
		buffer = AppendUint32(AppendKey(buffer, s.Keys[i]), uint32(len(set)))
	}
	for _, set := range s.Sets {
		if _, err := w.Write(buffer); err != nil {
			return err
		}
		buffer = buffer[:0]
		for some := range slices.Chunk(set, setPart) {
			if len(buffer) > 0 { // the set is large
				if _, err := w.Write(buffer); err != nil {
					return err
				}
			}
			buffer = appendShingles(buffer[:0], some)
		}
	}
	_, err := w.Write(buffer)
	return err
}

// DecodeSets decodes the output of Write.
func DecodeSets(data []byte) (Sets, error) {
	return PickSets(bytes.NewReader(data), nil)
}

const (
	nearby = 64 << 10 // maximum gap between two sets that PickSets reads at once
	atOnce = 1 << 20  // maximum extent of such a read, unless one set is larger
)

// PickSets reads the sets at the wanted indexes, which must ascend, from the output of Write; nil means all. The result
// has the keys of all sets. PickSets reads little else, and of the other sets learns only where they are.
func PickSets(r io.ReaderAt, wanted []int) (s Sets, err error) {
	head, err := readAt(r, 0, make([]byte, 4))
	if err != nil {
		return Sets{}, err
	}
	d := NewDecoder(head)
	n := int(d.Uint32())
	if head, err = readAt(r, 4, make([]byte, n*(8+4))); err != nil {
		return Sets{}, err
	}
	d = NewDecoder(head)
	s.Keys, s.Sets = make([]Key, n), make([][]uint64, n)
	ends := make([]int, n+1) // index after each set's last shingle
	for i := range n {
		s.Keys[i] = d.Key()
		ends[i+1] = ends[i] + int(d.Uint32())
	}
	if wanted == nil {
		wanted = make([]int, n)
		for i := range wanted {
			wanted[i] = i
		}
	}
	var data []byte
	for len(wanted) > 0 {
		first, last := wanted[0], 0 // indexes in wanted to read at once
		for last+1 < len(wanted) {
			next := wanted[last+1]
			if ShingleBytes*(ends[next]-ends[wanted[last]+1]) > nearby || ShingleBytes*(ends[next+1]-ends[first]) > atOnce {
				break
			}
			last++
		}
		values := make([]uint64, ends[wanted[last]+1]-ends[first])
		at := int64(4 + len(head) + ShingleBytes*ends[first])
		for some := range slices.Chunk(values, atOnce/ShingleBytes) { // not to hold a large set twice
			size := ShingleBytes * len(some)
			data = slices.Grow(data[:0], size)[:size]
			if _, err := readAt(r, at, data); err != nil {
				return Sets{}, err
			}
			for i := range some {
				some[i] = binary.LittleEndian.Uint64(data[ShingleBytes*i:])
			}
			at += int64(size)
		}
		for _, i := range wanted[:last+1] {
			s.Sets[i] = values[ends[i]-ends[first] : ends[i+1]-ends[first] : ends[i+1]-ends[first]]
		}
		wanted = wanted[last+1:]
	}
	return s, nil
}

// readAt fills data from offset at, and returns it.
func readAt(r io.ReaderAt, at int64, data []byte) ([]byte, error) {
	if n, err := r.ReadAt(data, at); n < len(data) {
		return nil, fmt.Errorf("%d of %d bytes of sets at %d: %w", n, len(data), at, cmp.Or(err, error(ErrCorrupt)))
	}
	return data, nil
}
