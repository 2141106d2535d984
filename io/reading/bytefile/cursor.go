package bytefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

const (
	readBytes = 256 << 10
	// maxHeader bounds a header, because it travels with each split.
	maxHeader = 1 << 20
	// searchedAgain is the maximum part of a window that is searched again for a record's end.
	searchedAgain = 15
	// jumpBytes is the distance beyond which a jump costs less than reading on, both on a disk and over a network.
	jumpBytes = 256 << 10
	// nearBytes is the distance beyond which records on the way are skipped unread.
	nearBytes = 4 << 10
	// tailBytes is how much is read at a time beyond the wanted range, for the rest of the last record.
	tailBytes = 16 << 10
)

// buffers holds the buffers of closed readers for reuse.
var buffers sync.Pool

// putBuffer releases a buffer for reuse.
func putBuffer(buf []byte) {
	if buf = buf[:cap(buf)]; len(buf) > 0 && len(buf) <= 2*readBytes {
		buffers.Put(buf) //nolint:staticcheck // a slice's header is little beside what is read
	}
}

// cursor moves through a span of one file piece by piece: records, and the filler between them. Filler belongs to the
// record before it, or to the header. The pieces of all spans of a file therefore make up the file without its header,
// however it is cut.
type cursor struct {
	file   *storage.File
	packed *countingReader // nil: file is not compressed
	plain  io.ReadCloser   // unpacks packed
	// memory for windows of decompression, large buffers, and large documents being shown
	claim       *memory.Claim
	giveBack    func() // releases plain's part of it
	src         io.Reader
	codec       codec.Codec
	besides     func(record []byte) bool // nil: no record is filler
	path        string
	compression string
	end         int64
	near        int64                    // from here on, reads are small
	ahead       func(i int) (last int64) // of reading.Near; nil: near does not change
	maxRecord   int
	maxWindow   int64
	ctx         context.Context //nolint:containedctx // of the one call that a cursor serves
	buffer      memory.Buffer   // the memory of buf
	large       int64           // the last position that needed a large buf

	buf    []byte // buf[lo:hi] has been read but not yet returned
	lo, hi int
	given  int   // bytes of buf that the last call returned
	pos    int64 // position of buf[lo]
	eof    bool
	inside bool // within an over-long record
	// searched is how much after lo has been searched for a record's end; state is the state of the search.
	searched int
	state    codec.State
	record   int64       // position of the last record
	last     codec.State // state at its end
	begun    bool        // a record of the span was returned, or the span begins the file
	ended    bool        // the end of the file was checked
	one      bool        // the file is one document, even if it is empty
}

// piece is a part of a file: a record, or filler between records.
type piece struct {
	position int64
	raw      []byte // valid until the next call
	// filler says that the piece is outside records.
	filler bool
	// long says that the record is over-long; its rest follows in continued pieces.
	long      bool
	continued bool
}

