package blocks

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// BandEntry says that a document has a band key. The key is cut to 40 bits: band and shard are
// those of the group it travels in, and a false equality is only one more edge.
type BandEntry struct {
	Key      uint64
	Document Key
}

// Compare orders entries by key, and those of one key by document.
func (e BandEntry) Compare(o BandEntry) int {
	return cmp.Or(cmp.Compare(e.Key, o.Key), cmp.Compare(e.Document, o.Document))
}

// A band block is segments of a header (file ordinal 4, base position 8, number of entries 4)
// and entries of 9 bytes: key 5, position less base 4.
const (
	// BandKeyBits is the length of the key of an entry.
	BandKeyBits  = 40
	bandHeader   = 16
	bandEntry    = 9
	maxBandDelta = 1<<32 - 1
)

// BandBytes is the size of band blocks with so many entries behind so many headers in all.
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
	room    int // that the next has from the start
	segment int // where the open segment's header is
	base    Key // of its first document
}

// NewBandWriter returns a writer for 1<<shardBits shards a band.
func NewBandWriter(bands, shardBits int) *BandWriter {
	return &BandWriter{shardBits: shardBits, blocks: make([]bandBlock, bands<<shardBits), limit: bufferBytes}
}

// Add adds a document with its key of each band, and emits the blocks that are full.
func (w *BandWriter) Add(doc Key, keys []uint64, emit func(group int64, block []byte)) {
	for band, key := range keys {
		w.AddKey(doc, band, key, emit)
	}
	if w.total >= w.limit {
		w.Flush(emit)
	}
}

// AddKey adds a document with its key of one band.
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

// FirstBits returns the first BandKeyBits bits of the key of an entry that travels in a shard.
func FirstBits(key uint64, shard, shardBits int) uint64 {
	return uint64(shard)<<(BandKeyBits-shardBits) | key>>shardBits
}

// takes reports whether a document goes into the open segment.
func (b *bandBlock) takes(doc Key) bool {
	return len(b.data) > 0 && uint64(doc-b.base) <= maxBandDelta && doc.File() == b.base.File()
}

// open opens a segment, of which the document is the first.
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

// close writes the number of entries, which is not known before.
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
	// Blocks of a writer are about equal. A little more room spares most of them to grow.
	data := block.data
	block.data, block.room = nil, min(len(data)+len(data)/8, BlockBytes+bandHeader+bandEntry)
	emit(int64(group), data)
}

// Flush emits what is left.
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
