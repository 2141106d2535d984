// Package delimited reads tables in text files: tab-separated values, and comma-separated values by RFC 4180.
//
// The first line holds the column names, unless the file has none; every other line that is not empty is a row.
//
// TSV has no quoting and no escapes: a value is the text between two tabs, untrimmed, and can hold neither tab nor
// newline. In CSV, a value that begins with a quote ends with one: between the two, delimiters and line ends are
// literal, and two quotes stand for one. A later quote in a value is literal, too. So no line end certainly begins a
// row, and a CSV file cannot be split.
package delimited

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/io/codec"
)

// NewTSV returns the codec of tab-separated files.
//
// A column is found by its exact name, else by its name without surrounding spaces, else by its number: #2 is the
// second column, and in files without names also 2. WithHeader returns an error if a text, id or value column is
// missing or its name is ambiguous, except that a file need not have a column "id", the default: then its documents
// have no id. A file without names may have rows of any length that includes the columns asked for. Tables have neither
// null nor types, so an empty id is no id, and a value is a number if it reads as one.
func NewTSV(fields codec.Fields) codec.Codec {
	return &table{fields: fields, delimiter: '\t', id: none, value: none}
}

// NewCSV returns the codec of files with fields.Delimiter between values. It finds columns as NewTSV does.
func NewCSV(fields codec.Fields) codec.Codec {
	delimiter := fields.Delimiter
	if delimiter == 0 {
		delimiter = ','
	}
	return &table{fields: fields, delimiter: delimiter, quoted: true, id: none, value: none}
}

// none is the index of an id or value column that does not exist.
const none = -1

type table struct {
	codec.Lines
	fields    codec.Fields
	delimiter byte
	quoted    bool

	// Set by WithHeader.
	columns int   // 0: any number
	least   int   // minimum length of a row with all columns asked for
	text    []int // indexes of fields.Text
	id      int
	value   int
}

// Header returns the byte order mark and, unless the file has no header, the first line, which may lack its LF.
func (c *table) Header(data []byte, atEOF bool) (int, bool) {
	bom, ok := codec.BOM(data, atEOF)
	if !ok || c.fields.NoHeader {
		return bom, ok
	}
	n, _, ok := c.End(data[bom:], 0, atEOF)
	return bom + n, ok || c.endsInCR(data)
}

func (c *table) WithHeader(header []byte) (codec.Codec, error) {
	with := *c
	if c.fields.NoHeader {
		return &with, with.find(nil, numbered)
	}
	if len(header) == 0 {
		return c, nil
	}
	if c.endsInCR(header) {
		return nil, errors.New("lines end with CR alone, as on old Macs; convert the file with: tr '\\r' '\\n' < OLD > NEW")
	}
	names, err := c.names(header)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	with.columns = len(names)
	return &with, with.find(names, func(kind, name string) (int, error) {
		i, err := named(names, name)
		if err != nil || i != none {
			return i, err
		}
		missing := &codec.NoColumnError{Kind: kind, Name: name, Columns: names}
		if format := jsonOf(header); format != "" {
			return none, fmt.Errorf("no %s %q; the file looks like JSON: use --format %s", codec.ColumnOf(kind), name, format)
		}
		if flags := c.delimiterOf(header, name); flags != "" {
			return none, errors.New(missing.Error() + flags) // not a NoColumnError, so that no other column is proposed
		}
		return none, missing
	})
}

// jsonOf returns the format of a file of JSON that begins with header, or "".
func jsonOf(header []byte) string {
	bom, _ := codec.BOM(header, true)
	text := bytes.TrimSpace(header[bom:])
	switch {
	case bytes.HasPrefix(text, []byte(`{"`)):
		return "jsonl"
	case bytes.HasPrefix(text, []byte(`[{`)), string(text) == "[":
		return "json"
	}
	return ""
}

// endsInCR reports whether a CR without LF ends the first line of a file that begins with data.
func (c *table) endsInCR(data []byte) bool {
	bom, _ := codec.BOM(data, true)
	for at, state := bom, atValue; ; {
		i := bytes.IndexByte(data[at:], '\r')
		if i < 0 || at+i+1 == len(data) {
			return false
		}
		_, next, ended := c.End(data[at:at+i+1], state, false)
		at, state = at+i+1, next
		if ended {
			return false
		}
		if state != inQuotes && data[at] != '\n' && data[at] != '\r' {
			return true
		}
	}
}

