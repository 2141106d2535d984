package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/reading/readertest"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
)

// names is a store that lists a number of names in its folder lake. It counts all other requests, and has nothing to
// answer them with.
type names struct {
	storage.Store
	n     int
	asked atomic.Int64
}

func (s *names) List(_ context.Context, folder string, _ func(string) bool) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		for i := range s.n {
			info := storage.Info{
				Path: fmt.Sprintf("%s/day=%04d/part-%07d.jsonl", strings.TrimSuffix(folder, "/"), i/1000, i), Size: 100, Version: fmt.Sprintf("%032x", i),
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s *names) Stat(_ context.Context, path string) (storage.Info, error) {
	if path != "names://lake" {
		s.asked.Add(1)
	}
	return storage.Info{}, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

func (s *names) Open(_ context.Context, path string) (storage.Reader, error) {
	s.asked.Add(1)
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// heap returns the size of the heap in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMillion checks that a plan of a million small objects asks the store only for their listing. It is shared in few
// files, and takes about 100 bytes for each object.
func TestMillion(t *testing.T) {
	store := &names{n: 100_000}
	if nightly.On() {
		store.n = 1_000_000
	}
	storage.Register("names://", store)
	before := heap()
	in := inputs(t, Options{Fields: fields}, "names://lake")
	planned := heap() - before
	if n := store.asked.Load(); in.Len() != store.n || in.Splits.Len() != store.n || n > 0 {
		t.Fatalf("%d files, %d splits; %d requests beside the listing", in.Len(), in.Splits.Len(), n)
	}
	if planned > uint64(150*store.n) {
		t.Errorf("the plan holds %d MB", planned/1e6)
	}
	path := filepath.Join(storagetest.RunFolder(t), "inputs")
	if err := in.Share(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Forget(path) })
	before = heap()
	shared, err := Shared(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	index := heap() - before
	for file := range store.n {
		if file%5000 > 0 { // at least one of each page of details
			continue
		}
		f, inspected, err := shared.Listed(t.Context(), file)
		want := blocks.File{
			Path: fmt.Sprintf("names://lake/day=%04d/part-%07d.jsonl", file/1000, file), Source: fmt.Sprintf("day=%04d/part-%07d.jsonl", file/1000, file),
			Format: "jsonl", Size: 100, Offset: int64(file) * 100, Version: fmt.Sprintf("%032x", file),
		}
		if err != nil || inspected || f.Path != want.Path || f.Source != want.Source || f.Format != want.Format || f.Size != want.Size ||
			f.Offset != want.Offset || f.Version != want.Version {
			t.Fatalf("file %d: %+v, inspected: %t, %v; want %+v", file, f, inspected, err, want)
		}
	}
	all := heap() - before
	t.Logf("the plan holds %d MB, a worker %d MB, and %d MB with the details of all files", planned/1e6, index/1e6, all/1e6)
	if index > uint64(80*store.n) || all > uint64(150*store.n) {
		t.Errorf("a worker holds %d MB, and %d MB with the details of all files", index/1e6, all/1e6)
	}
	runtime.KeepAlive(in)
}

// TestNotOpened checks that a small file is not opened before it is read. A file that may be cut is, and so is one of
// rows that lies in two shards: there the table shard of a row is the same as if all files had been inspected.
func TestNotOpened(t *testing.T) {
	root := t.TempDir()
	for i := range 9 {
		write(t, root, fmt.Sprintf("%d.groups", i), groupsOf(t, 30, 7))
	}
	write(t, root, "csv/a.csv", []byte("id,text\n1,one\n"))
	write(t, root, "lines/a.jsonl", slices.Repeat([]byte(oneDocument), 100))
	size := inputs(t, Options{Fields: fields}, root+"/0.groups").Bytes()
	plan := func(splitBytes, size int64, shards int) *Inputs {
		o := Options{Fields: fields, SplitBytes: splitBytes}
		var files []listed
		for i := range 9 {
			path := filepath.ToSlash(filepath.Join(root, fmt.Sprintf("%d.groups", i)))
			info, err := storage.Stat(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, listed{path: path, version: info.Version, format: "groups", size: size})
		}
		in, err := inspect(t.Context(), files, 0, 9*size, shards, func(*listed) Options { return o })
		if err != nil {
			t.Fatal(err)
		}
		laid := &Inputs{Inputs: &blocks.Inputs{Root: root, Shards: shards}}
		for i := range files {
			f := in[i]
			if f == nil {
				f, _, _ = files[i].file(Options{})
			}
			laid.Add(f, nil, nil)
		}
		return laid
	}
	for shards := 1; shards < 30; shards++ {
		got, want := plan(size, size, shards), plan(1, size, shards)
		for file := range 9 {
			for row := range int64(30) {
				if key := blocks.NewKey(file, row); got.Shard(key) != want.Shard(key) {
					t.Errorf("%d shards: row %d of file %d is in %d, want %d", shards, row, file, got.Shard(key), want.Shard(key))
				}
			}
		}
	}
	for _, splitBytes := range []int64{0, 10} {
		for _, arg := range []string{root + "/lines", root + "/csv"} {
			in := inputs(t, Options{Fields: fields, SplitBytes: splitBytes}, arg)
			if _, inspected, err := in.Listed(t.Context(), 0); err != nil || inspected != (splitBytes > 0) {
				t.Errorf("splits of %d: %s was inspected: %t, %v", splitBytes, arg, inspected, err)
			}
		}
	}
}

// TestInspectedByReaders checks that a reader finds out what the planner did not, and keeps it; its errors name the
// file.
func TestInspectedByReaders(t *testing.T) {
	folder := storagetest.RunFolder(t)
	good := write(t, folder, "a.csv", []byte("id,text\n1,one\n"))
	write(t, folder, "b.csv.gz", readertest.Pack(t, []byte("text\ntwo\n"), "gzip"))
	bad := write(t, folder, "c.csv", []byte("id,body\n1,one\n"))
	o := Options{Fields: fields, MaxDocument: 1000}
	in := inputs(t, o, folder)
	path := share(t, in, o).Inputs
	shared, err := Shared(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"id,text\n", "text\n"} {
		for again := range 2 {
			_, inspected, err := shared.Listed(t.Context(), i)
			if err != nil || inspected != (again > 0) {
				t.Errorf("file %d is known: %t, %v", i, inspected, err)
			}
			if f := opened(t, shared, i, o); string(f.Header) != want || (f.Compression == "gzip") != (i == 1) {
				t.Errorf("%s has the header %q and the compression %q", f.Path, f.Header, f.Compression)
			}
		}
	}
	refused := (*InspectError)(nil)
	for i, want := range map[int]string{2: bad + `: no text column "text"`} {
		if _, _, _, err := shared.open(t.Context(), i, o); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	f := &readFn{Params: Params{Inputs: path, Options: o}}
	none := func([]byte) { t.Error("something was emitted") }
	if err := f.ProcessElement(t.Context(), 2, none, none, nil, nil, none, nil); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("read by a worker: error %v", err)
	}
	if _, err := Sample(t.Context(), in, false, o, func([]byte, []byte) {}); !errors.As(err, &refused) || !strings.Contains(err.Error(), bad) {
		t.Errorf("sampled: error %v", err)
	}
	write(t, "", good, []byte("id,text\n1,another\n"))
	if _, err := Records(t.Context(), shared, []blocks.Span{shared.Splits.At(0)}, o, func(*reading.Record) error { return nil }); err == nil || !strings.Contains(err.Error(), "changed since it was listed") {
		t.Errorf("a known file that changed: error %v", err)
	}
}

// TestSpooled checks that if a file turns out to be compressed, its decompressed bytes are kept where all its readers
// find them.
func TestSpooled(t *testing.T) {
	folder := storagetest.RunFolder(t)
	write(t, folder, "in/a.jsonl.gz", readertest.Pack(t, []byte(oneDocument), "gzip"))
	write(t, folder, "in/b.jsonl.gz", []byte(oneDocument))
	write(t, folder, "in/c.jsonl", readertest.Pack(t, []byte(oneDocument), "zstd"))
	o := Options{Fields: fields, MaxDocument: 1000}
	in := inputs(t, o, folder+"/in")
	for i, want := range []bool{true, true, false} { // as the names suggest
		if may, err := in.MayUnpack(t.Context(), i); err != nil || may != want {
			t.Errorf("file %d may be compressed: %t, %v", i, may, err)
		}
		in.Inputs.Spool(i)
	}
	path := share(t, in, o).Inputs
	shared, err := Shared(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // by the second time it is known
		for i, want := range []string{"plain-0", "", "plain-2"} {
			if want != "" {
				want = storage.Join(storage.Dir(path), want)
			}
			if got := opened(t, shared, i, o).Spool; got != want {
				t.Errorf("file %d is kept at %q, want %q", i, got, want)
			}
			if may, err := shared.MayUnpack(t.Context(), i); err != nil || may != (want != "") {
				t.Errorf("file %d may be compressed: %t, %v", i, may, err)
			}
		}
	}
}

// A panic in one of several goroutines reaches the caller that waits for them.
func TestParallelPanics(t *testing.T) {
	plant := func(_ context.Context, i int) (int, error) {
		if i == 3 {
			panic("planted")
		}
		return i, nil
	}
	for name, run := range map[string]func(ended func(int) error) error{
		"inOrder": func(ended func(int) error) error { return inOrder(t.Context(), 9, 2, plant, ended) },
		"each": func(func(int) error) error {
			return each(t.Context(), 9, 2, func(i int) error { _, err := plant(t.Context(), i); return err })
		},
	} {
		func() {
			defer func() {
				if p, ok := recover().(*parallel.Panic); !ok || p.Value != "planted" {
					t.Errorf("%s panics with %v", name, p)
				}
			}()
			err := run(func(i int) error {
				if i >= 3 {
					t.Errorf("%s ends %d, which is behind what panicked", name, i)
				}
				return nil
			})
			t.Errorf("%s returns %v", name, err)
		}()
	}
}

// TestEach checks that either everything is done, or everything before the first failure, whatever the timing; and that
// no more run at a time than allowed.
func TestEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, width := rapid.IntRange(0, 40).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "width")
		fails := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 4).Draw(t, "fails")
		var mu sync.Mutex
		done := map[int]int{}
		now, most := 0, 0
		err := each(context.Background(), n, width, func(i int) error {
			mu.Lock()
			now++
			most = max(most, now)
			done[i]++
			mu.Unlock()
			if i%7 == 0 {
				time.Sleep(10 * time.Microsecond)
			}
			mu.Lock()
			now--
			mu.Unlock()
			if slices.Contains(fails, i) {
				return fmt.Errorf("%d", i)
			}
			return nil
		})
		first := n
		for _, i := range fails {
			first = min(first, i)
		}
		if want := first < n; (err != nil) != want || want && err.Error() != fmt.Sprint(first) {
			t.Errorf("error %v, want that of %d of %d", err, first, n)
		}
		for i := range min(first, n) {
			if done[i] != 1 {
				t.Errorf("%d is done %d times", i, done[i])
			}
		}
		if most > width {
			t.Errorf("%d at a time, at most %d may be", most, width)
		}
	})
	for range 100 { // number 0 fails last, whoever has it
		second := make(chan struct{})
		err := each(context.Background(), 2, 2, func(i int) error {
			if i == 0 {
				<-second
			} else {
				defer close(second)
			}
			return fmt.Errorf("%d", i)
		})
		if err == nil || err.Error() != "0" {
			t.Fatalf("error %v, want that of 0", err)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := each(ended, 3, 2, func(int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("of a context that is done: error %v", err)
	}
}
