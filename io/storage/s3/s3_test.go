package s3_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/internal/httpfault"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
	"github.com/neardup/neardup/io/storage/s3"
	"github.com/neardup/neardup/io/storage/storagetest"
)

const part = 1000 // bytes, in tests

func TestMain(m *testing.M) {
	s3.Quicken(10 * time.Second)
	os.Exit(m.Run())
}

// environment sets up a user who has credentials, and nothing else.
func environment(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": fakes3.AccessKey, "AWS_SECRET_ACCESS_KEY": fakes3.SecretKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	} {
		t.Setenv(name, value)
	}
}

// serve starts a store with the bucket b.
func serve(t *testing.T) (*fakes3.Server, *s3.Client) {
	t.Helper()
	environment(t)
	t.Cleanup(s3.Shrink(part, 3*part, part))
	fake := fakes3.New("b")
	fake.MinPart, fake.MaxCopy = part, 3*part
	return fake, s3.New(s3.Options{Endpoint: start(t, fake), Region: fake.Region})
}

func start(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func key(name string) bucket.Key { return bucket.Key{Bucket: "b", Name: name} }

func text(content string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}
}

// long returns n bytes without repetitions.
func long(n int) string {
	random := rand.New(rand.NewPCG(uint64(n), 0))
	content := make([]byte, n)
	for i := range content {
		content[i] = byte('a' + random.IntN(26))
	}
	return string(content)
}

func read(ctx context.Context, c *s3.Client, at bucket.Key, version string, from, to int64) (string, storage.Info, error) {
	r, info, err := c.Read(ctx, at, version, from, to)
	if err != nil {
		return "", info, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), info, err
}

func list(t *testing.T, c *s3.Client, prefix, after string) (names []string) {
	t.Helper()
	for more, first := "", true; first || more != ""; first = false {
		page, err := c.List(t.Context(), key(prefix), after, more)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Objects {
			names = append(names, o.Path)
		}
		more = page.More
	}
	return names
}

// count counts requests.
func count(fake *fakes3.Server, method string) (n int) {
	for _, r := range fake.Log() {
		if r.Method == method {
			n++
		}
	}
	return n
}

// faultOnce makes the first matching request fail.
func faultOnce(fake *fakes3.Server, fault httpfault.Fault, which func(*http.Request) bool) {
	done := false
	fake.Fault = func(r *http.Request, _ int) httpfault.Fault {
		if done || !which(r) {
			return httpfault.Fault{}
		}
		done = true
		return fault
	}
}

func TestCreate(t *testing.T) {
	fake, c := serve(t)
	for _, size := range []int{0, 1, part - 1, part, part + 1, 2 * part, 5*part + 7} {
		content := long(size)
		calls := 0
		info, err := c.Create(t.Context(), key("x"), storage.If{}, func(w io.Writer) error {
			calls++
			for piece := range slices.Chunk([]byte(content), 333) {
				if n, err := w.Write(piece); n != len(piece) || err != nil {
					return fmt.Errorf("%d written: %w", n, err)
				}
				clear(piece) // it belongs to the caller
			}
			return nil
		})
		if err != nil || calls != 1 {
			t.Fatalf("%d bytes: %d calls, %v", size, calls, err)
		}
		if got, _, _ := fake.Get("b", "x"); got != content {
			t.Errorf("%d bytes: %d stored, or others", size, len(got))
		}
		there, err := c.Stat(t.Context(), key("x"))
		if err != nil || info.Size != int64(size) || info.Version != there.Version || info.Path != "x" || there.Path != "x" || there.Size != info.Size {
			t.Errorf("Create tells %+v, Stat %+v, %v", info, there, err)
		}
		if d := there.Modified.Sub(info.Modified).Abs(); d > time.Second {
			t.Errorf("Create tells %v, Stat %v", info.Modified, there.Modified)
		}
		page, err := c.List(t.Context(), key("x"), "", "")
		if err != nil || len(page.Objects) != 1 || page.Objects[0] != there {
			t.Errorf("List tells %+v, Stat %+v, %v", page.Objects, there, err)
		}
		if got, told, err := read(t.Context(), c, key("x"), info.Version, 0, int64(size)+10); size > 0 && (err != nil || got != content || told != there) {
			t.Errorf("%d bytes read, %+v, %v", len(got), told, err)
		}
	}
	if left := fake.Uploads(); len(left) > 0 {
		t.Errorf("unfinished uploads %q", left)
	}
}