// names returns the column names in a header.
func (c *table) names(header []byte) (names []string, err error) {
	bom, _ := codec.BOM(header, true)
	row := row{table: c, rest: codec.TrimNewline(header[bom:])}
	for row.next() {
		names = append(names, string(row.appendValue(nil)))
	}
	return names, row.err
}

// Columns returns the columns in the header of a file whose values are separated by fields.Delimiter, or nil if it is
// not a table's header.
func Columns(header []byte, fields codec.Fields, csv bool) (columns []codec.Column) {
	delimiter := byte('\t')
	if csv {
		delimiter = cmp.Or(fields.Delimiter, ',')
	}
	names, err := (&table{delimiter: delimiter, quoted: csv}).names(header)
	if err != nil || fields.NoHeader {
		return nil
	}
	for _, name := range names {
		columns = append(columns, codec.Column{Name: name, Type: "text"})
	}
	return columns
}

// delimiterOf returns advice on flags with which the header has the column name or, if it has only one column as it is,
// several columns; "" if there are none.
func (c *table) delimiterOf(header []byte, name string) string {
	alone := !bytes.ContainsRune(header, rune(c.delimiter))
	for _, delimiter := range []byte(";\t|,") {
		names, err := (&table{delimiter: delimiter, quoted: true}).names(header)
		if delimiter == c.delimiter || err != nil || len(names) == 1 || !alone && !has(names, name) {
			continue
		}
		flags := fmt.Sprintf("--delimiter %q", delimiter)
		switch {
		case delimiter == '\t':
			flags = "--delimiter tab"
		case delimiter == ',' && !c.quoted:
			flags = "--format csv"
		case !c.quoted:
			flags = "--format csv " + flags
		}
		return fmt.Sprintf("; values may be separated by %q: use %s", delimiter, flags)
	}
	return ""
}

// find sets the indexes of the columns. names are the names of all columns, and index returns the index of one.
func (c *table) find(names []string, index func(kind, name string) (int, error)) (err error) {
	c.text = make([]int, len(c.fields.Text))
	for i, name := range c.fields.Text {
		c.text[i], err = index("text", name)
		if i >= len(c.text)-c.fields.Values && errors.As(err, new(*codec.NoColumnError)) {
			c.text[i], err = none, nil
		}
		if err != nil {
			return err
		}
	}
	if c.fields.ID != "" && (c.fields.ID != "id" || has(names, "id")) {
		if c.id, err = index("id", c.fields.ID); err != nil {
			return err
		}
	}
	if c.fields.Value != "" {
		if c.value, err = index("", c.fields.Value); err != nil {
			return fmt.Errorf("--keep: %w", err)
		}
	}
	c.least = 1 + max(c.id, c.value, slices.Max(append([]int{none}, c.text...)))
	return nil
}

// numbered returns the index of a column given by number only.
func numbered(kind, name string) (int, error) {
	i, err := strconv.Atoi(strings.TrimPrefix(name, "#"))
	if err != nil || i < 1 {
		err := fmt.Errorf("no %s %q; without a header, columns are numbered from 1", codec.ColumnOf(kind), name)
		if kind != "" {
			err = fmt.Errorf("%w, as in --%s 1", err, kind)
		}
		return 0, err
	}
	return i - 1, nil
}

// named returns the index of the column called name, or none.
func named(names []string, name string) (int, error) {
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
	return none, nil
}

// has reports whether named would find a column called name, or several.
func has(names []string, name string) bool {
	return slices.ContainsFunc(names, func(column string) bool { return strings.TrimSpace(column) == name })
}

// Start skips empty lines. A line of spaces is a row.
func (*table) Start(data []byte, atEOF bool) (n int, ok bool) {
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
			// A CR at the end of the window: the next byte decides; at the end of the file there is none, and the CR is a row.
			return n, atEOF
		}
	}
	return n, false
}

// Positions in a row of CSV.
const (
	atValue  codec.State = iota // at the beginning of a value
	inValue                     // in a value without quotes, or after the closing one
	inQuotes                    // between quotes
	atQuote                     // after a quote in a quoted value, which closes it unless another follows
)

