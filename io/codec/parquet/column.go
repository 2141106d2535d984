package parquet

import (
	"errors"
	"io"
	"math"
	"sort"
	"sync"

	"github.com/parquet-go/parquet-go/format"
)

// Column reads one column of a row group, page by page or row by row. Errors are as those of Open.
type Column struct {
	Leaf  *Leaf
	Chunk Chunk
	Group *Group
	Row   int64 // of the row group: the next to be read

	Header      PageHeader // of the page that is read, or was peeked at
	Offset      int64      // of that page
	WordsHeader PageHeader // of the dictionary's page
	WordsAt     int64      // its offset; 0: none was met

	// MaxValue is how many bytes of a value are of use; 0: all values are, and pages are held whole.
	MaxValue int
	// Kept returns the page at an offset, unpacked, if it was kept, else nil. It may be nil.
	Kept func(offset int64) *io.SectionReader
	// Keep returns what takes the page at an offset, of so many bytes, as it is unpacked. It may be nil.
	Keep func(offset, size int64) io.Writer

	file      *File
	window    window
	ahead     int64       // how much the window reads at least
	size      int64       // of the next page with its header, as the page index has it; 0: not known
	remaining int64       // values, nulls among them, from Offset
	words     *Dictionary // nil until a page needs it
	wordPage  []byte      // the unpacked page that words are in
	unpacked  []byte

	// The page that is read.
	entries  int64 // left in it
	rep, def runs
	values   values
	stream   *stream // if values are; else nil
	loaded   bool    // it is unpacked, and not passed

	held  bool // the levels of the row's first entry are read
	def0  int
	found bool       // the header of the next page is read
	index []Location // once it was used: how many values are left is not known then
	at    int        // of the next page in the index

	locations []Location // the index
	indexed   bool       // it is read
}

// Column returns a column of a row group, at its first row.
func (f *File) Column(l *Leaf, g *Group, c *Chunk) *Column {
	return &Column{
		file: f, Leaf: l, Group: g, Chunk: *c, window: window{r: f.r, end: f.end}, Offset: c.Start(), remaining: c.Values,
	}
}

// Again returns a second reader of the column, at its first row. They share the dictionary.
func (c *Column) Again() *Column {
	other := c.file.Column(c.Leaf, c.Group, &c.Chunk)
	other.words = c.words
	return other
}

// buffers are those of a column that is not read any more, for the next one.
type buffers struct{ window, unpacked, words []byte }

var spare = sync.Pool{New: func() any { return new(buffers) }}

// Reuse takes over the buffers of a column that is not read any more; nil: one that somebody left.
func (c *Column) Reuse(old *Column) {
	if old != nil {
		old.leave()
		c.window.data, c.unpacked, c.wordPage = old.window.data[:0], old.unpacked, old.wordPage
		return
	}
	b := spare.Get().(*buffers)
	c.window.data, c.unpacked, c.wordPage = b.window[:0], b.unpacked, b.words
}

// End leaves the buffers to others, unless they are large. The column is not read any more.
func (c *Column) End() {
	c.leave()
	if b := (&buffers{c.window.data, c.unpacked, c.wordPage}); cap(b.window)+cap(b.unpacked)+cap(b.words) <= LargePage {
		spare.Put(b)
	}
	c.Drop()
}

// Drop lets go of the buffers of a column that is not read yet.
func (c *Column) Drop() { c.window.data, c.unpacked, c.wordPage = nil, nil, nil }

// Peek reads the header of the next page, and more of it if it is to be read whole; false at the end.
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

var errIndex = errors.New("the page index contradicts it")

// page loads the next page; false at the end.
func (c *Column) page() (bool, error) {
	ok, err := c.Peek(true)
	if err != nil || !ok {
		return false, err
	}
	c.found, c.loaded = false, true
	return true, c.load()
}

// Next calls see with each value of the next row that is not null, as Value returns it, and its size in bytes: of one
// that is too long to be of use there may be no more.
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

// Value returns the value of an entry, as the PLAIN encoding has it, without the length of a byte array; a boolean is a
// byte. What Entries calls takes it, or its Word, of each entry with the largest definition level. It is valid until
// the next one is taken.
func (c *Column) Value() ([]byte, error) {
	value, err := c.values.next()
	if err != nil {
		return nil, c.Broken(err)
	}
	return value, nil
}

// Word returns the number of the word that is the value of an entry, in a page whose header says that it has Words.
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

// wholeRows reports whether the page ends with a row: those of the second version do, and those of a page index.
func (c *Column) wholeRows() bool {
	return c.Header.Kind == format.DataPageV2 || c.Chunk.Indexed
}

// entry returns the levels of the next entry; false at the end of the column.
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
		return c.Broken(errors.New("the row group has fewer rows than the footer says"))
	case rep != 0:
		return c.Broken(errors.New("a row begins in its middle"))
	}
	c.held, c.def0 = true, def
	return nil
}

// Done ends reading: if the group's last row was read, there must be no more.
func (c *Column) Done() error {
	if c.Row < c.Group.Rows {
		if c.Keep != nil {
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
		return c.Broken(errors.New("the row group has more rows than the footer says"))
	}
	return c.endPage()
}

// Skip goes past the next row.
func (c *Column) Skip() error { return c.Next(func([]byte, int) error { return nil }) }

// SeekRow goes on to a row of the group, which is not before the next. Pages between are passed unread where that is
// possible.
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

// passPage passes the next page if all its rows are before row.
func (c *Column) passPage(row int64) (bool, error) {
	ok, err := c.Peek(false)
	if err != nil || !ok {
		return false, err // at the end, next tells
	}
	rows, ok := c.Rows()
	if !ok || rows > row-c.Row {
		return false, nil
	}
	c.Omit(rows)
	return true, nil
}

// Between reports whether the next entry begins a page, which Peek, Stored and Omit are for.
func (c *Column) Between() bool { return c.entries == 0 && !c.held }

// Stored returns the bytes of a page without its header, as stored: of that which was peeked at, or of the dictionary.
// They are valid until the column is read on.
func (c *Column) Stored(h *PageHeader, offset int64) ([]byte, error) {
	data, err := c.read(h, offset)
	if err != nil {
		return nil, c.Broken(err)
	}
	return data, nil
}

// Omit goes past the page that was peeked at, which has so many rows.
func (c *Column) Omit(rows int64) {
	c.remaining -= c.Header.Values
	c.Row += rows
	c.Offset += c.Header.Size()
	c.found = false
}

// CountRows reads the page that was peeked at, and returns how many rows it has entries of, and how many of these, one
// or none, have begun in the page before.
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

// jump goes to the page that row is in, as the page index has it. An index that makes no sense is as good as none.
func (c *Column) jump(row int64) error {
	index, err := c.Index()
	if err != nil || len(index) == 0 {
		return err
	}
	i := sort.Search(len(index), func(i int) bool { return index[i].Row > row }) - 1
	if index[i].Row <= c.Row+c.entries { // it is this page, or the next
		if index[i].Row == c.Row+c.entries && !c.found {
			c.size = max(0, index[i].Stored)
		}
		return nil
	}
	if c.Row == 0 && !c.loaded { // the dictionary goes before all
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
