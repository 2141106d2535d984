// Package parquetfile reads Parquet. A position is a row number.
//
// A file is cut between its row groups and, where pages can be passed unread, inside large ones. Only the
// columns that are asked for are unpacked, page by page.
//
// Pages and metadata are read here, and not by a library's reader, for three promises: no page claims more memory than
// it may have, whatever its header says; a value is never wrong without an error; and a corpus has all that the
// source's metadata says of its columns, be it known here or not (decision 0023).
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

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// Reader is the reading.RecordReader of Parquet.
type Reader struct{}

// Inspect reads the footer. Header then says of each row group how many rows and stored bytes it has.
func (Reader) Inspect(ctx context.Context, file *blocks.File, o reading.Options) error {
	if err := reading.OwnEncoding(file, o.Encoding); err != nil {
		return err
	}
	return with(ctx, file, func(f *storage.File, ft *footer) error {
		if err := ft.refuseDeletes(file); err != nil {
			return err
		}
		if _, err := bind(file, ft, o.Fields); err != nil {
			return err
		}
		source := &source{ctx, f, file, ft, mostOf(o)}
		file.Positions = ft.rows
		file.Header = nil
		for i := range ft.groups {
			g := &ft.groups[i]
			stored, inside := int64(0), uint64(1)
			err := ft.chunks(file, g, func(column int, c *chunk) error {
				stored += c.compressed
				if ft.schema.leaves[column].maxRep > 0 && c.indexOffset == 0 {
					inside = 0
				}
				if err := refused(c.codec); err != nil {
					return fmt.Errorf("%s: column %q: %w", file.Path, ft.schema.leaves[column].name(), err)
				}
				if c.uncompressed < 2*largePage {
					return nil
				}
				// To begin inside a large page takes as long as to begin before it.
				p := source.column(&ft.schema.leaves[column], g, c)
				if _, err := p.head(skipAhead); err != nil {
					return err
				}
				if p.large() {
					inside = 0
				}
				return nil
			})
			if err != nil {
				return err
			}
			file.Header = binary.AppendUvarint(file.Header, uint64(g.rows))
			file.Header = binary.AppendUvarint(file.Header, uint64(stored)<<1|inside)
		}
		return nil
	})
}

// with calls do with the file and its footer. The file must be the same before and after.
func with(ctx context.Context, file *blocks.File, do func(*storage.File, *footer) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := storage.Open(ctx, file.Path, file.Version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Unchanged(), f.Close()) }()
	if file.Size > smallFile {
		f.Ahead(0, int64(len(magic)))
		f.Ahead(file.Size-tailBytes, file.Size)
	} else {
		f.Ahead(0, file.Size)
	}
	ft, err := readFooter(f, file)
	if err != nil {
		return err
	}
	return do(f, ft)
}

const (
	// smallFile is the size in bytes of a file that is fetched at once.
	smallFile = 1 << 20
	// tailBytes has most footers.
	tailBytes = 64 << 10
	// nearBytes is how far apart rows may be to be fetched together: a request costs as much time as 1 MB.
	nearBytes = 1 << 20
)

// Cut cuts between row groups and, if all columns let one begin at any row, inside those of two sizes or more.
func (Reader) Cut(file *blocks.File, size int64) (cuts []int64) {
	first, since := int64(0), int64(0) // bytes since the last cut
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
	err = with(ctx, file, func(_ *storage.File, ft *footer) error {
		columns = ft.schema.columns()
		return nil
	})
	return columns, err
}

// field is a column of the records, or what is in its place.
type field struct {
	leaf     int     // its number; none: there is none
	constant *string // of a partition, in the place of a column
}

// fields are the columns that are asked for.
type fields struct {
	text      []field
	id, value field
}

func (b *fields) all() []field { return append(slices.Clone(b.text), b.id, b.value) }

