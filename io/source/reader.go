package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/storage"
)

const (
	readBytes = 256 << 10
	// A header travels with each split, so it is bounded.
	maxHeader = 1 << 20
	// A part of an over-long record overlaps the next by as much as any record's end is long.
	endOverlap = 16
	// Past this distance a jump costs less than reading on, from a disk or over a network too.
	jumpBytes = 256 << 10
	// Past this distance records are not looked at on the way.
	nearBytes = 4 << 10
	// So much is read behind a span for the rest of its last record.
	tailBytes = 16 << 10
)

// buffers are those of closed readers.
var buffers sync.Pool

// Reader reads the records of a span of one file, and what stands between them, the filler.
// Filler belongs to the record before it, or to the header: so the pieces of all spans of a file,
// one after another, are the file less its header, whatever the spans.
type Reader struct {
	file        *storage.File
	content     *io.SectionReader // of file, from its start
	plain       io.ReadCloser     // nil: file is not compressed
	src         io.Reader
	codec       codec.Codec
	path        string
	compression string
	ordinal     int // of the file, where the reader has a span of the inputs
	end         int64
	maxRecord   int

	buf    []byte // buf[lo:hi] is read and not yet handed out
	lo, hi int
	given  int   // bytes of buf that the last call handed out
	pos    int64 // position of buf[lo]
	eof    bool
	inside bool // an over-long record is being handed out
	begun  bool // a record of the span was handed out, or the span begins the file
	whole  bool // the file is one document, even if it is empty
}

// Piece is a part of a file: a record, or what stands between two.
type Piece struct {
	Position int64
	Raw      []byte // valid until the next call
	// Filler stands outside of records.
	Filler bool
	// Long: the record does not end here; its rest follows in pieces that are Continued.
	Long      bool
	Continued bool
}

// Decode decodes the record of a piece into doc.
func (r *Reader) Decode(p Piece, doc *codec.Document) error { return r.codec.Decode(p.Raw, doc) }

// Open opens span of in for reading. Records of more than maxRecord bytes come in parts: those
// and no others, wherever the span begins, since what becomes of them is seen in the output.
func Open(ctx context.Context, in *blocks.Inputs, span blocks.Span, fields codec.Fields, maxRecord int) (*Reader, error) {
	return openSpan(ctx, in, span, fields, maxRecord, nil)
}

// openSpan is Open, and copies the plain bytes that it reads to spool, unless that is nil.
func openSpan(ctx context.Context, in *blocks.Inputs, span blocks.Span, fields codec.Fields, maxRecord int, spool io.Writer) (*Reader, error) {
	file := in.Files[span.File]
	// The sample, which does not read to the end, asks how much was read.
	r, err := open(ctx, file, fields, span.End == blocks.End)
	if err != nil {
		return nil, err
	}
	r.ordinal, r.end, r.maxRecord = span.File, span.End, max(maxRecord, endOverlap)
	if spool != nil {
		r.src = io.TeeReader(r.src, spool)
	}
	if err := r.seekStart(file, span.Start); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open opens file at its first byte, its header not yet passed. Ahead says whether to read more than
// is asked for.
func open(ctx context.Context, file blocks.File, fields codec.Fields, ahead bool) (*Reader, error) {
	format, err := formatNamed(file.Format)
	if err != nil {
		return nil, err
	}
	c := format.codec(fields)
	if file.Header != nil {
		if c, err = c.WithHeader(file.Header); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Path, err)
		}
	}
	path, identity := file.Path, file.Identity
	if spooled, ok := spooled(ctx, file); ok {
		path, identity, file.Compression = spooled.Path, spooled.Version, ""
	}
	f, err := storage.Open(ctx, path, identity)
	if err != nil {
		return nil, err
	}
	content := io.NewSectionReader(f, 0, math.MaxInt64)
	r := &Reader{
		file: f, content: content, src: content, codec: c, path: file.Path, compression: file.Compression,
		end: blocks.End, maxRecord: maxHeader, whole: file.IDIsSource,
	}
	if file.Compression != "" {
		if r.plain, err = decompress(content, file.Compression, ahead); err != nil {
			return nil, errors.Join(r.failed(err), f.Close())
		}
		r.src = r.plain
	}
	return r, nil
}

// spooled returns the plain bytes of file, if they were left by the first to read it.
func spooled(ctx context.Context, file blocks.File) (storage.Info, bool) {
	if file.Spool == "" {
		return storage.Info{}, false
	}
	info, err := storage.Stat(ctx, file.Spool)
	return info, err == nil
}

// seekStart moves to the first place where a record of the span may begin.
func (r *Reader) seekStart(file blocks.File, start int64) error {
	if start == 0 {
		r.begun = !r.whole
		header := int64(len(file.Header))
		for {
			r.drop(int(min(header-r.pos, int64(r.hi-r.lo))))
			if r.pos == header || r.eof {
				return nil
			}
			if err := r.fill(); err != nil {
				return err
			}
		}
	}
	return r.sync(start)
}

