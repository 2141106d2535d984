package source

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/charset"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// readerOf returns the reader of file.
func readerOf(file *blocks.File) (reading.RecordReader, error) {
	f, err := formatNamed(file.Format)
	return f.reader, err
}

// Records reads all records of spans, which are in one file, and calls see with each, as reading.RecordReader.Read
// does. Here and below, a text that is not UTF-8 makes its record unreadable unless o keeps it.
func Records(
	ctx context.Context, in *Inputs, spans []blocks.Span, o Options, see func(*reading.Record) error,
) (reading.Progress, error) {
	ctx, done := storage.Once(ctx)
	defer done()
	file, r, o, err := in.open(ctx, spans[0].File, o)
	if err != nil {
		return reading.Progress{}, err
	}
	return recordsOf(ctx, r, file, spans, o, see)
}

// recordsOf is Records for an open file.
func recordsOf(
	ctx context.Context, r reading.RecordReader, file *blocks.File, spans []blocks.Span, o Options,
	see func(*reading.Record) error,
) (reading.Progress, error) {
	return r.Read(ctx, file, spans, o.reading(), o.readable(file, see))
}

// recordsAt reads the records of a span at ascending positions, with the column to rank by. Unreadable ones are errors.
func recordsAt(
	ctx context.Context, in *Inputs, span blocks.Span, positions []int64, o Options, see func(*reading.Record) error,
) error {
	ctx, done := storage.Once(ctx)
	defer done()
	file, r, o, err := in.open(ctx, span.File, o)
	if err != nil {
		return err
	}
	read, partition := o.ranked(file)
	m := meter{counter: storedFetch}
	err = r.ReadSome(m.begin(ctx, file, span), file, span, positions, read,
		o.readable(file, func(record *reading.Record) error {
			m.atRecord(ctx, record.Position)
			switch {
			case record.Long:
				return fmt.Errorf("%s: larger than %d bytes", file.Place(record.Position), read.MaxRecord)
			case record.Err != nil:
				return fmt.Errorf("%s: %w%s", file.Place(record.Position), record.Err, advice(file, record))
			}
			if partition != nil {
				record.Doc.Value = *partition
			}
			return see(record)
		}))
	if err == nil {
		m.end(ctx)
	}
	return err
}

// CheckEdits returns an error if Copy cannot edit the records of some file.
func CheckEdits(ctx context.Context, in *Inputs, o Options) error {
	if e, err := charset.Named(cmp.Or(o.Encoding, "utf-8")); e != nil || err != nil {
		return fmt.Errorf("texts are rewritten in UTF-8 only; convert the files (iconv -t UTF-8) and drop --encoding %s",
			o.Encoding)
	}
	for i := range in.Len() {
		file, _, err := in.Listed(ctx, i)
		if err != nil {
			return err
		}
		r, err := readerOf(file)
		if err != nil {
			return err
		}
		if editor, ok := r.(reading.TextEditor); !ok || !editor.Edits(o.reading()) {
			return fmt.Errorf("%s: texts in the %s format cannot be rewritten; convert the file to JSON Lines",
				file.Path, file.Format)
		}
	}
	return nil
}

// Copy writes a span of the input with changes, as reading.RecordReader.Copy does.
func Copy(
	ctx context.Context, w io.Writer, in *Inputs, span blocks.Span, changes reading.Changes, o Options,
) (kept, unedited int64, err error) {
	ctx, done := storage.Once(ctx)
	defer done()
	file, r, o, err := in.open(ctx, span.File, o)
	if err != nil {
		return 0, 0, err
	}
	m := meter{counter: storedCorpus}
	ctx = m.begin(ctx, file, span)
	w = m.writer(ctx, w)
	if kept, unedited, err = r.Copy(ctx, w, file, span, changes, o.reading()); err == nil {
		m.end(ctx)
	}
	return kept, unedited, err
}
