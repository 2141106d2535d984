package parquetfile

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// bounds is what a ColumnIndex says of a page.
type bounds struct {
	null        bool // it has no values
	least, most []byte
	nulls       int64 // none: that is not said
}

// columnIndex is a ColumnIndex: the bounds of the pages of one column of a row group, one after another.
type columnIndex struct {
	pages []bounds
	order int64 // a BoundaryOrder, which a part of the pages has, too
}

// columnIndex returns that of the column; nil if there is none that fits the pages of its offset index.
func (c *column) columnIndex(locations []location) (*columnIndex, error) {
	data, err := c.indexBytes(c.chunk.boundsOffset, c.chunk.boundsLength)
	if err != nil || len(data) == 0 || len(locations) == 0 {
		return nil, err
	}
	x := &columnIndex{pages: make([]bounds, len(locations))}
	var n [6]int // elements of the list that is the field
	r := thriftReader{data: data}
	r.fields(func(id int16, kind thrift.Type) {
		element := map[int16]thrift.Type{1: thrift.TRUE, 2: thrift.BINARY, 3: thrift.BINARY, 5: thrift.I64}[id]
		switch id {
		case 4:
			x.order = r.integer(kind)
			return
		case 1, 2, 3, 5:
		default:
			return
		}
		if id == 1 && r.pos < len(data) && thrift.Type(data[r.pos]&15) == thrift.FALSE {
			element = thrift.FALSE // writers differ
		}
		r.list(kind, element, func() {
			if n[id] == len(x.pages) {
				r.fail(errMetadata)
				return
			}
			p := &x.pages[n[id]]
			n[id]++
			switch id {
			case 1:
				p.null = thrift.Type(r.byte()) == thrift.TRUE
			case 2:
				p.least = r.binary(thrift.BINARY)
			case 3:
				p.most = r.binary(thrift.BINARY)
			case 5:
				p.nulls = r.integer(thrift.I64)
			}
		})
	})
	for i := range x.pages {
		if n[5] == 0 || x.pages[i].nulls < 0 {
			x.pages[i].nulls = none
		}
	}
	if r.err != nil || n[1] != len(x.pages) || n[2] != len(x.pages) || n[3] != len(x.pages) ||
		n[5] != 0 && n[5] != len(x.pages) {
		return nil, nil
	}
	return x, nil
}

// append appends the index.
func (x *columnIndex) append(dst []byte) []byte {
	n := len(x.pages)
	null, least, most, nulls := appendListHead(nil, n, thrift.TRUE), appendListHead(nil, n, thrift.BINARY),
		appendListHead(nil, n, thrift.BINARY), appendListHead(nil, n, thrift.I64)
	counted := true
	for _, p := range x.pages {
		if p.null {
			null = append(null, byte(thrift.TRUE))
		} else {
			null = append(null, byte(thrift.FALSE))
		}
		least, most = appendBinary(least, p.least), appendBinary(most, p.most)
		nulls = appendVarint(nulls, p.nulls)
		counted = counted && p.nulls != none
	}
	fields := []thriftField{{1, thrift.LIST, null}, {2, thrift.LIST, least}, {3, thrift.LIST, most},
		integerField(4, thrift.I32, x.order)}
	if counted {
		fields = append(fields, thriftField{5, thrift.LIST, nulls})
	}
	return appendStruct(dst, fields)
}

func appendBinary(dst, v []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}

// appendLocations appends an OffsetIndex.
func appendLocations(dst []byte, locations []location) []byte {
	var pages [][]byte
	for _, l := range locations {
		pages = append(pages, appendStruct(nil, []thriftField{
			integerField(1, thrift.I64, l.offset), integerField(2, thrift.I32, l.stored), integerField(3, thrift.I64, l.row),
		}))
	}
	return appendStruct(dst, []thriftField{listField(1, pages)})
}

// indexer makes the page index of a column that is written, where the source's has one.
type indexer struct {
	source    []location // nil: there is none, or it is not as the pages are
	bounds    *columnIndex
	locations []location
	written   columnIndex
	rows      int64
}

// newIndexer reads the page index of a source.
func newIndexer(source *column) (x indexer, err error) {
	if x.source, err = source.readIndex(); err != nil || x.source == nil {
		return x, err
	}
	if x.bounds, err = source.columnIndex(x.source); err == nil && x.bounds != nil {
		x.written.order = x.bounds.order
	}
	return x, err
}

// page returns the number of the source's page at offset, none if the index has no such page.
func (x *indexer) page(offset int64) int {
	i, ok := slices.BinarySearchFunc(x.source, offset,
		func(l location, offset int64) int { return cmp.Compare(l.offset, offset) })
	if !ok {
		return none
	}
	return i
}

// nullsOf returns how many nulls the source's page at offset has, none if its index does not say that.
func (x *indexer) nullsOf(offset int64) int64 {
	if i := x.page(offset); i != none && x.bounds != nil {
		return x.bounds.pages[i].nulls
	}
	return none
}

// rowsOf returns how many rows the source's page at offset has.
func (x *indexer) rowsOf(offset int64, g *rowGroup) int64 {
	switch i := x.page(offset); i {
	case none:
		return 0
	case len(x.source) - 1:
		return g.rows - x.source[i].row
	default:
		return x.source[i+1].row - x.source[i].row
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
	x.locations = append(x.locations, location{offset, x.rows, stored})
	x.rows += rows
	if x.bounds == nil {
		return
	}
	b := x.bounds.pages[i]
	if b.null && nulls != entries { // it cannot be
		x.bounds = nil
		return
	}
	if b.nulls = nulls; nulls == entries {
		b = bounds{null: true, nulls: nulls}
	}
	x.written.pages = append(x.written.pages, b)
}

// encoded returns the OffsetIndex and the ColumnIndex of what was added; each may be none.
func (x *indexer) encoded() (locations, bounds []byte) {
	if x.source != nil {
		locations = appendLocations(nil, x.locations)
	}
	if x.bounds != nil {
		bounds = x.written.append(nil)
	}
	return locations, bounds
}

// Fields of Statistics; 1, 2 and 4 are bounds of an order that is not told, and the number of distinct values.
const (
	nullsID, mostID, leastID, mostExactID, leastExactID = 3, 5, 6, 7, 8
)

// nullsOf returns how many nulls Statistics tell of, none if they do not.
func nullsOf(statistics []byte) int64 {
	nulls := int64(none)
	r := thriftReader{data: statistics}
	r.fields(func(id int16, kind thrift.Type) {
		if id == nullsID {
			nulls = r.integer(kind)
		}
	})
	return nulls
}

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
	r := thriftReader{data: statistics}
	r.fields(func(id int16, _ thrift.Type) {
		if bounded(id) {
			edits = append(edits, thriftField{id + mostExactID - mostID, thrift.FALSE, nil})
		}
	})
	slices.SortFunc(edits, func(a, b thriftField) int { return int(a.id) - int(b.id) })
	return edit(statistics, bounded, edits...)
}