// TestStore checks the client's store against the contract.
func TestStore(t *testing.T) {
	fake, c := serve(t)
	fake.PageSize = 3
	storage.Register("s3://", bucket.New("s3://", c))
	storagetest.Run(t, "s3://b/folder", storagetest.Lacks{})
	if left := fake.Uploads(); len(left) > 0 {
		t.Errorf("unfinished uploads %q", left)
	}
}

// TestMarks checks that the object with which consoles represent an empty folder is not a file, and is removed with the
// folder.
func TestMarks(t *testing.T) {
	fake, c := serve(t)
	store := bucket.New("s3://", c)
	for _, name := range []string{"d/", "d/x", "d/sub/"} {
		fake.Put("b", name, "", nil)
	}
	for info, err := range store.List(t.Context(), "s3://b/d", nil) {
		if err != nil || info.Path != "s3://b/d/x" {
			t.Errorf("listed %+v, %v", info, err)
		}
	}
	if err := store.RemoveAll(t.Context(), "s3://b/d"); err != nil {
		t.Error(err)
	}
	if got := list(t, c, "", ""); len(got) > 0 {
		t.Errorf("left is %q", got)
	}
}

// TestSmallIsOneRequest checks that an object smaller than a part takes one request.
func TestSmallIsOneRequest(t *testing.T) {
	fake, c := serve(t)
	if _, err := c.Create(t.Context(), key("x"), storage.If{Absent: true}, text(long(part))); err != nil {
		t.Fatal(err)
	}
	if log := fake.Log(); len(log) != 1 || log[0].Method != http.MethodPut {
		t.Errorf("requests %v", log)
	}
}

// TestPartSizes checks that the largest object S3 accepts fits in the number of parts it accepts, and that small
// objects need little memory.
func TestPartSizes(t *testing.T) {
	const most = 5 << 30 // bytes of a part
	var total int64
	for n := range 10000 {
		if s := s3.PartSize(n); s < 5<<20 || s > most {
			t.Fatalf("part %d has %d bytes", n, s)
		}
		total += int64(s3.PartSize(n))
	}
	if total < 5<<40 {
		t.Errorf("%d bytes at most", total)
	}
	if first := s3.PartSize(999); first > 16<<20 {
		t.Errorf("part 999 has %d bytes", first)
	}
}

// TestWriteFails checks that nothing is left, however a write ends, before and after parts were sent.
func TestWriteFails(t *testing.T) {
	fake, c := serve(t)
	broken := errors.New("broken")
	for name, fail := range map[string]func(context.CancelFunc) error{
		"error":     func(context.CancelFunc) error { return broken },
		"panic":     func(context.CancelFunc) error { panic(broken) },
		"exit":      func(context.CancelFunc) error { runtime.Goexit(); return nil },
		"cancelled": func(cancel context.CancelFunc) error { cancel(); return nil },
	} {
		for _, size := range []int{10, 3*part + 10} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := broken
				var wg sync.WaitGroup
				wg.Go(func() {
					defer func() { _ = recover() }()
					_, err = c.Create(ctx, key("x"), storage.If{}, func(w io.Writer) error {
						if err := text(long(size))(w); err != nil {
							return err
						}
						return fail(cancel)
					})
				})
				wg.Wait()
				if want := map[bool]error{true: context.Canceled, false: broken}[name == "cancelled"]; !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
				if _, _, there := fake.Get("b", "x"); there || len(fake.Uploads()) > 0 {
					t.Errorf("there is an object: %t, or uploads: %q", there, fake.Uploads())
				}
			})
		}
	}
}

// TestWriteAfterFailure checks that a write that continues after a part has failed does not succeed.
func TestWriteAfterFailure(t *testing.T) {
	fake, c := serve(t)
	fake.Fault = func(r *http.Request, _ int) httpfault.Fault {
		if r.URL.Query().Get("partNumber") == "2" {
			return httpfault.Fault{Kind: httpfault.Error, Status: 403}
		}
		return httpfault.Fault{}
	}
	_, err := c.Create(t.Context(), key("x"), storage.If{}, func(w io.Writer) error {
		for range 9 {
			_, _ = io.WriteString(w, long(part))
		}
		return nil
	})
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
	if _, _, there := fake.Get("b", "x"); there || len(fake.Uploads()) > 0 {
		t.Errorf("there is an object: %t, or uploads: %q", there, fake.Uploads())
	}
}

