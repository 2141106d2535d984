// Package bytefile reads files that are a stream of bytes, compressed or not, in which a codec finds
// records: all formats but Parquet, and but WARC whose records are compressed
// one by one. A position is a byte offset in the decompressed content.
//
// Compression is known here and nowhere else: gzip and zstd are told by content, unpacked in each
// read or once into a spool, and a corpus is written back as the source was, frame by frame where
// frames can be copied.
package bytefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/charset"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// Reader is the reading.RecordReader of a codec.
type Reader struct {
	Codec func(codec.Fields) codec.Codec
	// Plain: a record is its text, and has no columns.
	Plain bool
	// Declared returns the label of the encoding that a file says it is in, which begins with head; nil: none does.
	Declared func(head []byte) string
	// Encoded: the format has an encoding of its own.
	Encoded bool
	// Members: each record is a file, whose text may be in another encoding.
	Members bool
	// Besides tells records that are no documents and go with the file, as filler does; nil: there are none. One that is
	// too long is not asked for.
	Besides func(record []byte) bool
}

// Inspect finds a file's compression and its header.
func (f Reader) Inspect(ctx context.Context, file *blocks.File, o reading.Options) (err error) {
	if f.Plain && o.Fields.Value != "" {
		return fmt.Errorf("%s: format %s has no columns, so none is called %q; give --keep first, longest or prefer:GLOB",
			file.Path, file.Format, o.Fields.Value)
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
		err = fmt.Errorf("%s: reading it takes a window of %d bytes, but --max-window is %d; raise that if there is enough "+
			"memory, or compress the file again with a smaller one", file.Path, file.Window, o.MaxWindow)
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
		if isUTF8, err = f.isUTF8(ctx, file, o); err != nil { // before c takes room for a window
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
	if !f.Encoded { // else the beginning tells nothing, and need not be readable
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
				if charset.UTF16(file.Header, 0) != "" { // names of columns would be garbage
					return fmt.Errorf("%s: its header is not UTF-8; it may be %s: read it with --encoding %[2]s", file.Path, encoding)
				}
				return fmt.Errorf("%s: it may be %s: read it with --encoding %[2]s: %w", file.Path, encoding, err)
			}
			return fmt.Errorf("%s: %w", file.Path, err)
		}
		if c.hi-c.lo >= maxHeader {
			return fmt.Errorf("%s: its header does not end within %d bytes; is it a %s file?", file.Path, c.hi-c.lo, file.Format)
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

// guess guesses the encoding of a header that is not UTF-8, or that of UTF-16; "" if there is no guess.
func guess(header []byte) string {
	if wide := charset.UTF16(header, 0); wide != "" || utf8.Valid(header) {
		return wide
	}
	return charset.Guess(header)
}

// inspectCompression tells the compression of the file at path, and of zstd the window that it takes.
func inspectCompression(path string, opened io.ReaderAt) (compression string, window int64, err error) {
	if compression, err = CompressionOf(opened); err != nil {
		return "", 0, fmt.Errorf("%s: %w", path, err)
	}
	if compression == zstded {
		window = windowOf(opened)
	}
	return compression, window, nil
}

// Cut cuts at multiples of size, but never inside the header, where no record can begin.
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

// Read reads all records of spans. The first to read a compressed file to its end fills its spool.
func (f Reader) Read(
	ctx context.Context, file *blocks.File, spans []blocks.Span, o reading.Options, see func(*reading.Record) error,
) (progress reading.Progress, err error) {
	if file.Sequential || len(spans) == 0 {
		return reading.OneByOne(spans, func(span blocks.Span) (reading.Progress, error) {
			return f.readSequential(ctx,
				file, span, o, see)
		})
	}
	if progress, _, err = f.read(ctx, file, spans, o, see, nil); errors.Is(err, reading.ErrStop) {
		err = nil
	}
	return progress, err
}

// smallPacked is the size of files that are spooled even by who wants only the beginning, if that turns out to be all.
const smallPacked = 256 << 10

// errPartial says that a spool is not kept, since it is not whole.
var errPartial = errors.New("not all of the file was read")

func (f Reader) readSequential(
	ctx context.Context, file *blocks.File, span blocks.Span, o reading.Options, see func(*reading.Record) error,
) (progress reading.Progress, err error) {
	spans := []blocks.Span{span}
	_, ok := reading.Spooled(ctx, file.Spool)
	if file.Spool == "" || ok || span.Start > 0 || span.End != blocks.End && file.Size > smallPacked {
		progress, _, err = f.read(ctx, file, spans, o, see, nil)
		return progress, err
	}
	reading.FillSpool(ctx, file.Spool, file.Size, func(spool io.Writer) error {
		var whole bool
		if progress, whole, err = f.read(ctx, file, spans, o, see, spool); !whole {
			return errPartial
		}
		return nil
	})
	return progress, err
}

// read reads spans with one cursor, several only of a file that is not Sequential.
// It copies the plain bytes that it reads to spool, unless that is nil, and reports whether these are whole.
func (f Reader) read(
	ctx context.Context, file *blocks.File, spans []blocks.Span, o reading.Options,
	see func(*reading.Record) error, spool io.Writer,
) (progress reading.Progress, whole bool, err error) {
	c, err := f.openSpan(ctx, file, spans[0], o, nil, spool)
	if err != nil {
		return progress, false, err
	}
	defer func() {
		closed := c.close()
		whole, err = c.eof && closed == nil, errors.Join(err, closed)
		progress.Stored = progress.Content
		if unpacked := c.pos + int64(c.hi-c.lo); c.packed != nil && unpacked > 0 {
			// Nobody reads ahead any more, but what was unpacked need not have been shown.
			progress.Stored = int64(float64(c.packed.n.Load()) * (float64(c.pos) / float64(unpacked)))
		}
	}()
	record := reading.Record{Doc: new(codec.Document)}
	for i, span := range spans {
		if i > 0 {
			if err := c.enter(file, span); err != nil {
				return progress, false, err
			}
		}
		n, err := c.readSpan(&record, see)
		if progress.Content += n; err != nil {
			return progress, false, err
		}
	}
	return progress, false, nil
}

// readSpan calls see with the records of the span that the cursor is in, and returns how many bytes it went through.
func (c *cursor) readSpan(record *reading.Record, see func(*reading.Record) error) (bytes int64, err error) {
	for {
		if err := c.ctx.Err(); err != nil {
			return bytes, err
		}
		p, err := c.next()
		if err == io.EOF {
			return bytes, nil
		}
		if err != nil {
			return bytes, err
		}
		bytes += int64(len(p.raw))
		if p.filler || p.continued {
			continue
		}
		if err := c.show(p, record, see); err != nil {
			return bytes, err
		}
	}
}

// ReadSome reads the records at positions.
func (f Reader) ReadSome(
	ctx context.Context, file *blocks.File, span blocks.Span, positions []int64, o reading.Options,
	see func(*reading.Record) error,
) (err error) {
	// a record behind the header may not be found from where it begins
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
			return fmt.Errorf("%s: document at %d: %w", file.Path, position, err)
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

// decode makes a record of a piece that begins one.
func (c *cursor) decode(p piece, record *reading.Record) {
	*record = reading.Record{Position: p.position, Doc: record.Doc, Raw: p.raw, Long: p.long}
	if p.long {
		record.Raw = nil
		record.Doc.Reset()
		return
	}
	record.Err = c.codec.Decode(p.raw, record.Doc)
}

// CopyExcept copies the bytes of a span, header and filler included, in the compression of the file.
// A compressed file that nothing is dropped of is copied as it is, and so are frames of zstd that
// tell their size. Filler that separates records goes with those that are dropped.
func (f Reader) CopyExcept(
	ctx context.Context, w io.Writer, file *blocks.File, span blocks.Span, dropped []int64, o reading.Options,
) (kept int64, err error) {
	kept, _, err = f.CopyEdited(ctx, w, file, span, dropped, nil, nil, o)
	return kept, err
}

// Edits reports whether the codec can.
func (f Reader) Edits(o reading.Options) bool {
	_, ok := f.Codec(o.Fields).(codec.Editor)
	return ok
}

// CopyEdited is CopyExcept, with other texts in some records.
func (f Reader) CopyEdited(
	ctx context.Context, w io.Writer, file *blocks.File, span blocks.Span, dropped, edited []int64,
	edit reading.Edit, o reading.Options,
) (kept, unedited int64, err error) {
	separated := f.Codec(o.Fields).Separated()
	limit := span.End
	if separated {
		span.End = blocks.End // what closes the list is copied, too
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
		// The cursor may read the spool, and then nobody else looks at the file.
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
	next := func() int64 { // what --limit cuts off is as good as dropped
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
			if with, changed = f.edit(c, with[:0], p, edit); !changed {
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
		return 0, 0, fmt.Errorf("%s: no record begins at %d, where one was removed or edited", file.Path, missing[0])
	}
	return kept, unedited, errors.Join(list.finish(), end())
}

// edit edits the record of a piece.
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
		next += len(text) + len(" ") // as codec.Fields.Between has it
		return edit(p.position, begin, text)
	})
}

// listCopier copies records that filler separates: between two that are kept there is some of one side, and none
// before the first but what the file begins with.
type listCopier struct {
	write   func(raw []byte) error
	records bool   // there was one
	kept    bool   // one was written
	gap     []byte // the last filler behind a record, unless a kept one followed
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

// finish writes what follows the last record.
func (l *listCopier) finish() error {
	if !l.last {
		return nil
	}
	return l.write(l.gap)
}

// writeKept returns what writes the bytes that are not dropped.
func writeKept(w io.Writer) func(raw []byte, dropped bool, next int64) error {
	return func(raw []byte, dropped bool, _ int64) error {
		if dropped {
			return nil
		}
		_, err := w.Write(raw)
		return err
	}
}

// follower copies a compressed file as it stands, not far behind where it
// is being read: what was fetched for the one need not be for the other.
type follower struct {
	w      io.Writer
	packed io.ReaderAt
	read   func() int64 // how far it is read
	at     int64
}

// follow copies what was read, if that is much.
func (f *follower) follow() error {
	if read := f.read(); read-f.at >= readBytes {
		return f.to(read)
	}
	return nil
}

// to copies what is before end, or all there is.
func (f *follower) to(end int64) error {
	n, err := io.Copy(f.w, io.NewSectionReader(f.packed, f.at, end-f.at))
	f.at += n
	return err
}
