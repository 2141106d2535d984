package blocks

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrCorrupt reports bytes that no encoder of this package wrote.
var ErrCorrupt = errors.New("corrupt record block")

// Decoder reads the values of a block in the order in which they were appended. After the first value that does not
// fit, it returns zeros, Err returns ErrCorrupt, and Done returns true.
type Decoder struct {
	data   []byte
	at     int // of the next value; advancing data instead would cost write barriers during garbage collection
	failed bool
}

// NewDecoder returns a decoder of data, which it does not copy.
func NewDecoder(data []byte) *Decoder { return &Decoder{data: data} }

// Done reports whether nothing is left to read.
func (d *Decoder) Done() bool { return d.at == len(d.data) }

// Left returns the number of unread bytes.
func (d *Decoder) Left() int { return len(d.data) - d.at }

// Err returns ErrCorrupt if a value did not fit, or nil.
func (d *Decoder) Err() error {
	if d.failed {
		return ErrCorrupt
	}
	return nil
}

func (d *Decoder) fail() { d.at, d.failed = len(d.data), true }

// take returns the next n bytes, or nil if there are fewer, in which case it fails the decoder.
func (d *Decoder) take(n uint64) []byte {
	if n > uint64(d.Left()) {
		d.fail()
		return nil
	}
	end := d.at + int(n)
	head := d.data[d.at:end:end]
	d.at = end
	return head
}

// Uvarint reads what binary.AppendUvarint wrote.
func (d *Decoder) Uvarint() uint64 {
	v, n := binary.Uvarint(d.data[d.at:])
	if n <= 0 {
		d.fail()
		return 0
	}
	d.at += n
	return v
}

// Uint32 reads four bytes, little endian.
func (d *Decoder) Uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads eight bytes, little endian.
func (d *Decoder) Uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Key reads a document key of eight bytes.
func (d *Decoder) Key() Key { return Key(d.Uint64()) }

// Fixed returns the next n bytes; they share memory with the block.
func (d *Decoder) Fixed(n int) []byte { return d.take(uint64(n)) }

// Bytes reads what AppendBytes wrote; the result shares memory with the block.
func (d *Decoder) Bytes() []byte { return d.take(d.Uvarint()) }

// Optional reads what AppendOptional wrote.
func (d *Decoder) Optional() (value []byte, ok bool) {
	n := d.Uvarint()
	if n == 0 {
		return nil, false
	}
	return d.take(n - 1), true
}

// Float64 reads what AppendFloat64 wrote.
func (d *Decoder) Float64() float64 { return math.Float64frombits(d.Uint64()) }

// AppendKey appends key as eight bytes.
func AppendKey(dst []byte, key Key) []byte { return AppendUint64(dst, uint64(key)) }

// AppendUint64 appends v as eight bytes, little endian.
func AppendUint64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }

// AppendUint32 appends v as four bytes, little endian.
func AppendUint32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }

// AppendBytes appends the length of b and b.
func AppendBytes[T ~[]byte | ~string](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// AppendOptional appends b, or a mark for its absence if ok is false.
func AppendOptional(dst, b []byte, ok bool) []byte {
	if !ok {
		return binary.AppendUvarint(dst, 0)
	}
	return append(binary.AppendUvarint(dst, uint64(len(b))+1), b...)
}

// AppendFloat64 appends the bits of v.
func AppendFloat64(dst []byte, v float64) []byte { return AppendUint64(dst, math.Float64bits(v)) }