func TestConditions(t *testing.T) {
	fake, c := serve(t)
	for _, size := range []int{10, 3*part + 10} {
		at := key(fmt.Sprint("x", size))
		create := func(cond storage.If, seed int) (storage.Info, error) {
			return c.Create(t.Context(), at, cond, text(long(size+seed)))
		}
		if _, err := create(storage.If{Version: "1"}, 0); !errors.Is(err, storage.ErrPrecondition) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("nothing there: error %v, want ErrPrecondition", err)
		}
		first, err := create(storage.If{Absent: true}, 0)
		if err != nil {
			t.Fatal(err)
		}
		second, err := create(storage.If{Version: first.Version}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, cond := range []storage.If{{Absent: true}, {Version: first.Version}} {
			if _, err := create(cond, 2); !errors.Is(err, storage.ErrPrecondition) {
				t.Errorf("%+v: error %v, want ErrPrecondition", cond, err)
			}
		}
		if err := c.Remove(t.Context(), at, storage.If{Version: first.Version}); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("error %v, want ErrPrecondition", err)
		}
		if got, _, _ := fake.Get("b", at.Name); got != long(size+1) {
			t.Error("it was replaced, or removed")
		}
		if _, _, err := read(t.Context(), c, at, first.Version, 0, 5); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("Read: error %v, want ErrPrecondition", err)
		}
		if _, _, err := read(t.Context(), c, at, first.Version, 1e6, 2e6); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("Read behind the end: error %v, want ErrPrecondition", err)
		}
		if err := c.Remove(t.Context(), at, storage.If{Version: second.Version}); err != nil {
			t.Error(err)
		}
		if err := c.Remove(t.Context(), at, storage.If{Version: second.Version}); !errors.Is(err, storage.ErrPrecondition) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("removed before: error %v, want ErrPrecondition", err)
		}
		if err := c.Remove(t.Context(), at, storage.If{}); err != nil {
			t.Error(err)
		}
	}
	if left := fake.Uploads(); len(left) > 0 {
		t.Errorf("unfinished uploads %q", left)
	}
}

// TestConflict checks that a store that is busy with another conditional request is asked again: it has not decided
// about this one.
func TestConflict(t *testing.T) {
	for status, want := range map[int]error{409: storage.ErrPrecondition, 501: errors.ErrUnsupported} {
		fake, c := serve(t)
		fake.Fault = func(r *http.Request, _ int) httpfault.Fault {
			return httpfault.Fault{Kind: httpfault.Error, Status: status}
		}
		if _, err := c.Create(t.Context(), key("x"), storage.If{Absent: true}, text("x")); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		if err := c.Remove(t.Context(), key("x"), storage.If{Version: "1"}); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	}
}

func TestRace(t *testing.T) {
	for _, size := range []int{10, 2*part + 10} {
		fake, c := serve(t)
		var mu sync.Mutex
		won := -1
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				_, err := c.Create(t.Context(), key("x"), storage.If{Absent: true}, text(long(size+i)))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && won >= 0:
					t.Errorf("%d and %d won", won, i)
				case err == nil:
					won = i
				case !errors.Is(err, storage.ErrPrecondition):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got, _, _ := fake.Get("b", "x"); won < 0 || got != long(size+won) {
			t.Errorf("%d won, but its object is not there", won)
		}
		if left := fake.Uploads(); len(left) > 0 {
			t.Errorf("unfinished uploads %q", left)
		}
	}
}

var odd = []string{
	"a b", " c ", "ü 文書 ﷺ", "e\u0301", "%41+&#", "quote'\"", "{a,b}", "back\\slash", "new\nline", "return\r\n", "tab\t", "\x01", "<&>", "~", "..", "a//b", "?x=1", "a=b",
	strings.Repeat("文", 300),
}

