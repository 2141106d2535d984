package bytefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

const (
	readBytes = 256 << 10
	// A header travels with each split, so it is bounded.
	maxHeader = 1 << 20
	// So much of a window at most is searched again for a record's end.
	searchedAgain = 15
	// Past this distance a jump costs less than reading on, from a disk or over a network too.
	jumpBytes = 256 << 10
	// Past this distance records are not looked at on the way.
	nearBytes = 4 << 10
	// So much is read at a time behind a span, or behind what is wanted of it, for the rest of the last record.
	tailBytes = 16 << 10
)

const (
	// largeCost is about how many times its bytes a large text takes when
	// it is seen: itself, its block, and 8 bytes for each character.
	largeCost = 10
)

// buffers are those of closed readers.
var buffers sync.Pool

// putBuffer leaves a buffer that nobody uses any more to others.
func putBuffer(buf []byte) {
	if buf = buf[:cap(buf)]; len(buf) > 0 && len(buf) <= 2*readBytes {
		buffers.Put(buf) //nolint:staticcheck // a slice's header is little beside what is read
	}
}

// cursor goes through a span of one file piece by piece: records, and what stands between them, the
// filler. Filler belongs to the record before it, or to the header: so the pieces of all spans of a
// file, one after another, are the file less its header, whatever the spans.
type cursor struct {
	file   *storage.File
	packed *countingReader // nil: file is not compressed
	plain  io.ReadCloser   // unpacks packed
	// for windows of files that are decompressed, large buffers, and what becomes of large documents
	claim       *memory.Claim
	giveBack    func() // gives back what plain takes of it
	src         io.Reader
	codec       codec.Codec
	besides     func(record []byte) bool // nil: no record is filler
	path        string
	compression string
	end         int64
	near        int64                    // little is read from here on at a time
	ahead       func(i int) (last int64) // of reading.Near; nil: near does not move
	maxRecord   int
	maxWindow   int64
	ctx         context.Context //nolint:containedctx // of the one call that a cursor serves
	buffer      memory.Buffer   // is buf
	large       int64           // where buf was last needed to be large

	buf    []byte // buf[lo:hi] is read and not yet handed out
	lo, hi int
	given  int   // bytes of buf that the last call handed out
	pos    int64 // position of buf[lo]
	eof    bool
	inside bool // an over-long record is being handed out
	// searched is how much behind lo is searched for the end of a record, and state what is known of it.
	searched int
	state    codec.State
	record   int64       // where the last one begins
	last     codec.State // in which that ended
	begun    bool        // a record of the span was handed out, or the span begins the file
	ended    bool        // the end of the file is checked
	one      bool        // the file is one document, even if it is empty
}

// piece is a part of a file: a record, or what stands between two.
type piece struct {
	position int64
	raw      []byte // valid until the next call
	// filler stands outside of records.
	filler bool
	// long: the record is over-long; what it has besides follows in pieces that are continued.
	long      bool
	continued bool
}