// bind finds the columns of o in a file. One whose name is that of a folder, as dt of dt=2026-11-20, has
// that folder's value, if the file has no such column.
func bind(file *blocks.File, ft *footer, o codec.Fields) (b fields, err error) {
	b.id, b.value = field{leaf: none}, field{leaf: none}
	withPartitions := func() []string { return append(reading.Partitions(file.Path), ft.schema.names()...) }
	found := false
	for _, name := range o.Text {
		t, err := findField(file, ft, name)
		if err != nil {
			return b, err
		}
		if t.constant != nil {
			return b, fmt.Errorf("%s: %q is a folder's name and not a column; the columns are %s", file.Path, name,
				codec.Listed(ft.schema.names()))
		}
		found = found || t.leaf != none
		b.text = append(b.text, t)
	}
	if !found && len(o.Text) > 0 {
		return b, fmt.Errorf("%s: %w", file.Path,
			&codec.NoColumnError{Kind: "text", Name: o.Text[0], Columns: ft.schema.names()})
	}
	if o.ID != "" {
		if b.id, err = findField(file, ft, o.ID); err != nil {
			return b, err
		}
		if b.id.leaf == none && b.id.constant == nil && o.ID != "id" {
			return b, fmt.Errorf("%s: %w", file.Path, &codec.NoColumnError{Kind: "id", Name: o.ID, Columns: withPartitions()})
		}
	}
	if o.Value != "" {
		if b.value, err = findField(file, ft, o.Value); err != nil {
			return b, err
		}
		if b.value.leaf == none && b.value.constant == nil {
			return b, fmt.Errorf("%s: no column %q to keep by; the columns are %s", file.Path, o.Value,
				codec.Listed(withPartitions()))
		}
	}
	return b, b.check(file, ft)
}

// check refuses columns of types that cannot be what they are asked for.
func (b *fields) check(file *blocks.File, ft *footer) error {
	leaves := ft.schema.leaves
	for _, t := range b.text {
		if t.leaf != none && leaves[t.leaf].render.foreign != "" {
			return fmt.Errorf("%s: text column %q holds %s, not text", file.Path, leaves[t.leaf].name(),
				leaves[t.leaf].render.foreign)
		}
	}
	if b.id.leaf != none {
		switch l := &leaves[b.id.leaf]; {
		case l.render.foreign != "":
			return fmt.Errorf("%s: id column %q holds %s, not ids", file.Path, l.name(), l.render.foreign)
		case l.maxRep > 0:
			return fmt.Errorf("%s: id column %q is a list", file.Path, l.name())
		}
	}
	if b.value.leaf != none && (leaves[b.value.leaf].maxRep > 0 || leaves[b.value.leaf].render.foreign != "") {
		b.value.leaf = none // it has no order
	}
	return nil
}

func findField(file *blocks.File, ft *footer, name string) (field, error) {
	l, err := ft.schema.find(name)
	switch {
	case err != nil:
		return field{}, fmt.Errorf("%s: %w", file.Path, err)
	case l != none:
		return field{leaf: l}, nil
	}
	f := field{leaf: none}
	if value, ok := reading.Partition(file.Path, name); ok {
		f.constant = &value
	}
	return f, nil
}

// rows reads rows of a file, in ascending order.
type rows struct {
	*source
	f      *storage.File
	fields fields
	o      reading.Options
	see    func(*reading.Record) error

	group   *rowGroup // that is read
	columns []*column // of it, one for each of the fields; nil: there is none
	room    room      // for their pages
	// By text column: pages that others unpacked, and what keeps those that are for others. Each may be nil.
	kept   []*kept
	keep   []*keeper
	record reading.Record
	bytes  int // of the record
}

// maxPage is the size in bytes above which a page is refused if nothing else is said.
const maxPage = 1 << 30

