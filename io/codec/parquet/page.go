package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// PageHeader holds the fields of Parquet's PageHeader and of the type-specific header in it.
type PageHeader struct {
	Bytes                []byte // the encoded header
	Kind                 format.PageType
	Uncompressed, Stored int64 // bytes of the page
	HasCRC               bool
	Values               int64 // including nulls
	Nulls                int64 // -1: not stated
	Encoding             format.Encoding
	Plain                bool // in version 2: the values are not compressed

	crc                      int64
	defEncoding, repEncoding format.Encoding // of the levels, in version 1
	rows, defBytes, repBytes int64           // in version 2
}

func readPageHeader(data []byte) (h PageHeader, err error) {
	h = PageHeader{Kind: -1, Uncompressed: -1, Stored: -1, Values: -1, Nulls: none, Encoding: -1, rows: -1}
	r := thriftReader{data: data}
	r.fields(func(id int16, kind thrift.Type) {
		switch id {
		case 1:
			h.Kind = enum[format.PageType](&r, kind)
		case 2:
			h.Uncompressed = r.integer(kind)
		case 3:
			h.Stored = r.integer(kind)
		case 4:
			h.crc, h.HasCRC = r.integer(kind), true
		case 5, 7, 8:
			if kind != thrift.STRUCT {
				r.fail(errMetadata)
				return
			}
			h.read(&r, id)
		}
	})
	if r.err != nil {
		return h, r.err
	}
	h.Bytes = data[:r.pos]
	data1, data2 := h.Kind == format.DataPage, h.Kind == format.DataPageV2
	if h.Uncompressed < 0 || h.Stored < 0 || (data1 || data2 || h.Kind == format.DictionaryPage) && h.Values < 0 ||
		data2 && (h.rows < 0 || h.defBytes < 0 || h.repBytes < 0 || h.repBytes > min(h.Stored, h.Uncompressed)-h.defBytes) {
		return h, errMetadata
	}
	return h, nil
}

// read reads the header of a page type: field 5 is that of version 1, 7 of a dictionary, 8 of version 2.
func (h *PageHeader) read(r *thriftReader, header int16) {
	r.fields(func(id int16, kind thrift.Type) {
		switch {
		case id == 1:
			h.Values = r.integer(kind)
		case id == 2 && header != 8:
			h.Encoding = enum[format.Encoding](r, kind)
		case header == 5 && id == 3:
			h.defEncoding = enum[format.Encoding](r, kind)
		case header == 5 && id == 4:
			h.repEncoding = enum[format.Encoding](r, kind)
		case header == 5 && id == 5 && kind == thrift.STRUCT:
			h.Nulls = nullsOf(r.structure(kind))
		case header == 8 && id == 2:
			h.Nulls = r.integer(kind)
		case header == 8 && id == 3:
			h.rows = r.integer(kind)
		case header == 8 && id == 4:
			h.Encoding = enum[format.Encoding](r, kind)
		case header == 8 && id == 5:
			h.defBytes = r.integer(kind)
		case header == 8 && id == 6:
			h.repBytes = r.integer(kind)
		case header == 8 && id == 7:
			h.Plain = kind == thrift.FALSE
		}
	})
}

// window holds the part of a file around the current place.
type window struct {
	r     io.ReaderAt
	end   int64 // of the readable part
	data  []byte
	begin int64
}

// at returns the n bytes at offset. If it has to read, it reads up to ahead bytes at once. The result is valid until
// the next call.
func (w *window) at(offset, n, ahead int64) ([]byte, error) {
	if offset < 0 || n > w.end-offset {
		return nil, errShort
	}
	if offset < w.begin || offset+n > w.begin+int64(len(w.data)) {
		size := int(min(max(n, ahead), w.end-offset))
		if cap(w.data) < size {
			w.data = nil // free it before allocating the larger one
		}
		w.data = grown(w.data, size)
		w.begin = offset
		if err := readFull(w.r, w.data, offset); err != nil {
			w.data = w.data[:0]
			return nil, &storeError{err}
		}
	}
	i := offset - w.begin
	return w.data[i : i+n], nil
}

