package parquet

import (
	"encoding/binary"
	"errors"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

var (
	errShort    = errors.New("it is truncated; fetch the file again, or leave it out")
	errMetadata = errors.New("its metadata is damaged; fetch the file again, or leave it out")
)

// maxThriftDepth is far more than the nesting of Parquet, and keeps the recursion of skip small.
const maxThriftDepth = 32

// thriftReader reads the Thrift compact protocol. It allocates nothing by sizes that the input claims. The first error
// stays in err, and all later reads return zero.
type thriftReader struct {
	data []byte
	pos  int
	err  error
}

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.pos = len(r.data)
}

// next returns the next n bytes.
func (r *thriftReader) next(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.data)-r.pos {
		r.fail(errShort)
		return nil
	}
	r.pos += n
	return r.data[r.pos-n : r.pos]
}

func (r *thriftReader) byte() byte {
	if b := r.next(1); len(b) > 0 {
		return b[0]
	}
	return 0
}

func (r *thriftReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data[r.pos:])
	switch {
	case n == 0:
		r.fail(errShort)
		return 0
	case n < 0:
		r.fail(errMetadata)
		return 0
	}
	r.pos += n
	return v
}

func (r *thriftReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// fields calls see with each field of a struct, and skips the values that see does not read.
func (r *thriftReader) fields(see func(id int16, kind thrift.Type)) {
	id := int16(0)
	for r.err == nil {
		head := r.byte()
		if head == 0 {
			return // the end of the struct, or of the input
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			id = int16(r.varint())
		}
		begin, kind := r.pos, thrift.Type(head&15)
		see(id, kind)
		if r.pos == begin {
			r.skip(kind, 0)
		}
	}
}

// structs calls see for each element of one field of a struct, which is a list of structs, and skips the other fields.
func (r *thriftReader) structs(field int16, see func()) {
	r.fields(func(id int16, kind thrift.Type) {
		if id == field {
			r.list(kind, thrift.STRUCT, see)
		}
	})
}

// Fields calls see with each field of a Thrift struct from a file's parsed metadata: its id, its type, and its encoded
// value without the field header. The value of a boolean is in its type.
func Fields(structure []byte, see func(id int16, kind thrift.Type, value []byte)) {
	r := thriftReader{data: structure}
	r.fields(func(id int16, kind thrift.Type) {
		begin := r.pos
		r.skip(kind, 0)
		see(id, kind, r.data[begin:r.pos])
	})
}

// integer reads an integer field.
func (r *thriftReader) integer(kind thrift.Type) int64 {
	switch kind {
	case thrift.I8:
		return int64(int8(r.byte()))
	case thrift.I16, thrift.I32, thrift.I64:
		return r.varint()
	default:
		r.fail(errMetadata)
		return 0
	}
}

// enum reads an enumeration field.
func enum[E ~int32](r *thriftReader, kind thrift.Type) E {
	v := r.integer(kind)
	if v != int64(int32(v)) {
		r.fail(errMetadata)
	}
	return E(v)
}

// binary reads a string field. The result shares memory with the input.
func (r *thriftReader) binary(kind thrift.Type) []byte {
	if kind != thrift.BINARY {
		r.fail(errMetadata)
		return nil
	}
	return r.next(int(r.uvarint()))
}

// list calls see for each element of a list field.
func (r *thriftReader) list(kind, element thrift.Type, see func()) {
	if kind != thrift.LIST {
		r.fail(errMetadata)
		return
	}
	n, found := r.listHead()
	if n > 0 && found != element {
		r.fail(errMetadata)
	}
	for ; n > 0 && r.err == nil; n-- {
		see()
	}
}

func (r *thriftReader) listHead() (n uint64, element thrift.Type) {
	head := r.byte()
	if n = uint64(head >> 4); n == 15 {
		n = r.uvarint()
	}
	return n, thrift.Type(head & 15)
}

// structure returns the bytes of a struct that is a field or a list element.
func (r *thriftReader) structure(kind thrift.Type) []byte {
	if kind != thrift.STRUCT {
		r.fail(errMetadata)
	}
	begin := r.pos
	r.skip(thrift.STRUCT, 0)
	return r.data[begin:r.pos]
}

func (r *thriftReader) skip(kind thrift.Type, depth int) {
	if depth > maxThriftDepth {
		r.fail(errMetadata)
		return
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE:
	case thrift.I8:
		r.next(1)
	case thrift.I16, thrift.I32, thrift.I64:
		r.uvarint()
	case thrift.DOUBLE:
		r.next(8)
	case thrift.UUID:
		r.next(16)
	case thrift.BINARY:
		r.binary(kind)
	case thrift.LIST, thrift.SET:
		n, element := r.listHead()
		for ; n > 0 && r.err == nil; n-- {
			r.skipElement(element, depth+1)
		}
	case thrift.MAP:
		n := r.uvarint()
		if n == 0 {
			return
		}
		kinds := r.byte()
		for ; n > 0 && r.err == nil; n-- {
			r.skipElement(thrift.Type(kinds>>4), depth+1)
			r.skipElement(thrift.Type(kinds&15), depth+1)
		}
	case thrift.STRUCT:
		r.fields(func(_ int16, kind thrift.Type) { r.skip(kind, depth+1) })
	default:
		r.fail(errMetadata)
	}
}

// skipElement skips an element of a list or a map, where a boolean takes one byte.
func (r *thriftReader) skipElement(kind thrift.Type, depth int) {
	if kind == thrift.TRUE || kind == thrift.FALSE {
		kind = thrift.I8
	}
	r.skip(kind, depth)
}
