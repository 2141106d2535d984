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
	// aheadBytes is how much one request fetches of a range that is read in order. The next request runs while this data
	// is read. Several such ranges share it.
	aheadBytes = 8 << 20
	maxRanges  = 4
	// jumpBytes is how much a request fetches elsewhere, and firstBytes where a range has ended: a request takes as long
	// as 1 MB, but at a range's end usually only part of a record is missing. Each further one fetches twice as much.
	jumpBytes  = 1 << 20
	firstBytes = 64 << 10
	// streamTries is how many times the rest of a broken stream is requested without receiving a byte.
	streamTries = 8
)

// reader reads one version of an object. It holds a few chunks, each fetched by one request.
type reader struct {
	client  Client
	at      Key
	path    string
	version string
	ctx     context.Context //nolint:containedctx // of all reads
	cancel  context.CancelFunc
	fetches sync.WaitGroup

	mu     sync.Mutex
	info   storage.Info // Size -1: not yet known
	chunks []*chunk     // in order of use, the last used last
	ahead  []extent     // ranges being read in order, the newest last
}

// extent is the range of bytes between from and to.
type extent struct{ from, to int64 }

func (e extent) has(offset int64) bool { return e.from <= offset && offset < e.to }

func newReader(ctx context.Context, s *Store, at Key, info storage.Info) *reader {
	ctx, cancel := context.WithCancel(ctx)
	return &reader{client: s.client, at: at, path: info.Path, version: info.Version, ctx: ctx, cancel: cancel, info: info}
}

// Ahead says that the bytes between from and to are about to be read in order, in addition to earlier ranges, or in any
// order if they are few.
func (r *reader) Ahead(from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ahead) == maxRanges {
		r.ahead = slices.Delete(r.ahead, 0, 1)
	}
	r.ahead = append(r.ahead, extent{from, to})
}

// Stat describes the version. It sends a request only if the size is not yet known.
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

// learn keeps the Info of the version that a request returned.
func (r *reader) learn(info storage.Info) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.Size < 0 && info.Version == r.version {
		info.Path = r.path
		r.info = info
	}
}

// Close ends the running requests.
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

// chunk returns the chunk with the byte at offset, of which the next n bytes are wanted; nil beyond the end.
func (r *reader) chunk(offset int64, n int) *chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.info.Size >= 0 && offset >= r.info.Size {
		return nil
	}
	c := r.held(offset)
	if c == nil {
		from, length := offset, r.length(offset, n)
		if e := r.inOrder(offset); e.to > 0 && e.to-e.from <= jumpBytes { // one request fetches it all
			from, length = e.from, e.to-e.from
		}
		c = r.fetch(from, length, nil)
	}
	// Fetch the next chunk of an ordered range while this one is read.
	if e := r.inOrder(c.to); e.has(c.from) && r.held(c.to) == nil {
		r.fetch(c.to, r.length(c.to, 0), nil)
		r.use(c)
	}
	return c
}

// inOrder returns the ordered range that contains offset, or the zero extent. A range may reach beyond the end of
// the object, where there is nothing to fetch. r is locked.
func (r *reader) inOrder(offset int64) extent {
	for _, e := range slices.Backward(r.ahead) {
		if e.has(offset) && (r.info.Size < 0 || offset < r.info.Size) {
			return e
		}
	}
	return extent{}
}

// held returns the chunk with the byte at offset, or nil. r is locked.
func (r *reader) held(offset int64) *chunk {
	for _, c := range r.chunks {
		if c.has(offset) {
			r.use(c)
			return c
		}
	}
	return nil
}

// use marks c as the chunk last used. r is locked.
func (r *reader) use(c *chunk) {
	i := slices.Index(r.chunks, c)
	r.chunks = append(slices.Delete(r.chunks, i, i+1), c)
}

// length returns how many bytes from offset on to fetch if n are wanted. r is locked.
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

// fetch starts to fetch length bytes, from body as long as it lasts. r is locked.
func (r *reader) fetch(offset, length int64, body io.ReadCloser) *chunk {
	c := &chunk{from: offset, to: offset + length}
	if r.info.Size >= 0 {
		c.to = min(c.to, r.info.Size)
	}
	c.grown.L = &c.mu
	if len(r.chunks) == 2*max(1, len(r.ahead))+1 {
		r.chunks = slices.Delete(r.chunks, 0, 1) // its readers still have it
	}
	r.chunks = append(r.chunks, c)
	r.fetches.Go(func() { c.close(r.fill(c, body)) })
	return c
}

// fill fetches a chunk. If the stream breaks, it requests the rest.
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
			if err == nil || errors.Is(err, io.EOF) { // io.EOF would mean the object's end
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("%s: %d attempts to read from byte %d failed: %w; check the network, and run "+
				"again", r.path, try, c.end(), plainError{err})
		default:
			try++
		}
		storage.Retried(err)
		r.pause(try)
	}
}

// plainError is an error whose text names no system call.
type plainError struct{ error }

func (e plainError) Error() string { return storage.Plain(e.error) }
func (e plainError) Unwrap() error { return e.error }

func (r *reader) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info.Size
}

// refused returns the error for a request's error.
func (r *reader) refused(err error) error {
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case errors.Is(err, storage.ErrPrecondition):
		return &storage.ChangedError{Path: r.path}
	}
	return err
}

// pause waits before the rest of a stream is requested: up to 0.1 s after a try that brought bytes, otherwise up to 0.2
// s before the second try, and twice as long each time.
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
	data  []byte // received so far
	done  bool
	err   error // if done, why there is no more; nil: to was reached
}

// has reports whether the chunk has the byte at offset, will have it, or knows that it does not exist.
func (c *chunk) has(offset int64) bool {
	if offset < c.from || offset >= c.to {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.done || c.err == nil || offset < c.from+int64(len(c.data)) || errors.Is(c.err, io.EOF)
}

// read copies the chunk's bytes from offset on, once it has len(p) of them or all there are.
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

// end returns the offset at which the received bytes end.
func (c *chunk) end() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from + int64(len(c.data))
}

// stream adds the bytes of body, up to the end of the chunk or of the object, which has size bytes.
func (c *chunk) stream(body io.Reader, size int64) (added int, err error) {
	c.mu.Lock()
	if c.data == nil {
		c.data = make([]byte, 0, min(c.to, size)-c.from)
	}
	room := c.data[len(c.data):cap(c.data)] // nobody else reads it
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

// close says that no more bytes will come.
func (c *chunk) close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.err = true, err
	c.grown.Broadcast()
}
