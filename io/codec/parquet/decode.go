package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

var errValues = errors.New("a page has fewer values than its header says, or damaged values; fetch the file again, " +
	"or leave it out")

// runs decodes the hybrid of run lengths and packed bits (Parquet, Encodings.md, RLE = 3) one number at a time, so that
// the count that a page claims needs no memory.
type runs struct {
	data      []byte
	width     int // bits of a number
	remaining uint64
	value     uint32 // of the current run
	// packed says that the numbers are in bits, from bit at on.
	packed bool
	at     int
	bits   []byte
}

func (r *runs) next() (uint32, error) {
	for r.remaining == 0 {
		if err := r.head(); err != nil {
			return 0, err
		}
	}
	r.remaining--
	if !r.packed {
		return r.value, nil
	}
	v := bitsAt(r.bits, r.at, r.width)
	r.at += r.width
	return uint32(v), nil
}

func (r *runs) head() error {
	head, n := binary.Uvarint(r.data)
	if n <= 0 {
		return errValues
	}
	r.data = r.data[n:]
	r.packed = head&1 == 1
	if !r.packed {
		size := (r.width + 7) / 8
		if size > len(r.data) {
			return errValues
		}
		var value [4]byte
		copy(value[:], r.data[:size])
		r.value, r.remaining, r.data = binary.LittleEndian.Uint32(value[:]), head>>1, r.data[size:]
		return nil
	}
	// Groups of eight. Old writers cut off the padding behind the last number.
	groups := head >> 1
	if groups > 1<<40 {
		return errValues
	}
	size := groups * uint64(r.width)
	r.remaining = 8 * groups
	if size > uint64(len(r.data)) {
		size = uint64(len(r.data))
		r.remaining = 8 * size / uint64(r.width)
		if r.remaining == 0 {
			return errValues
		}
	}
	r.bits, r.at, r.data = r.data[:size], 0, r.data[size:]
	return nil
}

// bitsAt returns width bits of data, at most 64, from bit at on. The caller ensures that data has them.
func bitsAt(data []byte, at, width int) uint64 {
	data, shift := data[at/8:], at%8
	if len(data) >= 8 {
		v := binary.LittleEndian.Uint64(data) >> shift
		if shift+width > 64 {
			v |= uint64(data[8]) << (64 - shift)
		}
		return v & (1<<width - 1)
	}
	v := uint64(0)
	for i := 0; 8*i < shift+width; i++ {
		v |= uint64(data[i]) << (8 * i)
	}
	return v >> shift & (1<<width - 1)
}

// values returns the values of a page one by one.
type values interface {
	// next returns a value in the PLAIN encoding, without the length of a byte array; a boolean is one byte. The value is
	// valid until the following call.
	next() ([]byte, error)
}

// newValues returns the values of a page. most bounds the total size of the decoded values.
func newValues(h *PageHeader, l *Leaf, data []byte, words *Dictionary, most int64) (values, error) {
	switch e := h.Encoding; {
	case e == format.Plain && l.Kind == format.Boolean:
		return &flagValues{numbers: runs{width: 1, packed: true, bits: data, remaining: 8 * uint64(len(data))}}, nil
	case e == format.Plain && l.Width > 0:
		return &fixedValues{data: data, width: l.Width}, nil
	case e == format.Plain:
		return &prefixedValues{data: data}, nil
	case h.Words():
		if words == nil {
			return nil, errors.New("its dictionary is missing" + fetch)
		}
		if len(data) == 0 { // all are null
			return &wordValues{words: words}, nil
		}
		if data[0] > 32 {
			return nil, errValues
		}
		return &wordValues{numbers: runs{data: data[1:], width: int(data[0])}, words: words}, nil
	case e == format.RLE && l.Kind == format.Boolean:
		numbers, _, err := cutLevels(data)
		return &flagValues{numbers: runs{data: numbers, width: 1}}, err
	case e == format.DeltaBinaryPacked && (l.Kind == format.Int32 || l.Kind == format.Int64):
		numbers, err := newDeltas(data)
		return &integerValues{numbers: numbers, width: l.Width}, err
	case e == format.DeltaLengthByteArray && l.Kind == format.ByteArray:
		return newDeltaLengths(data)
	case e == format.DeltaByteArray && (l.Kind == format.ByteArray || l.Kind == format.FixedLenByteArray):
		return newDeltaStrings(data, l.Width, most)
	case e == format.ByteStreamSplit && l.Width > 0 && l.Kind != format.Boolean && l.Kind != format.Int96:
		if len(data)%l.Width != 0 {
			return nil, errValues
		}
		return &splitValues{data: data, value: make([]byte, l.Width)}, nil
	default:
		return nil, fmt.Errorf("its type has no encoding %d; write the file again with another", e)
	}
}

