package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/reading"
)

// What one file may claim to have, so that of a footer that lies 80 MB
// at most are held, besides its bytes and the names in it.
const (
	maxFooter  = 64 << 20
	maxColumns = 100_000
	maxGroups  = 1 << 20
)

var (
	magic          = []byte("PAR1")
	encryptedMagic = []byte("PARE")
)

// footer is a file's metadata as far as it is needed to read it.
type footer struct {
	raw    []byte // the FileMetaData
	end    int64  // where the footer begins, and pages end
	rows   int64
	schema schema
	groups []rowGroup
	// deletes: it says that its rows are those deleted of other files.
	deletes bool
}

// rowGroup is a row group. Its columns are looked at when they are needed: there may be very many.
type rowGroup struct {
	raw         []byte
	first, rows int64
}

// chunk is the part of a row group that is one column.
type chunk struct {
	raw, meta                    []byte // ColumnChunk and ColumnMetaData
	kind                         format.Type
	codec                        format.CompressionCodec
	values                       int64
	uncompressed, compressed     int64
	dataOffset, dictionaryOffset int64
	indexOffset, indexLength     int64 // of the offset index; 0: there is none
	boundsOffset, boundsLength   int64 // of the column index
	statistics                   []byte
	nulls                        int64 // by the statistics; none: they do not say
}

// start is where the first page of the chunk begins.
func (c *chunk) start() int64 {
	if 0 < c.dictionaryOffset && c.dictionaryOffset < c.dataOffset {
		return c.dictionaryOffset
	}
	return c.dataOffset
}

// broken says that a file is not what it claims to be.
func broken(file *blocks.File, format string, args ...any) error {
	return &reading.ContentError{Err: fmt.Errorf("%s: %w", file.Path, fmt.Errorf(format, args...))}
}

