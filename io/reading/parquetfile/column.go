package parquetfile

import (
	"errors"
	"math"
	"sort"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// column reads one column of a row group, row by row.
type column struct {
	*pages
	row    int64 // of the row group: the next to be read
	held   bool  // the levels of the row's first entry are read
	def0   int
	found  bool       // the header of the next page is read
	loaded bool       // a page is, and not passed
	index  []location // once it was used: how many values are left is not known then
	at     int        // of the next page in the index

	locations []location // the index
	indexed   bool       // it is read
}

// column returns a column of a row group, at its first row.
func (s *source) column(l *leaf, g *rowGroup, c *chunk) *column {
	return &column{pages: s.pages(l, g, c)}
}

// buffers are those of a column that is not read any more, for the next one.
type buffers struct{ window, unpacked, words []byte }

var spare = sync.Pool{New: func() any { return new(buffers) }}

// reuse takes over the buffers of a column that is not read any more; nil: one that somebody left.
func (c *column) reuse(old *column) {
	if old != nil {
		old.leave()
		c.window.data, c.unpacked, c.wordPage = old.window.data[:0], old.unpacked, old.wordPage
		return
	}
	b := spare.Get().(*buffers)
	c.window.data, c.unpacked, c.wordPage = b.window[:0], b.unpacked, b.words
}

// end leaves the buffers of a column to others, unless they are large.
func (c *column) end() {
	c.leave()
	if b := (&buffers{c.window.data, c.unpacked, c.wordPage}); cap(b.window)+cap(b.unpacked)+cap(b.words) <= largePage {
		spare.Put(b)
	}
	c.drop()
}

// drop lets go of the buffers of a column that is not read yet.
func (c *column) drop() { c.window.data, c.unpacked, c.wordPage = nil, nil, nil }

// head reads the header of the next page; false at the end.
func (c *column) head(ahead int64) (bool, error) {
	if c.found {
		return true, nil
	}
	if c.loaded {
		if err := c.endPage(); err != nil {
			return false, err
		}
		c.pass()
		c.loaded = false
	}
	if c.index != nil && c.at == len(c.index) {
		return false, nil
	}
	ok, err := c.find(ahead)
	if err != nil || !ok {
		return false, err
	}
	if c.index != nil {
		if l := c.index[c.at]; l.offset != c.offset || l.row != c.row {
			return false, c.broken(errIndex)
		}
		c.at++
	}
	c.found = true
	return true, nil
}

var errIndex = errors.New("the page index contradicts it")

// page loads the next page; false at the end.
func (c *column) page() (bool, error) {
	ok, err := c.head(readAhead)
	if err != nil || !ok {
		return false, err
	}
	c.found, c.loaded = false, true
	return true, c.load()
}

// next calls see with each value of the next row that is not null, and its size: of one that is too long to be of use
// there may be no more.
func (c *column) next(see func(value []byte, size int) error) error {
	return c.nextEntries(func(_, def int) error {
		if def < c.leaf.maxDef {
			return nil
		}
		value, err := c.value()
		if err != nil {
			return err
		}
		if c.stream != nil && c.stream.long > 0 {
			return see(nil, c.stream.long)
		}
		return see(value, len(value))
	})
}

// value returns the value of an entry that has one: nextEntries' function takes each.
func (c *column) value() ([]byte, error) {
	value, err := c.values.next()
	if err != nil {
		return nil, c.broken(err)
	}
	return value, nil
}

// nextEntries calls see with the levels of each entry of the next row.
func (c *column) nextEntries(see func(rep, def int) error) error {
	if !c.held {
		if err := c.begin(); err != nil {
			return err
		}
	}
	c.held = false
	c.row++
	for rep, def := 0, c.def0; ; {
		if err := see(rep, def); err != nil {
			return err
		}
		if c.leaf.maxRep == 0 || c.entries == 0 && c.wholeRows() {
			return nil
		}
		var ok bool
		var err error
		if rep, def, ok, err = c.entry(); err != nil || !ok {
			return err
		}
		if rep == 0 {
			c.held, c.def0 = true, def
			return nil
		}
	}
}

// wholeRows reports whether the page ends with a row: those of the second version do, and those of a page index.
func (c *column) wholeRows() bool {
	return c.header.kind == format.DataPageV2 || c.chunk.indexOffset > 0
}

// entry returns the levels of the next entry; false at the end of the column.
func (c *column) entry() (rep, def int, ok bool, err error) {
	for c.entries == 0 {
		if ok, err := c.page(); err != nil || !ok {
			return 0, 0, false, err
		}
	}
	if rep, def, err = c.level(); err != nil {
		return 0, 0, false, c.broken(err)
	}
	return rep, def, true, nil
}

// begin reads the levels of a row's first entry.
func (c *column) begin() error {
	rep, def, ok, err := c.entry()
	switch {
	case err != nil:
		return err
	case !ok:
		return c.broken(errors.New("the row group has fewer rows than the footer says"))
	case rep != 0:
		return c.broken(errors.New("a row begins in its middle"))
	}
	c.held, c.def0 = true, def
	return nil
}

// done checks that the last row was the last.
func (c *column) done() error {
	if c.row < c.group.rows {
		if c.keep != nil {
			return c.endPage() // all of it is kept
		}
		return nil
	}
	more := c.held
	if !more && (c.entries > 0 || c.remaining > 0) {
		var err error
		if _, _, more, err = c.entry(); err != nil {
			return err
		}
	}
	if more {
		return c.broken(errors.New("the row group has more rows than the footer says"))
	}
	return c.endPage()
}

// skip goes past the next row.
func (c *column) skip() error { return c.next(func([]byte, int) error { return nil }) }

// seek goes on to a row, which is not before the next. Pages between are passed unread where that is possible.
func (c *column) seek(row int64) error {
	if between := row - c.row; between > c.entries || between == c.entries && c.indexed {
		if err := c.jump(row); err != nil {
			return err
		}
	}
	for c.row < row {
		if c.entries == 0 && !c.held {
			if passed, err := c.passPage(row); err != nil {
				return err
			} else if passed {
				continue
			}
		}
		if err := c.skip(); err != nil {
			return err
		}
	}
	return nil
}

// passPage passes the next page if all its rows are before row.
func (c *column) passPage(row int64) (bool, error) {
	ok, err := c.head(skipAhead)
	if err != nil || !ok {
		return false, err // at the end, next tells
	}
	rows, ok := c.rowsOf()
	if !ok || rows > row-c.row {
		return false, nil
	}
	c.omit(rows)
	return true, nil
}

// omit goes past the page whose header was read, which has so many rows.
func (c *column) omit(rows int64) {
	c.remaining -= c.header.values
	c.row += rows
	c.pass()
	c.found = false
}

// jump goes to the page that row is in, as the page index has it. An index that makes no sense is as good as none.
func (c *column) jump(row int64) error {
	index, err := c.readIndex()
	if err != nil || len(index) == 0 {
		return err
	}
	i := sort.Search(len(index), func(i int) bool { return index[i].row > row }) - 1
	if index[i].row <= c.row+c.entries { // it is this page, or the next
		if index[i].row == c.row+c.entries && !c.found {
			c.size = max(0, index[i].stored)
		}
		return nil
	}
	if c.row == 0 && !c.loaded { // the dictionary goes before all
		if _, err := c.head(skipAhead); err != nil {
			return err
		}
	}
	c.leave()
	c.index, c.at, c.offset, c.size, c.row = index, i, index[i].offset, max(0, index[i].stored), index[i].row
	c.entries, c.held, c.found, c.loaded = 0, false, false, false
	if c.leaf.maxRep == 0 {
		c.remaining = c.chunk.values - c.row
	} else {
		c.remaining = math.MaxInt64
	}
	return nil
}

// location is where a page is, its first row, and its bytes with its header.
type location struct{ offset, row, stored int64 }

// maxIndex bounds what is read of a page index.
const maxIndex = 16 << 20

// indexBytes reads a part of the page index; nil if it is not there.
func (c *column) indexBytes(offset, length int64) ([]byte, error) {
	if offset <= 0 || length <= 0 || length > maxIndex {
		return nil, nil
	}
	w := window{f: c.window.f, end: c.file.Size}
	data, err := w.at(offset, length, 0)
	switch {
	case errors.Is(err, errShort):
		return nil, nil
	case err != nil:
		return nil, c.broken(err)
	}
	return data, nil
}

// readIndex returns the page index, which it reads once; none if there is none that makes sense.
func (c *column) readIndex() (index []location, err error) {
	if c.indexed {
		return c.locations, nil
	}
	defer func() { c.locations, c.indexed = index, err == nil }()
	data, err := c.indexBytes(c.chunk.indexOffset, c.chunk.indexLength)
	if err != nil || data == nil {
		return nil, err
	}
	r := thriftReader{data: data}
	r.fields(func(id int16, kind thrift.Type) {
		if id != 1 {
			return
		}
		r.list(kind, thrift.STRUCT, func() {
			l := location{-1, -1, -1}
			r.fields(func(id int16, kind thrift.Type) {
				switch id {
				case 1:
					l.offset = r.integer(kind)
				case 2:
					l.stored = r.integer(kind)
				case 3:
					l.row = r.integer(kind)
				}
			})
			index = append(index, l)
		})
	})
	if r.err != nil || !c.sound(index) {
		return nil, nil
	}
	return index, nil
}

// sound reports whether pages ascend in an index, and are all in the file and the row group.
func (c *column) sound(index []location) bool {
	last := location{offset: c.chunk.start() - 1, row: -1}
	for _, l := range index {
		if l.offset <= last.offset || l.row <= last.row {
			return false
		}
		last = l
	}
	return len(index) > 0 && index[0].row == 0 && last.offset < c.window.end && last.row < c.group.rows
}