// cutLevels cuts off a part that is preceded by its length in four bytes.
func cutLevels(data []byte) (levels, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, errValues
	}
	n := binary.LittleEndian.Uint32(data)
	data = data[4:]
	if uint64(n) > uint64(len(data)) {
		return nil, nil, errValues
	}
	return data[:n], data[n:], nil
}

// flagValues are booleans.
type flagValues struct {
	numbers runs
	bool    [1]byte
}

func (v *flagValues) next() ([]byte, error) {
	n, err := v.numbers.next()
	v.bool[0] = byte(n)
	return v.bool[:], err
}

type fixedValues struct {
	data  []byte
	width int
}

func (v *fixedValues) next() ([]byte, error) {
	if len(v.data) < v.width {
		return nil, errValues
	}
	value := v.data[:v.width]
	v.data = v.data[v.width:]
	return value, nil
}

type prefixedValues struct{ data []byte }

func (v *prefixedValues) next() (value []byte, err error) {
	value, v.data, err = cutLevels(v.data)
	return value, err
}

// Dictionary holds the words of a column, whose pages contain their numbers.
type Dictionary struct {
	N int // words

	data  []byte
	width int      // bytes of each word; 0: it varies
	ends  []uint32 // if width varies: where each word ends in data; each follows its length in four bytes
}

// newDictionary reads the n values of a dictionary page.
func newDictionary(data []byte, l *Leaf, n int64) (*Dictionary, error) {
	d := &Dictionary{data: data, width: l.Width, N: int(n)}
	if l.Kind == format.Boolean || n < 0 || n > int64(len(data)) {
		return nil, errValues
	}
	if d.width > 0 {
		if int64(len(data)) < n*int64(d.width) {
			return nil, errValues
		}
		return d, nil
	}
	if n > int64(len(data))/4 { // each follows its length in four bytes
		return nil, errValues
	}
	d.ends = make([]uint32, n)
	rest := data
	for i := range d.ends {
		var err error
		if _, rest, err = cutLevels(rest); err != nil {
			return nil, err
		}
		d.ends[i] = uint32(len(data) - len(rest))
	}
	return d, nil
}

// At returns the word with a number below N in the PLAIN encoding, without the length of a byte array.
func (d *Dictionary) At(i int) []byte {
	if d.width > 0 {
		return d.data[i*d.width : (i+1)*d.width]
	}
	begin := uint32(4)
	if i > 0 {
		begin += d.ends[i-1]
	}
	return d.data[begin:d.ends[i]]
}

// wordValues are numbers of words in a dictionary.
type wordValues struct {
	numbers runs
	words   *Dictionary
}

func (v *wordValues) number() (int, error) {
	n, err := v.numbers.next()
	if err == nil && int64(n) >= int64(v.words.N) {
		err = errValues
	}
	return int(n), err
}

func (v *wordValues) next() ([]byte, error) {
	n, err := v.number()
	if err != nil {
		return nil, err
	}
	return v.words.At(n), nil
}

// deltas decodes DELTA_BINARY_PACKED one number at a time.
type deltas struct {
	data       []byte
	remaining  uint64 // numbers
	value      int64
	first      bool // the next call returns value itself
	perBlock   uint64
	miniblocks uint64
	least      int64
	widths     []byte // of the remaining miniblocks of the block
	bits       []byte // of the miniblock, read from bit at on
	at, width  int
	inMini     uint64 // numbers left in the miniblock
}

func newDeltas(data []byte) (d deltas, err error) {
	r := thriftReader{data: data} // both formats have the same integers
	d.perBlock, d.miniblocks, d.remaining = r.uvarint(), r.uvarint(), r.uvarint()
	d.value, d.first = r.varint(), true
	if r.err != nil || d.perBlock == 0 || d.perBlock%128 != 0 || d.perBlock > 1<<20 || d.miniblocks == 0 ||
		d.perBlock%d.miniblocks != 0 || d.perBlock/d.miniblocks%8 != 0 {
		return d, errValues
	}
	d.data = data[r.pos:]
	return d, nil
}

