// Package parquetfile reads the records of Parquet files, and copies these files without some of their rows. A position
// is a row number.
//
// A file is cut between its row groups and, where pages can be skipped unread, inside large ones. Only the requested
// columns are unpacked, page by page. A copy keeps all metadata of the source's columns, even metadata that this
// package does not know (decision 0023).
package parquetfile

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/parquet-go/parquet-go/format"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/parquet"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// Reader is the reading.RecordReader of Parquet.
type Reader struct{}

// Inspect reads the footer, and sets Header to the rows and stored bytes of each row group.
func (Reader) Inspect(ctx context.Context, file *blocks.File, o reading.Options) error {
	if err := reading.OwnEncoding(file, o.Encoding); err != nil {
		return err
	}
	return with(ctx, file, o, func(in *input) error {
		if err := in.refuseDeletes(); err != nil {
			return err
		}
		if _, err := in.bind(o.Fields); err != nil {
			return err
		}
		file.Positions = in.Rows
		file.Header = nil
		for i := range in.Groups {
			g := &in.Groups[i]
			stored, inside := int64(0), uint64(1)
			err := in.Chunks(g, func(column int, c *parquet.Chunk) error {
				l := &in.Leaves[column]
				stored += c.Compressed
				if l.MaxRep > 0 && !c.Indexed {
					inside = 0
				}
				if c.Uncompressed < 2*parquet.LargePage {
					return nil
				}
				// Starting inside a large page takes as long as starting before it.
				p := in.Column(l, g, c)
				if _, err := p.Peek(false); err != nil {
					return err
				}
				if p.Header.Large() {
					inside = 0
				}
				return nil
			})
			if err != nil {
				return err
			}
			file.Header = binary.AppendUvarint(file.Header, uint64(g.Rows))
			file.Header = binary.AppendUvarint(file.Header, uint64(stored)<<1|inside)
		}
		return nil
	})
}

// input is an open file.
type input struct {
	*parquet.File
	ctx  context.Context
	file *blocks.File
	f    *storage.File
}

// with opens file and calls do with it. It fails if the file changes meanwhile.
func with(ctx context.Context, file *blocks.File, o reading.Options, do func(*input) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := storage.Open(ctx, file.Path, file.Version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(explained(err), f.Unchanged(), f.Close()) }()
	if file.Size > smallFile {
		f.Ahead(0, int64(len(parquet.Magic)))
		f.Ahead(file.Size-tailBytes, file.Size)
	} else {
		f.Ahead(0, file.Size)
	}
	opened, err := parquet.Open(ctx, f, file.Path, file.Size)
	if err != nil {
		return err
	}
	opened.MaxPage = cmp.Or(o.MaxWindow, opened.MaxPage)
	return do(&input{opened, ctx, file, f})
}

// explained adds the flags that help to err, and turns a parquet.ContentError into a reading.ContentError.
func explained(err error) error {
	switch {
	case errors.Is(err, parquet.ErrForeign):
		err = fmt.Errorf("%w; check --format", err)
	case errors.Is(err, parquet.ErrPage):
		err = fmt.Errorf("%w; raise --max-window if there is enough memory, or write the file again with smaller pages", err)
	}
	if errors.As(err, new(*parquet.ContentError)) {
		err = &reading.ContentError{Err: err}
	}
	return err
}

// refuseDeletes refuses an Iceberg delete file, which lists deleted rows of other files and is no data. It recognises
// one by its metadata or by its columns.
func (in *input) refuseDeletes() error {
	names := namesOf(in.Root)
	if positions := []string{"file_path", "pos"}; in.HasKey("delete-type") || slices.Equal(names, positions) ||
		slices.Equal(names, append(positions, "row")) {
		return fmt.Errorf("%s: this is an Iceberg delete file, which lists deleted rows of other files; rewrite the "+
			"table without delete files, and read the new files", in.file.Path)
	}
	return nil
}

const (
	// smallFile is the size in bytes up to which a file is fetched at once.
	smallFile = 1 << 20
	// tailBytes is enough for most footers.
	tailBytes = 64 << 10
	// nearBytes is the maximum distance of rows that are fetched together: a request takes as long as 1 MB.
	nearBytes = 1 << 20
)

