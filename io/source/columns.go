package source

import (
	"context"

	"github.com/neardup/neardup/io/charset"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/delimited"
	"github.com/neardup/neardup/io/codec/jsonl"
	"github.com/neardup/neardup/io/reading/parquetfile"
)

// Columns returns the columns of a document's file or, where each record has its own, of its record; none for a format
// without columns.
func (d *Seen) Columns(ctx context.Context, o Options) ([]codec.Column, error) {
	f, err := formatNamed(d.File.Format)
	if err != nil {
		return nil, err
	}
	switch f.name {
	case "parquet":
		return parquetfile.Columns(ctx, d.File)
	case "csv", "tsv":
		header, err := decode(d.File.Encoding, d.File.Header)
		return delimited.Columns(header, o.Fields, f.name == "csv"), err
	case "json", "jsonl":
		record, err := decode(d.File.Encoding, d.Record)
		return jsonl.Typed(record), err
	}
	if f.columns == nil {
		return nil, nil
	}
	var columns []codec.Column
	for _, name := range f.columns(d.Record) {
		columns = append(columns, codec.Column{Name: name, Type: "text"})
	}
	return columns, nil
}

// decode converts data to UTF-8 from a file's encoding, where "" is UTF-8.
func decode(encoding string, data []byte) ([]byte, error) {
	if encoding == "" {
		return data, nil
	}
	e, err := charset.Named(encoding)
	if err != nil {
		return nil, err
	}
	return e.AppendDecoded(nil, data), nil
}
