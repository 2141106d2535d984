package parquet

import (
	"errors"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// Location is a page's offset, its first row within the row group, and its stored size with the header.
type Location struct{ Offset, Row, Stored int64 }

// maxIndex is the maximum size of a part of the page index that is read.
const maxIndex = 16 << 20

// indexBytes reads a part of the page index. It returns nil if there is none, or none that can be read.
func (c *Column) indexBytes(offset, length int64) ([]byte, error) {
	if offset <= 0 || length <= 0 || length > maxIndex {
		return nil, nil
	}
	w := window{r: c.file.r, end: c.file.size}
	data, err := w.at(offset, length, 0)
	switch {
	case errors.Is(err, errShort):
		return nil, nil
	case err != nil:
		return nil, c.Broken(err)
	}
	return data, nil
}

// Index returns the locations of the pages from the page index, or none if there is no sound one. It reads the index
// once.
func (c *Column) Index() (index []Location, err error) {
	if c.indexed {
		return c.locations, nil
	}
	defer func() { c.locations, c.indexed = index, err == nil }()
	data, err := c.indexBytes(c.Chunk.indexOffset, c.Chunk.indexLength)
	if err != nil || data == nil {
		return nil, err
	}
	r := thriftReader{data: data}
	r.structs(1, func() {
		l := Location{-1, -1, -1}
		r.fields(func(id int16, kind thrift.Type) {
			switch id {
			case 1:
				l.Offset = r.integer(kind)
			case 2:
				l.Stored = r.integer(kind)
			case 3:
				l.Row = r.integer(kind)
			}
		})
		index = append(index, l)
	})
	if r.err != nil || !c.sound(index) {
		return nil, nil
	}
	return index, nil
}

// sound reports whether the pages of an index ascend and lie within the file and the row group.
func (c *Column) sound(index []Location) bool {
	last := Location{Offset: c.Chunk.Start() - 1, Row: -1}
	for _, l := range index {
		if l.Offset <= last.Offset || l.Row <= last.Row {
			return false
		}
		last = l
	}
	return len(index) > 0 && index[0].Row == 0 && last.Offset < c.window.end && last.Row < c.Group.Rows
}

// Bounds is the entry of a ColumnIndex for one page.
type Bounds struct {
	Null        bool   // the page has no values
	Least, Most []byte // in the PLAIN encoding, without the length of a byte array
	Nulls       int64  // -1: not stated
}

// Bounds returns the bounds of the pages of Index and their BoundaryOrder, which also holds for any subset of the
// pages. It returns none if there is no ColumnIndex that fits.
func (c *Column) Bounds() (pages []Bounds, order int64, err error) {
	locations, err := c.Index()
	if err != nil || len(locations) == 0 {
		return nil, 0, err
	}
	data, err := c.indexBytes(c.Chunk.boundsOffset, c.Chunk.boundsLength)
	if err != nil || len(data) == 0 {
		return nil, 0, err
	}
	pages = make([]Bounds, len(locations))
	var n [6]int // by field id: elements read of its list
	r := thriftReader{data: data}
	r.fields(func(id int16, kind thrift.Type) {
		element := map[int16]thrift.Type{1: thrift.TRUE, 2: thrift.BINARY, 3: thrift.BINARY, 5: thrift.I64}[id]
		switch {
		case id == 4:
			order = r.integer(kind)
			return
		case element == 0:
			return
		case id == 1 && r.pos < len(data) && thrift.Type(data[r.pos]&15) == thrift.FALSE:
			element = thrift.FALSE // writers differ
		}
		r.list(kind, element, func() {
			if n[id] == len(pages) {
				r.fail(errMetadata)
				return
			}
			p := &pages[n[id]]
			n[id]++
			switch id {
			case 1:
				p.Null = thrift.Type(r.byte()) == thrift.TRUE
			case 2:
				p.Least = r.binary(thrift.BINARY)
			case 3:
				p.Most = r.binary(thrift.BINARY)
			case 5:
				p.Nulls = r.integer(thrift.I64)
			}
		})
	})
	for i := range pages {
		if n[5] == 0 || pages[i].Nulls < 0 {
			pages[i].Nulls = none
		}
	}
	if r.err != nil || n[1] != len(pages) || n[2] != len(pages) || n[3] != len(pages) || n[5] != 0 && n[5] != len(pages) {
		return nil, 0, nil
	}
	return pages, order, nil
}

// nullsOf returns the number of nulls in Statistics, or none if it is not stated.
func nullsOf(statistics []byte) int64 {
	nulls := int64(none)
	r := thriftReader{data: statistics}
	r.fields(func(id int16, kind thrift.Type) {
		if id == 3 {
			nulls = r.integer(kind)
		}
	})
	return nulls
}