// Cut cuts between row groups and, if all columns allow a start at any row, inside those of at least twice the size.
func (Reader) Cut(file *blocks.File, size int64) (cuts []int64) {
	first, since := int64(0), int64(0) // since: bytes since the last cut
	for header := file.Header; len(header) > 0; {
		rows, n := binary.Uvarint(header)
		packed, m := binary.Uvarint(header[n:])
		header = header[n+m:]
		stored, inside := int64(packed>>1), packed&1 == 1
		if rows == 0 {
			continue
		}
		if since >= size {
			cuts, since = append(cuts, first), 0
		}
		parts := int64(1)
		if inside {
			parts = max(min(stored/size, int64(rows)), 1)
		}
		for i := int64(1); i < parts; i++ {
			cuts = append(cuts, first+i*int64(rows)/parts)
		}
		if parts > 1 {
			since = 0
		}
		since += stored / parts
		first += int64(rows)
	}
	return cuts
}

// Columns returns the top-level columns of a file.
func Columns(ctx context.Context, file *blocks.File) (columns []codec.Column, err error) {
	err = with(ctx, file, reading.Options{}, func(in *input) error {
		columns = columnsOf(in.Root)
		return nil
	})
	return columns, err
}

// field is a column of the records, or a constant in its place.
type field struct {
	leaf     *parquet.Leaf // nil: there is none
	render   rendering     // how its values become text
	constant *string       // the value of a partition, in place of a column
}

// fields are the requested columns.
type fields struct {
	text      []field
	id, value field
}

func (b *fields) all() []field { return append(slices.Clone(b.text), b.id, b.value) }

// bind finds the columns of o in the file. If the file does not have a column, but a folder has its name, such as dt in
// dt=2026-11-20, the column has that folder's value.
func (in *input) bind(o codec.Fields) (b fields, err error) {
	path, names := in.file.Path, namesOf(in.Root)
	withPartitions := func() []string { return append(reading.Partitions(path), names...) }
	found := false
	for _, name := range o.Text {
		t, err := in.field(name)
		if err != nil {
			return b, err
		}
		if t.constant != nil {
			return b, fmt.Errorf("%s: %q is the name of a folder, not of a column; the columns are %s", path, name,
				codec.Listed(names))
		}
		found = found || t.leaf != nil
		b.text = append(b.text, t)
	}
	if !found && len(o.Text) > 0 {
		return b, fmt.Errorf("%s: %w", path, &codec.NoColumnError{Kind: "text", Name: o.Text[0], Columns: names})
	}
	if o.ID != "" {
		if b.id, err = in.field(o.ID); err != nil {
			return b, err
		}
		if b.id.leaf == nil && b.id.constant == nil && o.ID != "id" {
			return b, fmt.Errorf("%s: %w", path, &codec.NoColumnError{Kind: "id", Name: o.ID, Columns: withPartitions()})
		}
	}
	if o.Value != "" {
		if b.value, err = in.field(o.Value); err != nil {
			return b, err
		}
		if b.value.leaf == nil && b.value.constant == nil {
			return b, fmt.Errorf("%s: no column %q to rank documents by; the columns are %s", path, o.Value,
				codec.Listed(withPartitions()))
		}
	}
	return b, b.check(path)
}

// check refuses columns whose types do not fit their use.
func (b *fields) check(path string) error {
	for _, t := range b.text {
		if t.render.foreign != "" {
			return fmt.Errorf("%s: text column %q holds %s, not text; name another column with "+
				"--text", path, t.leaf.Path(), t.render.foreign)
		}
	}
	if l := b.id.leaf; l != nil {
		switch {
		case b.id.render.foreign != "":
			return fmt.Errorf("%s: id column %q holds %s, not ids; name another column with "+
				"--id", path, l.Path(), b.id.render.foreign)
		case l.MaxRep > 0:
			return fmt.Errorf("%s: id column %q is a list; name another column with --id", path, l.Path())
		}
	}
	if l := b.value.leaf; l != nil && (l.MaxRep > 0 || b.value.render.foreign != "") {
		b.value.leaf = nil // its values have no order
	}
	return nil
}

