// Package bytefile reads files that are a stream of bytes, compressed or not, in which a codec finds records: all
// formats except Parquet, and WARC with individually compressed records. A position is a byte offset in the
// decompressed content.
//
// Only this package knows about compression: it recognises gzip and zstd by content, unpacks files at each read or once
// into a spool, and writes a corpus with the compression of its source, copying whole frames where it can.
package bytefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/charset"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// Reader is the reading.RecordReader for a codec.
type Reader struct {
	Codec func(codec.Fields) codec.Codec
	// Plain says that a record is only its text, without columns.
	Plain bool
	// Declared returns the label of the encoding that a file with this beginning declares; nil: files declare none.
	Declared func(head []byte) string
	// Encoded says that the format defines its encoding.
	Encoded bool
	// Members says that each record is a file, whose text may be in another encoding.
	Members bool
	// Besides reports whether a record is not a document but goes with the file, like filler; nil: no record is. It is not
	// called with records that are too long.
	Besides func(record []byte) bool
}

// Inspect finds a file's compression and its header.
func (f Reader) Inspect(ctx context.Context, file *blocks.File, o reading.Options) (err error) {
	if f.Plain && o.Fields.Value != "" {
		return fmt.Errorf("%s: the %s format has no columns to rank documents by; use --keep first, longest or prefer:GLOB",
			file.Path, file.Format)
	}
	if file.Size > blocks.MaxPosition {
		return fmt.Errorf("%s has %d bytes, but at most %d can be read; split the file", file.Path,
			file.Size, int64(blocks.MaxPosition))
	}
	opened, err := storage.Open(ctx, file.Path, file.Version)
	if err != nil {
		return err
	}
	file.Compression, file.Window, err = inspectCompression(file.Path, opened)
	if err == nil && o.MaxWindow > 0 && file.Window > o.MaxWindow {
		err = fmt.Errorf("%s: reading it needs a window of %d bytes, but --max-window is %d; raise the limit if there is "+
			"enough memory, or compress the file again with a smaller window", file.Path, file.Window, o.MaxWindow)
	}
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	asked, isUTF8 := o.Encoding, false
	if f.Declared != nil {
		if asked, err = f.declared(ctx, file, o); err != nil {
			return errors.Join(err, opened.Close())
		}
		o.Encoding = asked
	}
	if !f.Encoded && ofOthers(asked) {
		if isUTF8, err = f.isUTF8(ctx, file, o); err != nil { // before c claims memory for a window
			return errors.Join(err, opened.Close())
		}
	}
	c, err := f.openOn(ctx, opened, file, file.Compression, nil, o, false)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			c.keep(ctx, file)
		}
		err = errors.Join(err, c.close())
	}()
	if !f.Encoded { // otherwise the beginning says nothing, and need not be readable
		if err := c.fill(); err != nil {
			return err
		}
	}
	if file.Encoding, err = f.encodingOf(file, asked, c.buf[c.lo:c.hi], isUTF8); err != nil {
		return err
	}
	if c.codec, err = f.codecOf(file, o.Fields); err != nil {
		return err
	}
	file.Sequential = file.Compression != "" || !c.codec.Splittable()
	for {
		n, ok := c.codec.Header(c.buf[c.lo:c.hi], c.eof)
		if ok {
			file.Header = slices.Clone(c.buf[c.lo : c.lo+n])
			_, err := c.codec.WithHeader(file.Header)
			if err == nil {
				return nil
			}
			if encoding := guess(file.Header); encoding != "" && file.Encoding == "" {
				if charset.UTF16(file.Header, 0) != "" { // column names would be garbage
					return fmt.Errorf("%s: its header is not UTF-8; it may be %s; read it with --encoding %[2]s", file.Path, encoding)
				}
				return fmt.Errorf("%s: %w; the file may be %s; read it with --encoding %[3]s", file.Path, err, encoding)
			}
			return fmt.Errorf("%s: %w", file.Path, err)
		}
		if c.hi-c.lo >= maxHeader {
			return fmt.Errorf("%s: its header does not end within %d bytes; is this a %s "+
				"file?", file.Path, c.hi-c.lo, strings.ToUpper(file.Format))
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// Head returns the first 256 KiB of a listed file's content, or all of it.
func Head(ctx context.Context, file *blocks.File, o reading.Options) (head []byte, err error) {
	opened, err := storage.Open(ctx, file.Path, file.Version)
	if err != nil {
		return nil, err
	}
	found := *file
	if found.Compression, found.Window, err = inspectCompression(file.Path, opened); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	c, err := Reader{}.openOn(ctx, opened, &found, found.Compression, nil, o, false)
	if err != nil {
		return nil, err
	}
	err = c.fill()
	head = slices.Clone(c.buf[:c.hi])
	if err == nil {
		c.keep(ctx, file)
	}
	return head, errors.Join(err, c.close())
}

// guess guesses the encoding of a header that is not UTF-8 or looks like UTF-16; "" if it cannot.
func guess(header []byte) string {
	if wide := charset.UTF16(header, 0); wide != "" || utf8.Valid(header) {
		return wide
	}
	return charset.Guess(header)
}

// inspectCompression returns the compression of the file at path, and the window that zstd needs for it.
func inspectCompression(path string, opened io.ReaderAt) (compression string, window int64, err error) {
	if compression, err = CompressionOf(opened); err != nil {
		return "", 0, fmt.Errorf("%s: %w", path, err)
	}
	if compression == zstded {
		window = windowOf(opened)
	}
	return compression, window, nil
}

// Cut cuts at multiples of size, except inside the header, where no record can begin.
func (f Reader) Cut(file *blocks.File, size int64) (cuts []int64) {
	if file.Sequential {
		return nil
	}
	for at := size; at < file.Size; at += size {
		if at > int64(len(file.Header)) {
			cuts = append(cuts, at)
		}
	}
	return cuts
}

// Read reads all records of spans, each with a cursor of its own. The first read of a compressed file to its end fills
// the spool.
func (f Reader) Read(
	ctx context.Context, file *blocks.File, spans []blocks.Span, o reading.Options, see func(*reading.Record) error,
) (reading.Progress, error) {
	return reading.OneByOne(spans, func(span blocks.Span) (progress reading.Progress, err error) {
		_, spooled := reading.Spooled(ctx, file.Spool)
		if file.Spool == "" || spooled || span.Start > 0 || span.End != blocks.End && file.Size > smallPacked {
			progress, _, err = f.read(ctx, file, span, o, see, nil)
			return progress, err
		}
		reading.FillSpool(ctx, file.Spool, file.Size, func(spool io.Writer) error {
			var whole bool
			if progress, whole, err = f.read(ctx, file, span, o, see, spool); !whole {
				return errPartial
			}
			return nil
		})
		return progress, err
	})
}

// smallPacked is the maximum size of files that are spooled even by a read of their beginning, if that is all.
const smallPacked = 256 << 10

// errPartial says that a spool is not kept because it is not whole.
var errPartial = errors.New("not all of the file was read")

// read reads a span. It copies the decompressed bytes to spool, unless that is nil, and reports whether they are whole.
func (f Reader) read(
	ctx context.Context, file *blocks.File, span blocks.Span, o reading.Options,
	see func(*reading.Record) error, spool io.Writer,
) (progress reading.Progress, whole bool, err error) {
	c, err := f.openSpan(ctx, file, span, o, nil, spool)
	if err != nil {
		return progress, false, err
	}
	defer func() {
		closed := c.close()
		whole, err = c.eof && closed == nil, errors.Join(err, closed)
		progress.Stored = progress.Content
		if unpacked := c.pos + int64(c.hi-c.lo); c.packed != nil && unpacked > 0 {
			// Reading ahead has ended, but not all that was unpacked may have been shown.
			progress.Stored = int64(float64(c.packed.n.Load()) * (float64(c.pos) / float64(unpacked)))
		}
	}()
	record := reading.Record{Doc: new(codec.Document)}
	for {
		if err := ctx.Err(); err != nil {
			return progress, false, err
		}
		p, err := c.next()
		if err == io.EOF {
			return progress, false, nil
		}
		if err != nil {
			return progress, false, err
		}
		progress.Content += int64(len(p.raw))
		if p.filler || p.continued {
			continue
		}
		if err := c.show(p, &record, see); err != nil {
			return progress, false, err
		}
	}
}

// ReadSome reads the records at positions.
func (f Reader) ReadSome(
	ctx context.Context, file *blocks.File, span blocks.Span, positions []int64, o reading.Options,
	see func(*reading.Record) error,
) (err error) {
	// Close to the header, syncing at a record's start may not find it.
	if !file.Sequential && len(positions) > 0 && positions[0]-int64(len(file.Header)) > nearBytes {
		span.Start = max(span.Start, positions[0])
	}
	c, err := f.openSpan(ctx, file, span, o, positions, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	record := reading.Record{Doc: new(codec.Document)}
	for i, position := range positions {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.expect(i)
		p, err := c.seek(position)
		if err != nil {
			return fmt.Errorf("%s at byte %d: %w", file.Path, position, err)
		}
		err = c.show(p, &record, see)
		if errors.Is(err, reading.ErrStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decode makes a record of a piece that begins a record.
func (c *cursor) decode(p piece, record *reading.Record) {
	*record = reading.Record{Position: p.position, Doc: record.Doc, Raw: p.raw, Long: p.long}
	if p.long {
		record.Raw = nil
		record.Doc.Reset()
		return
	}
	record.Err = c.codec.Decode(p.raw, record.Doc)
}

// Edits reports whether the codec is a codec.Editor.
func (f Reader) Edits(o reading.Options) bool {
	_, ok := f.Codec(o.Fields).(codec.Editor)
	return ok
}

// Copy copies the bytes of a span, header and filler included, in the file's compression. It copies a compressed file
// unchanged if nothing is dropped or edited, and likewise zstd frames that state their size. Filler that separates
// records is dropped with them.
func (f Reader) Copy(
	ctx context.Context, w io.Writer, file *blocks.File, span blocks.Span, changes reading.Changes, o reading.Options,
) (kept, unedited int64, err error) {
	dropped, edited := changes.Dropped, changes.Edited
	separated := f.Codec(o.Fields).Separated()
	limit := span.End
	if separated {
		span.End = blocks.End // also copy what closes the list
	}
	c, err := f.openSpan(ctx, file, span, o, nil, nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	put, end := writeKept(w), func() error { return nil }
	replace := func(_, with []byte) error { return put(with, false, 0) }
	if file.Compression != "" {
		packed, failed := storage.Open(ctx, file.Path, file.Version)
		if failed != nil {
			return 0, 0, failed
		}
		// The cursor may read the spool instead, so only this checks that the file is unchanged.
		defer func() { err = errors.Join(err, packed.Unchanged(), packed.Close()) }()
		if len(dropped)+len(edited) == 0 && limit == blocks.End {
			copied := &follower{w: w, packed: packed, read: c.read}
			put = func([]byte, bool, int64) error { return copied.follow() }
			end = func() error { return copied.to(blocks.End) }
		} else {
			p := &repacker{w: w, packed: follower{w: w, packed: packed, read: c.read},
				compression: file.Compression, anew: separated}
			put, end = p.put, p.finish
			replace = p.replace
		}
	}
	next := func() int64 { // records that --limit cuts off count as dropped
		first := limit
		if len(dropped) > 0 {
			first = min(first, dropped[0])
		}
		if len(edited) > 0 {
			first = min(first, edited[0])
		}
		return first
	}
	list := &listCopier{write: func(raw []byte) error { return put(raw, false, 0) }}
	if err := put(file.Header, false, next()); err != nil {
		return 0, 0, err
	}
	drop := false
	var with []byte
	for {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		p, err := c.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, 0, err
		}
		switch {
		case p.filler:
			drop = false
		case p.continued:
		case p.position >= limit:
			drop = true
		default:
			if drop = len(dropped) > 0 && dropped[0] == p.position; drop {
				dropped = dropped[1:]
			} else {
				kept++
			}
		}
		changed := false
		if !p.filler && !p.continued && !drop && len(edited) > 0 && edited[0] == p.position {
			edited = edited[1:]
			if with, changed = f.edit(c, with[:0], p, changes.Edit); !changed {
				unedited++
			}
		}
		if changed && separated {
			p.raw = with
		} else if changed {
			if err := replace(p.raw, with); err != nil {
				return 0, 0, err
			}
			continue
		}
		if separated {
			if err := list.put(p, drop); err != nil {
				return 0, 0, err
			}
			continue
		}
		if err := put(p.raw, drop, next()); err != nil {
			return 0, 0, err
		}
	}
	if missing := slices.Concat(dropped, edited); len(missing) > 0 {
		return 0, 0, fmt.Errorf("%s at byte %d, where one was removed or edited: %w", file.Path, missing[0],
			reading.ErrAbsent)
	}
	return kept, unedited, errors.Join(list.finish(), end())
}

// edit appends the edited record of a piece to dst.
func (f Reader) edit(
	c *cursor, dst []byte, p piece, edit reading.Edit,
) (edited []byte, ok bool) {
	editor, ok := c.codec.(codec.Editor)
	if !ok || p.long {
		return dst, false
	}
	next := 0
	return editor.Edit(dst, p.raw, func(text []byte) []byte {
		begin := next
		next += len(text) + len(" ") // the separator of codec.Fields.Between
		return edit(p.position, begin, text)
	})
}

// listCopier copies records that filler separates. Between two kept records it writes the filler of one side; before
// the first it writes only what the file begins with.
type listCopier struct {
	write   func(raw []byte) error
	records bool   // there was a record
	kept    bool   // a record was written
	gap     []byte // the last filler after a record, unless a kept record followed
	last    bool   // no record followed it
}

func (l *listCopier) put(p piece, dropped bool) error {
	switch {
	case p.filler && l.records:
		l.gap, l.last = append(l.gap[:0], p.raw...), true
		return nil
	case !p.filler && !p.continued:
		l.records, l.last = true, false
		if dropped {
			return nil
		}
		gap, kept := l.gap, l.kept
		l.gap, l.kept = l.gap[:0], true
		if kept {
			if err := l.write(gap); err != nil {
				return err
			}
		}
	case dropped:
		return nil
	}
	return l.write(p.raw)
}

// finish writes the filler after the last record.
func (l *listCopier) finish() error {
	if !l.last {
		return nil
	}
	return l.write(l.gap)
}

// writeKept returns a function that writes the bytes that are not dropped.
func writeKept(w io.Writer) func(raw []byte, dropped bool, next int64) error {
	return func(raw []byte, dropped bool, _ int64) error {
		if dropped {
			return nil
		}
		_, err := w.Write(raw)
		return err
	}
}

// follower copies a compressed file unchanged, close behind its reader, so that data fetched for one need not be
// fetched again for the other.
type follower struct {
	w      io.Writer
	packed io.ReaderAt
	read   func() int64 // how far the file has been read
	at     int64
}

// follow copies what has been read, if that is much.
func (f *follower) follow() error {
	if read := f.read(); read-f.at >= readBytes {
		return f.to(read)
	}
	return nil
}

// to copies the bytes before end, or all there are.
func (f *follower) to(end int64) error {
	n, err := io.Copy(f.w, io.NewSectionReader(f.packed, f.at, end-f.at))
	f.at += n
	return err
}