// TestNames checks that all requests use the right name, and are signed for it.
func TestNames(t *testing.T) {
	fake, c := serve(t)
	for i, name := range odd {
		info, err := c.Create(t.Context(), key(name), storage.If{}, text(fmt.Sprint(i)))
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if got, _, there := fake.Get("b", name); !there || got != fmt.Sprint(i) {
			t.Errorf("%q: stored %q, %t", name, got, there)
		}
		if got, _, err := read(t.Context(), c, key(name), info.Version, 0, 100); err != nil || got != fmt.Sprint(i) {
			t.Errorf("%q: read %q, %v", name, got, err)
		}
		if got := list(t, c, name, ""); !slices.Contains(got, name) {
			t.Errorf("%q: listed %q", name, got)
		}
		if err := c.Move(t.Context(), key(name), key("moved "+name)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if err := c.Remove(t.Context(), key("moved "+name), storage.If{Version: info.Version, Until: time.Now().Add(time.Minute)}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := c.Create(t.Context(), key(name), storage.If{}, text(long(2*part+1))); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if err := c.Move(t.Context(), key(name), key("large "+name)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	want := make([]string, len(odd))
	for i, name := range odd {
		want[i] = "large " + name
	}
	slices.Sort(want)
	if got := list(t, c, "", ""); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func TestList(t *testing.T) {
	fake, c := serve(t)
	fake.PageSize = 3
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprintf("d/%d", i))
		fake.Put("b", want[i], "x", nil)
	}
	fake.Put("b", "d2", "x", nil)
	if got := list(t, c, "d/", ""); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	if n := count(fake, http.MethodGet); n != 4 {
		t.Errorf("%d requests", n)
	}
	if got := list(t, c, "d/", "d/3"); !slices.Equal(got, want[4:]) {
		t.Errorf("after d/3 %q, want %q", got, want[4:])
	}
	if got := list(t, c, "none", ""); len(got) > 0 {
		t.Errorf("listed %q", got)
	}
}

// TestRead reads all kinds of ranges, including those of an empty object.
func TestRead(t *testing.T) {
	fake, c := serve(t)
	for _, content := range []string{"", "0123456789"} {
		fake.Put("b", "x", content, http.Header{"Content-Encoding": {"gzip"}})
		size := int64(len(content))
		for from := range size + 3 {
			for to := from + 1; to < size+3; to++ {
				got, info, err := read(t.Context(), c, key("x"), "", from, to)
				if from >= size {
					if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
						t.Errorf("%d-%d of %d: error %v, want io.EOF", from, to, size, err)
					}
				} else if err != nil || got != content[from:min(to, size)] || info.Size != size {
					t.Errorf("%d-%d of %d: %q, %+v, %v", from, to, size, got, info, err)
				}
			}
		}
	}
	if _, _, err := read(t.Context(), c, key("missing"), "", 0, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
}

// TestReadIgnored checks that a store that supports neither ranges nor conditions never returns wrong bytes.
func TestReadIgnored(t *testing.T) {
	environment(t)
	c := s3.New(s3.Options{Region: "x", Endpoint: start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"now"`)
		io.WriteString(w, "0123456789")
	}))})
	if got, info, err := read(t.Context(), c, key("x"), "now", 0, 4); err != nil || got != "0123" || info.Size != 10 {
		t.Errorf("from 0: %q, %+v, %v", got, info, err)
	}
	if got, _, err := read(t.Context(), c, key("x"), "now", 2, 4); err == nil {
		t.Errorf("from 2: %q", got)
	}
	if got, _, err := read(t.Context(), c, key("x"), "then", 0, 4); !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("another version: %q, %v", got, err)
	}
}

// TestSizeIsNotTold checks that an answer of unknown size is an error, and not an empty object.
func TestSizeIsNotTold(t *testing.T) {
	environment(t)
	c := s3.New(s3.Options{Region: "x", Endpoint: start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"now"`)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		io.WriteString(w, "0123456789")
	}))})
	if got, info, err := read(t.Context(), c, key("x"), "now", 0, 20); err == nil || !strings.Contains(err.Error(), "size") {
		t.Errorf("%q, %+v, %v", got, info, err)
	}
	if info, err := c.Stat(t.Context(), key("x")); err == nil || !strings.Contains(err.Error(), "size") {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestReplacedBetweenRanges checks that two ranges of a version come from the same object, or the second one fails.
func TestReplacedBetweenRanges(t *testing.T) {
	fake, c := serve(t)
	fake.Put("b", "x", "before", nil)
	_, info, err := read(t.Context(), c, key("x"), "", 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	fake.Put("b", "x", "behind", nil)
	if got, _, err := read(t.Context(), c, key("x"), info.Version, 3, 6); !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("read %q, %v, want ErrPrecondition", got, err)
	}
}

func TestMove(t *testing.T) {
	for _, size := range []int{0, 10, 3 * part, 3*part + 1, 10*part + 7} {
		fake, c := serve(t)
		header := http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"text/x"}, "X-Amz-Meta-Note": {"mine"}}
		fake.Put("b", "from", long(size), header)
		fake.Put("b", "to", "replaced", nil)
		if err := c.Move(t.Context(), key("from"), key("to")); err != nil {
			t.Fatal(err)
		}
		got, stored, _ := fake.Get("b", "to")
		if got != long(size) {
			t.Errorf("%d bytes of %d, or others", len(got), size)
		}
		for name := range header {
			if stored.Get(name) != header.Get(name) {
				t.Errorf("%s is %q, was %q", name, stored.Get(name), header.Get(name))
			}
		}
		if _, _, there := fake.Get("b", "from"); there {
			t.Error("the source is still there")
		}
		if err := c.Move(t.Context(), key("from"), key("to")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want fs.ErrNotExist", err)
		}
		if err := c.Move(t.Context(), key("to"), bucket.Key{Bucket: "none", Name: "x"}); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("to no bucket: error %v", err)
		}
		if err := c.Move(t.Context(), key("to"), key("to")); err != nil {
			t.Errorf("to itself: %v", err)
		}
		if got, _, _ := fake.Get("b", "to"); got != long(size) {
			t.Errorf("%d bytes of %d, or others", len(got), size)
		}
		if left := fake.Uploads(); len(left) > 0 {
			t.Errorf("unfinished uploads %q", left)
		}
	}
}