// End finds the end of the line outside quotes.
func (c *table) End(data []byte, state codec.State, atEOF bool) (n int, next codec.State, ok bool) {
	if !c.quoted {
		return c.Lines.End(data, state, atEOF)
	}
	for n < len(data) {
		if state == inQuotes {
			i := bytes.IndexByte(data[n:], '"')
			if i < 0 {
				break
			}
			n += i + 1
			state = atQuote
			continue
		}
		b := data[n]
		n++
		switch {
		case b == '\n':
			return n, atValue, true
		case b == c.delimiter:
			state = atValue
		case b == '"' && state != inValue:
			state = inQuotes
		default:
			state = inValue
		}
	}
	return len(data), state, atEOF
}

// Unclosed reports an open quote.
func (*table) Unclosed(state codec.State, _ []byte, _ bool) (what string, lost bool) {
	if state == inQuotes {
		return "a quote in the row that begins there is not closed", true
	}
	return "", false
}

// Splittable returns false for CSV, where a line end may be quoted.
func (c *table) Splittable() bool { return !c.quoted }

func (c *table) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	var few [16]cell
	cells, n := few[:0], 0 // the first c.least of n columns
	row := row{table: c, rest: codec.TrimNewline(record)}
	for ; row.next(); n++ {
		if n < c.least {
			cells = append(cells, row.cell)
		}
	}
	if row.err != nil {
		return row.err
	}
	if c.columns > 0 && n != c.columns {
		return wrongCount("%d, but the header has %d", n, c.columns)
	}
	if n < c.least {
		return wrongCount("%d, but column %d is needed", n, c.least)
	}
	if c.id != none {
		doc.ID = cells[c.id].appendValue(doc.ID)
		doc.HasID = len(doc.ID) > 0
	}
	for i, index := range c.text {
		if i > 0 {
			doc.NextColumn(" ")
		}
		if index == none {
			doc.Missing = append(doc.Missing, i)
			continue
		}
		doc.Text = cells[index].appendValue(doc.Text)
	}
	if c.value != none {
		doc.Value = codec.Untyped(cells[c.value].appendValue(doc.Value.Text))
	}
	return nil
}

func wrongCount(format string, numbers ...any) error {
	return &codec.Error{Reason: codec.WrongColumnCount, Detail: fmt.Sprintf(format, numbers...)}
}

// cell is a value as written in a row, without its outer quotes.
type cell struct {
	raw    []byte
	quoted bool
}

// appendValue appends the value, with doubled quotes undone.
func (c cell) appendValue(dst []byte) []byte {
	for raw := c.raw; ; {
		i := bytes.IndexByte(raw, '"')
		if !c.quoted || i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i+1]...)
		raw = raw[i+2:]
	}
}

// row reads the cells of a row, which has at least one.
type row struct {
	*table
	rest []byte // after the cell and its delimiter
	cell
	last bool
	err  error
}

// next moves to the next cell. If it returns false, err may say what is wrong with the row.
func (r *row) next() bool {
	if r.last || r.err != nil {
		return false
	}
	if r.table.quoted && bytes.HasPrefix(r.rest, []byte(`"`)) {
		return r.nextQuoted()
	}
	i := bytes.IndexByte(r.rest, r.delimiter)
	if i < 0 {
		r.cell, r.last = cell{raw: r.rest}, true
		return true
	}
	r.cell, r.rest = cell{raw: r.rest[:i]}, r.rest[i+1:]
	return true
}

func (r *row) nextQuoted() bool {
	inside := r.rest[1:]
	end := 0
	for {
		i := bytes.IndexByte(inside[end:], '"')
		if i < 0 {
			r.err = &codec.Error{Reason: codec.BrokenCSV, Detail: "a quote is not closed"}
			return false
		}
		end += i
		if !bytes.HasPrefix(inside[end+1:], []byte(`"`)) {
			break
		}
		end += 2
	}
	r.cell, r.rest = cell{inside[:end], true}, inside[end+1:]
	switch {
	case len(r.rest) == 0:
		r.last = true
	case r.rest[0] == r.delimiter:
		r.rest = r.rest[1:]
	default:
		r.err = &codec.Error{Reason: codec.BrokenCSV, Detail: fmt.Sprintf("%.20q follows a closing quote", r.rest)}
		return false
	}
	return true
}
