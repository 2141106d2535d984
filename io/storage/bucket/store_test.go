package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"pgregory.net/rapid"
)

// client answers from memory. In it, the path of a Key is bucket/name.
type client struct {
	storagetest.Memory
	page    int // objects per page
	lists   atomic.Int64
	reads   atomic.Int64
	stats   atomic.Int64
	fetched atomic.Int64 // bytes
	// breaks decides how many of the n bytes of a stream come before it breaks.
	breaks func(n int64) int64
}

func path(at Key) string { return at.Bucket + "/" + at.Name }

// named sets the path of an Info as a client does.
func named(at Key, info storage.Info) storage.Info {
	info.Path = strings.TrimPrefix(info.Path, at.Bucket+"/")
	return info
}

func (c *client) List(ctx context.Context, at Key, after, more string) (page Page, err error) {
	c.lists.Add(1)
	after = max(after, more)
	var all []storage.Info
	for info, err := range c.Memory.List(ctx, at.Bucket, nil) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return Page{}, err
		}
		if info = named(at, info); strings.HasPrefix(info.Path, at.Name) && info.Path > after {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b storage.Info) int { return strings.Compare(a.Path, b.Path) })
	page.Objects = all[:min(len(all), c.page)]
	if len(all) > c.page {
		page.More = all[c.page-1].Path
	}
	return page, ctx.Err()
}

func (c *client) Stat(ctx context.Context, at Key) (storage.Info, error) {
	c.stats.Add(1)
	info, err := c.Memory.Stat(ctx, path(at))
	return named(at, info), err
}

func (c *client) Read(ctx context.Context, at Key, version string, from, to int64) (io.ReadCloser, storage.Info, error) {
	c.reads.Add(1)
	r, err := c.Open(ctx, path(at))
	if err != nil {
		return nil, storage.Info{}, err
	}
	info, err := r.Stat(ctx)
	switch {
	case err != nil:
		return nil, storage.Info{}, err
	case version != "" && info.Version != version:
		return nil, storage.Info{}, storage.ErrPrecondition
	case from >= info.Size:
		return nil, storage.Info{}, io.EOF
	}
	n := min(to, info.Size) - from
	if c.breaks != nil {
		n = c.breaks(n)
	}
	c.fetched.Add(n)
	return io.NopCloser(io.NewSectionReader(r, from, n)), named(at, info), nil
}

func (c *client) Create(ctx context.Context, at Key, cond storage.If, write func(io.Writer) error) (storage.Info, error) {
	info, err := c.Memory.Create(ctx, path(at), cond, write)
	return named(at, info), err
}

func (c *client) Remove(ctx context.Context, at Key, cond storage.If) error {
	return c.Memory.Remove(ctx, path(at), cond)
}

func (c *client) Move(ctx context.Context, from, to Key) error {
	if _, err := c.Memory.Stat(ctx, path(from)); err != nil {
		return err
	}
	return c.Memory.Move(ctx, path(from), path(to))
}

func TestStore(t *testing.T) {
	for _, page := range []int{1, 3, 1000} {
		t.Run(fmt.Sprint(page), func(t *testing.T) {
			scheme := fmt.Sprintf("page%d://", page)
			c := &client{page: page}
			c.breaks = func(n int64) int64 { return min(n, 1<<20) }
			storage.Register(scheme, New(scheme, c))
			storagetest.Run(t, scheme+"bucket/folder", storagetest.Lacks{})
			storagetest.Run(t, scheme+"whole", storagetest.Lacks{})
		})
	}
}

