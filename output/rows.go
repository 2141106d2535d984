package output

import (
	"cmp"
	"context"
	"encoding/binary"
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

// fileRows yields the rows of a file, and reports whether to go on. It reads column by column, which takes a fraction
// of the time of assembling rows of any shape.
func fileRows[T any](ctx context.Context, file string, yield func(T, error) bool) bool {
	var none T
	content, err := storage.OpenFile(ctx, file)
	if err != nil {
		return yield(none, err)
	}
	defer content.Close()
	var opened *parquet.File
	err = Sound(again, func() (err error) {
		if err := FooterFits(content); err != nil {
			return err
		}
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

// again is what to do about a damaged file of an output.
const again = "run dedup again with --overwrite"

// Sound returns what read returns, or an error if it panics, with what to do then: the Parquet package panics on some
// damaged files.
func Sound(next string, read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged; %s: %v", next, p)
		}
	}()
	return read()
}

// FooterFits returns an error if the footer of a Parquet file claims to be larger than the file: the Parquet package
// takes the memory before it reads.
func FooterFits(content *storage.Content) error {
	var tail [8]byte // the length, and a magic number
	if _, err := content.ReadAt(tail[:], content.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n := binary.LittleEndian.Uint32(tail[:4]); int64(n) > content.Size() {
		return fmt.Errorf("a footer of %d bytes in a file of %d", n, content.Size())
	}
	return nil
}

// groupRows yields the rows of a row group, and reports whether to go
// on. After an error it is the caller's to yield that.
func groupRows[T any](
	schema *parquet.Schema, group parquet.RowGroup, yield func(T, error) bool,
) (goOn bool, err error) {
	var columns []*column
	defer func() {
		for _, c := range columns {
			c.values.Close() //nolint:errcheck // it was read
		}
	}()
	rows := make([]T, min(group.NumRows(), rowsAtOnce)) // the columns fill them again and again
	values := make([]parquet.Value, len(rows))
	err = Sound(again, func() (err error) {
		columns, err = columnsOf(reflect.ValueOf(rows), schema, group)
		return err
	})
	if err != nil {
		return false, err
	}
	for left := group.NumRows(); left > 0; left -= rowsAtOnce {
		rows := rows[:min(left, rowsAtOnce)]
		err := Sound(again, func() error {
			for _, c := range columns {
				if err := c.read(len(rows), values); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return false, err
		}
		for i := range rows {
			if !yield(rows[i], nil) {
				return false, nil
			}
		}
	}
	return true, nil
}

// columnsOf returns the columns of a row group that the fields of rows name, a slice of structs; a field without a
// column stays zero. Close them also after an error.
func columnsOf(rows reflect.Value, schema *parquet.Schema, group parquet.RowGroup) (columns []*column, err error) {
	of := rows.Type().Elem()
	for field := range of.NumField() {
		tag, _, _ := strings.Cut(of.Field(field).Tag.Get("parquet"), ",")
		name := cmp.Or(tag, of.Field(field).Name)
		stored, ok := schema.Lookup(name)
		lists := !ok
		if lists {
			stored, ok = schema.Lookup(name, "list", "element")
		}
		if !ok {
			continue
		}
		set, err := setter(rows, field, stored.Node.Type().Kind(), lists)
		if err != nil {
			return columns, fmt.Errorf("column %s: %w", name, err)
		}
		chunk := group.ColumnChunks()[stored.ColumnIndex]
		if !lists && (stored.MaxRepetitionLevel > 0 || chunk.NumValues() != group.NumRows()) {
			return columns, fmt.Errorf("column %s: %d values in %d rows, but each must have one", name,
				chunk.NumValues(), group.NumRows())
		}
		columns = append(columns, &column{name: name, lists: lists, set: set,
			values: parquet.NewColumnChunkValueReader(chunk)})
	}
	return columns, nil
}

// column fills a field of rows.
type column struct {
	name   string
	set    func(at int, values []parquet.Value) // of the rows from at on; of a list some of those of row at
	values parquet.ColumnChunkValueReader
	lists  bool
	ahead  []parquet.Value // of lists
}

// read fills the field of so many rows; values has room for as many.
func (c *column) read(rows int, values []parquet.Value) error {
	if c.lists {
		return c.readLists(rows)
	}
	for at := 0; at < rows; {
		n, err := c.values.ReadValues(values[:rows-at])
		c.set(at, values[:n])
		switch at += n; {
		case errors.Is(err, io.EOF) && at == rows:
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

// readLists is read of a column of lists. What is ahead afterwards begins with the next row.
func (c *column) readLists(rows int) error {
	for at := -1; ; c.ahead = c.ahead[1:] {
		if len(c.ahead) == 0 {
			values := make([]parquet.Value, rowsAtOnce)
			n, err := c.values.ReadValues(values)
			c.ahead = values[:n]
			switch {
			case n > 0:
			case errors.Is(err, io.EOF) && at == rows-1:
				return nil
			case errors.Is(err, io.EOF):
				return fmt.Errorf("column %s: %w", c.name, io.ErrUnexpectedEOF)
			default:
				return fmt.Errorf("column %s: %w", c.name, cmp.Or(err, io.ErrNoProgress))
			}
		}
		if c.ahead[0].RepetitionLevel() == 0 {
			at++
		}
		if at == rows {
			return nil
		}
		c.set(at, c.ahead[:1])
	}
}

// setter returns a function that sets a field of rows from one on to
// values of a kind or, of lists, adds values to that of one row.
func setter(
	rows reflect.Value, field int, kind parquet.Kind, lists bool,
) (func(at int, values []parquet.Value), error) {
	of := rows.Type().Elem().Field(field).Type
	stored := of
	if of.Kind() == reflect.Pointer {
		stored = of.Elem()
	}
	type shape struct {
		stored reflect.Type
		kind   parquet.Kind
		lists  bool
	}
	switch (shape{stored, kind, lists}) {
	case shape{reflect.TypeFor[[]string](), parquet.ByteArray, true}:
		return addAll(rows, field, parquet.Value.String), nil
	case shape{reflect.TypeFor[[]float64](), parquet.Double, true}:
		return addAll(rows, field, parquet.Value.Double), nil
	case shape{reflect.TypeFor[string](), parquet.ByteArray, false}:
		last := "" // sources are the same in most rows
		return setterOf(rows, field, func(v parquet.Value) string {
			if text := v.ByteArray(); string(text) != last {
				last = string(text)
			}
			return last
		}), nil
	case shape{reflect.TypeFor[[]byte](), parquet.ByteArray, false}:
		return setterOf(rows, field, func(v parquet.Value) []byte { return append([]byte{}, v.ByteArray()...) }), nil
	case shape{reflect.TypeFor[int32](), parquet.Int32, false}:
		return setterOf(rows, field, parquet.Value.Int32), nil
	case shape{reflect.TypeFor[int64](), parquet.Int64, false}:
		return setterOf(rows, field, parquet.Value.Int64), nil
	case shape{reflect.TypeFor[float64](), parquet.Double, false}:
		return setterOf(rows, field, parquet.Value.Double), nil
	case shape{reflect.TypeFor[bool](), parquet.Boolean, false}:
		return setterOf(rows, field, parquet.Value.Boolean), nil
	}
	return nil, fmt.Errorf("it holds %v, not %v", kind, of)
}

// setterOf is setter of a field of the type F, or of pointers to it. Reflection
// finds the fields, once: it would take longer than all else if it set them.
func setterOf[F any](rows reflect.Value, field int, value func(parquet.Value) F) func(at int, values []parquet.Value) {
	if rows.Type().Elem().Field(field).Type.Kind() == reflect.Pointer {
		return setAll(rows, field, func(v parquet.Value) *F { return new(value(v)) })
	}
	return setAll(rows, field, value)
}

// setAll sets a field of the type F; a null is its zero.
func setAll[F any](rows reflect.Value, field int, value func(parquet.Value) F) func(at int, values []parquet.Value) {
	fields := fieldsOf[F](rows, field)
	var null F
	return func(at int, values []parquet.Value) {
		for i := range values {
			if values[i].IsNull() {
				*fields[at+i] = null
			} else {
				*fields[at+i] = value(values[i])
			}
		}
	}
}

// addAll adds to a field of the type []F: a null is none, and a list without values is empty.
func addAll[F any](rows reflect.Value, field int, value func(parquet.Value) F) func(at int, values []parquet.Value) {
	lists := fieldsOf[[]F](rows, field)
	return func(at int, values []parquet.Value) {
		for _, v := range values {
			if v.RepetitionLevel() == 0 {
				*lists[at] = nil
			}
			switch {
			case !v.IsNull():
				*lists[at] = append(*lists[at], value(v))
			case v.DefinitionLevel() > 0:
				*lists[at] = []F{}
			}
		}
	}
}

// fieldsOf returns where a field of the type F stands in each row.
func fieldsOf[F any](rows reflect.Value, field int) []*F {
	fields := make([]*F, rows.Len())
	for i := range fields {
		fields[i] = rows.Index(i).Field(field).Addr().Interface().(*F)
	}
	return fields
}
