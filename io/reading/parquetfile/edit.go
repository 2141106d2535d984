package parquetfile

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
)

// editor puts other texts into rows.
type editor struct {
	edit    reading.Edit
	columns map[*leaf]int   // the number of each text column
	rows    []int64         // that are edited, ascending
	begins  map[int64][]int // where columns begin in the text of a row; nil: there is one column
}

// editable returns the text columns of a file by their leaves; nil if one is not a column of strings that stand by
// themselves.
func editable(file *blocks.File, ft *footer, o codec.Fields) (map[*leaf]int, error) {
	bound, err := bind(file, ft, o)
	if err != nil {
		return nil, err
	}
	columns := map[*leaf]int{}
	for i, t := range bound.text {
		if t.leaf == none {
			continue
		}
		l := &ft.schema.leaves[t.leaf]
		if _, twice := columns[l]; twice || l.maxRep > 0 || l.kind != format.ByteArray ||
			l.render.kind != codec.StringValue || l.logical == logicalJSON || l.converted == deprecated.Json {
			return nil, nil
		}
		columns[l] = i
	}
	return columns, nil
}

// beginnings returns where columns begin in the texts of rows, if there are several: they are copied one by one.
func (r Reader) beginnings(
	ctx context.Context, file *blocks.File, span blocks.Span, rows []int64, o reading.Options,
) (map[int64][]int, error) {
	if len(o.Fields.Text) < 2 || len(rows) == 0 {
		return nil, nil
	}
	begins := map[int64][]int{}
	err := r.ReadSome(ctx, file, span, rows, o, func(record *reading.Record) error {
		all := []int{0}
		for ends := record.Doc.Ends; len(ends) > 0; {
			end, n := binary.Uvarint(ends)
			all, ends = append(all, int(end)+len(o.Fields.Between())), ends[n:]
		}
		begins[record.Position] = all
		return nil
	})
	return begins, err
}

// columnEditor is an editor for one column.
type columnEditor struct {
	editor
	column int
}

// of returns that for a leaf, and for rows from from to before to.
func (e editor) of(l *leaf, from, to int64) columnEditor {
	column, ok := e.columns[l]
	if !ok {
		return columnEditor{}
	}
	e.rows = among(e.rows, from, to)
	return columnEditor{e, column}
}

// leastPlain is the size of a page of values where the source's has the numbers of words.
const leastPlain = 64 << 10

// page returns the header of a page like h, which goes on with a row: of values, if words of it may be edited.
func (e *columnEditor) page(h pageHeader, row int64) pageHeader {
	if numbersWords(h.encoding) && len(among(e.rows, row, row+h.values)) > 0 {
		h.encoding = format.Plain
		h.uncompressed = max(h.uncompressed, leastPlain)
	}
	return h
}

// replaced returns the value of a row, or what replaces it.
func (e *columnEditor) replaced(row int64, value []byte) []byte {
	if _, ok := slices.BinarySearch(e.rows, row); !ok {
		return value
	}
	begin := 0
	if e.begins != nil {
		columns := e.begins[row]
		if e.column >= len(columns) {
			return value
		}
		begin = columns[e.column]
	}
	return e.edit(row, begin, value)
}

// withPlain returns the list of encodings that is field id of a structure, with PLAIN.
func withPlain(structure []byte, id int16) []byte {
	var all []int64
	r := thriftReader{data: structure}
	r.fields(func(of int16, kind thrift.Type) {
		if of == id {
			r.list(kind, thrift.I32, func() { all = append(all, r.integer(thrift.I32)) })
		} else {
			r.skip(kind, 0)
		}
	})
	if !slices.Contains(all, int64(format.Plain)) {
		all = append(all, int64(format.Plain))
	}
	list := appendListHead(nil, len(all), thrift.I32)
	for _, encoding := range all {
		list = appendVarint(list, encoding)
	}
	return list
}

// Edits reports that CopyEdited can be called.
func (Reader) Edits(reading.Options) bool { return true }
