package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
)

// rowsAtOnce is how many rows are read of each column before the next.
const rowsAtOnce = 256

// fileRows yields the rows of a file, and reports whether to go on. It reads column by column, which takes a fraction of the time of
// assembling rows of any shape: no column repeats, so the n-th value of each belongs to the n-th row.
func fileRows[T any](ctx context.Context, file string, yield func(T, error) bool) bool {
	var none T
	content, err := storage.OpenFile(ctx, file)
	if err != nil {
		return yield(none, err)
	}
	defer content.Close()
	var opened *parquet.File
	err = sound(func() (err error) {
		opened, err = parquet.OpenFile(content, content.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		return err
	})
	if err != nil {
		return yield(none, fmt.Errorf("%s: %w", file, err))
	}
	for _, group := range opened.RowGroups() {
		goOn, err := groupRows(opened.Schema(), group, yield)
		if err != nil {
			return yield(none, fmt.Errorf("%s: %w", file, err))
		}
		if !goOn {
			return false
		}
	}
	return true
}

// sound returns what read returns, or an error if it panics: the Parquet package panics on some damaged files.
func sound(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged; run dedup again with --overwrite: %v", p)
		}
	}()
	return read()
}

// groupRows yields the rows of a row group, and reports whether to go on. After an error it is the caller's to yield that.
func groupRows[T any](schema *parquet.Schema, group parquet.RowGroup, yield func(T, error) bool) (goOn bool, err error) {
	var columns []*column
	defer func() {
		for _, c := range columns {
			c.values.Close() //nolint:errcheck // it was read
		}
	}()
	err = sound(func() (err error) {
		columns, err = columnsOf(reflect.TypeFor[T](), schema, group)
		return err
	})
	if err != nil {
		return false, err
	}
	buffer := make([]parquet.Value, rowsAtOnce)
	for left := group.NumRows(); left > 0; left -= rowsAtOnce {
		rows := make([]T, min(left, rowsAtOnce))
		all := reflect.ValueOf(rows)
		err := sound(func() error {
			for _, c := range columns {
				if err := c.read(all, buffer); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return false, err
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return false, nil
			}
		}
	}
	return true, nil
}

// columnsOf returns the columns of a row group that the fields of a type name; a field without a column stays zero. Close them also
// after an error.
func columnsOf(of reflect.Type, schema *parquet.Schema, group parquet.RowGroup) (columns []*column, err error) {
	for field := range of.NumField() {
		tag, _, _ := strings.Cut(of.Field(field).Tag.Get("parquet"), ",")
		name := cmp.Or(tag, of.Field(field).Name)
		stored, ok := schema.Lookup(name)
		if !ok {
			continue
		}
		set, err := setter(of.Field(field).Type, stored.Node.Type().Kind())
		if err != nil {
			return columns, fmt.Errorf("column %s: %w", name, err)
		}
		chunk := group.ColumnChunks()[stored.ColumnIndex]
		if stored.MaxRepetitionLevel > 0 || chunk.NumValues() != group.NumRows() {
			return columns, fmt.Errorf("column %s: %d values in %d rows, but each must have one", name, chunk.NumValues(), group.NumRows())
		}
		columns = append(columns, &column{name: name, field: field, set: set, values: parquet.NewColumnChunkValueReader(chunk)})
	}
	return columns, nil
}

// column fills a field of rows.
type column struct {
	name   string
	field  int
	set    func(field reflect.Value, value parquet.Value, text string)
	values parquet.ColumnChunkValueReader
	text   string // of the last value
}

// read fills the field of all these rows; values has room for as many.
func (c *column) read(rows reflect.Value, values []parquet.Value) error {
	for at := 0; at < rows.Len(); {
		n, err := c.values.ReadValues(values[:rows.Len()-at])
		for i, value := range values[:n] {
			if value.IsNull() {
				continue
			}
			if value.Kind() == parquet.ByteArray && c.text != string(value.ByteArray()) { // sources are the same in most rows
				c.text = string(value.ByteArray())
			}
			c.set(rows.Index(at+i).Field(c.field), value, c.text)
		}
		switch at += n; {
		case errors.Is(err, io.EOF) && at == rows.Len():
			err = nil
		case errors.Is(err, io.EOF):
			err = io.ErrUnexpectedEOF
		case err == nil && n == 0:
			err = io.ErrNoProgress
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	return nil
}

// setter returns a function that sets a field of a type to a value of a kind; text is that of a byte array.
func setter(field reflect.Type, kind parquet.Kind) (func(field reflect.Value, value parquet.Value, text string), error) {
	if field.Kind() == reflect.Pointer {
		set, err := setter(field.Elem(), kind)
		return func(pointer reflect.Value, value parquet.Value, text string) {
			pointer.Set(reflect.New(field.Elem()))
			set(pointer.Elem(), value, text)
		}, err
	}
	type shape struct {
		field reflect.Kind
		kind  parquet.Kind
	}
	switch (shape{field.Kind(), kind}) {
	case shape{reflect.String, parquet.ByteArray}:
		return func(field reflect.Value, _ parquet.Value, text string) { field.SetString(text) }, nil
	case shape{reflect.Slice, parquet.ByteArray}:
		return func(field reflect.Value, _ parquet.Value, text string) { field.SetBytes([]byte(text)) }, nil
	case shape{reflect.Int32, parquet.Int32}, shape{reflect.Int64, parquet.Int64}:
		return func(field reflect.Value, value parquet.Value, _ string) { field.SetInt(value.Int64()) }, nil
	case shape{reflect.Float64, parquet.Double}:
		return func(field reflect.Value, value parquet.Value, _ string) { field.SetFloat(value.Double()) }, nil
	case shape{reflect.Bool, parquet.Boolean}:
		return func(field reflect.Value, value parquet.Value, _ string) { field.SetBool(value.Boolean()) }, nil
	}
	return nil, fmt.Errorf("it holds %v, not %v", kind, field)
}