// openSpan opens a span for reading. Records of more than o.MaxRecord bytes, and no others, come in parts, wherever the
// span begins, because the output shows the difference. The decompressed bytes are copied to spool, unless that is nil.
// If some is not nil, only the records of the span at these positions are read.
func (f Reader) openSpan(
	ctx context.Context, file *blocks.File, span blocks.Span, o reading.Options, some []int64, spool io.Writer,
) (*cursor, error) {
	// The sample, which stops early, needs to know how much was read.
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
	case c.compression != "": // hardly larger than its decompressed content
		c.file.Ahead(0, min(span.End, file.Size-tailBytes)+tailBytes)
	case some == nil:
		c.file.Ahead(max(0, span.Start-1), min(span.End, file.Size-tailBytes)+tailBytes)
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

// open opens file at its first byte, before the header. ahead says whether to read ahead.
func (f Reader) open(
	ctx context.Context, file *blocks.File, found codec.Codec, o reading.Options, ahead bool,
) (c *cursor, err error) {
	path, identity, compression := file.Path, file.Version, file.Compression
	if spool, ok := reading.Spooled(ctx, file.Spool); ok {
		path, identity, compression = spool.Path, spool.Version, ""
		if unused := storage.Take(ctx, file.Path, file.Version); unused != nil {
			unused.Close() // otherwise this reader may wait for the memory that it holds
		}
	}
	opened, err := storage.Open(ctx, path, identity)
	if err != nil {
		return nil, err
	}
	return f.openOn(ctx, opened, file, compression, found, o, ahead)
}

// openOn is open for a file whose bytes are read from opened: the file itself in its compression, or its spool,
// uncompressed. If it fails, it closes opened.
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
		c.claim, c.buffer.Claim = b.claim, b.claim // a claim that waits must include the window it holds
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

// aheadOf returns the reader of the decompressed bytes, which runs on another core if it reads ahead.
func (c *cursor) aheadOf(ahead bool) io.Reader {
	if ahead {
		c.plain = readAhead(c.plain)
	}
	return c.plain
}

// begun is a compressed file whose beginning is unpacked, kept for its next reader.
type begun struct {
	head     []byte
	packed   *countingReader
	plain    io.ReadCloser // unpacks the bytes after head
	claim    *memory.Claim
	giveBack func() // releases plain's part of it
}

func (b *begun) Close() error {
	err := b.plain.Close()
	b.plain = nil
	b.giveBack()
	return err
}

// keep keeps the state of a compressed file, of which all unpacked bytes are in buf, for the next to open the file.
func (c *cursor) keep(ctx context.Context, file *blocks.File) {
	if c.plain == nil || c.buffer.Taken() {
		return
	}
	if storage.Keep(ctx, file.Path, file.Version, &begun{c.buf[:c.hi], c.packed, c.plain, c.claim, c.giveBack}) {
		c.buf, c.plain = nil, nil
	}
}

// headReader reads a buffer once, and then releases it.
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

// read returns how much of a compressed file was read; 0 if its spool or an uncompressed file is read.
func (c *cursor) read() int64 {
	if c.packed == nil {
		return 0
	}
	return c.packed.n.Load()
}

// fromStart reads a file from its start.
func fromStart(file io.ReaderAt) io.Reader { return io.NewSectionReader(file, 0, math.MaxInt64) }

// countingReader counts the bytes read, including those read ahead.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// seekStart moves to the first position at which a record of the span may begin.
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

// sync continues at the first position from position on at which a record may begin. In a compressed file it must read
// all bytes before.
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

// expect says that the i-th wanted record is next.
func (c *cursor) expect(i int) {
	if c.ahead != nil {
		c.near = c.ahead(i)
	}
}

// skipTo moves on towards position, which must not be behind. It moves to it if it is far and a record can be found
// from there.
func (c *cursor) skipTo(position int64) error {
	if c.codec.Splittable() && position-(c.pos+int64(c.given)) > nearBytes {
		return c.sync(position)
	}
	return nil
}

// jump continues reading at position.
func (c *cursor) jump(position int64) {
	c.src = io.NewSectionReader(c.file, position, math.MaxInt64-position)
	c.lo, c.hi, c.pos, c.eof = 0, 0, position, false
}

// next returns the next piece, or io.EOF after the last piece of the span.
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

// search searches data, the bytes of a record that were not yet returned, for the record's end. It returns how many of
// them certainly belong to the record, and clears inside if it has found the end.
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
			return 0, c.lost("the record that begins there states a wrong length, and contains other records", taken)
		}
	}
	c.state, c.inside = next, !ended
	if ended {
		c.state, c.last = 0, next
	}
	return c.searched + n, nil
}

// checkEnd returns an error if the file ends within a structure. tail are the bytes after the last record.
func (c *cursor) checkEnd(tail []byte) error {
	if c.ended {
		return nil
	}
	c.ended = true
	what, lost := c.codec.Unclosed(c.last, tail, c.pos-c.record > int64(c.maxRecord))
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
		"%s ends at byte %d%s, but %s; fix the file, or fetch it again if it is truncated", c.path,
		c.pos+int64(len(tail)), c.ofContent(), what)}
}