// readFooter reads the metadata of file.
func readFooter(f io.ReaderAt, file *blocks.File) (*footer, error) {
	head, tail := make([]byte, len(magic)), make([]byte, 8)
	if file.Size < int64(len(head)+len(tail)) {
		return nil, broken(file, "%d bytes, too few for a Parquet file", file.Size)
	}
	if err := readFull(f, head, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	if err := readFull(f, tail, file.Size-8); err != nil {
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	switch {
	case bytes.Equal(tail[4:], encryptedMagic):
		return nil, fmt.Errorf("%s: the file is encrypted; decrypt it first, or leave it out", file.Path)
	case !bytes.Equal(head, magic):
		return nil, fmt.Errorf("%s: it does not begin like a Parquet file; check --format", file.Path)
	case !bytes.Equal(tail[4:], magic):
		return nil, broken(file, "it does not end like a Parquet file; it may be cut short; fetch it again, or leave it out "+
			"with --exclude")
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	if length > file.Size-int64(len(head)+len(tail)) {
		return nil, broken(file, "a footer of %d bytes in a file of %d", length, file.Size)
	}
	if length > maxFooter {
		return nil, fmt.Errorf("%s: the footer has %d bytes, but at most %d can be read; write the columns that you "+
			"need to a file of their own", file.Path, length, maxFooter)
	}
	ft := &footer{raw: make([]byte, length), end: file.Size - 8 - length, rows: -1}
	if err := readFull(f, ft.raw, ft.end); err != nil {
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	return ft, ft.parse(file)
}

func readFull(f io.ReaderAt, data []byte, offset int64) error {
	n, err := f.ReadAt(data, offset)
	if n == len(data) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (ft *footer) parse(file *blocks.File) error {
	r := thriftReader{data: ft.raw}
	var elements []element
	encrypted := false
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
			ft.rows = r.integer(kind)
		case 4:
			r.list(kind, thrift.STRUCT, func() {
				if len(ft.groups) == maxGroups {
					r.fail(errTooMany)
					return
				}
				g := readGroup(&r)
				if g.rows < 0 || g.rows > blocks.MaxPosition-first {
					r.fail(errMetadata)
					return
				}
				g.first = first
				first += g.rows
				ft.groups = append(ft.groups, g)
			})
		case 5:
			r.list(kind, thrift.STRUCT, func() {
				r.fields(func(id int16, kind thrift.Type) {
					if id == 1 && string(r.binary(kind)) == icebergDeletes {
						ft.deletes = true
					}
				})
			})
		case 8:
			encrypted = true
		}
	})
	switch {
	case errors.Is(r.err, errTooWide), errors.Is(r.err, errTooMany):
		return fmt.Errorf("%s: %w", file.Path, r.err)
	case r.err != nil:
		return broken(file, "footer: %w", r.err)
	case encrypted:
		return fmt.Errorf("%s: the file is encrypted; decrypt it first, or leave it out", file.Path)
	case ft.rows != first:
		return broken(file, "the footer says that there are %d rows, and %d in row groups", ft.rows, first)
	}
	var err error
	if ft.schema, err = newSchema(elements); err != nil {
		return broken(file, "schema: %w", err)
	}
	return nil
}

var (
	errTooWide = fmt.Errorf("more than %d columns; write the columns that you need to a file of their own", maxColumns)
	errTooMany = fmt.Errorf("more than %d row groups; write the file again with larger ones", maxGroups)
)

// icebergDeletes is a key in the metadata of Iceberg's delete files.
const icebergDeletes = "delete-type"

// refuseDeletes refuses what is no data but says which rows of other files
// are deleted, by its metadata or by the columns that Iceberg gives it.
func (ft *footer) refuseDeletes(file *blocks.File) error {
	names := ft.schema.names()
	if positions := []string{"file_path", "pos"}; ft.deletes || slices.Equal(names, positions) ||
		slices.Equal(names, append(positions, "row")) {
		return fmt.Errorf("%s: an Iceberg delete file, which lists deleted rows of other files; rewrite the table without "+
			"deletes, and list its files again", file.Path)
	}
	return nil
}

func readGroup(r *thriftReader) (g rowGroup) {
	begin := r.pos
	g.rows = -1
	r.fields(func(id int16, kind thrift.Type) {
		if id == 3 {
			g.rows = r.integer(kind)
		}
	})
	g.raw = r.data[begin:r.pos]
	return g
}

// chunks calls see with the columns of a row group, in the order of the schema.
func (ft *footer) chunks(file *blocks.File, g *rowGroup, see func(column int, c *chunk) error) error {
	r := thriftReader{data: g.raw}
	column := 0
	var refused error
	r.fields(func(id int16, kind thrift.Type) {
		if id != 1 {
			return
		}
		r.list(kind, thrift.STRUCT, func() {
			raw := r.structure(thrift.STRUCT)
			if r.err != nil {
				return
			}
			if column == len(ft.schema.leaves) {
				r.fail(errMetadata)
				return
			}
			c, err := ft.chunk(raw, column, g)
			if err == nil {
				err = see(column, &c)
			}
			if err != nil {
				refused = err
				r.fail(err)
			}
			column++
		})
	})
	switch {
	case errors.Is(refused, errMetadata), errors.Is(refused, errShort):
		return broken(file, "row group at row %d, column %q: %w", g.first, ft.schema.leaves[column-1].name(), refused)
	case refused != nil:
		return refused
	case r.err != nil:
		return broken(file, "row group at row %d: %w", g.first, r.err)
	case column != len(ft.schema.leaves):
		return broken(file, "row group at row %d: it has %d columns, the schema %d", g.first, column, len(ft.schema.leaves))
	}
	return nil
}

// chunk reads a ColumnChunk, which must fit the schema.
func (ft *footer) chunk(raw []byte, column int, g *rowGroup) (c chunk, err error) {
	leaf := &ft.schema.leaves[column]
	c = chunk{raw: raw, kind: -1, codec: -1, values: -1, uncompressed: -1, compressed: -1, dataOffset: -1, nulls: none}
	r := thriftReader{data: raw}
	elsewhere, encrypted := false, false
	r.fields(func(id int16, kind thrift.Type) {
		switch id {
		case 1:
			elsewhere = len(r.binary(kind)) > 0
		case 3:
			c.meta = r.structure(kind)
		case 4:
			c.indexOffset = r.integer(kind)
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
		return c, fmt.Errorf("column %q is encrypted; decrypt the file first, or leave it out", leaf.name())
	case elsewhere:
		return c, fmt.Errorf("column %q is in another file, which is not read", leaf.name())
	}
	r = thriftReader{data: c.meta}
	r.fields(func(id int16, kind thrift.Type) {
		switch id {
		case 1:
			c.kind = enum[format.Type](&r, kind)
		case 4:
			c.codec = enum[format.CompressionCodec](&r, kind)
		case 5:
			c.values = r.integer(kind)
		case 6:
			c.uncompressed = r.integer(kind)
		case 7:
			c.compressed = r.integer(kind)
		case 9:
			c.dataOffset = r.integer(kind)
		case 11:
			c.dictionaryOffset = r.integer(kind)
		case 12:
			c.statistics = r.structure(kind)
			c.nulls = nullsOf(c.statistics)
		}
	})
	if r.err != nil {
		return c, r.err
	}
	if c.kind != leaf.kind || c.values < 0 || leaf.maxRep == 0 && c.values != g.rows || c.uncompressed < 0 ||
		c.compressed < 0 || c.compressed > ft.end || c.dictionaryOffset < 0 ||
		c.start() < int64(len(magic)) && c.values > 0 || c.start() > ft.end-c.compressed {
		return c, errMetadata
	}
	return c, nil
}
