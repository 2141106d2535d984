package warc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/warc"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

const (
	readBytes = 256 << 10
	// tailBytes is how much is read at a time beyond the wanted range, for the rest of the last member.
	tailBytes = 16 << 10
	// backBytes is how far before a span the first search for a member begins.
	backBytes = 256 << 10
	// storedBlock is larger than any stored block of deflate (RFC 1951, §3.2.4). If a member contains another one, as that
	// of a crawled .warc.gz does, the inner one is in such a block.
	storedBlock = 1 << 16
)

// member is a gzip member, or the bytes that are not a member up to the next one.
type member struct {
	start, end int64 // in the file
	content    int64 // size of its content in bytes
	long       bool  // the content is longer than a record may be
	broken     error // why it is not a member; its content is then its stored bytes
}

// inflaters holds the gzip readers of finished walkers for reuse.
var inflaters = sync.Pool{New: func() any { return new(gzip.Reader) }}

// walker moves from member to member. The next member's offset depends only on that of the current one, so walks from
// different offsets agree.
type walker struct {
	ctx  context.Context //nolint:containedctx // of the one call that a walker serves
	file *storage.File
	path string
	size int64
	o    reading.Options

	source   source
	buffered *bufio.Reader // of source; inflating takes no byte beyond the member from it
	gzip     *gzip.Reader
	chunk    []byte
	plain    []byte // content of the member last read, unless it is long
	claim    *memory.Claim
	buffer   memory.Buffer // the memory of plain
}

func newWalker(ctx context.Context, f *storage.File, file *blocks.File, o reading.Options) *walker {
	w := &walker{ctx: ctx, file: f, path: file.Path, size: file.Size, o: o,
		claim: reading.Claim(o), chunk: make([]byte, 32<<10)}
	w.source.near, w.buffer.Claim = file.Size, w.claim
	w.gzip, _ = inflaters.Get().(*gzip.Reader)
	w.buffered = bufio.NewReaderSize(&w.source, int(min(readBytes, file.Size)))
	return w
}

// source reads a file, and knows its offset and any read error.
type source struct {
	r    io.Reader
	at   int64
	near int64 // from here on, reads are small
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p[:min(int64(len(p)), max(s.near-s.at, 0)+tailBytes)])
	s.at += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// release frees a large plain.
func (w *walker) release() {
	if w.buffer.Taken() {
		w.plain = nil
		w.buffer.Freed()
	}
}

// keep appends data to plain, up to one byte more than most in total.
func (w *walker) keep(data []byte, most int) error {
	data = data[:min(len(data), most+1-len(w.plain))]
	if n := len(w.plain) + len(data); n > cap(w.plain) {
		if err := w.buffer.Grow(w.ctx, &w.plain, min(2*n, most+1)); err != nil {
			return err
		}
	}
	w.plain = append(w.plain, data...)
	return nil
}

// each calls see with the members that begin in a span, each while its content is in plain.
func (w *walker) each(span blocks.Span, see func(member) error) error {
	w.file.Ahead(max(span.Start-backBytes, 0), min(span.End, w.size-tailBytes)+tailBytes)
	w.source.near = min(span.End, w.size)
	p, err := w.seek(span.Start)
	for err == nil && p < min(span.End, w.size) {
		var m member
		if m, err = w.step(p, w.o.MaxRecord); err == nil {
			p, err = m.end, see(m)
		}
	}
	return err
}

// seek returns the offset of the first member at or after start that a walk from the file's start reaches.
func (w *walker) seek(start int64) (p int64, err error) {
	for back := int64(backBytes); ; back *= 4 {
		from := max(start-back, 0)
		if from > 0 {
			if p, err = w.search(from, start+1); err != nil {
				return 0, err
			}
			if p > start {
				continue
			}
		} else {
			p = 0
		}
		for p < min(start, w.size) {
			m, err := w.step(p, 0)
			if err != nil {
				return 0, err
			}
			p = m.end
		}
		return p, nil
	}
}

