package parquetfile

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
)

// editor replaces the texts of rows.
type editor struct {
	edit    reading.Edit
	columns map[*parquet.Leaf]int // the number of each text column
	rows    []int64               // the rows to edit, ascending
	begins  map[int64][]int       // by row: where each column begins in the joined text; nil: there is one column
}

// editable returns the numbers of the text columns by leaf, or nil if one cannot be edited: it must be a plain string
// column, not a list or JSON, that is named once.
func (in *input) editable(o codec.Fields) (map[*parquet.Leaf]int, error) {
	bound, err := in.bind(o)
	if err != nil {
		return nil, err
	}
	columns := map[*parquet.Leaf]int{}
	for i, t := range bound.text {
		l := t.leaf
		if l == nil {
			continue
		}
		if _, twice := columns[l]; twice || l.MaxRep > 0 || l.Kind != format.ByteArray ||
			t.render.kind != codec.StringValue || l.Logical == logicalJSON || l.Converted == deprecated.Json {
			return nil, nil
		}
		columns[l] = i
	}
	return columns, nil
}

// beginnings returns where columns begin in the texts of rows if there are several text columns, since columns are
// copied one by one.
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
			all, ends = append(all, int(end)+len(o.Fields.Between(len(all)))), ends[n:]
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

// of returns the editor of a leaf for the rows [from, to).
func (e editor) of(l *parquet.Leaf, from, to int64) columnEditor {
	column, ok := e.columns[l]
	if !ok {
		return columnEditor{}
	}
	e.rows = among(e.rows, from, to)
	return columnEditor{e, column}
}

// leastPlain is the minimum size of a page of values that replaces a page of dictionary numbers.
const leastPlain = 64 << 10

// page returns the header to write pages with that replace the page of h from row on. If the values are dictionary
// numbers and some may be edited, the encoding becomes PLAIN.
func (e *columnEditor) page(h parquet.PageHeader, row int64) parquet.PageHeader {
	if h.Words() && len(among(e.rows, row, row+h.Values)) > 0 {
		h.Encoding = format.Plain
		h.Uncompressed = max(h.Uncompressed, leastPlain)
	}
	return h
}

// replaced returns the value of a row after editing.
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

// Edits reports that editing is supported.
func (Reader) Edits(reading.Options) bool { return true }
