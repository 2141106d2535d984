package parquet

import (
	"errors"
	"io"
	"math"
	"sort"
	"sync"

	"github.com/parquet-go/parquet-go/format"
)

// Column reads one column of a row group, page by page or row by row. Its errors are like those of Open.
type Column struct {
	Leaf  *Leaf
	Chunk Chunk
	Group *Group
	Row   int64 // the next row to read, within the row group

	Header      PageHeader // of the current page, or of the one that Peek found
	Offset      int64      // of that page
	WordsHeader PageHeader // of the dictionary page
	WordsAt     int64      // its offset; 0: none found yet

	// MaxValue is the size in bytes above which values need not be returned; 0: return all, and hold pages whole.
	MaxValue int
	// Kept returns the unpacked page at an offset, or nil if it was not kept. It may be nil.
	Kept func(offset int64) *io.SectionReader
	// Keep returns the writer for the unpacked page at an offset, which has size bytes. It may be nil.
	Keep func(offset, size int64) io.Writer

	file      *File
	window    window
	ahead     int64       // minimum bytes that the window reads at once
	size      int64       // of the next page with its header, by the page index; 0: unknown
	remaining int64       // values from Offset on, including nulls
	words     *Dictionary // nil until a page needs it
	wordPage  []byte      // the unpacked page that holds words
	unpacked  []byte

	// The current page.
	entries  int64 // still to read
	rep, def runs
	values   values
	stream   *stream // values, if they are streamed; else nil
	loaded   bool    // the page is unpacked, and reading has not moved past it

	held  bool // the levels of the row's first entry have been read
	def0  int
	found bool       // the header of the next page has been read
	index []Location // set once SeekRow jumps by it; remaining may be unknown from then on
	at    int        // the number of the next page in index

	locations []Location // the page index
	indexed   bool       // locations has been read
}

// Column returns a column of a row group, at its first row.
func (f *File) Column(l *Leaf, g *Group, c *Chunk) *Column {
	return &Column{
		file: f, Leaf: l, Group: g, Chunk: *c, window: window{r: f.r, end: f.end}, Offset: c.Start(), remaining: c.Values,
	}
}

// Again returns a second reader of the column, at its first row. Both share the dictionary.
func (c *Column) Again() *Column {
	other := c.file.Column(c.Leaf, c.Group, &c.Chunk)
	other.words = c.words
	return other
}

// buffers are the buffers of a finished column, for the next one.
type buffers struct{ window, unpacked, words []byte }

var spare = sync.Pool{New: func() any { return new(buffers) }}

// Reuse takes over the buffers of old, which is not read any more or, if old is nil, those that an earlier End left.
func (c *Column) Reuse(old *Column) {
	if old != nil {
		old.leave()
		c.window.data, c.unpacked, c.wordPage = old.window.data[:0], old.unpacked, old.wordPage
		return
	}
	b := spare.Get().(*buffers)
	c.window.data, c.unpacked, c.wordPage = b.window[:0], b.unpacked, b.words
}

// End ends the use of the column, and leaves its buffers to others unless they are large.
func (c *Column) End() {
	c.leave()
	if b := (&buffers{c.window.data, c.unpacked, c.wordPage}); cap(b.window)+cap(b.unpacked)+cap(b.words) <= LargePage {
		spare.Put(b)
	}
	c.Drop()
}

// Drop releases the buffers of a column that has not been read yet.
func (c *Column) Drop() { c.window.data, c.unpacked, c.wordPage = nil, nil, nil }

// Peek reads the header of the next page and, if whole, reads ahead for the page itself. It returns false at the end.
func (c *Column) Peek(whole bool) (bool, error) {
	if c.found {
		return true, nil
	}
	if c.loaded {
		if err := c.endPage(); err != nil {
			return false, err
		}
		c.Offset += c.Header.Size()
		c.loaded = false
	}
	if c.index != nil && c.at == len(c.index) {
		return false, nil
	}
	ahead := int64(skipAhead)
	if whole {
		ahead = readAhead
	}
	ok, err := c.find(ahead)
	if err != nil || !ok {
		return false, err
	}
	if c.index != nil {
		if l := c.index[c.at]; l.Offset != c.Offset || l.Row != c.Row {
			return false, c.Broken(errIndex)
		}
		c.at++
	}
	c.found = true
	return true, nil
}

var errIndex = errors.New("the page index contradicts it" + fetch)

// page loads the next page. It returns false at the end.
func (c *Column) page() (bool, error) {
	ok, err := c.Peek(true)
	if err != nil || !ok {
		return false, err
	}
	c.found, c.loaded = false, true
	return true, c.load()
}

// Next calls see with each non-null value of the next row, as Value returns it, and its size in bytes. The value is nil
// if it is longer than MaxValue and was streamed.
func (c *Column) Next(see func(value []byte, size int) error) error {
	return c.Entries(func(_, def int) error {
		if def < c.Leaf.MaxDef {
			return nil
		}
		value, err := c.Value()
		if err != nil {
			return err
		}
		if c.stream != nil && c.stream.long > 0 {
			return see(nil, c.stream.long)
		}
		return see(value, len(value))
	})
}

// Value returns an entry's value in the PLAIN encoding, without the length of a byte array; a boolean is one byte. The
// function that Entries calls must take it, or Word, once for each entry with the largest definition level. It is valid
// until the next one is taken.
func (c *Column) Value() ([]byte, error) {
	value, err := c.values.next()
	if err != nil {
		return nil, c.Broken(err)
	}
	return value, nil
}

