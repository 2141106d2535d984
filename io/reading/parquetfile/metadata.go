package parquetfile

import (
	"encoding/binary"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/io/codec/parquet"
)

// thriftField is a field of a struct to be written. Its value is encoded, without the field header.
type thriftField struct {
	id    int16
	kind  thrift.Type
	value []byte
}

func integerField[N ~int | ~int32 | ~int64](id int16, kind thrift.Type, v N) thriftField {
	return thriftField{id, kind, appendVarint(nil, int64(v))}
}

func appendVarint(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

// listField returns a field whose value is a list of structs.
func listField(id int16, structs [][]byte) thriftField {
	return thriftField{id, thrift.LIST, slices.Concat(appendListHead(nil, len(structs), thrift.STRUCT),
		slices.Concat(structs...))}
}

func appendListHead(dst []byte, n int, element thrift.Type) []byte {
	if n < 15 {
		return append(dst, byte(n)<<4|byte(element))
	}
	return binary.AppendUvarint(append(dst, 0xf0|byte(element)), uint64(n))
}

// appendStruct appends a struct of fields, which must ascend by id.
func appendStruct(dst []byte, fields []thriftField) []byte {
	last := int16(0)
	for _, f := range fields {
		if delta := f.id - last; 0 < delta && delta < 16 {
			dst = append(dst, byte(delta)<<4|byte(f.kind))
		} else {
			dst = appendVarint(append(dst, byte(f.kind)), int64(f.id))
		}
		last = f.id
		dst = append(dst, f.value...)
	}
	return append(dst, 0)
}

// edit returns a well-formed struct without the fields that keep refuses, and with those of edits, which must ascend by
// id. All other fields stay the same byte for byte, even if this package does not know them.
func edit(structure []byte, keep func(id int16) bool, edits ...thriftField) []byte {
	var all []thriftField
	parquet.Fields(structure, func(id int16, kind thrift.Type, value []byte) {
		if keep(id) {
			all = append(all, thriftField{id, kind, value})
		}
	})
	all = append(all, edits...)
	slices.SortStableFunc(all, func(a, b thriftField) int { return int(a.id) - int(b.id) })
	return appendStruct(nil, all)
}

// withPlain returns the list of encodings in field id of a structure, with PLAIN added.
func withPlain(structure []byte, id int16) (list []byte) {
	var all []format.Encoding
	parquet.Fields(structure, func(of int16, _ thrift.Type, value []byte) {
		if of == id {
			_ = thrift.Unmarshal(compact, value, &all) // anything but a list of encodings counts as empty
		}
	})
	if !slices.Contains(all, format.Plain) {
		all = append(all, format.Plain)
	}
	list, _ = thrift.Marshal(compact, all) // writing to memory
	return list
}

var compact = new(thrift.CompactProtocol)