// Bytes that a window reads ahead: for pages read one after another, and for pages that are skipped.
const (
	readAhead = 256 << 10
	skipAhead = 8 << 10
	maxHeader = 16 << 20 // a page header may contain a long minimum and maximum
)

// Broken returns err as an error of the page whose header was read.
func (c *Column) Broken(err error) error {
	if errors.As(err, new(*storeError)) {
		return fmt.Errorf("%s: %w", c.file.name, err)
	}
	return c.file.broken("column %q, page at byte %d: %w", c.Leaf.Path(), c.Offset, err)
}

// LargePage is the size in bytes above which a page is large: the sum of its stored and unpacked sizes.
const LargePage = 8 << 20

// Large reports whether the page is larger than LargePage.
func (h *PageHeader) Large() bool { return h.Stored+h.Uncompressed > LargePage }

// Size returns the stored size of the page with its header.
func (h *PageHeader) Size() int64 { return int64(len(h.Bytes)) + h.Stored }

// Words reports whether the values of the page are dictionary numbers.
func (h *PageHeader) Words() bool {
	return h.Encoding == format.RLEDictionary || h.Encoding == format.PlainDictionary //nolint:staticcheck // old writers
}

// Need returns the bytes held, stored and unpacked, to read pages like the one whose header was read and the dictionary
// before them with its word ends. It returns 0 if they are few.
func (c *Column) Need() int64 {
	stored, unpacked := c.Header.Stored, c.Header.Uncompressed
	if c.streams() {
		stored, unpacked = 0, min(unpacked, int64(c.MaxValue)+c.levelBytes()) // one value, and the levels
	}
	if h := &c.WordsHeader; c.WordsAt > 0 {
		stored = max(stored, h.Stored) // one page at a time
		unpacked += h.Uncompressed
		if c.Leaf.Width == 0 {
			unpacked += 4 * min(h.Values, h.Uncompressed/4)
		}
	}
	if n := stored + unpacked; n > leastNeed {
		return n
	}
	return 0
}

// leastNeed is the number of bytes up to which a reader's pages do not count.
const leastNeed = 1 << 20

// storeError is an error of reading the file, not of its content.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// find reads the header of the next data page, noting a dictionary on the way. It returns false at the end.
func (c *Column) find(ahead int64) (bool, error) {
	if c.size > 0 {
		ahead = min(c.size, ahead)
	}
	c.ahead, c.size = ahead, 0
	for c.remaining > 0 {
		if err := c.file.ctx.Err(); err != nil {
			return false, err
		}
		if err := c.readHeader(ahead); err != nil {
			return false, c.Broken(err)
		}
		h := &c.Header
		switch h.Kind {
		case format.DataPage, format.DataPageV2:
			if h.Values > c.remaining {
				return false, c.Broken(fmt.Errorf("it has %d values, but only %d are left in the row group"+fetch,
					h.Values, c.remaining))
			}
			if h.Values > 0 {
				return true, nil
			}
		case format.DictionaryPage:
			if c.WordsAt > 0 {
				return false, c.Broken(errors.New("it is a second dictionary" + fetch))
			}
			c.WordsHeader, c.WordsAt = *h, c.Offset
		}
		c.Offset += h.Size()
	}
	return false, nil
}

func (c *Column) readHeader(ahead int64) error {
	n := min(skipAhead, ahead, c.window.end-c.Offset)
	for {
		data, err := c.window.at(c.Offset, n, ahead)
		if err != nil {
			return err
		}
		c.Header, err = readPageHeader(data)
		switch {
		case errors.Is(err, errShort) && n < c.window.end-c.Offset && n < maxHeader:
			n = min(8*n, c.window.end-c.Offset)
			continue
		case err != nil:
			return err
		case c.Header.Stored > c.window.end-c.Offset-int64(len(c.Header.Bytes)):
			return fmt.Errorf("%d bytes are missing"+fetch, c.Header.Stored)
		}
		c.Header.Bytes = append([]byte(nil), c.Header.Bytes...)
		return nil
	}
}

