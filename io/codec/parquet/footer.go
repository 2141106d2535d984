// Package parquet reads the metadata, pages, levels, and values of Apache Parquet files, as their specification defines
// them (https://github.com/apache/parquet-format: README.md, Encodings.md, Compression.md, PageIndex.md, and
// parquet.thrift).
//
// No page takes more memory than its limit, whatever its header says. A page that does not match its header or its
// checksum is an error. Metadata is passed on unchanged, even the fields that this package does not know.
package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Limits on what one file may claim to have. A footer that lies takes at most 80 MB, besides its bytes and the names in
// it.
const (
	maxFooter  = 64 << 20
	maxColumns = 100_000
	maxGroups  = 1 << 20
	maxRows    = 1 << 40
)

// Magic is the string that a file begins and ends with.
const Magic = "PAR1"

const encryptedMagic = "PARE"

// File is an open file, with the part of its metadata that reading its columns needs.
type File struct {
	Footer []byte // the FileMetaData
	Rows   int64
	Root   *Node
	Leaves []Leaf // the columns
	Groups []Group
	// MaxPage is the maximum unpacked size of a page. It may be set before columns are read.
	MaxPage int64

	ctx  context.Context
	r    io.ReaderAt
	name string
	size int64
	end  int64 // where the footer begins and the pages end
}

// maxPage is the default of MaxPage.
const maxPage = 1 << 30

// Group is a row group. Its columns are parsed only when needed, since there may be very many.
type Group struct {
	Raw         []byte // the RowGroup
	First, Rows int64  // the number of its first row in the file, and its number of rows
}

// Chunk is one column of a row group.
type Chunk struct {
	Raw, Meta                []byte // ColumnChunk and ColumnMetaData
	Codec                    format.CompressionCodec
	Values                   int64 // including nulls
	Uncompressed, Compressed int64 // bytes of all pages
	Statistics               []byte
	Nulls                    int64 // from the statistics; -1: not stated
	Indexed                  bool  // it has an offset index

	kind                         format.Type
	dataOffset, dictionaryOffset int64
	indexOffset, indexLength     int64 // of the offset index
	boundsOffset, boundsLength   int64 // of the column index
}

// Start returns where the first page of the chunk begins.
func (c *Chunk) Start() int64 {
	if 0 < c.dictionaryOffset && c.dictionaryOffset < c.dataOffset {
		return c.dictionaryOffset
	}
	return c.dataOffset
}

// ContentError is the error of a file that is broken or cut short, or of a page that is too large (ErrPage).
type ContentError struct{ error }

// Unwrap returns the cause.
func (e *ContentError) Unwrap() error { return e.error }

func (f *File) broken(format string, args ...any) error {
	return &ContentError{fmt.Errorf("%s: %w", f.name, fmt.Errorf(format, args...))}
}

// ErrForeign is the error of a file that does not begin like a Parquet file.
var ErrForeign = errors.New("it is not a Parquet file")