// openSpan opens a span for reading. Records of more than o.MaxRecord bytes come in parts: those and
// no others, wherever the span begins, since what becomes of them is seen in the output. The plain
// bytes that are read are copied to spool, unless that is nil. Of the
// span only the records at some positions are read; nil: all.
func (f Reader) openSpan(
	ctx context.Context, file *blocks.File, span blocks.Span, o reading.Options, some []int64, spool io.Writer,
) (*cursor, error) {
	// The sample, which does not read to the end, asks how much was read.
	found, err := f.codecOf(file, o.Fields)
	if err == nil {
		found, err = found.WithHeader(file.Header)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	c, err := f.open(ctx, file, found, o, span.End == blocks.End && file.Size > readBytes)
	if err != nil {
		return nil, err
	}
	c.end, c.near, c.maxRecord = span.End, span.End, o.MaxRecord
	switch {
	case c.compression != "": // hardly larger than what it unpacks to
		c.file.Ahead(0, min(span.End, file.Size-tailBytes)+tailBytes)
	case some == nil:
		c.fetchAhead(file, span)
	case file.Sequential && len(some) > 0:
		c.near = some[len(some)-1] + 1
		c.file.Ahead(0, c.near+tailBytes)
	case len(some) > 0:
		c.ahead = reading.Near(c.file, some, tailBytes, file.Size)
		c.near = c.ahead(0)
	}
	if spool != nil {
		c.src = io.TeeReader(c.src, spool)
	}
	if err := c.seekStart(int64(len(file.Header)), span.Start); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// open opens file at its first byte, its header not yet passed. Ahead says whether to read more than
// is asked for.
func (f Reader) open(
	ctx context.Context, file *blocks.File, found codec.Codec, o reading.Options, ahead bool,
) (c *cursor, err error) {
	path, identity, compression := file.Path, file.Version, file.Compression
	if spool, ok := reading.Spooled(ctx, file.Spool); ok {
		path, identity, compression = spool.Path, spool.Version, ""
	}
	opened, err := storage.Open(ctx, path, identity)
	if err != nil {
		return nil, err
	}
	return f.openOn(ctx, opened, file, compression, found, o, ahead)
}

// openOn is open for a file whose bytes opened gives: the file itself, in
// its compression, or its spool, in none. If it fails, it closes opened.
func (f Reader) openOn(
	ctx context.Context, opened *storage.File, file *blocks.File, compression string, found codec.Codec,
	o reading.Options, ahead bool,
) (c *cursor, err error) {
	c = &cursor{
		file: opened, src: fromStart(opened), codec: found, besides: f.Besides, path: file.Path, compression: compression,
		end: blocks.End, near: blocks.End, maxRecord: maxHeader, maxWindow: o.MaxWindow, one: file.IDIsSource,
		ctx: ctx, claim: reading.Claim(o),
	}
	c.buffer.Claim = c.claim
	if compression == "" {
		return c, nil
	}
	if b, ok := storage.Take(ctx, file.Path, file.Version).(*begun); ok {
		c.packed, c.plain, c.giveBack = b.packed, b.plain, b.giveBack
		c.claim, c.buffer.Claim = b.claim, b.claim // who waits for more must be seen to hold the window
		c.packed.r = io.NewSectionReader(opened, c.read(), math.MaxInt64-c.read())
		c.src = io.MultiReader(&headReader{rest: b.head}, c.aheadOf(ahead))
		return c, nil
	}
	if c.giveBack, err = c.claim.Take(ctx, file.Window); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	c.packed = &countingReader{r: c.src}
	if c.plain, err = decompress(c.packed, compression, o.MaxWindow); err != nil {
		c.src = nil
		c.giveBack()
		return nil, errors.Join(c.failed(err), opened.Close())
	}
	c.src = c.aheadOf(ahead)
	return c, nil
}

// aheadOf returns what unpacks the file, on another core if it is to read ahead.
func (c *cursor) aheadOf(ahead bool) io.Reader {
	if ahead {
		c.plain = readAhead(c.plain)
	}
	return c.plain
}

// begun is a compressed file of which the beginning is unpacked, for who reads it next.
type begun struct {
	head     []byte
	packed   *countingReader
	plain    io.ReadCloser // unpacks what follows head
	claim    *memory.Claim
	giveBack func() // gives back what plain takes of it
}

func (b *begun) Close() error {
	err := b.plain.Close()
	b.plain = nil
	b.giveBack()
	return err
}

// keep leaves what is unpacked of a compressed file, all of which is in buf, to who opens it next.
func (c *cursor) keep(ctx context.Context, file *blocks.File) {
	if c.plain == nil || c.buffer.Taken() {
		return
	}
	if storage.Keep(ctx, file.Path, file.Version, &begun{c.buf[:c.hi], c.packed, c.plain, c.claim, c.giveBack}) {
		c.buf, c.plain = nil, nil
	}
}

// headReader reads a buffer once, and gives it back.
type headReader struct {
	rest, buf []byte
}

func (h *headReader) Read(p []byte) (int, error) {
	if h.buf == nil {
		h.buf = h.rest
	}
	n := copy(p, h.rest)
	if h.rest = h.rest[n:]; n == 0 {
		putBuffer(h.buf)
		return 0, io.EOF
	}
	return n, nil
}

// read is how much of a compressed file was read, 0 of one whose plain bytes are read in its place.
func (c *cursor) read() int64 {
	if c.packed == nil {
		return 0
	}
	return c.packed.n.Load()
}

// fromStart reads a file from its start.
func fromStart(file io.ReaderAt) io.Reader { return io.NewSectionReader(file, 0, math.MaxInt64) }

// countingReader counts what is read, maybe ahead of who asks.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// seekStart moves to the first place where a record of the span may begin.
func (c *cursor) seekStart(header, start int64) error {
	if start == 0 {
		c.begun = !c.one
		for {
			c.drop(int(min(header-c.pos, int64(c.hi-c.lo))))
			if c.pos == header || c.eof {
				return nil
			}
			if err := c.fill(); err != nil {
				return err
			}
		}
	}
	return c.sync(start)
}

// enter goes on to another span of file, which is not Sequential.
func (c *cursor) enter(file *blocks.File, span blocks.Span) error {
	c.end, c.near = span.End, span.End
	c.begun, c.record, c.last = false, 0, 0
	c.fetchAhead(file, span)
	if before := span.Start - 1; before < c.pos || before > c.pos+int64(c.hi-c.lo) {
		c.jump(before)
	}
	return c.sync(span.Start)
}

// fetchAhead says that a span of file is about to be read.
func (c *cursor) fetchAhead(file *blocks.File, span blocks.Span) {
	c.file.Ahead(max(0, span.Start-1), min(span.End, file.Size-tailBytes)+tailBytes)
}

// sync goes on reading at the first place from position on where a record may begin. In a
// compressed file there is no way but through.
func (c *cursor) sync(position int64) error {
	c.drop(c.given)
	c.given, c.inside, c.searched, c.state = 0, false, 0, 0
	before := position - 1
	if c.compression == "" && before-c.pos > jumpBytes {
		c.jump(before)
	}
	for {
		c.drop(int(min(before-c.pos, int64(c.hi-c.lo))))
		if c.pos == before || c.eof {
			break
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
	for {
		n, ok := c.codec.Sync(c.buf[c.lo:c.hi], c.eof)
		if ok {
			c.drop(n)
			return nil
		}
		c.drop(c.hi - c.lo)
		if c.eof || c.pos >= c.end {
			return nil
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// expect says that the i-th of the records that are read is next.
func (c *cursor) expect(i int) {
	if c.ahead != nil {
		c.near = c.ahead(i)
	}
}

// skipTo moves on towards position, which must not lie behind: to it if that is not near, and a record can be
// found from there.
func (c *cursor) skipTo(position int64) error {
	if c.codec.Splittable() && position-(c.pos+int64(c.given)) > nearBytes {
		return c.sync(position)
	}
	return nil
}

// jump goes on reading at position.
func (c *cursor) jump(position int64) {
	c.src = io.NewSectionReader(c.file, position, math.MaxInt64-position)
	c.lo, c.hi, c.pos, c.eof = 0, 0, position, false
}

// next returns the next piece, or io.EOF after the last of the span.
func (c *cursor) next() (piece, error) {
	c.drop(c.given)
	c.given = 0
	c.shrink()
	for {
		if !c.begun && c.pos >= c.end {
			return piece{}, io.EOF // no record begins in the span, however far the next one is
		}
		data := c.buf[c.lo:c.hi]
		if c.inside {
			n, err := c.search(data)
			if err != nil {
				return piece{}, err
			}
			if n > 0 || !c.inside {
				return c.give(n, piece{continued: true}), nil
			}
		} else {
			n, found := 0, true
			if c.searched == 0 {
				n, found = c.codec.Start(data, c.eof)
			}
			if !found && c.eof {
				if err := c.checkEnd(data); err != nil {
					return piece{}, err
				}
			}
			if n > 0 && c.begun {
				return c.give(n, piece{filler: true}), nil
			}
			c.drop(n) // filler of an earlier span
			if found {
				if c.pos >= c.end {
					return piece{}, io.EOF
				}
				if c.pos >= blocks.MaxPosition {
					return piece{}, fmt.Errorf("%s: more than %d bytes; split the file", c.path, int64(blocks.MaxPosition))
				}
				c.record = c.pos
				var err error
				if c.searched, err = c.search(data[n:]); err != nil {
					return piece{}, err
				}
				long := c.searched > c.maxRecord
				if long || !c.inside {
					c.begun = true
					filler := !long && !c.one && c.besides != nil && c.besides(c.buf[c.lo:c.lo+c.searched])
					return c.give(c.searched, piece{long: long, filler: filler}), nil
				}
				c.inside = false
			} else if c.eof {
				if c.one && !c.begun {
					c.begun = true
					return c.give(0, piece{}), nil
				}
				return piece{}, io.EOF
			}
		}
		if err := c.fill(); err != nil {
			return piece{}, err
		}
	}
}

// search searches data, what is not yet handed out of a record, for its end, and returns how much of it
// belongs to the record for certain. If it has the end, inside is false then.
func (c *cursor) search(data []byte) (searched int, err error) {
	n, next, ended := c.codec.End(data[c.searched:], c.state, c.eof)
	if n < 0 {
		taken := c.pos - c.record + int64(c.searched+^n)
		switch again := taken <= int64(c.maxRecord); {
		case again:
			c.searched = 0
			n, next, ended = c.codec.End(data, next, c.eof)
		case ended:
			n, next = ^n, 0
		default:
			return 0, c.lost("the record that begins there has not the length that it says and holds others", taken)
		}
	}
	c.state, c.inside = next, !ended
	if ended {
		c.state, c.last = 0, next
	}
	return c.searched + n, nil
}

// checkEnd returns an error if something is open at the end of the file, where tail is what follows the last record.
func (c *cursor) checkEnd(tail []byte) error {
	if c.ended {
		return nil
	}
	c.ended = true
	what, lost := c.codec.Unclosed(c.last, tail)
	switch {
	case what == "":
		return nil
	case lost:
		return c.lost(what, c.pos-c.record)
	}
	if c.record > 0 {
		what += fmt.Sprintf("; the last record (%d bytes) begins at byte %d", c.pos-c.record, c.record)
	}
	return &reading.ContentError{Err: fmt.Errorf(
		"%s: at byte %d%s, its end: %s; fix the file, or fetch it again if it is truncated", c.path,
		c.pos+int64(len(tail)), c.ofContent(), what)}
}

// lost says why so many bytes are not read from the last record on.
func (c *cursor) lost(why string, bytes int64) error {
	return &reading.ContentError{Err: fmt.Errorf(
		"%s: at byte %d%s: %s: %d bytes are not read; fix the file, or fetch it again if it is truncated", c.path,
		c.record, c.ofContent(), why, bytes)}
}

// ofContent tells positions in what a compressed file holds from those in the file.
func (c *cursor) ofContent() string {
	if c.compression == "" {
		return ""
	}
	return " of its content"
}

func (c *cursor) give(n int, p piece) piece {
	p.position, p.raw, c.given, c.searched = c.pos, c.buf[c.lo:c.lo+n], n, 0
	return p
}

func (c *cursor) drop(n int) {
	c.lo += n
	c.pos += int64(n)
}

// fill reads more bytes behind those that are there: as many again, since those of a record without an
// end so far are copied each time, but no more than it takes to call it long.
func (c *cursor) fill() error {
	c.hi = copy(c.buf, c.buf[c.lo:c.hi])
	c.lo = 0
	most := readBytes
	if left := c.near - c.pos - int64(c.hi); left < readBytes-tailBytes {
		most = int(max(left, 0)) + tailBytes
	}
	whole := c.maxRecord + searchedAgain + readBytes
	want := min(c.hi+max(most, c.hi), whole)
	if c.buf == nil {
		c.buf, _ = buffers.Get().([]byte)
	}
	if c.hi+most <= len(c.buf) { // a larger buffer would be there beside this one
		want = min(want, len(c.buf))
	}
	if want > memory.Large {
		c.large = c.pos
	}
	if len(c.buf) < want {
		room := want
		if want > whole/4 { // the last copy: what is not filled yet takes no memory, and no half stands beside it
			room = whole
		}
		if err := c.buffer.Grow(c.ctx, &c.buf, room); err != nil {
			return err
		}
		c.buf = c.buf[:want]
	}
	for c.hi < want {
		n, err := c.src.Read(c.buf[c.hi:want])
		c.hi += n
		if err == io.EOF {
			c.eof = true
			return nil
		}
		if err != nil {
			return c.failed(err)
		}
	}
	return nil
}

// shrink gives back the buffer of a large record when there was none for a while.
func (c *cursor) shrink() {
	if left := c.hi - c.lo; c.buffer.Taken() && left <= readBytes && c.pos > c.large+int64(len(c.buf)) {
		small := make([]byte, 2*readBytes)
		copy(small, c.buf[c.lo:c.hi])
		c.buf, c.lo, c.hi = small, 0, left
		c.buffer.Freed()
	}
}

// Show calls decode, which decodes and uses a record of so many bytes,
// of large ones only when there is room for what becomes of them.
func Show(ctx context.Context, bytes int, claim *memory.Claim, decode func() error) error {
	if bytes < memory.Large {
		return decode()
	}
	giveBack, err := claim.Take(ctx, int64(bytes)*largeCost)
	if err != nil {
		return err
	}
	defer giveBack()
	return decode()
}

// show calls see with the record of a piece that begins one.
func (c *cursor) show(p piece, record *reading.Record, see func(*reading.Record) error) error {
	return Show(c.ctx, len(p.raw), c.claim, func() error {
		c.decode(p, record)
		return see(record)
	})
}

// failed says where reading broke off and what that mostly means.
func (c *cursor) failed(err error) error {
	where := fmt.Sprintf("%s: at byte %d", c.path, c.pos+int64(c.hi-c.lo))
	switch {
	case c.compression == "":
		err = fmt.Errorf("%s: %w", where, err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		err = fmt.Errorf("%s of its content: what follows needs a larger window than --max-window %d; raise that if there "+
			"is enough memory, or compress the file again with a smaller one", where, c.maxWindow)
	case errors.Is(err, zstd.ErrUnknownDictionary):
		err = fmt.Errorf("%s of its content: what follows is compressed with a zstd dictionary, which is missing; unpack "+
			"the file (zstd -d -D DICTIONARY)", where)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		err = fmt.Errorf("%s of its content: the compressed data ends early, or other bytes follow it; fetch the file again",
			where)
	default:
		err = fmt.Errorf("%s of its content: %w; fetch the file again, or leave it out", where, err)
	}
	return &reading.ContentError{Err: err}
}

// close closes the file and returns an error if it changed while it was read.
func (c *cursor) close() error {
	putBuffer(c.buf)
	c.buf = nil
	c.buffer.Freed()
	if c.plain != nil {
		c.plain.Close() // it only held buffers
		c.src, c.plain = nil, nil
		c.giveBack()
	}
	return errors.Join(c.file.Unchanged(), c.file.Close())
}

// seek returns the record at position, which must not lie behind.
func (c *cursor) seek(position int64) (piece, error) {
	if err := c.skipTo(position); err != nil {
		return piece{}, err
	}
	for {
		p, err := c.next()
		switch {
		case err == io.EOF:
			return piece{}, errors.New("the file ends before it")
		case err != nil:
			return piece{}, err
		case p.position == position && !p.filler && !p.continued:
			return p, nil
		case p.position > position:
			return piece{}, errors.New("no record begins there")
		}
	}
}