// ErrPage is the error of a page that unpacks to more than File.MaxPage bytes.
var ErrPage = errors.New("it is too large")

// fits refuses a page by the sizes in its header.
func (f *File) fits(h *PageHeader) error {
	switch {
	case h.Uncompressed > f.MaxPage:
		return fmt.Errorf("%w: %d bytes when unpacked, more than %d", ErrPage, h.Uncompressed, f.MaxPage)
	case h.Stored > f.MaxPage:
		return fmt.Errorf("%d bytes cannot unpack to %d"+fetch, h.Stored, h.Uncompressed)
	default:
		return nil
	}
}

// read returns the stored bytes of the page with header h at offset.
func (c *Column) read(h *PageHeader, offset int64) ([]byte, error) {
	if err := c.file.fits(h); err != nil {
		return nil, err
	}
	data, err := c.window.at(offset+int64(len(h.Bytes)), h.Stored, c.ahead)
	if err != nil {
		return nil, err
	}
	if h.HasCRC && crc32.ChecksumIEEE(data) != uint32(h.crc) {
		return nil, errChecksum
	}
	return data, nil
}

var errChecksum = errors.New("its checksum does not match its bytes; fetch the file again, or leave it out")

// Dictionary returns the dictionary that was found on the way to the first data page, or nil if there is none.
func (c *Column) Dictionary() (words *Dictionary, err error) {
	if c.words != nil || c.WordsAt == 0 {
		return c.words, nil
	}
	if err = c.loadDictionary(); err == nil {
		c.words, err = newDictionary(c.wordPage, c.Leaf, c.WordsHeader.Values)
	}
	if err != nil {
		return nil, c.Broken(err)
	}
	return c.words, nil
}

func (c *Column) loadDictionary() (err error) {
	if kept := c.kept(c.WordsAt); kept != nil {
		c.wordPage, err = readKept(kept, c.wordPage)
		return err
	}
	data, err := c.read(&c.WordsHeader, c.WordsAt)
	if err != nil {
		return err
	}
	if data, err = unpack(c.Chunk.Codec, c.wordPage, data, int(c.WordsHeader.Uncompressed)); err != nil {
		return err
	}
	if c.wordPage = data; c.Chunk.Codec == format.Uncompressed {
		c.wordPage = slices.Clone(data) // the window moves on
	}
	c.keep(c.WordsAt, data)
	return nil
}

// kept returns the page at an offset, or nil if it was not kept.
func (c *Column) kept(offset int64) *io.SectionReader {
	if c.Kept == nil {
		return nil
	}
	return c.Kept(offset)
}

// readKept reads a kept page into dst, if it has the capacity.
func readKept(kept *io.SectionReader, dst []byte) ([]byte, error) {
	dst = grown(dst, int(kept.Size()))
	if err := readFull(kept, dst, 0); err != nil {
		return nil, &storeError{err}
	}
	return dst, nil
}

// keep passes the page at an offset, in parts, to Keep.
func (c *Column) keep(offset int64, parts ...[]byte) {
	if c.Keep == nil {
		return
	}
	size := int64(0)
	for _, part := range parts {
		size += int64(len(part))
	}
	w := c.Keep(offset, size)
	for _, part := range parts {
		_, _ = w.Write(part)
	}
}

// load unpacks the data page whose header was read.
func (c *Column) load() error {
	h := &c.Header
	c.rep, c.def, c.values = runs{}, runs{}, nil // they refer to the page before
	if h.Words() {
		if _, err := c.Dictionary(); err != nil {
			return err
		}
	}
	streams := c.streams()
	rep, def, data, err := []byte(nil), []byte(nil), []byte(nil), c.checkLevels()
	switch {
	case err != nil:
	case streams:
		rep, def, err = c.readStream()
	default:
		rep, def, data, err = c.body()
	}
	if err == nil && !streams {
		c.values, err = newValues(h, c.Leaf, data, c.words, c.file.MaxPage)
	}
	if err != nil {
		return c.Broken(err)
	}
	c.rep = runs{data: rep, width: bits.Len(uint(c.Leaf.MaxRep))}
	c.def = runs{data: def, width: bits.Len(uint(c.Leaf.MaxDef))}
	c.entries = h.Values
	c.remaining -= h.Values
	return nil
}