// Open reads the metadata of a file of size bytes. Its errors begin with name. The file and its columns can be read
// until ctx ends. An error is ErrForeign, a *ContentError, an error of r or of ctx, or says what is not supported.
func Open(ctx context.Context, r io.ReaderAt, name string, size int64) (*File, error) {
	f := &File{Rows: -1, MaxPage: maxPage, ctx: ctx, r: r, name: name, size: size}
	head, tail := make([]byte, len(Magic)), make([]byte, 8)
	if size < int64(len(head)+len(tail)) {
		return nil, f.broken("the file has only %d bytes, too few for Parquet; fetch the file again, or leave it out", size)
	}
	if err := errors.Join(readFull(r, head, 0), readFull(r, tail, size-8)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case string(tail[4:]) == encryptedMagic:
		return nil, fmt.Errorf("%s: %w", name, errEncrypted)
	case string(head) != Magic:
		return nil, fmt.Errorf("%s: %w", name, ErrForeign)
	case string(tail[4:]) != Magic:
		return nil, f.broken("it does not end like a Parquet file, so it may be truncated; fetch the file again, or " +
			"leave it out")
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	if length > size-int64(len(head)+len(tail)) {
		return nil, f.broken("the footer has %d bytes, but the file only %d; fetch the file again, or leave it "+
			"out", length, size)
	}
	if length > maxFooter {
		return nil, fmt.Errorf("%s: the footer has %d bytes, but at most %d can be read; copy the necessary columns "+
			"to a separate file", name, length, maxFooter)
	}
	f.Footer, f.end = make([]byte, length), size-8-length
	if err := readFull(r, f.Footer, f.end); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, f.parse()
}

func readFull(r io.ReaderAt, data []byte, offset int64) error {
	n, err := r.ReadAt(data, offset)
	if n == len(data) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (f *File) parse() error {
	r := thriftReader{data: f.Footer}
	var elements []Node
	first := int64(0)
	r.fields(func(id int16, kind thrift.Type) {
		switch id {
		case 2:
			r.list(kind, thrift.STRUCT, func() {
				if len(elements) > maxColumns {
					r.fail(errTooWide)
					return
				}
				elements = append(elements, readElement(&r))
			})
		case 3:
			f.Rows = r.integer(kind)
		case 4:
			r.list(kind, thrift.STRUCT, func() {
				if len(f.Groups) == maxGroups {
					r.fail(errTooMany)
					return
				}
				begin, g := r.pos, Group{First: first, Rows: -1}
				r.fields(func(id int16, kind thrift.Type) {
					if id == 3 {
						g.Rows = r.integer(kind)
					}
				})
				if g.Rows < 0 || g.Rows > maxRows-first {
					r.fail(errMetadata)
					return
				}
				g.Raw = r.data[begin:r.pos]
				first += g.Rows
				f.Groups = append(f.Groups, g)
			})
		case 8:
			r.fail(errEncrypted)
		}
	})
	switch {
	case errors.Is(r.err, errTooWide), errors.Is(r.err, errTooMany), errors.Is(r.err, errEncrypted):
		return fmt.Errorf("%s: %w", f.name, r.err)
	case r.err != nil:
		return f.broken("footer: %w", r.err)
	case f.Rows != first:
		return f.broken("the footer states %d rows, but the row groups contain %d; fetch the file again, or "+
			"leave it out", f.Rows,
			first)
	}
	if err := f.plant(elements); err != nil {
		return f.broken("schema: %w", err)
	}
	return nil
}

var (
	errEncrypted = errors.New("the file is encrypted; decrypt it first, or leave it out")
	errTooWide   = fmt.Errorf("more than %d columns; copy the necessary columns to a separate file", maxColumns)
	errTooMany   = fmt.Errorf("more than %d row groups; write the file again with larger ones", maxGroups)
)

// HasKey reports whether the key-value metadata of the file has a key.
func (f *File) HasKey(key string) (found bool) {
	r := thriftReader{data: f.Footer}
	r.structs(5, func() {
		r.fields(func(id int16, kind thrift.Type) {
			if id == 1 {
				found = string(r.binary(kind)) == key || found
			}
		})
	})
	return found
}

// Chunks calls see with each column of a row group, in the order of Leaves, until see fails.
func (f *File) Chunks(g *Group, see func(column int, c *Chunk) error) error {
	r := thriftReader{data: g.Raw}
	column := 0
	var refused error
	r.structs(1, func() {
		raw := r.structure(thrift.STRUCT)
		if r.err != nil {
			return
		}
		if column == len(f.Leaves) {
			r.fail(errMetadata)
			return
		}
		c, err := f.chunk(raw, column, g)
		if err == nil {
			err = see(column, &c)
		}
		if err != nil {
			refused = err
			r.fail(err)
		}
		column++
	})
	switch {
	case errors.Is(refused, errMetadata), errors.Is(refused, errShort):
		return f.broken("row group at row %d, column %q: %w", g.First, f.Leaves[column-1].Path(), refused)
	case refused != nil:
		return refused
	case r.err != nil:
		return f.broken("row group at row %d: %w", g.First, r.err)
	case column != len(f.Leaves):
		return f.broken("row group at row %d: it has %d columns, the schema %d", g.First, column, len(f.Leaves))
	}
	return nil
}

// chunk parses a ColumnChunk, which must fit the schema.
func (f *File) chunk(raw []byte, column int, g *Group) (c Chunk, err error) {
	leaf := &f.Leaves[column]
	c = Chunk{Raw: raw, kind: -1, Codec: -1, Values: -1, Uncompressed: -1, Compressed: -1, dataOffset: -1, Nulls: none}
	r := thriftReader{data: raw}
	elsewhere, encrypted := false, false
	r.fields(func(id int16, kind thrift.Type) {
		switch id {
		case 1:
			elsewhere = len(r.binary(kind)) > 0
		case 3:
			c.Meta = r.structure(kind)
		case 4:
			c.indexOffset = r.integer(kind)
			c.Indexed = c.indexOffset > 0
		case 5:
			c.indexLength = r.integer(kind)
		case 6:
			c.boundsOffset = r.integer(kind)
		case 7:
			c.boundsLength = r.integer(kind)
		case 8:
			encrypted = true
		}
	})
	switch {
	case r.err != nil:
		return c, r.err
	case encrypted:
		return c, fmt.Errorf("%s: column %q is encrypted; decrypt the file first, or leave it out", f.name, leaf.Path())
	case elsewhere:
		return c, fmt.Errorf("%s: column %q is in another file, which neardup does not support; write the "+
			"table as one file", f.name, leaf.Path())
	}
	r = thriftReader{data: c.Meta}
	r.fields(func(id int16, kind thrift.Type) {
		switch id {
		case 1:
			c.kind = enum[format.Type](&r, kind)
		case 4:
			c.Codec = enum[format.CompressionCodec](&r, kind)
		case 5:
			c.Values = r.integer(kind)
		case 6:
			c.Uncompressed = r.integer(kind)
		case 7:
			c.Compressed = r.integer(kind)
		case 9:
			c.dataOffset = r.integer(kind)
		case 11:
			c.dictionaryOffset = r.integer(kind)
		case 12:
			c.Statistics = r.structure(kind)
			c.Nulls = nullsOf(c.Statistics)
		}
	})
	if r.err != nil {
		return c, r.err
	}
	if err := refused(c.Codec); err != nil {
		return c, fmt.Errorf("%s: column %q: %w", f.name, leaf.Path(), err)
	}
	if c.kind != leaf.Kind || c.Values < 0 || leaf.MaxRep == 0 && c.Values != g.Rows || c.Uncompressed < 0 ||
		c.Compressed < 0 || c.Compressed > f.end || c.dictionaryOffset < 0 ||
		c.Start() < int64(len(Magic)) && c.Values > 0 || c.Start() > f.end-c.Compressed {
		return c, errMetadata
	}
	return c, nil
}
