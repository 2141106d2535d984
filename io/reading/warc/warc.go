// Package warc reads WARC and WET files.
//
// A file of gzip members with one record each, as the standard describes it (ISO 28500, annex D), is cut between
// members: a position is the offset of a member in the stored file, and a copy has the bytes of the kept members.
// Package bytefile reads other files as streams of bytes: uncompressed, zstd, or gzip with several records per member.
package warc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/warc"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/bytefile"
	"github.com/neardup/neardup/io/storage"
)

// Reader is the reading.RecordReader for WARC. A file that is not Sequential consists of gzip members.
type Reader struct{}

var stream = bytefile.Reader{Codec: warc.New, Besides: warc.Besides, Encoded: true}

// Inspect tells from the first member, or from the next one if that is broken, whether each record has a member.
func (Reader) Inspect(ctx context.Context, file *blocks.File, o reading.Options) error {
	if err := stream.Inspect(ctx, file, o); err != nil {
		return err
	}
	if file.Compression != "gzip" {
		head, err := bytefile.Head(ctx, file, o)
		if err != nil {
			return err
		}
		return checkVersion(file, head)
	}
	return walk(ctx, file, o, func(w *walker) error {
		head, members, broken := w.first()
		if w.source.err != nil {
			return fmt.Errorf("%s: %w", file.Path, w.source.err)
		}
		if err := checkVersion(file, head); err != nil {
			return err
		}
		if broken {
			next, err := w.search(1, w.size)
			if err != nil {
				return err
			}
			members = next < w.size
		}
		if members {
			file.Compression, file.Sequential = "", false // each member is compressed by itself
		}
		return nil
	})
}

func checkVersion(file *blocks.File, head []byte) error {
	if err := warc.CheckVersion(head); err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	return nil
}

// Cut cuts at multiples of size, from where a reader finds the next member.
func (Reader) Cut(file *blocks.File, size int64) (cuts []int64) { return stream.Cut(file, size) }

// Read reads the members that begin in spans.
func (Reader) Read(
	ctx context.Context, file *blocks.File, spans []blocks.Span, o reading.Options, see func(*reading.Record) error,
) (progress reading.Progress, err error) {
	if file.Sequential {
		return stream.Read(ctx, file, spans, o, see)
	}
	c := warc.New(o.Fields)
	record := reading.Record{Doc: new(codec.Document)}
	err = walk(ctx, file, o, func(w *walker) error {
		for _, span := range spans {
			err := w.each(span, func(m member) error {
				progress.Stored += m.end - m.start
				progress.Content += m.content
				if w.besides(m) {
					return nil
				}
				return w.show(c, m, &record, see)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return progress, err
}

// ReadSome reads the members at positions.
func (Reader) ReadSome(
	ctx context.Context, file *blocks.File, span blocks.Span, positions []int64, o reading.Options,
	see func(*reading.Record) error,
) error {
	if file.Sequential {
		return stream.ReadSome(ctx, file, span, positions, o, see)
	}
	c := warc.New(o.Fields)
	record := reading.Record{Doc: new(codec.Document)}
	return walk(ctx, file, o, func(w *walker) error {
		ahead := reading.Near(w.file, positions, tailBytes, file.Size)
		for i, position := range positions {
			w.source.near = ahead(i)
			if position >= file.Size {
				return fmt.Errorf("%s at byte %d: %w", file.Path, position, reading.ErrAbsent)
			}
			m, err := w.step(position, o.MaxRecord)
			if err != nil {
				return err
			}
			if w.besides(m) {
				return fmt.Errorf("%s at byte %d: %w", file.Path, position, reading.ErrAbsent)
			}
			if err := w.show(c, m, &record, see); err != nil {
				return err
			}
		}
		return nil
	})
}

// Copy copies the stored bytes of the members that begin in a span.
func (Reader) Copy(
	ctx context.Context, w io.Writer, file *blocks.File, span blocks.Span, changes reading.Changes, o reading.Options,
) (kept, unedited int64, err error) {
	if file.Sequential {
		return stream.Copy(ctx, w, file, span, changes, o)
	}
	dropped := changes.Dropped
	err = walk(ctx, file, o, func(in *walker) error {
		var from, to int64 // range of successive kept members
		flush := func() error {
			_, err := io.Copy(w, io.NewSectionReader(in.file, from, to-from))
			return err
		}
		err := in.each(span, func(m member) error {
			if len(dropped) > 0 && dropped[0] == m.start {
				dropped = dropped[1:]
				return nil
			}
			if m.start != to {
				if err := flush(); err != nil {
					return err
				}
				from = m.start
			}
			if to = m.end; !in.besides(m) {
				kept++
			}
			if to-from < readBytes {
				return nil
			}
			err := flush() // while it may still be cached
			from = to
			return err
		})
		if err == nil && len(dropped) > 0 {
			err = fmt.Errorf("%s at byte %d, where one was removed: %w", file.Path, dropped[0], reading.ErrAbsent)
		}
		if err != nil {
			return err
		}
		return flush()
	})
	return kept, int64(len(changes.Edited)), err
}

// walk calls do with a walker of file, which must not change meanwhile. It returns nil for ErrStop.
func walk(ctx context.Context, file *blocks.File, o reading.Options, do func(*walker) error) (err error) {
	f, err := storage.Open(ctx, file.Path, file.Version)
	if err != nil {
		return err
	}
	w := newWalker(ctx, f, file, o)
	defer func() {
		w.release()
		inflaters.Put(w.gzip)
		err = errors.Join(err, f.Unchanged(), f.Close())
	}()
	if err = do(w); errors.Is(err, reading.ErrStop) {
		err = nil
	}
	return err
}

// besides reports whether the member last read is not a document but is copied with the file.
func (w *walker) besides(m member) bool {
	return m.broken == nil && !m.long && (m.content == 0 || warc.Besides(w.plain))
}

// show calls see with the record of the member last read.
func (w *walker) show(c codec.Codec, m member, record *reading.Record, see func(*reading.Record) error) error {
	return reading.Show(w.ctx, len(w.plain), w.claim, func() error {
		*record = reading.Record{Position: m.start, Doc: record.Doc, Long: m.long}
		switch {
		case m.long:
			record.Doc.Reset()
		case m.broken != nil:
			record.Doc.Reset()
			record.Err, record.Raw = &codec.Error{Reason: codec.BrokenWARC, Detail: "in its gzip member: " + m.broken.Error()},
				w.plain
		default:
			if record.Err = c.Decode(w.plain, record.Doc); record.Err != nil {
				record.Raw = w.plain
			}
		}
		return see(record)
	})
}