// TestMoveOfReplaced checks that what is written while parts are copied is not mixed into them, even if the store
// ignores conditions.
func TestMoveOfReplaced(t *testing.T) {
	for _, heeded := range []bool{true, false} {
		fake, c := serve(t)
		fake.CopyConditions = heeded
		fake.Put("b", "from", long(10*part), nil)
		fake.Fault = func(r *http.Request, _ int) httpfault.Fault {
			if r.URL.Query().Get("partNumber") == "5" {
				go fake.Put("b", "from", strings.Repeat("x", 10*part), nil)
				return httpfault.Fault{Delay: 50 * time.Millisecond}
			}
			return httpfault.Fault{}
		}
		err := c.Move(t.Context(), key("from"), key("to"))
		if !errors.Is(err, storage.ErrPrecondition) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want ErrPrecondition", err)
		}
		if _, _, there := fake.Get("b", "to"); there || len(fake.Uploads()) > 0 {
			t.Errorf("there is an object: %t, or uploads: %q", there, fake.Uploads())
		}
	}
}

// TestRemoveUntil checks that the deadline is by the clock of the store, not that of this machine.
func TestRemoveUntil(t *testing.T) {
	fake, c := serve(t)
	store := time.Now().Add(5 * time.Minute)
	fake.Now = func() time.Time { return store }
	fake.Put("b", "x", "x", nil)
	info, err := c.Stat(t.Context(), key("x"))
	if err != nil {
		t.Fatal(err)
	}
	remove := func(left time.Duration, version string) error {
		return c.Remove(t.Context(), key("x"), storage.If{Version: version, Until: store.Add(left)})
	}
	for _, late := range []time.Duration{0, -time.Second, -time.Hour} {
		if err := remove(late, info.Version); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "expired") {
			t.Errorf("%v left: error %v, want fs.ErrPermission", late, err)
		} else if strings.Contains(err.Error(), "X-Amz") {
			t.Errorf("%v shows the signed URL", err)
		}
	}
	if err := remove(30*time.Second, "other"); !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("error %v, want ErrPrecondition", err)
	}
	if _, _, there := fake.Get("b", "x"); !there {
		t.Fatal("it was removed")
	}
	if err := remove(30*time.Second, info.Version); err != nil {
		t.Error(err)
	}
	if _, _, there := fake.Get("b", "x"); there {
		t.Error("it is still there")
	}
	log := fake.Log()
	if last := log[len(log)-1]; !strings.Contains(last.Query, "X-Amz-Expires=60") || last.Header.Get("Authorization") != "" || last.Header.Get("If-Match") == "" {
		t.Errorf("request %+v", last)
	}
}

