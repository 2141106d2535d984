package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/neardup/neardup/io/storage"
)

const (
	// aheadBytes is what one request fetches of a range that is read in order.
	// The next is under way while it is read. Several such ranges share it.
	aheadBytes = 8 << 20
	maxRanges  = 4
	// jumpBytes is what one fetches elsewhere, and firstBytes where a range has ended: a request costs as much time as
	// 1 MB, but of a range's end only a record is missing. Behind each it is twice as much.
	jumpBytes  = 1 << 20
	firstBytes = 64 << 10
	// A stream that breaks is asked for the rest of, so often without a byte between.
	streamTries = 8
)

// reader reads one version of an object. It holds a few chunks, each of one request.
type reader struct {
	client  Client
	at      Key
	path    string
	version string
	ctx     context.Context //nolint:containedctx // of all reads
	cancel  context.CancelFunc
	fetches sync.WaitGroup

	mu     sync.Mutex
	info   storage.Info // Size -1: not known yet
	chunks []*chunk     // the one last used is the last
	ahead  []extent     // what is read in order, the newest last
}

// extent are the bytes from from to to.
type extent struct{ from, to int64 }

func (e extent) has(offset int64) bool { return e.from <= offset && offset < e.to }

func newReader(ctx context.Context, s *Store, at Key, info storage.Info) *reader {
	ctx, cancel := context.WithCancel(ctx)
	return &reader{client: s.client, at: at, path: info.Path, version: info.Version, ctx: ctx, cancel: cancel, info: info}
}

// Ahead says that bytes from to to are about to be read in order,
// beside what was said last, or in any order if they are few.
func (r *reader) Ahead(from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ahead) == maxRanges {
		r.ahead = slices.Delete(r.ahead, 0, 1)
	}
	r.ahead = append(r.ahead, extent{from, to})
}

// Stat tells of the version. Its size is not asked for if that was not seen yet and has to be.
func (r *reader) Stat(ctx context.Context) (storage.Info, error) {
	r.mu.Lock()
	info := r.info
	r.mu.Unlock()
	if info.Size >= 0 {
		return info, ctx.Err()
	}
	info, err := r.client.Stat(ctx, r.at)
	if err != nil {
		return storage.Info{}, err
	}
	r.learn(info)
	info.Path = r.path
	return info, nil
}

// learn keeps what a request told of the version.
func (r *reader) learn(info storage.Info) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.Size < 0 && info.Version == r.version {
		info.Path = r.path
		r.info = info
	}
}

// Close ends what is under way.
func (r *reader) Close() error {
	r.cancel()
	r.fetches.Wait()
	return nil
}

// ReadAt reads through the chunks.
func (r *reader) ReadAt(p []byte, offset int64) (n int, err error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	for n < len(p) && err == nil {
		c := r.chunk(offset+int64(n), len(p)-n)
		if c == nil {
			return n, io.EOF
		}
		var got int
		got, err = c.read(p[n:], offset+int64(n))
		n += got
	}
	return n, err
}

// chunk returns the chunk that has the byte at offset, from where on n are asked for; nil behind the end.
func (r *reader) chunk(offset int64, n int) *chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.Size >= 0 && offset >= r.info.Size {
		return nil
	}
	c := r.held(offset)
	if c == nil {
		from, length := offset, r.length(offset, n)
		if e := r.inOrder(offset); e.to > 0 && e.to-e.from <= jumpBytes { // it is one request
			from, length = e.from, e.to-e.from
		}
		c = r.fetch(from, length, nil)
	}
	// What is read in order is fetched while what comes before it is read.
	if e := r.inOrder(c.to); e.has(c.from) && r.held(c.to) == nil {
		r.fetch(c.to, r.length(c.to, 0), nil)
		r.use(c)
	}
	return c
}

// inOrder returns the range that is read in order in which offset is, the zero extent if there is none. r is locked.
func (r *reader) inOrder(offset int64) extent {
	for _, e := range slices.Backward(r.ahead) {
		if e.has(offset) {
			return e
		}
	}
	return extent{}
}

// held returns the chunk that has the byte at offset, nil if there is none. r is locked.
func (r *reader) held(offset int64) *chunk {
	for _, c := range r.chunks {
		if c.has(offset) {
			r.use(c)
			return c
		}
	}
	return nil
}

// use makes c the chunk last used. r is locked.
func (r *reader) use(c *chunk) {
	i := slices.Index(r.chunks, c)
	r.chunks = append(slices.Delete(r.chunks, i, i+1), c)
}

