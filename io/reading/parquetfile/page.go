package parquetfile

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
)

// pageHeader is a PageHeader with what the header of its type has.
type pageHeader struct {
	bytes                []byte // as it stands
	kind                 format.PageType
	uncompressed, stored int64 // bytes of the page
	crc                  int64
	hasCRC               bool

	values   int64 // with nulls
	nulls    int64 // none: it does not say
	encoding format.Encoding
	// of the levels of a page of the first version
	defEncoding, repEncoding format.Encoding
	// of the second version
	rows, defBytes, repBytes int64
	plain                    bool // the values are not compressed
}

func readPageHeader(data []byte) (h pageHeader, err error) {
	h = pageHeader{kind: -1, uncompressed: -1, stored: -1, values: -1, nulls: none, encoding: -1, rows: -1}
	r := thriftReader{data: data}
	r.fields(func(id int16, kind thrift.Type) {
		switch id {
		case 1:
			h.kind = enum[format.PageType](&r, kind)
		case 2:
			h.uncompressed = r.integer(kind)
		case 3:
			h.stored = r.integer(kind)
		case 4:
			h.crc, h.hasCRC = r.integer(kind), true
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
	h.bytes = data[:r.pos]
	data1, data2 := h.kind == format.DataPage, h.kind == format.DataPageV2
	if h.uncompressed < 0 || h.stored < 0 || (data1 || data2 || h.kind == format.DictionaryPage) && h.values < 0 ||
		data2 && (h.rows < 0 || h.defBytes < 0 || h.repBytes < 0 || h.defBytes+h.repBytes > min(h.stored, h.uncompressed)) {
		return h, errMetadata
	}
	return h, nil
}

// read reads the header of a type of page: field 5 is that of version 1, 7 of a dictionary, 8 of version 2.
func (h *pageHeader) read(r *thriftReader, header int16) {
	r.fields(func(id int16, kind thrift.Type) {
		switch {
		case id == 1:
			h.values = r.integer(kind)
		case id == 2 && header != 8:
			h.encoding = enum[format.Encoding](r, kind)
		case header == 5 && id == 3:
			h.defEncoding = enum[format.Encoding](r, kind)
		case header == 5 && id == 4:
			h.repEncoding = enum[format.Encoding](r, kind)
		case header == 5 && id == 5 && kind == thrift.STRUCT:
			h.nulls = nullsOf(r.structure(kind))
		case header == 8 && id == 2:
			h.nulls = r.integer(kind)
		case header == 8 && id == 3:
			h.rows = r.integer(kind)
		case header == 8 && id == 4:
			h.encoding = enum[format.Encoding](r, kind)
		case header == 8 && id == 5:
			h.defBytes = r.integer(kind)
		case header == 8 && id == 6:
			h.repBytes = r.integer(kind)
		case header == 8 && id == 7:
			h.plain = kind == thrift.FALSE
		}
	})
}

// window is what is held of a file around the place that is read.
type window struct {
	f     io.ReaderAt
	end   int64 // of what may be read
	data  []byte
	begin int64
}

// at returns the n bytes at offset, and reads ahead, so far. They are valid until the next call.
func (w *window) at(offset, n, ahead int64) ([]byte, error) {
	if offset < 0 || n > w.end-offset {
		return nil, errShort
	}
	if offset < w.begin || offset+n > w.begin+int64(len(w.data)) {
		size := int(min(max(n, ahead), w.end-offset))
		if cap(w.data) < size {
			w.data = nil // let go of it before the larger one is made
		}
		w.data = grown(w.data, size)
		w.begin = offset
		if err := readFull(w.f, w.data, offset); err != nil {
			w.data = w.data[:0]
			return nil, &storeError{err}
		}
	}
	i := offset - w.begin
	return w.data[i : i+n], nil
}

// How far a window reads ahead: of pages that are read one after another, and of those that are skipped.
const (
	readAhead = 256 << 10
	skipAhead = 8 << 10
	maxHeader = 16 << 20 // a page header may have a long least and largest value
)

// source is a file that is read.
type source struct {
	ctx    context.Context
	f      io.ReaderAt
	file   *blocks.File
	footer *footer
	most   int64 // bytes that a page may unpack to
}

// pages reads the pages of one column of a row group.
type pages struct {
	*source
	leaf  *leaf
	chunk chunk
	group *rowGroup

	window    window
	ahead     int64       // how much the window reads at least
	size      int64       // of the next page with its header, as the page index has it; 0: not known
	offset    int64       // of the next page
	remaining int64       // values, nulls among them, from there
	words     *dictionary // nil until a page needs it
	wordPage  []byte      // the unpacked page that words are in
	wordHead  pageHeader  // of that page
	wordsAt   int64       // its offset; 0: none was met
	unpacked  []byte
	record    int     // bytes of a value that is of use; 0: all values are, and pages are held whole
	kept      *kept   // pages that others unpacked; nil: none
	keep      *keeper // keeps pages for others; nil: nothing does

	// The page that is read.
	header   pageHeader
	entries  int64 // left in it
	rep, def runs
	values   values
	stream   *stream // if values are; else nil
}

func (s *source) pages(l *leaf, g *rowGroup, c *chunk) *pages {
	return &pages{
		source: s, leaf: l, chunk: *c, group: g,
		window: window{f: s.f, end: s.footer.end}, offset: c.start(), remaining: c.values,
	}
}

// broken says what is wrong with the page at p.offset.
func (p *pages) broken(err error) error {
	if errors.As(err, new(*storeError)) {
		return fmt.Errorf("%s: %w", p.file.Path, err)
	}
	return broken(p.file, "column %q, page at byte %d: %w", p.leaf.name(), p.offset, err)
}

// Pages of more than largePage bytes are large: they are taken of the room of all readers.
const largePage = 8 << 20

// room is what one reader has taken for large pages.
type room struct {
	claim    *memory.Claim
	held     int64
	giveBack func()
}

// take takes n, if no more is held. Who has to wait for more must hold no large page.
func (r *room) take(ctx context.Context, n int64) error {
	if n <= r.held {
		return nil
	}
	r.free()
	giveBack, err := r.claim.Take(ctx, n)
	if err == nil {
		r.held, r.giveBack = n, giveBack
	}
	return err
}

// free gives back what is held. The caller has let go of its large pages.
func (r *room) free() {
	if r.held > 0 {
		r.giveBack()
	}
	*r = room{claim: r.claim}
}

// large reports whether the page whose header was read is.
func (p *pages) large() bool { return p.header.stored+p.header.uncompressed > largePage }

// need is what is held of pages like the one whose header was read, as stored and unpacked, and of the dictionary
// before them, with where its words end; 0 if that is as little as of pages that are not large.
func (p *pages) need() int64 {
	stored, unpacked := p.header.stored, p.header.uncompressed
	if p.streams() {
		stored, unpacked = 0, p.needOfStream()
	}
	if h := &p.wordHead; p.wordsAt > 0 {
		stored = max(stored, h.stored) // one at a time
		unpacked += h.uncompressed
		if p.leaf.width == 0 {
			unpacked += 4 * min(h.values, h.uncompressed/4)
		}
	}
	if n := stored + unpacked; n > largePage {
		return n
	}
	return 0
}

// storeError is an error of reading the file, not of what is in it.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// find reads the header of the next data page, past the dictionary. It returns false at the end.
func (p *pages) find(ahead int64) (bool, error) {
	if p.size > 0 {
		ahead = min(p.size, ahead)
	}
	p.ahead, p.size = ahead, 0
	for p.remaining > 0 {
		if err := p.ctx.Err(); err != nil {
			return false, err
		}
		if err := p.readHeader(ahead); err != nil {
			return false, p.broken(err)
		}
		h := &p.header
		switch h.kind {
		case format.DataPage, format.DataPageV2:
			if h.values > p.remaining {
				return false, p.broken(fmt.Errorf("it has %d values, but only %d are left in the row group", h.values, p.remaining))
			}
			if h.values > 0 {
				return true, nil
			}
		case format.DictionaryPage:
			if p.wordsAt > 0 {
				return false, p.broken(errors.New("a second dictionary"))
			}
			p.wordHead, p.wordsAt = *h, p.offset
		}
		p.offset += int64(len(h.bytes)) + h.stored
	}
	return false, nil
}

func (p *pages) readHeader(ahead int64) error {
	n := min(skipAhead, ahead, p.window.end-p.offset)
	for {
		data, err := p.window.at(p.offset, n, ahead)
		if err != nil {
			return err
		}
		p.header, err = readPageHeader(data)
		switch {
		case errors.Is(err, errShort) && n < p.window.end-p.offset && n < maxHeader:
			n = min(8*n, p.window.end-p.offset)
			continue
		case err != nil:
			return err
		case p.header.stored > p.window.end-p.offset-int64(len(p.header.bytes)):
			return fmt.Errorf("%d bytes are missing", p.header.stored)
		}
		p.header.bytes = append([]byte(nil), p.header.bytes...)
		return nil
	}
}

// read returns the bytes of the page with the header h at offset, as stored.
func (p *pages) read(h *pageHeader, offset int64) ([]byte, error) {
	if h.uncompressed > p.most {
		return nil, fmt.Errorf("it has %d bytes when unpacked, but --max-window is %d; raise that if there is enough "+
			"memory, or write the file again with smaller pages", h.uncompressed, p.most)
	}
	if h.stored > p.most {
		return nil, fmt.Errorf("%d bytes unpack to %d", h.stored, h.uncompressed)
	}
	data, err := p.window.at(offset+int64(len(h.bytes)), h.stored, p.ahead)
	if err != nil {
		return nil, err
	}
	if h.hasCRC && crc32.ChecksumIEEE(data) != uint32(h.crc) {
		return nil, errChecksum
	}
	return data, nil
}

var errChecksum = errors.New("its checksum does not match its bytes")

// readDictionary reads the dictionary that was met, if it was not read yet.
func (p *pages) readDictionary() error {
	if p.words != nil || p.wordsAt == 0 {
		return nil
	}
	if err := p.loadDictionary(); err != nil {
		return err
	}
	var err error
	p.words, err = newDictionary(p.wordPage, p.leaf, p.wordHead.values)
	return err
}

func (p *pages) loadDictionary() (err error) {
	if kept := p.kept.page(p.wordsAt); kept != nil {
		p.wordPage, err = p.kept.read(kept, p.wordPage)
		return err
	}
	data, err := p.read(&p.wordHead, p.wordsAt)
	if err != nil {
		return err
	}
	if data, err = unpack(p.chunk.codec, p.wordPage, data, int(p.wordHead.uncompressed)); err != nil {
		return err
	}
	if p.wordPage = data; p.chunk.codec == format.Uncompressed {
		p.wordPage = slices.Clone(data) // the window goes on
	}
	p.keep.page(p.wordsAt, data)
	return nil
}

// load unpacks the data page whose header was read.
func (p *pages) load() error {
	h := &p.header
	p.rep, p.def, p.values = runs{}, runs{}, nil // they hold the page before
	if numbersWords(h.encoding) {
		if err := p.readDictionary(); err != nil {
			return p.broken(err)
		}
	}
	streams := p.streams()
	rep, def, data, err := []byte(nil), []byte(nil), []byte(nil), p.checkLevels()
	switch {
	case err != nil:
	case streams:
		rep, def, err = p.readStream()
	default:
		rep, def, data, err = p.body()
	}
	if err == nil {
		p.rep, err = newRuns(rep, levelWidth(p.leaf.maxRep))
	}
	if err == nil {
		p.def, err = newRuns(def, levelWidth(p.leaf.maxDef))
	}
	if err == nil && !streams {
		p.values, err = newValues(h.encoding, p.leaf, data, p.words, p.most)
	}
	if err != nil {
		return p.broken(err)
	}
	p.entries = h.values
	p.remaining -= h.values
	return nil
}

// checkLevels refuses levels of the first version in an encoding that is not read.
func (p *pages) checkLevels() error {
	if h := &p.header; h.kind == format.DataPage &&
		(p.leaf.maxRep > 0 && h.repEncoding != format.RLE || p.leaf.maxDef > 0 && h.defEncoding != format.RLE) {
		return errBitPacked
	}
	return nil
}

var errBitPacked = errors.New("its levels are bit-packed, as writers have not done since 2013; write the file again")

// body returns what the page whose header was read unpacks to: levels and values.
func (p *pages) body() (rep, def, data []byte, err error) {
	h := &p.header
	levels := h.repBytes + h.defBytes
	kept := p.kept.page(p.offset)
	if kept != nil {
		data, err = p.kept.read(kept, p.unpacked)
		p.unpacked = data
	} else {
		data, err = p.read(h, p.offset)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if h.kind != format.DataPageV2 {
		if kept == nil {
			if data, err = p.unpack(data, h.uncompressed); err != nil {
				return nil, nil, nil, err
			}
			p.keep.page(p.offset, data)
		}
		return p.levels(data)
	}
	rep, def, data = data[:h.repBytes], data[h.repBytes:levels], data[levels:]
	if kept != nil {
		return rep, def, data, nil
	}
	if p.large() { // they would hold the window
		rep, def = slices.Clone(rep), slices.Clone(def)
	}
	size := h.uncompressed - levels
	switch {
	case h.plain && int64(len(data)) != size:
		err = errSize
	case !h.plain && (len(data) > 0 || size > 0):
		data, err = p.unpack(data, size)
	}
	if err == nil {
		p.keep.page(p.offset, rep, def, data)
	}
	return rep, def, data, err
}

func (p *pages) unpack(data []byte, size int64) ([]byte, error) {
	if int64(cap(p.unpacked)) < size {
		p.unpacked = nil // let go of it before the larger one is made
	}
	plainly, err := unpack(p.chunk.codec, p.unpacked, data, int(size))
	if err == nil && p.chunk.codec != format.Uncompressed {
		p.unpacked = plainly
		if cap(p.window.data) > largePage {
			p.window.data = nil // while rows of the page are read, it is of no use
		}
	}
	return plainly, err
}

// levels cuts the levels off a page of the first version.
func (p *pages) levels(data []byte) (rep, def, rest []byte, err error) {
	if p.leaf.maxRep > 0 {
		if rep, data, err = cutLevels(data); err != nil {
			return nil, nil, nil, err
		}
	}
	if p.leaf.maxDef > 0 {
		if def, data, err = cutLevels(data); err != nil {
			return nil, nil, nil, err
		}
	}
	return rep, def, data, nil
}

// pass goes on behind the page whose header was read.
func (p *pages) pass() {
	p.offset += int64(len(p.header.bytes)) + p.header.stored
}

// level returns the levels of the next entry of the page. A row may have very many.
func (p *pages) level() (rep, def int, err error) {
	if p.entries--; p.entries%(1<<16) == 0 {
		if err := p.ctx.Err(); err != nil {
			return 0, 0, &storeError{err}
		}
	}
	if p.leaf.maxRep > 0 {
		n, err := p.rep.next()
		if err != nil || int64(n) > int64(p.leaf.maxRep) {
			return 0, 0, errValues
		}
		rep = int(n)
	}
	if p.leaf.maxDef > 0 {
		n, err := p.def.next()
		if err != nil || int64(n) > int64(p.leaf.maxDef) {
			return 0, 0, errValues
		}
		def = int(n)
	}
	return rep, def, nil
}

// rowsOf returns how many rows the page whose header was read has, if that can be told from it.
func (p *pages) rowsOf() (rows int64, ok bool) {
	switch {
	case p.leaf.maxRep == 0:
		return p.header.values, true
	case p.header.kind == format.DataPageV2:
		return p.header.rows, true
	default:
		return 0, false
	}
}
