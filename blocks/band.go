package blocks

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// BandEntry says that a document has a band key. Key holds 40 bits of it: the entry's group supplies the band and the
// shard, and two keys that are equal by chance only add one edge.
type BandEntry struct {
	Key      uint64
	Document Key
}

// Compare orders entries by key, and those of one key by document.
func (e BandEntry) Compare(o BandEntry) int {
	return cmp.Or(cmp.Compare(e.Key, o.Key), cmp.Compare(e.Document, o.Document))
}

// A band block is a sequence of segments. A segment is a header (file ordinal 4 bytes, base position 8, number of
// entries 4) followed by entries of 9 bytes: key 5, position minus base position 4.
const (
	// BandKeyBits is the length of an entry's key.
	BandKeyBits  = 40
	bandHeader   = 16
	bandEntry    = 9
	maxBandDelta = 1<<32 - 1
)

// BandBytes returns the total size of band blocks that hold this many entries behind this many headers.
func BandBytes(entries, headers int) int { return bandEntry*entries + bandHeader*headers }

// BandWriter packs the entries of documents into one block for each (band, shard).
type BandWriter struct {
	shardBits int
	blocks    []bandBlock // band << shardBits | shard
	total     int
	limit     int
}

type bandBlock struct {
	data    []byte
	room    int // initial capacity of the next block
	segment int // offset of the open segment's header
	base    Key // key of the open segment's first document
}

// NewBandWriter returns a writer for 1<<shardBits shards per band.
func NewBandWriter(bands, shardBits int) *BandWriter {
	return &BandWriter{shardBits: shardBits, blocks: make([]bandBlock, bands<<shardBits), limit: bufferBytes}
}

// Add adds a document with one key per band, and emits the blocks that are full.
func (w *BandWriter) Add(doc Key, keys []uint64, emit func(group int64, block []byte)) {
	for band, key := range keys {
		w.AddKey(doc, band, key, emit)
	}
	if w.total >= w.limit {
		w.Flush(emit)
	}
}

// AddKey adds a document's key of one band.
func (w *BandWriter) AddKey(doc Key, band int, key uint64, emit func(group int64, block []byte)) {
	group := band<<w.shardBits | int(key>>1>>(63-w.shardBits))
	block := &w.blocks[group]
	if !block.takes(doc) {
		block.open(doc)
		w.total += bandHeader
	}
	block.add(doc, key<<w.shardBits>>(64-BandKeyBits))
	w.total += bandEntry
	if len(block.data) >= BlockBytes {
		w.flush(group, emit)
	}
}

// FirstBits returns the first BandKeyBits bits of a band key, from an entry's key and the shard that the entry was in.
func FirstBits(key uint64, shard, shardBits int) uint64 {
	return uint64(shard)<<(BandKeyBits-shardBits) | key>>shardBits
}

// takes reports whether the open segment can hold a document.
func (b *bandBlock) takes(doc Key) bool {
	return len(b.data) > 0 && uint64(doc-b.base) <= maxBandDelta && doc.File() == b.base.File()
}

// open opens a segment that begins with doc.
func (b *bandBlock) open(doc Key) {
	b.close()
	if b.data == nil {
		b.data = make([]byte, 0, b.room)
	}
	b.segment, b.base = len(b.data), doc
	b.data = AppendUint32(b.data, uint32(doc.File()))
	b.data = AppendUint64(b.data, uint64(doc.Position()))
	b.data = AppendUint32(b.data, 0)
}

// close writes the number of entries into the open segment's header.
func (b *bandBlock) close() {
	if len(b.data) > 0 {
		entries := b.data[b.segment+bandHeader:]
		binary.LittleEndian.PutUint32(b.data[b.segment+bandHeader-4:], uint32(len(entries)/bandEntry))
	}
}

// add adds an entry to the open segment.
func (b *bandBlock) add(doc Key, key uint64) {
	delta := uint64(doc - b.base)
	b.data = AppendUint64(b.data, key|delta<<BandKeyBits)
	b.data = append(b.data, byte(delta>>(64-BandKeyBits)))
}

func (w *BandWriter) flush(group int, emit func(int64, []byte)) {
	block := &w.blocks[group]
	block.close()
	w.total -= len(block.data)
	// The blocks of a writer have similar sizes: slightly more room saves most of them from growing.
	data := block.data
	block.data, block.room = nil, min(len(data)+len(data)/8, BlockBytes+bandHeader+bandEntry)
	emit(int64(group), data)
}

// Flush emits the remaining blocks.
func (w *BandWriter) Flush(emit func(group int64, block []byte)) {
	for group := range w.blocks {
		if len(w.blocks[group].data) > 0 {
			w.flush(group, emit)
		}
	}
}

// DecodeBands appends the entries of a block to dst.
func DecodeBands(dst []BandEntry, block []byte) ([]BandEntry, error) {
	d := NewDecoder(block)
	for !d.Done() {
		file, base := int(d.Uint32()), int64(d.Uint64())
		entries := d.Fixed(int(d.Uint32()) * bandEntry)
		dst = slices.Grow(dst, len(entries)/bandEntry)
		for ; len(entries) > 0; entries = entries[bandEntry:] {
			key := uint64(binary.LittleEndian.Uint32(entries)) | uint64(entries[4])<<32
			delta := binary.LittleEndian.Uint32(entries[5:])
			dst = append(dst, BandEntry{Key: key, Document: NewKey(file, base+int64(delta))})
		}
	}
	return dst, d.Err()
}