// length returns how many bytes from offset on to fetch for n that are asked for. r is locked.
func (r *reader) length(offset int64, n int) int64 {
	least := int64(jumpBytes)
	if e := r.inOrder(offset); e.to > 0 {
		return min(max(int64(n), int64(aheadBytes/len(r.ahead))), e.to-offset)
	}
	if i := slices.IndexFunc(r.chunks, func(c *chunk) bool { return c.to == offset }); i >= 0 {
		before := r.chunks[i]
		if least = min(2*(before.to-before.from), aheadBytes); r.inOrder(before.from).to == offset {
			least = firstBytes
		}
	}
	return max(int64(n), least)
}

// fetch begins to fetch length bytes, from body as long as that lasts. r is locked.
func (r *reader) fetch(offset, length int64, body io.ReadCloser) *chunk {
	c := &chunk{from: offset, to: offset + length}
	if r.info.Size >= 0 {
		c.to = min(c.to, r.info.Size)
	}
	c.grown.L = &c.mu
	if len(r.chunks) == 2*max(1, len(r.ahead))+1 {
		r.chunks = slices.Delete(r.chunks, 0, 1) // who reads it has it
	}
	r.chunks = append(r.chunks, c)
	r.fetches.Go(func() { c.close(r.fill(c, body)) })
	return c
}

// fill fetches a chunk. A stream that breaks is continued.
func (r *reader) fill(c *chunk, body io.ReadCloser) (err error) {
	for try := 1; ; {
		if body == nil {
			var info storage.Info
			if body, info, err = r.client.Read(r.ctx, r.at, r.version, c.end(), c.to); err != nil {
				return r.refused(err)
			}
			r.learn(info)
		}
		n, err := c.stream(body, r.size())
		body.Close()
		body = nil
		switch {
		case c.end() == c.to:
			return nil
		case c.end() == r.size():
			return io.EOF
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case n > 0:
			try = 1
		case try == streamTries:
			if err == nil || errors.Is(err, io.EOF) { // which would be the object's
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("%s: %d attempts to read from byte %d: %w", r.path, try, c.end(), err)
		default:
			try++
		}
		storage.Retried(err)
		r.pause(try)
	}
}

func (r *reader) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info.Size
}

// refused is the error of a request.
func (r *reader) refused(err error) error {
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case errors.Is(err, storage.ErrPrecondition):
		return &storage.ChangedError{Path: r.path}
	}
	return err
}

// pause waits before a stream is asked for again: up to .1 s after a try that brought bytes, else up to .2 s before the
// second, and twice as long each time.
func (r *reader) pause(try int) {
	select {
	case <-time.After(rand.N(50 * time.Millisecond << try)):
	case <-r.ctx.Done():
	}
}

// chunk is a range of an object that one request fetches, or is fetching.
type chunk struct {
	from, to int64

	mu    sync.Mutex
	grown sync.Cond
	data  []byte // as much as there is
	done  bool
	err   error // done: why there is no more; nil: to is reached
}

// has reports whether the byte at offset is in the chunk, or will be, or is known to be missing.
func (c *chunk) has(offset int64) bool {
	if offset < c.from || offset >= c.to {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.done || c.err == nil || offset < c.from+int64(len(c.data)) || errors.Is(c.err, io.EOF)
}

// read copies what the chunk has from offset on, once it has p or all there is.
func (c *chunk) read(p []byte, offset int64) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := int(min(offset+int64(len(p)), c.to) - c.from)
	for !c.done && len(c.data) < want {
		c.grown.Wait()
	}
	if skip := int(offset - c.from); skip < len(c.data) {
		n = copy(p, c.data[skip:])
	}
	if len(c.data) < want {
		return n, c.err
	}
	return n, nil
}

// end is where what there is ends.
func (c *chunk) end() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from + int64(len(c.data))
}

// stream adds what body has, up to the end of the chunk or of the object, which has size bytes.
func (c *chunk) stream(body io.Reader, size int64) (added int, err error) {
	c.mu.Lock()
	if c.data == nil {
		c.data = make([]byte, 0, min(c.to, size)-c.from)
	}
	room := c.data[len(c.data):cap(c.data)] // nobody else looks there
	c.mu.Unlock()
	for added < len(room) && err == nil {
		var n int
		n, err = body.Read(room[added:])
		added += n
		c.mu.Lock()
		c.data = c.data[:len(c.data)+n]
		c.grown.Broadcast()
		c.mu.Unlock()
	}
	return added, err
}

// close says that there will be no more.
func (c *chunk) close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.err = true, err
	c.grown.Broadcast()
}