// TestSignedURLIsNotShown checks that a signed URL is not shown, even if the connection fails.
func TestSignedURLIsNotShown(t *testing.T) {
	environment(t)
	for _, answer := range []string{"", "no HTTP\r\n\r\n"} {
		endpoint := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(connection, answer)
			connection.Close()
		}))
		c := s3.New(s3.Options{Endpoint: endpoint, Region: "eu-west-1"})
		err := c.Remove(t.Context(), key("x"), storage.If{Version: "1", Until: time.Now().Add(time.Minute)})
		if err == nil || strings.Contains(err.Error(), "X-Amz") || strings.Contains(err.Error(), fakes3.AccessKey) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("answer %q: error %v", answer, err)
		}
		for chain := err; chain != nil; chain = errors.Unwrap(chain) {
			if strings.Contains(fmt.Sprintf("%+v", chain), "X-Amz") {
				t.Errorf("answer %q: %+v", answer, chain)
			}
		}
	}
}

func TestAbort(t *testing.T) {
	fake, c := serve(t)
	fake.PageSize = 2
	unfinished := true
	fake.Fault = func(r *http.Request, _ int) httpfault.Fault {
		if unfinished && (r.Method == http.MethodDelete || r.Method == http.MethodPost && r.URL.Query().Has("uploadId")) {
			return httpfault.Fault{Kind: httpfault.Error, Status: 403}
		}
		return httpfault.Fault{}
	}
	names := []string{"d/a", "d/a", "d/b c", "d/e/f", "d/new\nline", "other"}
	for _, name := range names {
		_, err := c.Create(t.Context(), key(name), storage.If{}, text(long(3*part)))
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "stays") {
			t.Errorf("error %v, want one that says what stays", err)
		}
	}
	unfinished = false
	if got := fake.Uploads(); !slices.Equal(got, names) {
		t.Fatalf("unfinished uploads %q", got)
	}
	if err := c.Abort(t.Context(), key("d/")); err != nil {
		t.Error(err)
	}
	if got := fake.Uploads(); !slices.Equal(got, []string{"other"}) {
		t.Errorf("unfinished uploads %q", got)
	}
}

func TestOptions(t *testing.T) {
	fake, _ := serve(t)
	c := s3.New(s3.Options{Endpoint: start(t, fake), Region: fake.Region, RequesterPays: true, KMSKey: "alias/mine"})
	for _, size := range []int{10, 4 * part} {
		if _, err := c.Create(t.Context(), key("x"), storage.If{}, text(long(size))); err != nil {
			t.Fatal(err)
		}
		if err := c.Move(t.Context(), key("x"), key("y")); err != nil {
			t.Fatal(err)
		}
		_, stored, _ := fake.Get("b", "y")
		if stored.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id") != "alias/mine" || stored.Get("X-Amz-Server-Side-Encryption") != "aws:kms" {
			t.Errorf("stored with %v", stored)
		}
	}
	list(t, c, "", "")
	if _, _, err := read(t.Context(), c, key("y"), "", 0, 1); err != nil {
		t.Error(err)
	}
	if err := errors.Join(c.Remove(t.Context(), key("y"), storage.If{Until: time.Now().Add(time.Minute)}), c.Abort(t.Context(), key(""))); err != nil {
		t.Error(err)
	}
	for _, r := range fake.Log() {
		if r.Header.Get("X-Amz-Request-Payer") != "requester" && !strings.Contains(r.Query, "x-amz-request-payer=requester") && !strings.Contains(r.Query, "X-Amz-Request-Payer=requester") {
			t.Errorf("%s %s?%s: nobody pays", r.Method, r.Key, r.Query)
		}
	}
}

// TestAnonymous checks that requests have no credentials, and that none are looked for.
func TestAnonymous(t *testing.T) {
	fake, _ := serve(t)
	fake.Put("b", "x", "public", nil)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	url := start(t, fake)
	c := s3.New(s3.Options{Endpoint: url, Anonymous: true})
	if _, _, err := read(t.Context(), c, key("x"), "", 0, 6); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("private: error %v", err)
	}
	fake.Public = true
	if got, _, err := read(t.Context(), c, key("x"), "", 0, 6); err != nil || got != "public" {
		t.Errorf("read %q, %v", got, err)
	}
	for _, r := range fake.Log() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s is signed", r.Method, r.Key)
		}
	}
	if err := c.Remove(t.Context(), key("x"), storage.If{Until: time.Now()}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v, want ErrUnsupported", err)
	}
}