func (in *input) field(name string) (f field, err error) {
	i, err := find(in.Root, name)
	switch {
	case err != nil:
		return f, fmt.Errorf("%s: %w", in.file.Path, err)
	case i != none:
		l := &in.Leaves[i]
		return field{leaf: l, render: renderingOf(l.Node)}, nil
	}
	if value, ok := reading.Partition(in.file.Path, name); ok {
		f.constant = &value
	}
	return f, nil
}

// rows reads rows of a file in ascending order.
type rows struct {
	*input
	fields fields
	o      reading.Options
	see    func(*reading.Record) error

	open    *parquet.Group    // the current row group
	columns []*parquet.Column // its columns, one for each of the fields; nil: there is none
	room    room              // for large pages
	// By text column: pages that an earlier reader unpacked, and the keeper of those unpacked now. Each may be nil.
	kept   []*kept
	keep   []*keeper
	record reading.Record
	bytes  int          // of the current record
	shown  *memory.Hold // what the current record takes when it is shown
}

// room is the memory that one reader has claimed for large pages.
type room struct {
	claim    *memory.Claim
	held     int64
	giveBack func()
}

// take claims n bytes, unless as much is held already. It may wait, so a caller that needs more than it holds must hold
// no large page.
func (r *room) take(ctx context.Context, n int64) error {
	if n <= r.held {
		return nil
	}
	r.free()
	giveBack, err := r.claim.Take(ctx, n)
	if err == nil {
		r.held, r.giveBack = n, giveBack
	}
	return err
}

// free returns what is held. The caller must have released its large pages.
func (r *room) free() {
	if r.held > 0 {
		r.giveBack()
	}
	*r = room{claim: r.claim}
}

// read opens file and calls do with a reader of its rows.
func read(
	ctx context.Context, file *blocks.File, o reading.Options, see func(*reading.Record) error, do func(*rows) error,
) error {
	return with(ctx, file, o, func(in *input) error {
		b, err := in.bind(o.Fields)
		if err != nil {
			return err
		}
		claim := reading.Claim(o)
		r := &rows{input: in, fields: b, o: o, see: see, room: room{claim: claim}, shown: claim.Hold(),
			kept: make([]*kept, len(b.text)), keep: make([]*keeper, len(b.text))}
		defer r.close()
		r.record.Doc = new(codec.Document)
		err = do(r)
		if errors.Is(err, reading.ErrStop) {
			return nil
		}
		return err
	})
}

func (r *rows) close() {
	r.shown.Free()
	for _, c := range r.columns {
		if c != nil {
			c.End()
		}
	}
	r.columns = nil
	r.room.free()
	for _, k := range r.kept {
		if k != nil {
			_ = k.f.Close() // it was only read
		}
	}
}

// Read reads the rows of spans. It unpacks a page once even if several spans have rows in it. If there is one span, it
// keeps the pages of its text columns for later readers of that span.
func (Reader) Read(
	ctx context.Context, file *blocks.File, spans []blocks.Span, o reading.Options, see func(*reading.Record) error,
) (progress reading.Progress, err error) {
	err = read(ctx, file, o, see, func(r *rows) error {
		all := func() error {
			for _, span := range spans {
				if err := r.span(span, &progress); err != nil {
					return err
				}
			}
			return nil
		}
		if len(spans) != 1 {
			return all()
		}
		if err := r.openKept(spans[0]); err != nil {
			return err
		}
		return r.keeping(spans[0], 0, all)
	})
	return progress, err
}

// span reads the rows of a span, and adds what they take to progress.
func (r *rows) span(span blocks.Span, progress *reading.Progress) error {
	at, end := span.Start, min(span.End, r.Rows)
	defer func() { progress.Stored += r.file.OffsetAt(at) - r.file.OffsetAt(span.Start) }()
	for at < end {
		g := r.group(at)
		to := min(end, g.First+g.Rows)
		if err := r.ahead(g, at, to, to-at); err != nil {
			return err
		}
		if err := r.openGroup(g); err != nil {
			return err
		}
		for at < to {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			at++
			err := r.row(at - 1)
			progress.Content += int64(r.bytes)
			if err != nil {
				return err
			}
		}
		if err := r.done(); err != nil {
			return err
		}
	}
	return nil
}

// stretch is a byte range of a file.
type stretch struct{ from, to int64 }

