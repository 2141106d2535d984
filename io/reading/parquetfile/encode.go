package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/io/codec/parquet"
)

// appendRuns appends numbers in the hybrid of run lengths and packed bits, the format of RLE.
func appendRuns[T byte | uint32](dst []byte, numbers []T, width int) []byte {
	const group = 8
	for len(numbers) > 0 {
		if n := runOf(numbers, len(numbers)); n >= group {
			dst = binary.AppendUvarint(dst, uint64(n)<<1)
			value := binary.LittleEndian.AppendUint32(nil, uint32(numbers[0]))
			dst = append(dst, value[:(width+7)/8]...)
			numbers = numbers[n:]
			continue
		}
		n := group
		for n < len(numbers) && runOf(numbers[n:], group) < group {
			n += group
		}
		dst = binary.AppendUvarint(dst, uint64(n/group)<<1|1)
		n = min(n, len(numbers))
		dst = appendBits(dst, numbers[:n], width)
		numbers = numbers[n:]
	}
	return dst
}

// runOf returns how many of the leading numbers, at most most, are equal.
func runOf[T comparable](numbers []T, most int) int {
	n := 1
	for n < min(len(numbers), most) && numbers[n] == numbers[0] {
		n++
	}
	return n
}

// appendBits packs numbers, padded to a multiple of eight.
func appendBits[T byte | uint32](dst []byte, numbers []T, width int) []byte {
	bits, have := uint64(0), 0
	for i := range (len(numbers) + 7) / 8 * 8 {
		if i < len(numbers) {
			bits |= uint64(numbers[i]) << have
		}
		for have += width; have >= 8; have -= 8 {
			dst = append(dst, byte(bits))
			bits >>= 8
		}
	}
	return dst
}

// pageWriter writes the pages of one column in the page version, encoding, and codec of its source.
type pageWriter struct {
	w      io.Writer
	leaf   *parquet.Leaf
	codec  format.CompressionCodec
	block  []byte // the last page compressed; the next one takes its memory
	stored int64  // bytes written
	loose  int64  // their unpacked size, which includes headers, as the format defines it
	// Of the pages encoded here: unpacked and packed bytes.
	gathered, packed int64
	begin            int64 // where the column begins
	index            indexer
	texts            columnEditor
	nullsWritten     int64 // none: unknown

	// The page being gathered.
	like     parquet.PageHeader // the header of the source's page
	from     int64              // the offset of that page
	rep, def []byte
	rows     int
	nulls    int
	data     []byte // values, unless from a dictionary; prefixed if they vary in width and the encoding is PLAIN
	// if values vary in width: where each begins, and where the last ends; in PLAIN, only where the first begins
	ends     []uint32
	words    []uint32
	wordBits int
}

// pack compresses data. The result is valid until the next call.
func (w *pageWriter) pack(data []byte) (packed []byte, err error) {
	if w.codec == format.Uncompressed {
		return data, nil
	}
	w.block, err = pack(w.codec, w.block, data)
	return w.block, err
}

// size returns the approximate size of the page being gathered.
func (w *pageWriter) size() int64 {
	levels := len(w.rep)*levelWidth(w.leaf.MaxRep) + len(w.def)*levelWidth(w.leaf.MaxDef)
	return int64(len(w.data)+4*len(w.ends)) + int64(len(w.words)*w.wordBits+levels)/8
}

// mostEntries is the number of entries at which a page is full even if its values take hardly any space.
const mostEntries = 1 << 20

func (w *pageWriter) full() bool {
	return w.size() >= w.enough() || len(w.rep) >= mostEntries
}

// enough returns the size at which a page is full: that of the source's page, but no more than LargePage, since it is
// held beside that page.
func (w *pageWriter) enough() int64 { return min(w.like.Uncompressed, parquet.LargePage) }

// fits reports whether an entry of a page with header h at offset may go into the page being gathered. If the index has
// bounds of pages, each new page takes the entries of one page, so that bounds need not be merged.
func (w *pageWriter) fits(h *parquet.PageHeader, offset int64) bool {
	if w.index.bounds != nil && w.from != offset {
		return false
	}
	return w.like.Kind == h.Kind && w.like.Encoding == h.Encoding && w.like.Plain == h.Plain && w.like.HasCRC == h.HasCRC
}

// maxEntries bounds a page that is not full before the end of its last row, which cannot be split. Each entry takes six
// bytes of memory.
const maxEntries = 1 << 26