// A listing requests one page at a time, and takes one more request for a folder that is not entered.
func TestRequestsOfList(t *testing.T) {
	c := &client{page: 10}
	s := New("x://", c)
	for folder := range 20 {
		for i := range 50 {
			if _, err := c.Create(t.Context(), Key{"b", fmt.Sprintf("%02d/%02d", folder, i)}, storage.If{}, func(io.Writer) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		enter      func(string) bool
		found, max int64
	}{
		{nil, 1000, 100},
		{func(string) bool { return false }, 0, 21},
		{func(rel string) bool { return rel == "07" }, 50, 27},
	} {
		c.lists.Store(0)
		found := int64(0)
		for _, err := range s.List(t.Context(), "x://b", test.enter) {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		if found != test.found || c.lists.Load() > test.max {
			t.Errorf("%d of %d objects with %d requests, at most %d are asked for", found, test.found, c.lists.Load(), test.max)
		}
	}
}

// A console creates an empty object to stand for a folder.
func TestEmptyFolder(t *testing.T) {
	c := &client{page: 10}
	s := New("x://", c)
	for _, name := range []string{"empty/", "some/", "some/x"} {
		if _, err := c.Create(t.Context(), Key{"b", name}, storage.If{}, func(io.Writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string]int{"x://b/empty": 0, "x://b/some": 1, "x://b": 1} {
		found := 0
		for _, err := range s.List(t.Context(), folder, nil) {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		if found != want {
			t.Errorf("%s has %d objects, want %d", folder, found, want)
		}
	}
	if _, err := s.Stat(t.Context(), "x://b/some/"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder: %v", err)
	}
}

// object returns a store with one object of n bytes, and its content.
func object(t interface{ Fatal(...any) }, n int) (c *client, s *Store, version string, content []byte) {
	content = make([]byte, n)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	c = &client{page: 10}
	info, err := c.Create(context.Background(), Key{"b", "x"}, storage.If{}, func(w io.Writer) error { _, err := w.Write(content); return err })
	if err != nil {
		t.Fatal(err)
	}
	return c, New("x://", c), info.Version, content
}

// Whatever is requested, by several goroutines at once and on streams that break, the bytes are those of the object.
func TestReaderAgainstBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 12<<20).Draw(t, "size")
		c, s, version, content := object(t, size)
		if rapid.Bool().Draw(t, "breaks") {
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			c.breaks = func(n int64) int64 {
				mu.Lock()
				defer mu.Unlock()
				return min(n, 1+random.Int64N(1+n+n/2))
			}
		}
		r, err := s.OpenVersion(context.Background(), "x://b/x", version)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		type read struct{ at, n int }
		reads := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) read {
			return read{rapid.IntRange(0, size+10).Draw(t, "at"), rapid.IntRange(0, 1<<rapid.IntRange(0, 22).Draw(t, "bits")).Draw(t, "n")}
		}), 0, 20).Draw(t, "reads")
		for range rapid.IntRange(0, 6).Draw(t, "ahead") {
			from := rapid.IntRange(0, size).Draw(t, "from")
			to := rapid.IntRange(from, size).Draw(t, "to")
			r.(*reader).Ahead(int64(from), int64(to))
			for at := from; at < size; at += 1 << 20 {
				reads = append(reads, read{at, 1 << 20})
			}
		}
		readers := rapid.IntRange(1, 3).Draw(t, "readers")
		var wg sync.WaitGroup
		errs := make([]error, readers)
		for i := range readers {
			wg.Go(func() {
				for _, read := range reads {
					got := make([]byte, read.n)
					n, err := r.ReadAt(got, int64(read.at))
					want := content[min(read.at, size):min(read.at+read.n, size)]
					if !bytes.Equal(got[:n], want) || (n < read.n) != errors.Is(err, io.EOF) || err != nil && !errors.Is(err, io.EOF) {
						errs[i] = fmt.Errorf("%d bytes at %d: %d, %w; want %d", read.n, read.at, n, err, len(want))
						return
					}
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	})
}

// A short range is fetched completely, although its first bytes are also in other ranges.
func TestRangesOverlap(t *testing.T) {
	c, s, version, content := object(t, 4096)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.breaks = func(n int64) int64 {
		if c.reads.Load() > 10 { // it must not go on forever
			cancel()
		}
		return n
	}
	r, err := s.OpenVersion(ctx, "x://b/x", version)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.(*reader).Ahead(100, 1000)
	r.(*reader).Ahead(0, 300)
	r.(*reader).Ahead(200, 350)
	got := make([]byte, 500)
	if _, err := r.ReadAt(got, 400); err != nil || !bytes.Equal(got, content[400:900]) {
		t.Errorf("%d requests: %v", c.reads.Load(), err)
	}
}

// 64 splits fetch hardly more bytes than the object has, with large requests.
func TestFetchedOnce(t *testing.T) {
	const size, splits, record = 64 << 20, 64, 2000
	c, s, version, content := object(t, size)
	for i := range splits {
		from, to := int64(i*size/splits), int64((i+1)*size/splits)
		r, err := s.OpenVersion(t.Context(), "x://b/x", version)
		if err != nil {
			t.Fatal(err)
		}
		r.(*reader).Ahead(from, to)
		buf := make([]byte, 32<<10)
		for at := from; at < to+record && at < size; at += int64(len(buf)) {
			n, err := r.ReadAt(buf, at)
			if err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(buf[:n], content[at:at+int64(n)]) {
				t.Fatal(n, err)
			}
		}
		r.Close()
	}
	if got := float64(c.fetched.Load()) / size; got > 1.1 { // 64 KB of the 1 MB of a split here, of 16 usually
		t.Errorf("fetched %.3f times", got)
	}
	if c.stats.Load() > 0 || c.reads.Load() > 2*splits {
		t.Errorf("%d requests for what objects are, %d to read", c.stats.Load(), c.reads.Load())
	}
}

// The bytes fetched are the cost of reads. A read at a random position fetches 1 MiB. Reading on from there fetches
// twice as much each time, up to 8 MiB. After a range that was read in order, only as much is fetched as a record is
// likely to take. A range of up to 1 MiB is fetched at once, from its start.
func TestCostOfReads(t *testing.T) {
	client, s, version, _ := object(t, 24<<20)
	for name, c := range map[string]struct {
		ahead   []extent
		at      []int64
		fetched int64 // bytes
		reads   int64
	}{
		"one":            {nil, []int64{0}, 1 << 20, 1},
		"in a row":       {nil, []int64{0, 1 << 20, 3 << 20, 7 << 20, 15 << 20}, 23 << 20, 5},
		"far apart":      {nil, []int64{0, 10 << 20, 20 << 20}, 3 << 20, 3},
		"again":          {nil, []int64{0, 10 << 20, 20 << 20, 5, 10<<20 + 5}, 3 << 20, 3},  // three chunks are kept
		"in use":         {nil, []int64{0, 10 << 20, 20 << 20, 5, 22 << 20, 6}, 4 << 20, 4}, // the last one read stays
		"too late":       {nil, []int64{0, 10 << 20, 20 << 20, 22 << 20, 5}, 5 << 20, 5},
		"behind a range": {[]extent{{0, 2 << 20}}, []int64{0, 2 << 20}, 2<<20 + firstBytes, 2},
		"further behind": {[]extent{{0, 2 << 20}}, []int64{0, 2 << 20, 2<<20 + firstBytes}, 2<<20 + 3*firstBytes, 3},
		"a small range":  {[]extent{{1000, 1 << 20}}, []int64{5000, 1000, 1<<20 - 1}, 1<<20 - 1000, 1},
		"beyond the end": {[]extent{{8 << 20, 25 << 20}}, []int64{8 << 20, 16 << 20, 20 << 20, 23 << 20}, 16 << 20, 2},
		"two ranges":     {[]extent{{0, 12 << 20}, {12 << 20, 24 << 20}}, []int64{0}, 8 << 20, 2},
	} {
		client.fetched.Store(0)
		client.reads.Store(0)
		r, err := s.OpenVersion(t.Context(), "x://b/x", version)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.ahead {
			r.(*reader).Ahead(e.from, e.to)
		}
		for _, at := range c.at {
			if _, err := r.ReadAt(make([]byte, 1), at); err != nil {
				t.Fatal(err)
			}
		}
		r.(*reader).fetches.Wait()
		if bytes, reads := client.fetched.Load(), client.reads.Load(); bytes != c.fetched || reads != c.reads {
			t.Errorf("%s: %d bytes in %d requests, want %d in %d", name, bytes, reads, c.fetched, c.reads)
		}
		r.Close()
	}
}

// The next chunk is being fetched before it is requested.
func TestFetchesAhead(t *testing.T) {
	c, s, version, _ := object(t, 3*aheadBytes)
	r, err := s.OpenVersion(t.Context(), "x://b/x", version)
	if err != nil {
		t.Fatal(err)
	}
	r.(*reader).Ahead(0, 3*aheadBytes)
	if _, err := r.ReadAt(make([]byte, 1), 0); err != nil {
		t.Fatal(err)
	}
	r.(*reader).fetches.Wait()
	if got := c.fetched.Load(); got != 2*aheadBytes {
		t.Errorf("%d bytes fetched, want two chunks", got)
	}
	r.Close()
}

func TestChanged(t *testing.T) {
	c, s, version, _ := object(t, 20<<20)
	storage.Register("changed://", New("changed://", c))
	r, err := storage.Open(t.Context(), "changed://b/x", version)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.ReadAt(make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), "x://b/x", storage.If{}, func(w io.Writer) error { _, err := w.Write([]byte("other")); return err }); err != nil {
		t.Fatal(err)
	}
	var changed *storage.ChangedError
	if n, err := r.ReadAt(make([]byte, 10), 10<<20); !errors.As(err, &changed) || n != 0 || changed.Path != "changed://b/x" {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A stream that never makes progress ends with an error instead of going on forever.
func TestStreamBreaksForEver(t *testing.T) {
	c, s, version, _ := object(t, 1000)
	c.breaks = func(int64) int64 { return 0 }
	before := storage.Retries()
	r, err := s.OpenVersion(t.Context(), "x://b/x", version)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := r.ReadAt(make([]byte, 10), 0); err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || n > 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if got := storage.Retries() - before; got != streamTries-1 {
		t.Errorf("%d retries counted, want %d", got, streamTries-1)
	}
}