// read opens file, and calls do with what reads its rows.
func read(
	ctx context.Context, file *blocks.File, o reading.Options, see func(*reading.Record) error, do func(*rows) error,
) error {
	err := with(ctx, file, func(f *storage.File, ft *footer) error {
		b, err := bind(file, ft, o.Fields)
		if err != nil {
			return err
		}
		r := &rows{source: &source{ctx, f, file, ft, mostOf(o)}, f: f, fields: b, o: o, see: see,
			room: room{claim: reading.Claim(o)}, kept: make([]*kept, len(b.text)), keep: make([]*keeper, len(b.text))}
		defer r.close()
		r.record.Doc = new(codec.Document)
		err = do(r)
		if errors.Is(err, reading.ErrStop) {
			return nil
		}
		return err
	})
	return err
}

func mostOf(o reading.Options) int64 { return cmp.Or(o.MaxWindow, maxPage) }

func (r *rows) close() {
	for _, c := range r.columns {
		if c != nil {
			c.end()
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

// Read reads the rows of spans. A page that several of them have rows of is unpacked once. The first to read a span
// keeps the pages of its text for those who read it again.
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

// span reads the rows of a span, and adds to progress what they take.
func (r *rows) span(span blocks.Span, progress *reading.Progress) error {
	at, end := span.Start, min(span.End, r.footer.rows)
	defer func() { progress.Stored += r.file.OffsetAt(at) - r.file.OffsetAt(span.Start) }()
	for at < end {
		g := r.footer.group(at)
		to := min(end, g.first+g.rows)
		if err := r.ahead(g, at, to); err != nil {
			return err
		}
		if err := r.open(g); err != nil {
			return err
		}
		for at < to {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			at++
			err := r.row(at-1, g)
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

// stretch are bytes of a file.
type stretch struct{ from, to int64 }

// stretches are those of the columns that have rows from from to before
// to of a group, in order. Small ones beside each other are one.
func (r *rows) stretches(g *rowGroup, from, to int64) (all []stretch, err error) {
	err = r.footer.chunks(r.file, g, func(i int, c *chunk) error {
		if !slices.ContainsFunc(r.fields.all(), func(f field) bool { return f.leaf == i }) {
			return nil
		}
		e := stretch{c.start(), c.start() + c.compressed}
		if from > g.first || to < g.first+g.rows {
			index, err := r.column(&r.footer.schema.leaves[i], g, c).readIndex()
			if err != nil {
				return err
			}
			for _, l := range index {
				if l.row <= from-g.first && l.row > 0 {
					e.from = l.offset
				}
				if l.row >= to-g.first {
					e.to = l.offset
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

// ahead says that rows from from to before to of a group are read in order.
func (r *rows) ahead(g *rowGroup, from, to int64) error {
	if !r.f.Fetches() {
		return nil
	}
	stretches, err := r.stretches(g, from, to)
	for _, e := range stretches {
		r.f.Ahead(e.from, e.to)
	}
	return err
}

// aheadSome says so of those between the positions in a group, if these are many.
func (r *rows) aheadSome(g *rowGroup, positions []int64) error {
	if !r.f.Fetches() {
		return nil
	}
	n, _ := slices.BinarySearch(positions, g.first+g.rows)
	from, to := positions[0], positions[n-1]+1
	stretches, err := r.stretches(g, from, to)
	bytes := int64(0)
	for _, e := range stretches {
		bytes += e.to - e.from
	}
	if err != nil || bytes/int64(n) > nearBytes {
		return err
	}
	for _, e := range stretches {
		r.f.Ahead(e.from, e.to)
	}
	return nil
}

// share is that of part, which is at most all, of n.
func share(n, part, all int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(part))
	quotient, _ := bits.Div64(hi, lo, uint64(all))
	return int64(quotient)
}

// ReadSome reads rows by number. Pages that have none of them are not unpacked.
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
			g := r.footer.group(position)
			if g == nil || position < span.Start || position >= span.End {
				return fmt.Errorf("%s: document at %d: there are %d rows", file.Path, position, r.footer.rows)
			}
			if g != r.group {
				if err := r.aheadSome(g, positions[i:]); err != nil {
					return err
				}
			}
			if err := r.open(g); err != nil {
				return err
			}
			if err := r.row(position, g); err != nil {
				return err
			}
		}
		return nil
	})
}

// group returns the row group of a row; nil if there is no such row.
func (ft *footer) group(row int64) *rowGroup {
	i := sort.Search(len(ft.groups), func(i int) bool { return ft.groups[i].first+ft.groups[i].rows > row })
	if i == len(ft.groups) {
		return nil
	}
	return &ft.groups[i]
}

// open opens the columns of a row group, unless they are open.
func (r *rows) open(g *rowGroup) error {
	if g == r.group {
		return nil
	}
	r.group = g
	all := r.fields.all()
	old := r.columns
	if old == nil {
		old = make([]*column, len(all))
	}
	r.columns = make([]*column, len(all))
	need := int64(0)
	err := r.footer.chunks(r.file, g, func(i int, c *chunk) error {
		for j, field := range all {
			if field.leaf == i {
				r.columns[j] = r.column(&r.footer.schema.leaves[i], g, c)
				r.columns[j].reuse(old[j])
				r.columns[j].record = r.o.MaxRecord
				if j < len(r.kept) {
					r.columns[j].kept = r.kept[j]
					if worthKeeping(c.codec) {
						r.columns[j].keep = r.keep[j]
					}
				}
				if _, err := r.columns[j].head(skipAhead); err != nil {
					return err
				}
				need += r.columns[j].need()
			}
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
				c.drop()
			}
		}
	}
	// For all at once: who holds one page and waits for room for another could wait for ever.
	return r.room.take(r.ctx, need)
}

// done checks that the rows of a group that were read are all there are, if they are its last.
func (r *rows) done() error {
	for _, c := range r.columns {
		if c != nil {
			if err := c.done(); err != nil {
				return err
			}
		}
	}
	return nil
}

// row reads a row of a group, and shows it.
func (r *rows) row(position int64, g *rowGroup) error {
	doc := r.record.Doc
	doc.Reset()
	r.record = reading.Record{Position: position, Doc: doc}
	r.bytes = 0
	row := position - g.first
	n := len(r.fields.text)
	text, id, value := r.columns[:n], r.columns[n], r.columns[n+1]
	doc.NoText = true
	between := r.o.Fields.Between()
	for i, c := range text {
		if i > 0 {
			doc.NextColumn(between)
		}
		if c == nil {
			doc.Missing = append(doc.Missing, i)
			continue
		}
		first := true
		err := r.values(c, row, &doc.Text, r.o.Fields.Items, func() {
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
		if err := r.values(id, row, &doc.ID, false, func() { doc.HasID = true }); err != nil {
			return err
		}
	}
	switch constant := r.fields.value.constant; {
	case constant != nil:
		v := codec.Untyped([]byte(*constant))
		doc.Value = codec.Value{Kind: v.Kind, Text: append(doc.Value.Text, v.Text...)}
	case value != nil:
		kind := value.leaf.render.kind
		if err := r.values(value, row, &doc.Value.Text, false, func() { doc.Value.Kind = kind }); err != nil {
			return err
		}
		if v := doc.Value; v.Kind == codec.NumberValue && !endsInDigit(v.Text) { // NaN, ±Inf
			doc.Value = codec.Value{Text: v.Text[:0]}
		}
	}
	if r.record.Long {
		doc.Reset()
	}
	return r.see(&r.record)
}

// values appends the values of a row to dst, calling before before each, and makes items of them if so. What makes the
// record too long is left out.
func (r *rows) values(c *column, row int64, dst *[]byte, items bool, before func()) error {
	if err := c.seek(row); err != nil {
		return err
	}
	return c.next(func(value []byte, size int) error {
		if longest := c.leaf.render.longest; longest > 0 && size > longest {
			return c.broken(fmt.Errorf("a value has %d bytes; at most %d are possible", size, longest))
		}
		if size > r.o.MaxRecord-r.bytes { // so it is for all that follow
			r.record.Long = true
			r.bytes += size
			return nil
		}
		had := len(*dst)
		before()
		from := len(*dst)
		if *dst = c.leaf.render.append(*dst, value); items {
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