// stretches returns the byte ranges of the requested columns for the rows [from, to) of a group, in order. Ranges that
// span at most nearBytes together become one.
func (r *rows) stretches(g *parquet.Group, from, to int64) (all []stretch, err error) {
	err = r.Chunks(g, func(i int, c *parquet.Chunk) error {
		leaf := &r.Leaves[i]
		if !slices.ContainsFunc(r.fields.all(), func(f field) bool { return f.leaf == leaf }) {
			return nil
		}
		e := stretch{c.Start(), c.Start() + c.Compressed}
		if from > g.First || to < g.First+g.Rows {
			index, err := r.Column(leaf, g, c).Index()
			if err != nil {
				return err
			}
			for _, l := range index {
				if l.Row <= from-g.First && l.Row > 0 {
					e.from = l.Offset
				}
				if l.Row >= to-g.First {
					e.to = l.Offset
					break
				}
			}
		}
		all = append(all, e)
		return nil
	})
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	joined := all[:0]
	for _, e := range all {
		if n := len(joined); n > 0 && e.to-joined[n-1].from <= nearBytes {
			joined[n-1].to = max(joined[n-1].to, e.to)
		} else {
			joined = append(joined, e)
		}
	}
	return joined, err
}

// ahead announces to the store that n of the rows [from, to) of a group will be read in order, unless they are far
// apart.
func (r *rows) ahead(g *parquet.Group, from, to, n int64) error {
	if !r.f.Fetches() {
		return nil
	}
	stretches, err := r.stretches(g, from, to)
	bytes := int64(0)
	for _, e := range stretches {
		bytes += e.to - e.from
	}
	if err != nil || n < to-from && bytes/n > nearBytes {
		return err
	}
	for _, e := range stretches {
		r.f.Ahead(e.from, e.to)
	}
	return nil
}

// share returns n·part/all, rounded down. part is at most all.
func share(n, part, all int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(part))
	quotient, _ := bits.Div64(hi, lo, uint64(all))
	return int64(quotient)
}

// ReadSome reads rows by number. It does not unpack pages without any of them.
func (Reader) ReadSome(
	ctx context.Context, file *blocks.File, span blocks.Span, positions []int64, o reading.Options,
	see func(*reading.Record) error,
) error {
	return read(ctx, file, o, see, func(r *rows) error {
		if err := r.openKept(span); err != nil {
			return err
		}
		for i, position := range positions {
			if err := ctx.Err(); err != nil {
				return err
			}
			g := r.group(position)
			if g == nil || position < span.Start || position >= span.End {
				return fmt.Errorf("%s at row %d: %w", file.Path, position, reading.ErrAbsent)
			}
			if g != r.open {
				n, _ := slices.BinarySearch(positions[i:], g.First+g.Rows)
				if err := r.ahead(g, position, positions[i+n-1]+1, int64(n)); err != nil {
					return err
				}
			}
			if err := r.openGroup(g); err != nil {
				return err
			}
			if err := r.row(position); err != nil {
				return err
			}
		}
		return nil
	})
}

// group returns the row group of a row, or nil if there is no such row.
func (in *input) group(row int64) *parquet.Group {
	i := sort.Search(len(in.Groups), func(i int) bool { return in.Groups[i].First+in.Groups[i].Rows > row })
	if i == len(in.Groups) {
		return nil
	}
	return &in.Groups[i]
}

// openGroup opens the columns of a row group, unless they are open already.
func (r *rows) openGroup(g *parquet.Group) error {
	if g == r.open {
		return nil
	}
	r.open = g
	all := r.fields.all()
	old := r.columns
	if old == nil {
		old = make([]*parquet.Column, len(all))
	}
	r.columns = make([]*parquet.Column, len(all))
	need := int64(0)
	err := r.Chunks(g, func(i int, chunk *parquet.Chunk) error {
		leaf := &r.Leaves[i]
		for j, field := range all {
			if field.leaf != leaf {
				continue
			}
			c := r.Column(leaf, g, chunk)
			r.columns[j] = c
			c.Reuse(old[j])
			c.MaxValue = r.o.MaxRecord
			if j < len(r.kept) {
				if r.kept[j] != nil {
					c.Kept = r.kept[j].page
				}
				if r.keep[j] != nil && chunk.Codec != format.Uncompressed {
					c.Keep = r.keep[j].begin
				}
			}
			if _, err := c.Peek(false); err != nil {
				return err
			}
			need += c.Need()
		}
		return nil
	})
	if err != nil {
		return err
	}
	clear(old)
	if need > r.room.held {
		for _, c := range r.columns {
			if c != nil {
				c.Drop()
			}
		}
	}
	// Claim for all columns at once: readers that hold one page and wait for room for another could deadlock.
	return r.room.take(r.ctx, need)
}