// lost returns an error which says why this many bytes from the last record on are not read; "there" in why stands for
// the beginning of that record.
func (c *cursor) lost(why string, bytes int64) error {
	why = strings.Replace(why, "there", fmt.Sprintf("at byte %d%s", c.record, c.ofContent()), 1)
	return &reading.ContentError{Err: fmt.Errorf(
		"%s: %s, so %d bytes were not read; fix the file, or fetch it again if it is truncated", c.path, why, bytes)}
}

// ofContent returns a phrase for messages that marks positions in the decompressed content.
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

// fill reads more bytes. It doubles the buffer's content, because the bytes of an unfinished record are copied each
// time, but reads no more than is needed to know that the record is long.
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
	if c.hi+most <= len(c.buf) { // avoid a second, larger buffer
		want = min(want, len(c.buf))
	}
	if want > memory.Large {
		c.large = c.pos
	}
	if len(c.buf) < want {
		room := want
		if want > whole/4 { // the last copy: unfilled memory costs nothing, and no half-size buffer is needed beside it
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

// shrink frees the buffer of a large record if no large one has followed for a while.
func (c *cursor) shrink() {
	if left := c.hi - c.lo; c.buffer.Taken() && left <= readBytes && c.pos > c.large+int64(len(c.buf)) {
		small := make([]byte, 2*readBytes)
		copy(small, c.buf[c.lo:c.hi])
		c.buf, c.lo, c.hi = small, 0, left
		c.buffer.Freed()
	}
}

// show calls see with the record of a piece that begins a record.
func (c *cursor) show(p piece, record *reading.Record, see func(*reading.Record) error) error {
	return reading.Show(c.ctx, len(p.raw), c.claim, func() error {
		c.decode(p, record)
		return see(record)
	})
}

// failed returns an error which says where reading broke off and what the usual cause is.
func (c *cursor) failed(err error) error {
	where := fmt.Sprintf("%s: at byte %d", c.path, c.pos+int64(c.hi-c.lo))
	switch {
	case c.compression == "" || c.ctx.Err() != nil || storage.Failed(err) || errors.As(err, new(*storage.ChangedError)):
		err = fmt.Errorf("%s: %w", where, err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		err = fmt.Errorf("%s of its content: what follows needs a larger window than --max-window %d; raise the limit if "+
			"there is enough memory, or compress the file again with a smaller window", where, c.maxWindow)
	case errors.Is(err, zstd.ErrUnknownDictionary):
		err = fmt.Errorf("%s of its content: what follows is compressed with a zstd dictionary, which is missing; "+
			"decompress the file (zstd -d -D DICTIONARY)", where)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, gzip.ErrHeader):
		err = fmt.Errorf("%s of its content: the compressed data ends early or is followed by other bytes; fetch the "+
			"file again, or leave it out", where)
	default:
		err = fmt.Errorf("%s of its content: the compressed data is damaged; fetch the file again, or "+
			"leave it out", where)
	}
	return &reading.ContentError{Err: err}
}

// close closes the file, and returns an error if it changed while it was read.
func (c *cursor) close() error {
	putBuffer(c.buf)
	c.buf = nil
	c.buffer.Freed()
	if c.plain != nil {
		c.plain.Close() // it only holds buffers
		c.src, c.plain = nil, nil
		c.giveBack()
	}
	return errors.Join(c.file.Unchanged(), c.file.Close())
}

// seek returns the record at position, which must not be behind.
func (c *cursor) seek(position int64) (piece, error) {
	if err := c.skipTo(position); err != nil {
		return piece{}, err
	}
	for {
		p, err := c.next()
		switch {
		case err == io.EOF:
			return piece{}, reading.ErrAbsent
		case err != nil:
			return piece{}, err
		case p.position == position && !p.filler && !p.continued:
			return p, nil
		case p.position > position:
			return piece{}, reading.ErrAbsent
		}
	}
}