// Word returns the dictionary number of an entry's value, in a page whose header has Words.
func (c *Column) Word() (int, error) {
	n, err := c.values.(*wordValues).number()
	if err != nil {
		return 0, c.Broken(err)
	}
	return n, nil
}

// Entries calls see with the levels of each entry of the next row.
func (c *Column) Entries(see func(rep, def int) error) error {
	if !c.held {
		if err := c.begin(); err != nil {
			return err
		}
	}
	c.held = false
	c.Row++
	for rep, def := 0, c.def0; ; {
		if err := see(rep, def); err != nil {
			return err
		}
		if c.Leaf.MaxRep == 0 || c.entries == 0 && c.wholeRows() {
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

// wholeRows reports whether the page ends with a whole row, as pages of version 2 and pages in a page index do.
func (c *Column) wholeRows() bool {
	return c.Header.Kind == format.DataPageV2 || c.Chunk.Indexed
}

// entry returns the levels of the next entry. ok is false at the end of the column.
func (c *Column) entry() (rep, def int, ok bool, err error) {
	for c.entries == 0 {
		if ok, err := c.page(); err != nil || !ok {
			return 0, 0, false, err
		}
	}
	if rep, def, err = c.level(); err != nil {
		return 0, 0, false, c.Broken(err)
	}
	return rep, def, true, nil
}

// begin reads the levels of a row's first entry.
func (c *Column) begin() error {
	rep, def, ok, err := c.entry()
	switch {
	case err != nil:
		return err
	case !ok:
		return c.Broken(errors.New("the row group has fewer rows than the footer says" + fetch))
	case rep != 0:
		return c.Broken(errors.New("the page begins in the middle of a row" + fetch))
	}
	c.held, c.def0 = true, def
	return nil
}

// Done ends reading. If the group's last row was read, the column must have no more entries.
func (c *Column) Done() error {
	if c.Row < c.Group.Rows {
		if c.Keep != nil {
			return c.endPage() // the kept page must be complete
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
		return c.Broken(errors.New("the row group has more rows than the footer says" + fetch))
	}
	return c.endPage()
}

// Skip skips the next row.
func (c *Column) Skip() error { return c.Next(func([]byte, int) error { return nil }) }

// SeekRow moves forward to a row of the group, skipping the pages between unread where that is possible.
func (c *Column) SeekRow(row int64) error {
	if between := row - c.Row; between > c.entries || between == c.entries && c.indexed {
		if err := c.jump(row); err != nil {
			return err
		}
	}
	for c.Row < row {
		if c.Between() {
			if passed, err := c.passPage(row); err != nil {
				return err
			} else if passed {
				continue
			}
		}
		if err := c.Skip(); err != nil {
			return err
		}
	}
	return nil
}

// passPage skips the next page if all its rows are before row.
func (c *Column) passPage(row int64) (bool, error) {
	ok, err := c.Peek(false)
	if err != nil || !ok {
		return false, err // at the end, Skip reports the missing rows
	}
	rows, ok := c.Rows()
	if !ok || rows > row-c.Row {
		return false, nil
	}
	c.Omit(rows)
	return true, nil
}

// Between reports whether the next entry begins a page, so that Peek, Stored, and Omit may be called.
func (c *Column) Between() bool { return c.entries == 0 && !c.held }

// Stored returns the stored bytes, without the header, of the page that Peek found or of the dictionary page. They are
// valid until the column is read further.
func (c *Column) Stored(h *PageHeader, offset int64) ([]byte, error) {
	data, err := c.read(h, offset)
	if err != nil {
		return nil, c.Broken(err)
	}
	return data, nil
}

// Omit skips the page that Peek found, which has the given number of rows.
func (c *Column) Omit(rows int64) {
	c.remaining -= c.Header.Values
	c.Row += rows
	c.Offset += c.Header.Size()
	c.found = false
}

// CountRows reads the page that Peek found. It returns the number of rows that have entries in it, and how many of them
// (0 or 1) began in an earlier page.
func (c *Column) CountRows() (rows, begun int64, err error) {
	if _, err := c.page(); err != nil {
		return 0, 0, err
	}
	for c.entries > 0 {
		rep, _, err := c.level()
		switch {
		case err != nil:
			return 0, 0, c.Broken(err)
		case rep == 0:
			rows++
		case rows == 0:
			rows, begun = 1, 1
		}
	}
	return rows, begun, nil
}

// jump moves to the page that holds row, according to the page index. It ignores an index that makes no sense.
func (c *Column) jump(row int64) error {
	index, err := c.Index()
	if err != nil || len(index) == 0 {
		return err
	}
	i := sort.Search(len(index), func(i int) bool { return index[i].Row > row }) - 1
	if index[i].Row <= c.Row+c.entries { // in this page, or in the next one
		if index[i].Row == c.Row+c.entries && !c.found {
			c.size = max(0, index[i].Stored)
		}
		return nil
	}
	if c.Row == 0 && !c.loaded { // the dictionary precedes all data pages
		if _, err := c.Peek(false); err != nil {
			return err
		}
	}
	c.leave()
	c.index, c.at, c.Offset, c.size, c.Row = index, i, index[i].Offset, max(0, index[i].Stored), index[i].Row
	c.entries, c.held, c.found, c.loaded = 0, false, false, false
	if c.Leaf.MaxRep == 0 {
		c.remaining = c.Chunk.Values - c.Row
	} else {
		c.remaining = math.MaxInt64
	}
	return nil
}