// sync goes on reading at the first place from position on where a record may begin. In a
// compressed file there is no way but through.
func (r *Reader) sync(position int64) error {
	r.drop(r.given)
	r.given, r.inside = 0, false
	before := position - 1
	if r.compression == "" && before-r.pos > jumpBytes {
		r.jump(before)
	}
	for {
		r.drop(int(min(before-r.pos, int64(r.hi-r.lo))))
		if r.pos == before || r.eof {
			break
		}
		if err := r.fill(); err != nil {
			return err
		}
	}
	for {
		n, ok := r.codec.Sync(r.buf[r.lo:r.hi], r.eof)
		if ok {
			r.drop(n)
			return nil
		}
		r.drop(r.hi - r.lo)
		if r.eof || r.pos >= r.end {
			return nil
		}
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// skipTo moves on towards position, which must not lie behind: to it if that is not near.
func (r *Reader) skipTo(position int64) error {
	if position-(r.pos+int64(r.given)) > nearBytes {
		return r.sync(position)
	}
	return nil
}

// jump goes on reading at position.
func (r *Reader) jump(position int64) {
	r.src = io.NewSectionReader(r.file, position, math.MaxInt64-position)
	r.lo, r.hi, r.pos, r.eof = 0, 0, position, false
}

// Next returns the next piece, or io.EOF after the last of the span.
func (r *Reader) Next() (Piece, error) {
	r.drop(r.given)
	r.given = 0
	for {
		if !r.begun && r.pos >= r.end {
			return Piece{}, io.EOF // no record begins in the span, however far the next one is
		}
		data := r.buf[r.lo:r.hi]
		if r.inside {
			n, ok := r.codec.End(data, r.eof)
			switch {
			case ok:
				r.inside = false
				return r.give(n, Piece{Continued: true}), nil
			case len(data) > endOverlap:
				return r.give(len(data)-endOverlap, Piece{Continued: true}), nil
			}
		} else {
			n, found := r.codec.Start(data, r.eof)
			if n > 0 && r.begun {
				return r.give(n, Piece{Filler: true}), nil
			}
			r.drop(n) // filler of an earlier span
			if found {
				if r.pos >= r.end {
					return Piece{}, io.EOF
				}
				if r.pos >= blocks.MaxPosition {
					return Piece{}, fmt.Errorf("%s: more than %d bytes; split the file", r.path, int64(blocks.MaxPosition))
				}
				data := data[n:]
				n, ok := r.codec.End(data, r.eof)
				if !ok {
					n = len(data) - endOverlap // the end is not before
				}
				switch {
				case n > r.maxRecord:
					r.inside, r.begun = true, true
					if ok {
						n -= endOverlap // the last part finds the end again
					}
					return r.give(n, Piece{Long: true}), nil
				case ok:
					r.begun = true
					return r.give(n, Piece{}), nil
				}
			} else if r.eof {
				if r.whole && !r.begun {
					r.begun = true
					return r.give(0, Piece{}), nil
				}
				return Piece{}, io.EOF
			}
		}
		if err := r.fill(); err != nil {
			return Piece{}, err
		}
	}
}

func (r *Reader) give(n int, p Piece) Piece {
	p.Position, p.Raw, r.given = r.pos, r.buf[r.lo:r.lo+n], n
	return p
}

func (r *Reader) drop(n int) {
	r.lo += n
	r.pos += int64(n)
}

// fill reads more bytes behind those that are there: as many again, since a record without an
// end so far is searched from its start each time, but no more than it takes to call it long.
func (r *Reader) fill() error {
	r.hi = copy(r.buf, r.buf[r.lo:r.hi])
	r.lo = 0
	most := readBytes
	if left := r.end - r.pos - int64(r.hi); left < readBytes-tailBytes {
		most = int(max(left, 0)) + tailBytes
	}
	want := min(r.hi+max(most, r.hi), r.maxRecord+endOverlap+readBytes)
	if r.buf == nil {
		r.buf, _ = buffers.Get().([]byte)
	}
	if len(r.buf) < want {
		r.buf = slices.Grow(r.buf[:r.hi], want-r.hi)[:want]
	}
	for r.hi < want {
		n, err := r.src.Read(r.buf[r.hi:want])
		r.hi += n
		if err == io.EOF {
			r.eof = true
			return nil
		}
		if err != nil {
			return r.failed(err)
		}
	}
	return nil
}

// ReadError says that the content of a file could not be read to its end.
type ReadError struct{ err error }

func (e *ReadError) Error() string { return e.err.Error() }

func (e *ReadError) Unwrap() error { return e.err }

// failed says where reading broke off and what that mostly means.
func (r *Reader) failed(err error) error {
	where := fmt.Sprintf("%s: at byte %d", r.path, r.pos+int64(r.hi-r.lo))
	switch {
	case r.compression == "":
		err = fmt.Errorf("%s: %w", where, err)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		err = fmt.Errorf("%s of its content: the compressed data ends early, or other bytes follow it; fetch the file again", where)
	default:
		err = fmt.Errorf("%s of its content: %w; fetch the file again, or leave it out", where, err)
	}
	return &ReadError{err}
}

// Close closes the file and returns an error if it changed while it was read.
func (r *Reader) Close() error {
	if len(r.buf) > 0 && len(r.buf) <= 2*readBytes {
		buffers.Put(r.buf) //nolint:staticcheck // a slice's header is little beside what is read
	}
	r.buf = nil
	if r.plain != nil {
		r.plain.Close() // it only held buffers
	}
	return errors.Join(r.file.Unchanged(), r.file.Close())
}