// TestRegion checks that the region is found out once, by a request that needs no credentials.
func TestRegion(t *testing.T) {
	environment(t)
	fake := fakes3.New("b", "b2")
	fake.Region = "eu-north-1"
	fake.Put("b", "x", "here", nil)
	url := start(t, fake)
	c := s3.New(s3.Options{Endpoint: url})
	for range 2 {
		if got, _, err := read(t.Context(), c, key("x"), "", 0, 6); err != nil || got != "here" {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if n := count(fake, http.MethodHead); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if fake.Log()[0].Header.Get("Authorization") != "" {
		t.Error("the first request is signed")
	}
	if _, err := c.Stat(t.Context(), bucket.Key{Bucket: "none", Name: "x"}); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("error %v", err)
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", url)
	t.Setenv("AWS_REGION", "us-west-2")
	if _, err := s3.New(s3.Options{}).Stat(t.Context(), key("x")); err == nil || !strings.Contains(err.Error(), "set AWS_REGION=eu-north-1") {
		t.Errorf("error %v", err)
	}
	t.Setenv("AWS_REGION", "eu-north-1")
	if _, err := s3.New(s3.Options{}).Stat(t.Context(), key("x")); err != nil {
		t.Error(err)
	}
}

// TestErrors checks that errors are one line, with the object, the store's message and what to do.
func TestErrors(t *testing.T) {
	fake, c := serve(t)
	fake.Put("b", "x", "x", nil)
	if _, err := c.Stat(t.Context(), key("missing")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "s3://b/missing") {
		t.Errorf("error %v", err)
	}
	if _, err := c.Stat(t.Context(), key("new\nline")); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	none := bucket.Key{Bucket: "none", Name: "x"}
	for what, err := range map[string]error{
		"Stat":   func() error { _, err := c.Stat(t.Context(), none); return err }(),
		"Read":   func() error { _, _, err := c.Read(t.Context(), none, "", 0, 1); return err }(),
		"List":   func() error { _, err := c.List(t.Context(), none, "", ""); return err }(),
		"Create": func() error { _, err := c.Create(t.Context(), none, storage.If{Version: "1"}, text("x")); return err }(),
		"Remove": c.Remove(t.Context(), none, storage.If{Version: "1"}),
		"Move":   c.Move(t.Context(), none, key("x")),
	} {
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrPrecondition) || !strings.Contains(err.Error(), "s3://none/x: NoSuchBucket: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	wrong := s3.New(s3.Options{Endpoint: start(t, fake), Region: fake.Region})
	if _, err := wrong.Stat(t.Context(), key("x")); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "SignatureDoesNotMatch") || !strings.Contains(err.Error(), "AWS_PROFILE") {
		t.Errorf("error %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	before := len(fake.Log())
	nobody := s3.New(s3.Options{Endpoint: start(t, fake), Region: fake.Region})
	if _, err := nobody.Stat(t.Context(), key("x")); err == nil || !strings.Contains(err.Error(), "s3://b/x: ") || !strings.Contains(err.Error(), "AWS_PROFILE") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	if len(fake.Log()) > before {
		t.Error("it was asked without credentials")
	}
}

// TestUnreached checks that the message says what to check if nobody answers, and if there is no such host.
func TestUnreached(t *testing.T) {
	environment(t)
	t.Cleanup(s3.Quicken(silence))
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, endpoint := range []string{closed.URL, "http://no..host"} {
		c := s3.New(s3.Options{Endpoint: endpoint, Region: "us-east-1"})
		retries := storage.Retries()
		_, err := c.Stat(t.Context(), key("x"))
		if err == nil || !strings.HasPrefix(err.Error(), "s3://b/x: ") || !strings.Contains(err.Error(), "; check the network, the region, and the endpoint") {
			t.Errorf("%s: error %v", endpoint, err)
		}
		if got := storage.Retries() - retries; got >= bucket.FirstTries {
			t.Errorf("%s: %d retries", endpoint, got)
		}
		if unknown := endpoint != closed.URL; lasts(err) != unknown { // a host that does not answer may come back
			t.Errorf("%s: the error lasts: %t", endpoint, !unknown)
		}
	}
}

// lasts reports whether an error has the exit status for problems that a person must solve.
func lasts(err error) bool {
	var stated interface{ Status() int }
	return errors.As(err, &stated) && stated.Status() == 2
}

// TestContentType checks that pages and JSON get types with which browsers show them, when sent and when moved, in one
// request or in parts.
func TestContentType(t *testing.T) {
	fake, c := serve(t)
	for name, want := range map[string]string{
		"report.html": "text/html; charset=utf-8", "run.json": "application/json", "_SUCCESS": "application/octet-stream",
	} {
		for _, size := range []int{50, 10 * part} {
			from, to := bucket.Key{Bucket: "b", Name: "new/" + name}, bucket.Key{Bucket: "b", Name: "old/" + name}
			if _, err := c.Create(t.Context(), from, storage.If{}, text(long(size))); err != nil {
				t.Fatal(err)
			}
			if err := c.Move(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			if _, header, _ := fake.Get("b", to.Name); header.Get("Content-Type") != want {
				t.Errorf("%s of %d bytes: %q, want %q", name, size, header.Get("Content-Type"), want)
			}
		}
	}
}

// TestLasting checks that errors which a retry cannot solve are tried once, say what to do, and are distinguished from
// those that may pass.
func TestLasting(t *testing.T) {
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := start(t, fakes3.New("b"))
	for name, test := range map[string]struct {
		options     s3.Options
		environment [2]string
		bucket      string
		want        string
	}{
		"unknown authority": {options: s3.Options{Endpoint: secure.URL}, want: "; set AWS_CA_BUNDLE to a file"},
		"no TLS":            {options: s3.Options{Endpoint: strings.Replace(plain, "http:", "https:", 1)}, want: "; the store does not use TLS on this port"},
		"no URL":            {options: s3.Options{Endpoint: "127.0.0.1:9000"}, want: "--store-endpoint s3=URL"},
		"no bundle":         {options: s3.Options{Endpoint: plain}, environment: [2]string{"AWS_CA_BUNDLE", "/none/such"}, want: "AWS_CA_BUNDLE"},
		"no profile":        {options: s3.Options{Endpoint: plain}, environment: [2]string{"AWS_PROFILE", "none-such"}, want: "AWS_PROFILE"},
		"no credentials":    {options: s3.Options{Endpoint: plain}, environment: [2]string{"AWS_ACCESS_KEY_ID", ""}, want: "AWS_PROFILE"},
		"wrong key":         {options: s3.Options{Endpoint: plain}, environment: [2]string{"AWS_ACCESS_KEY_ID", "AKIDOTHER"}, want: "check the credentials"},
		"wrong secret":      {options: s3.Options{Endpoint: plain}, environment: [2]string{"AWS_SECRET_ACCESS_KEY", "other"}, want: "check the credentials"},
		"wrong region":      {options: s3.Options{Endpoint: plain, Region: "eu-west-1"}, want: "set AWS_REGION=us-east-1"},
		"no bucket":         {options: s3.Options{Endpoint: plain}, bucket: "none", want: "check the name of the bucket"},
		"no access":         {options: s3.Options{Endpoint: plain, Anonymous: true}, want: "check what these credentials may do"},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t)
			if test.environment[0] != "" {
				t.Setenv(test.environment[0], test.environment[1])
			}
			test.options.Region = cmp.Or(test.options.Region, "us-east-1")
			retries := storage.Retries()
			_, err := s3.New(test.options).List(t.Context(), bucket.Key{Bucket: cmp.Or(test.bucket, "b"), Name: "x"}, "", "")
			if !lasts(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
			if got := storage.Retries() - retries; got > 0 {
				t.Errorf("%d retries", got)
			}
		})
	}
}

// TestCancelled checks that every method ends with the error of the context, even while the store is silent.
func TestCancelled(t *testing.T) {
	fake, c := serve(t)
	fake.Put("b", "x", "x", nil)
	fake.Fault = func(*http.Request, int) httpfault.Fault { return httpfault.Fault{Delay: time.Minute} }
	for name, call := range map[string]func(context.Context) error{
		"List": func(ctx context.Context) error { _, err := c.List(ctx, key(""), "", ""); return err },
		"Stat": func(ctx context.Context) error { _, err := c.Stat(ctx, key("x")); return err },
		"Read": func(ctx context.Context) error { _, _, err := c.Read(ctx, key("x"), "", 0, 1); return err },
		"Create": func(ctx context.Context) error {
			_, err := c.Create(ctx, key("x"), storage.If{}, text("x"))
			return err
		},
		"Remove": func(ctx context.Context) error { return c.Remove(ctx, key("x"), storage.If{}) },
		"Move":   func(ctx context.Context) error { return c.Move(ctx, key("x"), key("y")) },
		"Abort":  func(ctx context.Context) error { return c.Abort(ctx, key("x")) },
	} {
		for _, after := range []time.Duration{0, 20 * time.Millisecond} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(after, cancel)
			if err := call(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: error %v, want context.Canceled", name, err)
			}
		}
	}
}