// checkLevels refuses version 1 levels in an unsupported encoding.
func (c *Column) checkLevels() error {
	if h := &c.Header; h.Kind == format.DataPage &&
		(c.Leaf.MaxRep > 0 && h.repEncoding != format.RLE || c.Leaf.MaxDef > 0 && h.defEncoding != format.RLE) {
		return errBitPacked
	}
	return nil
}

var errBitPacked = errors.New("its levels are bit-packed, which no writer has done since 2013; write the file again")

// body unpacks the page whose header was read into levels and values.
func (c *Column) body() (rep, def, data []byte, err error) {
	h := &c.Header
	if kept := c.kept(c.Offset); kept != nil {
		if c.unpacked, err = readKept(kept, c.unpacked); err != nil {
			return nil, nil, nil, err
		}
		return c.levels(c.unpacked)
	}
	if data, err = c.read(h, c.Offset); err != nil {
		return nil, nil, nil, err
	}
	if h.Kind != format.DataPageV2 {
		if data, err = c.unpack(data, h.Uncompressed); err != nil {
			return nil, nil, nil, err
		}
		c.keep(c.Offset, data)
		return c.levels(data)
	}
	rep, def, data, _ = c.levels(data)
	if h.Large() { // otherwise they would keep the window alive
		rep, def = slices.Clone(rep), slices.Clone(def)
	}
	size := h.Uncompressed - h.repBytes - h.defBytes
	switch {
	case h.Plain && int64(len(data)) != size:
		err = errDamaged
	case !h.Plain && (len(data) > 0 || size > 0):
		data, err = c.unpack(data, size)
	}
	if err == nil {
		c.keep(c.Offset, rep, def, data)
	}
	return rep, def, data, err
}

func (c *Column) unpack(data []byte, size int64) ([]byte, error) {
	if int64(cap(c.unpacked)) < size {
		c.unpacked = nil // free it before allocating the larger one
	}
	plainly, err := unpack(c.Chunk.Codec, c.unpacked, data, int(size))
	if err == nil && c.Chunk.Codec != format.Uncompressed {
		c.unpacked = plainly
		if cap(c.window.data) > LargePage {
			c.window.data = nil // not needed while rows of this page are read
		}
	}
	return plainly, err
}

// levels splits a page into its levels and the rest.
func (c *Column) levels(data []byte) (rep, def, rest []byte, err error) {
	if h := &c.Header; h.Kind == format.DataPageV2 {
		end := h.repBytes + h.defBytes
		return data[:h.repBytes], data[h.repBytes:end], data[end:], nil
	}
	if c.Leaf.MaxRep > 0 {
		rep, data, err = cutLevels(data)
	}
	if err == nil && c.Leaf.MaxDef > 0 {
		def, data, err = cutLevels(data)
	}
	return rep, def, data, err
}

// level returns the levels of the next entry of the page. It checks ctx, since a row may have very many entries.
func (c *Column) level() (rep, def int, err error) {
	if c.entries--; c.entries%(1<<16) == 0 {
		if err := c.file.ctx.Err(); err != nil {
			return 0, 0, &storeError{err}
		}
	}
	if c.Leaf.MaxRep > 0 {
		n, err := c.rep.next()
		if err != nil || int64(n) > int64(c.Leaf.MaxRep) {
			return 0, 0, errValues
		}
		rep = int(n)
	}
	if c.Leaf.MaxDef > 0 {
		n, err := c.def.next()
		if err != nil || int64(n) > int64(c.Leaf.MaxDef) {
			return 0, 0, errValues
		}
		def = int(n)
	}
	return rep, def, nil
}

// Rows returns the number of rows of the page whose header was read, if the header tells it.
func (c *Column) Rows() (rows int64, ok bool) {
	switch {
	case c.Leaf.MaxRep == 0:
		return c.Header.Values, true
	case c.Header.Kind == format.DataPageV2:
		return c.Header.rows, true
	default:
		return 0, false
	}
}
