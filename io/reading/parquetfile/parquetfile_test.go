package parquetfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/reading/readertest"
)

// document is a row of a small file.
type document struct {
	ID    *string  `parquet:"id,optional"`
	Text  *string  `parquet:"text,optional"`
	Words []string `parquet:"words,list"`
	Year  int32    `parquet:"year"`
}

// encoded writes row groups of documents.
func encoded(t rapid.TB, groups [][]document, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[document](&b, options...)
	for _, rows := range groups {
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func documents(n int) (rows []document) {
	for i := range n {
		id, text := fmt.Sprint("id", i), strings.Repeat(fmt.Sprint("text ", i, " "), i%9)
		row := document{ID: &id, Text: &text, Words: slices.Repeat([]string{"word"}, i%3), Year: int32(i)}
		if i%5 == 4 {
			row.ID = nil
		}
		if i%7 == 6 {
			row.Text = nil
		}
		rows = append(rows, row)
	}
	return rows
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// String renders a row as the value of a corpus.
func (d document) String() string {
	return fmt.Sprintf("%v %q %v %q %q %d\n", d.ID != nil, value(d.ID), d.Text != nil, value(d.Text), d.Words, d.Year)
}

// TestReader runs the suite on the reader, with every version and codec that the library writes correctly.
func TestReader(t *testing.T) {
	for name, c := range map[string]struct {
		sizes   []int
		options []parquet.WriterOption
	}{
		"empty":  {nil, nil},
		"one":    {[]int{1}, []parquet.WriterOption{parquet.Compression(&parquet.Zstd)}},
		"groups": {[]int{2, 3, 1}, []parquet.WriterOption{parquet.DataPageVersion(1), parquet.Compression(&parquet.Snappy)}},
		"pages":  {[]int{12, 7}, []parquet.WriterOption{parquet.PageBufferSize(64), parquet.Compression(&parquet.Gzip)}},
		"old":    {[]int{12, 7}, []parquet.WriterOption{parquet.PageBufferSize(64), parquet.DataPageVersion(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			var groups [][]document
			var all []document
			for _, n := range c.sizes {
				rows := documents(n)
				groups, all = append(groups, rows), append(all, rows...)
			}
			var planted []codectest.Planted
			for i, row := range all {
				// Only the requested columns count as the record's length.
				planted = append(planted, codectest.Planted{
					Position: int64(i), ID: value(row.ID), Text: value(row.Text), Raw: value(row.ID) + value(row.Text),
				})
			}
			readertest.Run(t, Reader{}, readertest.Case{
				Format: "parquet", Stored: encoded(t, groups, c.options...), Records: planted,
				Content: func(stored []byte) string {
					rows, err := parquet.Read[document](bytes.NewReader(stored), int64(len(stored)))
					if err != nil {
						return err.Error()
					}
					return rendered(rows, nil)
				},
				Without: func(dropped []int64) string { return rendered(all, dropped) },
			})
		})
	}
}

func rendered(rows []document, dropped []int64) string {
	var b strings.Builder
	for i, row := range rows {
		if !slices.Contains(dropped, int64(i)) {
			b.WriteString(row.String())
		}
	}
	return b.String()
}