// step reads the member at p with up to most bytes of its content, or if there is none the bytes up to the next one.
func (w *walker) step(p int64, most int) (member, error) {
	m, err := w.read(p, most)
	if err != nil || m.broken == nil {
		return m, err
	}
	if m.end, err = w.search(p+1, w.size); err != nil {
		return m, err
	}
	m.content = m.end - m.start
	m.long = m.content > int64(most)
	w.release()
	w.plain = w.plain[:0]
	stored := io.NewSectionReader(w.file, m.start, min(m.content, int64(most)))
	for {
		n, err := stored.Read(w.chunk)
		if kept := w.keep(w.chunk[:n], most); kept != nil {
			return m, kept
		}
		if err == io.EOF {
			return m, nil
		}
		if err != nil {
			return m, fmt.Errorf("%s: at byte %d: %w", w.path, m.start, err)
		}
	}
}

// begin prepares gzip for the member at p. An error says that no member begins there.
func (w *walker) begin(p int64) error {
	if at := w.source.at - int64(w.buffered.Buffered()); p != at || w.source.r == nil {
		w.source = source{r: io.NewSectionReader(w.file, p, w.size-p), at: p, near: w.source.near}
		w.buffered.Reset(&w.source)
	}
	if err := w.gzip.Reset(w.buffered); err != nil {
		return err
	}
	w.gzip.Multistream(false)
	return nil
}

// first returns the beginning of the first member's content, and whether the content is one record and line ends. It
// reads no more than that record.
func (w *walker) first() (head []byte, one, broken bool) {
	if w.begin(0) != nil {
		return nil, false, true
	}
	head, err := io.ReadAll(io.LimitReader(w.gzip, codec.MaxHead))
	if err != nil {
		return head, false, true
	}
	length, ok := warc.Length(head)
	if !ok {
		return head, false, false
	}
	rest := head[min(length, int64(len(head))):]
	_, err = io.CopyN(io.Discard, w.gzip, max(0, length-int64(len(head))))
	if errors.Is(err, io.EOF) {
		return head, false, false
	}
	for err == nil && len(bytes.Trim(rest, "\r\n")) == 0 {
		var n int
		n, err = w.gzip.Read(w.chunk)
		rest = w.chunk[:n]
	}
	one = errors.Is(err, io.EOF) && len(bytes.Trim(rest, "\r\n")) == 0
	return head, one, err != nil && !errors.Is(err, io.EOF)
}

// read reads the member at p with up to most bytes of its content. A broken member's end is not known.
func (w *walker) read(p int64, most int) (m member, err error) {
	w.release()
	w.plain = w.plain[:0]
	m.start, m.broken = p, w.begin(p)
	for m.broken == nil {
		if err := w.ctx.Err(); err != nil {
			return m, err
		}
		n, err := w.gzip.Read(w.chunk)
		m.content += int64(n)
		if err := w.keep(w.chunk[:n], most); err != nil {
			return m, err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		m.broken = err
	}
	if w.source.err != nil {
		return m, fmt.Errorf("%s: at byte %d: %w", w.path, w.source.at, w.source.err)
	}
	if errors.Is(m.broken, io.EOF) {
		m.broken = io.ErrUnexpectedEOF
	}
	m.end = w.source.at - int64(w.buffered.Buffered())
	m.long = m.content > int64(most)
	return m, w.ctx.Err()
}

// search returns the first offset in [p, limit) at which a member with a record certainly begins, or limit if there is
// none.
func (w *walker) search(p, limit int64) (int64, error) {
	magic := []byte{0x1f, 0x8b, 0x08} // RFC 1952, §2.3.1
	window := make([]byte, min(readBytes, limit-p+int64(len(magic))))
	for ; p < limit; p += int64(len(window) - len(magic) + 1) {
		n, err := w.file.ReadAt(window[:min(int64(len(window)), w.size-p)], p)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("%s: at byte %d: %w", w.path, p, err)
		}
		for at := 0; ; at++ {
			i := bytes.Index(window[at:n], magic)
			if i < 0 || p+int64(at+i) >= limit {
				break
			}
			at += i
			ok, err := w.certain(p + int64(at))
			if ok || err != nil {
				return p + int64(at), err
			}
		}
	}
	return limit, nil
}

// certain reports whether successive whole members, each with a record, begin at p and extend beyond the size of a
// stored block or to the end of the file.
func (w *walker) certain(p int64) (bool, error) {
	const begin = "WARC/"
	for from := p; p < w.size && p-from < storedBlock; {
		m, err := w.read(p, len(begin))
		if err != nil || m.broken != nil || !bytes.HasPrefix(w.plain, []byte(begin)) {
			return false, err
		}
		p = m.end
	}
	return true, nil
}
