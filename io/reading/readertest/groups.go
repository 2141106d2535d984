package readertest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// Row is a row of Groups.
type Row struct {
	ID   string // "" for none
	Text string
	List bool // the text is a list, so the row is unreadable
}

// String renders a row as in Record.Raw.
func (r Row) String() string { return fmt.Sprintf("%q: %q %v\n", r.ID, r.Text, r.List) }

// Groups reads a toy format of row groups. Unlike those of a byte format, its positions are row numbers, and it is cut
// only between groups. A file consists of groups, each a JSON array of rows, a JSON footer that lists them, and the
// footer's length in four bytes.
type Groups struct{}

// group is a row group as listed in the footer.
type group struct {
	Offset, Bytes int64 // in the file
	First, Rows   int64 // row numbers
}

// WriteGroups writes a file of row groups.
func WriteGroups(w io.Writer, groups ...[]Row) error {
	var footer []group
	var content []byte
	row := int64(0)
	for _, rows := range groups {
		data, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		footer = append(footer, group{int64(len(content)), int64(len(data)), row, int64(len(rows))})
		content, row = append(content, data...), row+int64(len(rows))
	}
	data, err := json.Marshal(footer)
	if err != nil {
		return err
	}
	content = append(content, data...)
	_, err = w.Write(binary.LittleEndian.AppendUint32(content, uint32(len(data))))
	return err
}

// ReadGroups returns the rows of a file, one per line.
func ReadGroups(content []byte) string {
	var b strings.Builder
	for _, g := range footerOf(content) {
		var rows []Row
		if err := json.Unmarshal(content[g.Offset:g.Offset+g.Bytes], &rows); err != nil {
			return err.Error()
		}
		for _, r := range rows {
			b.WriteString(r.String())
		}
	}
	return b.String()
}

func footerOf(content []byte) (groups []group) {
	end := len(content) - 4
	n := int(binary.LittleEndian.Uint32(content[end:]))
	if err := json.Unmarshal(content[end-n:end], &groups); err != nil {
		panic(err)
	}
	return groups
}

// Inspect reads the footer, which becomes the file's Header.
func (Groups) Inspect(ctx context.Context, file *blocks.File, o reading.Options) error {
	return withFile(ctx, file, func(f io.ReaderAt) error {
		if file.Size < 4 {
			return &reading.ContentError{Err: fmt.Errorf("%s: no footer", file.Path)}
		}
		content := make([]byte, file.Size)
		if _, err := f.ReadAt(content, 0); err != nil && err != io.EOF {
			return err
		}
		groups := footerOf(content)
		for _, g := range groups {
			file.Positions += g.Rows
		}
		var err error
		file.Header, err = json.Marshal(groups)
		return err
	})
}

// withFile calls do with the file, which must not change meanwhile.
func withFile(ctx context.Context, file *blocks.File, do func(io.ReaderAt) error) (err error) {
	f, err := storage.Open(ctx, file.Path, file.Version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Unchanged(), f.Close()) }()
	return do(f)
}

func groupsOf(file *blocks.File) (groups []group) {
	if err := json.Unmarshal(file.Header, &groups); err != nil {
		panic(err)
	}
	return groups
}

// Cut cuts between groups.
func (Groups) Cut(file *blocks.File, size int64) (cuts []int64) {
	begin := int64(0)
	for _, g := range groupsOf(file) {
		if g.Offset-begin >= size && g.First > 0 {
			cuts = append(cuts, g.First)
			begin = g.Offset
		}
	}
	return slices.Compact(cuts)
}

// rows calls see with each group that has rows in span, and with those rows.
func (Groups) rows(
	ctx context.Context, file *blocks.File, span blocks.Span, see func(g group, first int64, rows []Row) error,
) error {
	return withFile(ctx, file, func(f io.ReaderAt) error {
		for _, g := range groupsOf(file) {
			from, to := max(span.Start, g.First), min(span.End, g.First+g.Rows)
			if from >= to {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			data := make([]byte, g.Bytes)
			if _, err := f.ReadAt(data, g.Offset); err != nil {
				return err
			}
			var rows []Row
			if err := json.Unmarshal(data, &rows); err != nil {
				return err
			}
			if err := see(g, from, rows[from-g.First:to-g.First]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Read reads the rows of spans.
func (r Groups) Read(
	ctx context.Context, file *blocks.File, spans []blocks.Span, o reading.Options, see func(*reading.Record) error,
) (reading.Progress, error) {
	return reading.OneByOne(spans, func(span blocks.Span) (reading.Progress, error) {
		return r.readSpan(ctx,
			file, span, o, see)
	})
}

func (r Groups) readSpan(
	ctx context.Context, file *blocks.File, span blocks.Span, o reading.Options, see func(*reading.Record) error,
) (progress reading.Progress, err error) {
	var doc codec.Document
	err = r.rows(ctx, file, span, func(g group, first int64, rows []Row) error {
		for i, row := range rows {
			raw := row.String()
			progress.Content += int64(len(raw))
			progress.Stored += g.Bytes / g.Rows
			record := reading.Record{Position: first + int64(i), Doc: &doc}
			doc.Reset()
			if record.Long = len(raw) > o.MaxRecord; !record.Long {
				doc.ID, doc.HasID = append(doc.ID, row.ID...), row.ID != ""
				doc.Text = append(doc.Text, row.Text...)
			}
			if row.List && !record.Long {
				record.Raw, record.Err = []byte(raw), &codec.Error{Reason: codec.TextNotString}
			}
			if err := see(&record); err != nil {
				return err
			}
		}
		return nil
	})
	return progress, err
}

// ReadSome reads rows by number.
func (r Groups) ReadSome(
	ctx context.Context, file *blocks.File, span blocks.Span, positions []int64, o reading.Options,
	see func(*reading.Record) error,
) error {
	_, err := r.Read(ctx, file, []blocks.Span{span}, o, func(record *reading.Record) error {
		if len(positions) == 0 {
			return reading.ErrStop
		}
		if record.Position != positions[0] {
			return nil
		}
		positions = positions[1:]
		return see(record)
	})
	if err == nil && len(positions) > 0 && positions[0] >= file.Positions {
		err = fmt.Errorf("%s: document at %d: there are %d rows", file.Path, positions[0], file.Positions)
	}
	return err
}

// Copy writes the groups without the dropped rows.
func (r Groups) Copy(
	ctx context.Context, w io.Writer, file *blocks.File, span blocks.Span, changes reading.Changes, o reading.Options,
) (kept, _ int64, err error) {
	dropped := changes.Dropped
	err = withFile(ctx, file, func(io.ReaderAt) error {
		var groups [][]Row
		err := r.rows(ctx, file, span, func(_ group, first int64, rows []Row) error {
			var left []Row
			for i, row := range rows {
				if len(dropped) > 0 && dropped[0] == first+int64(i) {
					dropped = dropped[1:]
					continue
				}
				left = append(left, row)
			}
			kept += int64(len(left))
			groups = append(groups, left)
			return nil
		})
		if err != nil {
			return err
		}
		if len(dropped) > 0 {
			return fmt.Errorf("%s: no row %d", file.Path, dropped[0])
		}
		return WriteGroups(w, groups...)
	})
	return kept, 0, err
}
