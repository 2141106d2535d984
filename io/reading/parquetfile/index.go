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

// indexer builds the page index of a written column, if its source has one.
type indexer struct {
	source    []parquet.Location // nil: there is none, or it contradicts the pages
	bounds    []parquet.Bounds   // nil: there are none
	order     int64              // of the bounds
	locations []format.PageLocation
	written   []parquet.Bounds
	rows      int64
}

// newIndexer reads the page index of source.
func newIndexer(source *parquet.Column) (x indexer, err error) {
	if x.source, err = source.Index(); err != nil || x.source == nil {
		return x, err
	}
	x.bounds, x.order, err = source.Bounds()
	return x, err
}

// page returns the number of the source's page at offset, or none if the index has no such page.
func (x *indexer) page(offset int64) int {
	i, ok := slices.BinarySearchFunc(x.source, offset,
		func(l parquet.Location, offset int64) int { return cmp.Compare(l.Offset, offset) })
	if !ok {
		return none
	}
	return i
}

// nullsOf returns the number of nulls in the source's page at offset, or none if the index does not state it.
func (x *indexer) nullsOf(offset int64) int64 {
	if i := x.page(offset); i != none && x.bounds != nil {
		return x.bounds[i].Nulls
	}
	return none
}

// rowsOf returns the number of rows of the source's page at offset.
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

// add adds a page that has entries of the source's page at from, and the given number of its rows.
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
	if b.Null && nulls != entries { // the index contradicts the page
		x.bounds = nil
		return
	}
	if b.Nulls = nulls; nulls == entries {
		b = parquet.Bounds{Null: true, Nulls: nulls}
	}
	x.written = append(x.written, b)
}

// encoded returns the OffsetIndex and the ColumnIndex of the added pages; each may be nil.
func (x *indexer) encoded() (locations, bounds []byte) {
	if x.source != nil {
		locations, _ = thrift.Marshal(compact, &format.OffsetIndex{PageLocations: x.locations}) // writing to memory
	}
	if x.bounds != nil {
		bounds = appendBounds(nil, x.written, x.order)
	}
	return locations, bounds
}

// Field ids of Statistics; 1, 2, and 4 are the bounds of an undefined order, and the number of distinct values.
const (
	nullsID, mostID, leastID, mostExactID, leastExactID = 3, 5, 6, 7, 8
)

// mostStatistics is the size above which statistics lose their bounds, which may be whole texts: the footer would
// repeat them for each part of a row group that is split.
const mostStatistics = 4 << 10

// stillTrue returns what statistics of more values still say about the remaining ones. If same, that is no value was
// edited, it keeps the bounds and marks them as inexact. nulls may be none.
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