var errEntries = fmt.Errorf("a row has so many entries that a page of the output file would exceed %d "+
	"entries; leave the "+
	"file out with --exclude", maxEntries)

func (w *pageWriter) entry(rep, def int) error {
	if len(w.rep) == maxEntries {
		return errEntries
	}
	w.rep, w.def = append(w.rep, byte(rep)), append(w.def, byte(def))
	if rep == 0 {
		w.rows++
	}
	if def < w.leaf.MaxDef {
		w.nulls++
	}
	return nil
}

func (w *pageWriter) value(v []byte) {
	if page := w.enough(); len(w.data) == 0 && int64(cap(w.data)) < page {
		w.data = make([]byte, 0, page+page/8) // room for a last value and the levels
	}
	if w.leaf.Width == 0 {
		if len(w.ends) == 0 {
			w.ends = append(w.ends, 0)
		}
		if w.like.Encoding == format.Plain {
			w.data = appendPrefixed(w.data, v)
			return
		}
		w.ends = append(w.ends, uint32(len(w.data)+len(v)))
	}
	w.data = append(w.data, v...)
}

// raw writes stored bytes, which unpack to the given size.
func (w *pageWriter) raw(data []byte, unpacked int64) error {
	w.stored += int64(len(data))
	w.loose += unpacked
	_, err := w.w.Write(data)
	return err
}

// flush writes the page being gathered, if it has entries.
func (w *pageWriter) flush() error {
	if len(w.rep) == 0 {
		return nil
	}
	values, err := w.encode()
	if err != nil {
		return err
	}
	second := w.like.Kind == format.DataPageV2
	var levels []byte
	repBytes, defBytes := 0, 0
	if w.leaf.MaxRep > 0 {
		levels = appendLevels(levels, w.rep, w.leaf.MaxRep, second)
		repBytes = len(levels)
	}
	if w.leaf.MaxDef > 0 {
		levels = appendLevels(levels, w.def, w.leaf.MaxDef, second)
		defBytes = len(levels) - repBytes
	}
	if !second { // levels are compressed, too
		values = slices.Insert(values, 0, levels...)
		levels = nil
	}
	loosely := len(levels) + len(values)
	packed := values
	loose := w.like.Plain || second && len(packed) == 0 // some readers fail to unpack nothing
	if !loose {
		if packed, err = w.pack(packed); err != nil {
			return err
		}
	}
	n := int64(len(w.rep))
	var head thriftField
	kind := format.DataPage
	if second {
		kind = format.DataPageV2
		compressed := thrift.TRUE
		if loose {
			compressed = thrift.FALSE
		}
		head = thriftField{8, thrift.STRUCT, appendStruct(nil, []thriftField{
			integerField(1, thrift.I32, n), integerField(2, thrift.I32, w.nulls), integerField(3, thrift.I32, w.rows),
			integerField(4, thrift.I32, w.like.Encoding), integerField(5, thrift.I32, defBytes),
			integerField(6, thrift.I32, repBytes),
			{7, compressed, nil},
		})}
	} else {
		head = thriftField{5, thrift.STRUCT, appendStruct(nil, []thriftField{
			integerField(1, thrift.I32, n), integerField(2, thrift.I32, w.like.Encoding),
			integerField(3, thrift.I32, format.RLE), integerField(4, thrift.I32, format.RLE),
		})}
	}
	offset := w.begin + w.stored
	err = w.write(kind, head, w.like.HasCRC, loosely, levels, packed)
	w.count(offset, w.from, int64(w.rows), n, int64(w.nulls))
	w.rep, w.def, w.data, w.ends, w.words, w.rows, w.nulls = w.rep[:0], w.def[:0], w.data[:0],
		w.ends[:0], w.words[:0], 0, 0
	return err
}

// count records a page that was written, with rows of the source's page at from. nulls may be none.
func (w *pageWriter) count(offset, from, rows, entries, nulls int64) {
	w.index.add(offset, w.begin+w.stored-offset, from, rows, entries, nulls)
	if nulls == none || w.nullsWritten == none {
		w.nullsWritten = none
	} else {
		w.nullsWritten += nulls
	}
}

