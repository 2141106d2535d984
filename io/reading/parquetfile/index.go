package parquetfile

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/io/codec/parquet"
)

// appendBounds appends a ColumnIndex.
func appendBounds(dst []byte, pages []parquet.Bounds, order int64) []byte {
	n := len(pages)
	null, least, most, nulls := appendListHead(nil, n, thrift.TRUE), appendListHead(nil, n, thrift.BINARY),
		appendListHead(nil, n, thrift.BINARY), appendListHead(nil, n, thrift.I64)
	counted := true
	for _, p := range pages {
		if p.Null {
			null = append(null, byte(thrift.TRUE))
		} else {
			null = append(null, byte(thrift.FALSE))
		}
		least, most = appendBinary(least, p.Least), appendBinary(most, p.Most)
		nulls = appendVarint(nulls, p.Nulls)
		counted = counted && p.Nulls != none
	}
	fields := []thriftField{{1, thrift.LIST, null}, {2, thrift.LIST, least}, {3, thrift.LIST, most},
		integerField(4, thrift.I32, order)}
	if counted {
		fields = append(fields, thriftField{5, thrift.LIST, nulls})
	}
	return appendStruct(dst, fields)
}

func appendBinary(dst, v []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}

// indexer makes the page index of a column that is written, where the source's has one.
type indexer struct {
	source    []parquet.Location // nil: there is none, or it is not as the pages are
	bounds    []parquet.Bounds   // nil: it has none
	order     int64              // of the bounds
	locations []format.PageLocation
	written   []parquet.Bounds
	rows      int64
}

// newIndexer reads the page index of a source.
func newIndexer(source *parquet.Column) (x indexer, err error) {
	if x.source, err = source.Index(); err != nil || x.source == nil {
		return x, err
	}
	x.bounds, x.order, err = source.Bounds()
	return x, err
}

// page returns the number of the source's page at offset, none if the index has no such page.
func (x *indexer) page(offset int64) int {
	i, ok := slices.BinarySearchFunc(x.source, offset,
		func(l parquet.Location, offset int64) int { return cmp.Compare(l.Offset, offset) })
	if !ok {
		return none
	}
	return i
}

// nullsOf returns how many nulls the source's page at offset has, none if its index does not say that.
func (x *indexer) nullsOf(offset int64) int64 {
	if i := x.page(offset); i != none && x.bounds != nil {
		return x.bounds[i].Nulls
	}
	return none
}

// rowsOf returns how many rows the source's page at offset has.
func (x *indexer) rowsOf(offset int64, g *parquet.Group) int64 {
	switch i := x.page(offset); i {
	case none:
		return 0
	case len(x.source) - 1:
		return g.Rows - x.source[i].Row
	default:
		return x.source[i+1].Row - x.source[i].Row
	}
}

// add adds a page, which has entries of the source's page at from, and rows of it.
func (x *indexer) add(offset, stored, from, rows, entries, nulls int64) {
	if x.source == nil {
		return
	}
	i := x.page(from)
	if i == none {
		*x = indexer{}
		return
	}
	x.locations = append(x.locations,
		format.PageLocation{Offset: offset, CompressedPageSize: int32(stored), FirstRowIndex: x.rows})
	x.rows += rows
	if x.bounds == nil {
		return
	}
	b := x.bounds[i]
	if b.Null && nulls != entries { // it cannot be
		x.bounds = nil
		return
	}
	if b.Nulls = nulls; nulls == entries {
		b = parquet.Bounds{Null: true, Nulls: nulls}
	}
	x.written = append(x.written, b)
}

// encoded returns the OffsetIndex and the ColumnIndex of what was added; each may be none.
func (x *indexer) encoded() (locations, bounds []byte) {
	if x.source != nil {
		locations, _ = thrift.Marshal(compact, &format.OffsetIndex{PageLocations: x.locations}) // to memory
	}
	if x.bounds != nil {
		bounds = appendBounds(nil, x.written, x.order)
	}
	return locations, bounds
}

// Fields of Statistics; 1, 2 and 4 are bounds of an order that is not told, and the number of distinct values.
const (
	nullsID, mostID, leastID, mostExactID, leastExactID = 3, 5, 6, 7, 8
)

// mostStatistics is the size above which they lose their bounds, which may be whole texts: a group that is cut into
// many would give each of them these, and the footer has them all.
const mostStatistics = 4 << 10

// stillTrue returns what is true of the values that are left, of the Statistics of more: bounds, which may not be
// values any more, unless some are others. Nulls may be none.
func stillTrue(statistics []byte, values, nulls int64, same bool) []byte {
	var edits []thriftField
	if nulls != none {
		edits = append(edits, integerField(nullsID, thrift.I64, nulls))
	}
	bounded := func(id int16) bool { return same && (id == mostID || id == leastID) && nulls < values }
	parquet.Fields(statistics, func(id int16, _ thrift.Type, _ []byte) {
		if bounded(id) {
			edits = append(edits, thriftField{id + mostExactID - mostID, thrift.FALSE, nil})
		}
	})
	slices.SortFunc(edits, func(a, b thriftField) int { return int(a.id) - int(b.id) })
	return edit(statistics, bounded, edits...)
}
