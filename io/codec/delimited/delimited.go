// Package delimited reads tables in text files: tab-separated values.
//
// The first line holds the column names, every other line that is not empty a row. There is
// no quoting and no escape in TSV: a value is what stands between two tabs, untrimmed, and
// can hold neither tab nor newline.
package delimited

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/io/codec"
)

// NewTSV returns the codec of tab-separated files.
//
// A column is found by its exact name, else by its name without the spaces around it, else,
// written #2, by its number counted from 1. A text column that is not there, or whose name
// stands there twice, is an error of WithHeader; so is the id column, except that a file
// need not have a column "id", the default: then its documents have no id; and the value column.
// TSV knows neither null nor types, so an empty id is none, and a value a number if it reads as one.
func NewTSV(fields codec.Fields) codec.Codec { return tsv{fields: fields, id: none, value: none} }

// none is the index of the id or value column where there is none.
const none = -1

type tsv struct {
	codec.Lines
	fields codec.Fields

	// The rest is known once the header is.
	columns int
	text    []int // indexes of fields.Text
	id      int
	value   int
}

// Header is the first line, a byte order mark included.
func (tsv) Header(data []byte, atEOF bool) (int, bool) {
	n, _, ok := codec.Lines{}.End(data, 0, atEOF)
	return n, ok
}

func (c tsv) WithHeader(header []byte) (codec.Codec, error) {
	if len(header) == 0 {
		return c, nil
	}
	bom, _ := codec.BOM(header, true)
	names := strings.Split(string(codec.TrimNewline(header[bom:])), "\t")
	c.columns = len(names)
	c.text = make([]int, len(c.fields.Text))
	for i, name := range c.fields.Text {
		var err error
		if c.text[i], err = find(names, name); err != nil {
			return nil, fmt.Errorf("text column: %w", err)
		}
	}
	var err error
	if c.fields.ID != "" && (c.fields.ID != "id" || has(names, "id")) {
		if c.id, err = find(names, c.fields.ID); err != nil {
			return nil, fmt.Errorf("id column: %w", err)
		}
	}
	if c.fields.Value != "" {
		if c.value, err = find(names, c.fields.Value); err != nil {
			return nil, fmt.Errorf("column to keep by: %w", err)
		}
	}
	return c, nil
}

// find returns the index of the column called name.
func find(names []string, name string) (int, error) {
	exactly := func(column string) bool { return column == name }
	trimmed := func(column string) bool { return strings.TrimSpace(column) == name }
	for _, matches := range []func(string) bool{exactly, trimmed} {
		i := slices.IndexFunc(names, matches)
		if i < 0 {
			continue
		}
		if j := slices.IndexFunc(names[i+1:], matches); j >= 0 {
			return 0, fmt.Errorf("two columns are called %q; name one by number: #%d or #%d", name, i+1, i+j+2)
		}
		return i, nil
	}
	if number, ok := strings.CutPrefix(name, "#"); ok {
		if i, err := strconv.Atoi(number); err == nil && 1 <= i && i <= len(names) {
			return i - 1, nil
		}
	}
	return 0, fmt.Errorf("no column %q; there are %q", name, names)
}

// has tells whether find would see a column called name, be it one or two.
func has(names []string, name string) bool {
	return slices.ContainsFunc(names, func(column string) bool { return strings.TrimSpace(column) == name })
}

// Start skips empty lines. A line of blanks is a row.
func (tsv) Start(data []byte, atEOF bool) (n int, ok bool) {
	for n < len(data) {
		switch {
		case data[n] == '\n':
			n++
		case data[n] != '\r':
			return n, true
		case n+1 < len(data):
			if data[n+1] != '\n' {
				return n, true
			}
			n += 2
		default:
			// A CR at the end of the window: the next byte tells; at the end of the file
			// there is none and it is a row.
			return n, atEOF
		}
	}
	return n, false
}

func (c tsv) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	row := codec.TrimNewline(record)
	if columns := bytes.Count(row, []byte("\t")) + 1; columns != c.columns {
		return &codec.Error{
			Reason: codec.WrongColumnCount,
			Detail: fmt.Sprintf("has %d columns, header has %d", columns, c.columns),
		}
	}
	if c.id != none {
		doc.ID = append(doc.ID, column(row, c.id)...)
		doc.HasID = len(doc.ID) > 0
	}
	for i, index := range c.text {
		if i > 0 {
			doc.NextColumn()
		}
		doc.Text = append(doc.Text, column(row, index)...)
	}
	if c.value != none {
		doc.Value = codec.Untyped(append(doc.Value.Text, column(row, c.value)...))
	}
	return nil
}

// column returns the value at index, which row has.
func column(row []byte, index int) []byte {
	for ; index > 0; index-- {
		row = row[bytes.IndexByte(row, '\t')+1:]
	}
	value, _, _ := bytes.Cut(row, []byte("\t"))
	return value
}