func (d *deltas) next() (int64, error) {
	if d.remaining == 0 {
		return 0, errValues
	}
	d.remaining--
	if d.first {
		d.first = false
		return d.value, nil
	}
	for d.inMini == 0 {
		if err := d.miniblock(); err != nil {
			return 0, err
		}
	}
	d.inMini--
	if d.at+d.width > 8*len(d.bits) {
		return 0, errValues
	}
	d.value += d.least
	if d.width > 0 {
		d.value += int64(bitsAt(d.bits, d.at, d.width))
	}
	d.at += d.width
	return d.value, nil
}

// miniblock begins the next miniblock. Writers may omit the padding behind the last number.
func (d *deltas) miniblock() error {
	if len(d.widths) == 0 {
		r := thriftReader{data: d.data}
		d.least = r.varint()
		d.widths = r.next(int(d.miniblocks))
		if r.err != nil {
			return errValues
		}
		d.data = d.data[r.pos:]
	}
	d.width, d.widths = int(d.widths[0]), d.widths[1:]
	if d.width > 64 {
		return errValues
	}
	d.inMini = d.perBlock / d.miniblocks
	size := min(int(d.inMini)/8*d.width, len(d.data))
	d.bits, d.at, d.data = d.data[:size], 0, d.data[size:]
	return nil
}

// rest returns the bytes behind the last number.
func (d deltas) rest() ([]byte, error) {
	for d.remaining > 0 {
		if d.first {
			d.first = false
			d.remaining--
			continue
		}
		if err := d.miniblock(); err != nil {
			return nil, err
		}
		d.remaining -= min(d.remaining, d.inMini)
	}
	return d.data, nil
}

type integerValues struct {
	numbers deltas
	width   int
	value   [8]byte
}

func (v *integerValues) next() ([]byte, error) {
	n, err := v.numbers.next()
	binary.LittleEndian.PutUint64(v.value[:], uint64(n))
	return v.value[:v.width], err
}

type deltaLengths struct {
	lengths deltas
	data    []byte
}

func newDeltaLengths(data []byte) (*deltaLengths, error) {
	lengths, err := newDeltas(data)
	if err != nil {
		return nil, err
	}
	rest, err := lengths.rest()
	return &deltaLengths{lengths, rest}, err
}

func (v *deltaLengths) next() ([]byte, error) {
	n, err := v.lengths.next()
	if n = int64(int32(n)); err != nil || n < 0 || n > int64(len(v.data)) {
		return nil, errValues
	}
	value := v.data[:n]
	v.data = v.data[n:]
	return value, nil
}

// deltaStrings decodes DELTA_BYTE_ARRAY, in which each value shares a prefix with the one before it.
type deltaStrings struct {
	prefixes  deltas
	suffixes  *deltaLengths
	value     []byte
	width     int
	remaining int64 // bytes that further values may take
}

func newDeltaStrings(data []byte, width int, most int64) (*deltaStrings, error) {
	prefixes, err := newDeltas(data)
	if err != nil {
		return nil, err
	}
	rest, err := prefixes.rest()
	if err != nil {
		return nil, err
	}
	suffixes, err := newDeltaLengths(rest)
	return &deltaStrings{prefixes: prefixes, suffixes: suffixes, width: width, remaining: most}, err
}

func (v *deltaStrings) next() ([]byte, error) {
	n, err := v.prefixes.next()
	if n = int64(int32(n)); err != nil || n < 0 || n > int64(len(v.value)) {
		return nil, errValues
	}
	suffix, err := v.suffixes.next()
	if err != nil {
		return nil, err
	}
	v.value = append(v.value[:n], suffix...)
	if v.remaining -= int64(len(v.value)); v.remaining < 0 || v.width > 0 && len(v.value) != v.width {
		return nil, errValues
	}
	return v.value, nil
}

// splitValues decodes BYTE_STREAM_SPLIT: the first bytes of all values, then their second bytes, and so on.
type splitValues struct {
	data  []byte
	at    int
	value []byte
}

func (v *splitValues) next() ([]byte, error) {
	n := len(v.data) / len(v.value)
	if v.at == n {
		return nil, errValues
	}
	for i := range v.value {
		v.value[i] = v.data[i*n+v.at]
	}
	v.at++
	return v.value, nil
}