// write writes a page with the given type-specific header.
func (w *pageWriter) write(
	kind format.PageType, head thriftField, crc bool, unpacked int, levels, packed []byte,
) error {
	fields := []thriftField{
		integerField(1, thrift.I32, kind), integerField(2, thrift.I32, unpacked),
		integerField(3, thrift.I32, len(levels)+len(packed)),
	}
	if crc {
		sum := crc32.Update(crc32.ChecksumIEEE(levels), crc32.IEEETable, packed)
		fields = append(fields, integerField(4, thrift.I32, int32(sum)))
	}
	header := appendStruct(nil, append(fields, head))
	w.gathered += int64(unpacked)
	w.packed += int64(len(levels) + len(packed))
	if err := w.raw(header, int64(len(header))); err != nil {
		return err
	}
	if err := w.raw(levels, int64(unpacked)); err != nil {
		return err
	}
	return w.raw(packed, 0)
}

// dictionary writes the used words of a dictionary, and returns their new numbers.
func (w *pageWriter) dictionary(words *parquet.Dictionary, like *parquet.PageHeader, used []bool) ([]uint32, error) {
	numbers := make([]uint32, words.N)
	var body []byte
	n := uint32(0)
	for i := range numbers {
		if !used[i] {
			continue
		}
		numbers[i] = n
		n++
		if w.leaf.Width == 0 {
			body = appendPrefixed(body, words.At(i))
		} else {
			body = append(body, words.At(i)...)
		}
	}
	packed, err := w.pack(body)
	if err != nil {
		return nil, err
	}
	head := thriftField{7, thrift.STRUCT, appendStruct(nil,
		[]thriftField{integerField(1, thrift.I32, int64(n)), integerField(2, thrift.I32, like.Encoding)})}
	w.wordBits = wordBits(int(n))
	return numbers, w.write(format.DictionaryPage, head, like.HasCRC, len(body), nil, packed)
}

// wordBits returns the bits of a dictionary number, if there are n words.
func wordBits(n int) int { return bits.Len(uint(max(n, 1) - 1)) }

// appendLevels appends levels. In a page of version 1, their length precedes them.
func appendLevels(dst, levels []byte, most int, second bool) []byte {
	if second {
		return appendRuns(dst, levels, levelWidth(most))
	}
	begin := len(dst)
	dst = appendRuns(append(dst, 0, 0, 0, 0), levels, levelWidth(most))
	binary.LittleEndian.PutUint32(dst[begin:], uint32(len(dst)-begin-4))
	return dst
}

// encode returns the encoded values of the page.
func (w *pageWriter) encode() ([]byte, error) {
	width := w.leaf.Width
	offsets := w.ends
	if len(offsets) == 0 {
		offsets = []uint32{0}
	}
	switch e := w.like.Encoding; {
	case w.like.Words():
		return appendRuns([]byte{byte(w.wordBits)}, w.words, w.wordBits), nil
	case e == format.RLE:
		return appendLevels(nil, w.data, 1, false), nil
	case e == format.DeltaBinaryPacked && width == 4:
		return new(delta.BinaryPackedEncoding).EncodeInt32(nil, numbersOf[int32](w.data, width))
	case e == format.DeltaBinaryPacked:
		return new(delta.BinaryPackedEncoding).EncodeInt64(nil, numbersOf[int64](w.data, width))
	case e == format.DeltaLengthByteArray:
		return new(delta.LengthByteArrayEncoding).EncodeByteArray(nil, w.data, offsets)
	case e == format.DeltaByteArray && width > 0:
		return new(delta.ByteArrayEncoding).EncodeFixedLenByteArray(nil, w.data, width)
	case e == format.DeltaByteArray:
		return new(delta.ByteArrayEncoding).EncodeByteArray(nil, w.data, offsets)
	case e == format.ByteStreamSplit:
		return new(bytestreamsplit.Encoding).EncodeFixedLenByteArray(nil, w.data, width)
	case e != format.Plain:
		return nil, errors.New("an encoding that is not written")
	case w.leaf.Kind == format.Boolean:
		return appendBits(nil, w.data, 1)[:(len(w.data)+7)/8], nil
	default:
		return w.data, nil
	}
}

// appendPrefixed appends a byte array in the PLAIN encoding.
func appendPrefixed(dst, v []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
}

// levelWidth returns the bits of a level.
func levelWidth(most int) int { return bits.Len(uint(most)) }

// numbersOf returns the values of a page of integers.
func numbersOf[T int32 | int64](data []byte, width int) []T {
	numbers := make([]T, len(data)/width)
	_, _ = binary.Decode(data, binary.LittleEndian, numbers) // the sizes match
	return numbers
}