// done checks, if the last row of the group was read, that no column has more rows.
func (r *rows) done() error {
	for _, c := range r.columns {
		if c != nil {
			if err := c.Done(); err != nil {
				return err
			}
		}
	}
	return nil
}

// row reads a row of the open group, and passes it to see.
func (r *rows) row(position int64) error {
	doc := r.record.Doc
	doc.Reset()
	r.record = reading.Record{Position: position, Doc: doc}
	r.bytes = 0
	row := position - r.open.First
	n := len(r.fields.text)
	text, id, value := r.columns[:n], r.columns[n], r.columns[n+1]
	doc.NoText = true
	for i, c := range text {
		between := r.o.Fields.Between(i)
		if i > 0 {
			doc.NextColumn(between)
		}
		if c == nil {
			doc.Missing = append(doc.Missing, i)
			continue
		}
		first := true
		err := r.values(c, &r.fields.text[i].render, row, &doc.Text, r.o.Fields.HasItems(i), func() {
			if !first {
				doc.Text = append(doc.Text, between...)
			}
			first, doc.NoText = false, false
		})
		if err != nil {
			return err
		}
	}
	if doc.NoText {
		doc.Text, doc.Ends = doc.Text[:0], doc.Ends[:0]
	}
	switch constant := r.fields.id.constant; {
	case constant != nil:
		doc.ID, doc.HasID = append(doc.ID, *constant...), *constant != ""
	case id != nil:
		if err := r.values(id, &r.fields.id.render, row, &doc.ID, false, func() { doc.HasID = true }); err != nil {
			return err
		}
	}
	switch constant := r.fields.value.constant; {
	case constant != nil:
		v := codec.Untyped([]byte(*constant))
		doc.Value = codec.Value{Kind: v.Kind, Text: append(doc.Value.Text, v.Text...)}
	case value != nil:
		render := &r.fields.value.render
		if err := r.values(value, render, row, &doc.Value.Text, false, func() { doc.Value.Kind = render.kind }); err != nil {
			return err
		}
		switch v := &doc.Value; {
		case v.Kind != codec.NumberValue || endsInDigit(v.Text):
		case string(v.Text) == "NaN":
			*v = codec.Value{Text: v.Text[:0]}
		default: // ±Inf ranks beyond all finite numbers
			v.Text = append(v.Text[:1], "1e999999999"...)
		}
	}
	if r.record.Long {
		doc.Reset()
	}
	err := r.see(&r.record)
	if cap(doc.Text) > memory.Large {
		doc.Text = nil
	}
	r.shown.Free()
	return err
}

// values appends the values of a row to dst and calls before ahead of each. If items is set, it ends each as an item.
// It leaves out the values that make the record too long.
func (r *rows) values(
	c *parquet.Column, render *rendering, row int64, dst *[]byte, items bool, before func(),
) error {
	if err := c.SeekRow(row); err != nil {
		return err
	}
	return c.Next(func(value []byte, size int) error {
		if longest := render.longest; longest > 0 && size > longest {
			return c.Broken(fmt.Errorf("a value has %d bytes (maximum: %d); fetch the file again, or leave it out",
				size, longest))
		}
		if size > r.o.MaxRecord-r.bytes { // also true for all values that follow
			r.record.Long = true
			r.bytes += size
			return nil
		}
		if err := r.shown.Add(r.ctx, int64(size)*reading.ShownCost); err != nil {
			return err
		}
		had := len(*dst)
		before()
		from := len(*dst)
		if *dst = render.append(*dst, value); items {
			*dst = codec.EndItem(*dst, from)
		}
		if r.bytes += len(*dst) - had; r.bytes > r.o.MaxRecord {
			r.record.Long = true
		}
		return nil
	})
}

func endsInDigit(text []byte) bool {
	return len(text) > 0 && '0' <= text[len(text)-1] && text[len(text)-1] <= '9'
}
