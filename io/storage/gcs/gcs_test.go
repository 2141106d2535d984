package gcs

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"

	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/httpfault"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

func TestMain(m *testing.M) {
	backoff = gax.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Multiplier: 2}
	chunkBytes = 2 * smallBytes
	_ = os.Unsetenv("STORAGE_EMULATOR_HOST")
	os.Exit(m.Run())
}

// impatient makes stalled connections end soon, in tests that have such connections and are not disturbed by other ones
// ending, too.
func impatient(t *testing.T) {
	t.Helper()
	was := idle
	idle = 100 * time.Millisecond
	t.Cleanup(func() { idle = was })
}

// serve starts a fake with a bucket b, whose requests may fail, and returns a client for it.
func serve(t *testing.T, fake *fakegcs.Server, decide func(r *http.Request, n int) httpfault.Fault, options Options) *client {
	t.Helper()
	var handler http.Handler = fake
	if decide != nil {
		handler = &httpfault.Faults{Handler: fake, Decide: decide, Refuse: fakegcs.Refuse}
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	options.Endpoint, options.Anonymous = server.URL, true
	return New(options).(*client) //nolint:forcetypeassert // it is one
}

var x = bucket.Key{Bucket: "b", Name: "folder/x"}

func content(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for part := range slices.Chunk(data, 1<<20) {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	}
}

// pattern returns n bytes that do not repeat at any power of two.
func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16*7)
	}
	return data
}

func create(t *testing.T, c *client, at bucket.Key, data []byte) storage.Info {
	t.Helper()
	info, err := c.Create(t.Context(), at, storage.If{}, content(data))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// read reads a range in one stream.
func read(ctx context.Context, c *client, at bucket.Key, version string, from, to int64) ([]byte, storage.Info, error) {
	body, info, err := c.Read(ctx, at, version, from, to)
	if err != nil {
		return nil, info, err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return data, info, err
}

func verbs(log []fakegcs.Request) (verbs []string) {
	for _, r := range log {
		verbs = append(verbs, r.Verb)
	}
	return verbs
}

// TestUpload checks the requests and the result for sizes around those at which the requests change.
func TestUpload(t *testing.T) {
	for _, c := range []struct {
		size  int
		verbs []string
	}{
		{0, []string{"insert"}},
		{1, []string{"insert"}},
		{smallBytes - 1, []string{"insert"}},
		{smallBytes, []string{"insert"}},
		{smallBytes + 1, []string{"insert"}},
		{chunkBytes - 1, []string{"insert"}},
		{chunkBytes, []string{"start", "chunk", "chunk"}},
		{chunkBytes + 1, []string{"start", "chunk", "chunk"}},
		{2*chunkBytes + 5, []string{"start", "chunk", "chunk", "chunk"}},
	} {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			fake := fakegcs.New("b")
			fake.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC) }
			client := serve(t, fake, nil, Options{KMSKey: "key", UserProject: "payer"})
			want := pattern(c.size)
			info := create(t, client, x, want)
			if got := verbs(fake.Log()); !slices.Equal(got, c.verbs) {
				t.Errorf("requests %q, want %q", got, c.verbs)
			}
			got, key, _ := fake.Get("b", "folder/x")
			if !bytes.Equal(got, want) || !strings.HasPrefix(key, "key") {
				t.Errorf("%d bytes of %d, key %q", len(got), len(want), key)
			}
			stat, err := client.Stat(t.Context(), x)
			if err != nil || stat != info || info.Size != int64(c.size) || info.Path != "folder/x" || !info.Modified.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
				t.Errorf("Create returns %+v, Stat %+v, %v", info, stat, err)
			}
			for _, r := range fake.Log() {
				if r.Project != "payer" {
					t.Errorf("%s is paid by %q", r.Verb, r.Project)
				}
			}
			if fake.Unfinished() != 0 {
				t.Error("an upload is left")
			}
		})
	}
}

// TestUploadFails checks that no object and no upload is left, however the writer ends.
func TestUploadFails(t *testing.T) {
	broken := errors.New("broken")
	for name, fail := range map[string]func(context.CancelFunc) error{
		"fails":     func(context.CancelFunc) error { return broken },
		"panics":    func(context.CancelFunc) error { panic(broken) },
		"ends":      func(context.CancelFunc) error { runtime.Goexit(); return nil },
		"cancelled": func(cancel context.CancelFunc) error { cancel(); return nil },
	} {
		// Not chunkBytes: a full chunk may be sent before it is known to be the last.
		for _, size := range []int{10, smallBytes, chunkBytes - 1, 3 * chunkBytes} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				fake := fakegcs.New("b")
				client := serve(t, fake, nil, Options{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err, done := broken, make(chan bool)
				go func() {
					defer close(done)
					defer func() { _ = recover() }()
					_, err = client.Create(ctx, x, storage.If{}, func(w io.Writer) error {
						if err := content(pattern(size))(w); err != nil {
							return err
						}
						return fail(cancel)
					})
				}()
				<-done
				if want := map[string]error{"cancelled": context.Canceled}[name]; err == nil || want != nil && !errors.Is(err, want) {
					t.Errorf("error %v", err)
				}
				if _, _, there := fake.Get("b", "folder/x"); there || fake.Unfinished() != 0 {
					t.Errorf("there: %v, %d uploads left", there, fake.Unfinished())
				}
				if cancelled := slices.Contains(verbs(fake.Log()), "cancel"); cancelled != (size > chunkBytes) {
					t.Errorf("requests %q", verbs(fake.Log()))
				}
			})
		}
	}
}

func TestConditions(t *testing.T) {
	fake := fakegcs.New("b")
	c := serve(t, fake, nil, Options{})
	refused := func(cond storage.If, sizes ...int) {
		t.Helper()
		for _, size := range sizes {
			if _, err := c.Create(t.Context(), x, cond, content(pattern(size))); !errors.Is(err, storage.ErrPrecondition) {
				t.Errorf("Create %+v of %d bytes: error %v", cond, size, err)
			}
		}
		if fake.Unfinished() != 0 {
			t.Errorf("%+v: an upload is left", cond)
		}
	}
	refused(storage.If{Version: "1"}, 1, 2*chunkBytes)
	first, err := c.Create(t.Context(), x, storage.If{Absent: true}, content(nil))
	if err != nil {
		t.Fatal(err)
	}
	refused(storage.If{Absent: true}, 1, 2*chunkBytes)
	refused(storage.If{Absent: true, Version: first.Version}, 1)
	for _, version := range []string{"0", "-1", "no number", first.Version + "0", "99999999999999999999"} { // 0 is a condition of its own
		refused(storage.If{Version: version}, 1)
		if err := c.Remove(t.Context(), x, storage.If{Version: version}); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("Remove %s: %v", version, err)
		}
		if _, _, err := c.Read(t.Context(), x, version, 0, 1); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("Read %s: %v", version, err)
		}
	}
	second, err := c.Create(t.Context(), x, storage.If{Version: first.Version}, content(pattern(2*chunkBytes)))
	if err != nil {
		t.Fatal(err)
	}
	refused(storage.If{Version: first.Version}, 1, 2*chunkBytes)
	if err := c.Remove(t.Context(), x, storage.If{Version: second.Version}); err != nil {
		t.Error(err)
	}
	for _, version := range []string{"0", second.Version} { // 0 would be satisfied now
		if err := c.Remove(t.Context(), x, storage.If{Version: version}); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("Remove %s: %v", version, err)
		}
	}
	refused(storage.If{Version: "0"}, 1)
	if err := c.Remove(t.Context(), x, storage.If{}); err != nil {
		t.Errorf("nothing there: %v", err)
	}
}

// TestConditionAtTheEnd checks that an upload does not overwrite what was written to its name while it was under way.
func TestConditionAtTheEnd(t *testing.T) {
	fake := fakegcs.New("b")
	c := serve(t, fake, nil, Options{})
	_, err := c.Create(t.Context(), x, storage.If{Absent: true}, func(w io.Writer) error {
		if err := content(pattern(2 * chunkBytes))(w); err != nil {
			return err
		}
		fake.Put("b", "folder/x", "", []byte("another's"))
		return nil
	})
	if got, _, _ := fake.Get("b", "folder/x"); !errors.Is(err, storage.ErrPrecondition) || string(got) != "another's" {
		t.Errorf("%v, and there are %d bytes", err, len(got))
	}
}

func TestRanges(t *testing.T) {
	fake := fakegcs.New("b")
	c := serve(t, fake, nil, Options{})
	const size = 100
	want := pattern(size)
	info := create(t, c, x, want)
	for _, r := range [][2]int64{{0, 1}, {0, size}, {0, size + 1}, {0, 1 << 40}, {3, 5}, {99, 100}, {99, 101}, {50, 1 << 40}} {
		got, told, err := read(t.Context(), c, x, info.Version, r[0], r[1])
		if err != nil || !bytes.Equal(got, want[r[0]:min(r[1], size)]) || told != info {
			t.Errorf("%v: %q, %+v, %v", r, got, told, err)
		}
	}
	empty := create(t, c, bucket.Key{Bucket: "b", Name: "empty"}, nil)
	for at, info := range map[bucket.Key]storage.Info{x: info, {Bucket: "b", Name: "empty"}: empty} {
		for _, from := range []int64{info.Size, info.Size + 1, 1 << 40} {
			if _, _, err := c.Read(t.Context(), at, info.Version, from, from+1); err != io.EOF { //nolint:errorlint // bare
				t.Errorf("from %d: %v, want EOF", from, err)
			}
		}
	}
	for _, r := range fake.Log() {
		if r.Verb == "media" && r.Bytes > size && r.Status < 300 {
			t.Errorf("%+v", r)
		}
	}
}

// TestReplaced checks that no further byte of an object is read after it was replaced or deleted.
func TestReplaced(t *testing.T) {
	fake := fakegcs.New("b")
	c := serve(t, fake, nil, Options{})
	old := create(t, c, x, pattern(100))
	if _, _, err := read(t.Context(), c, x, old.Version, 0, 50); err != nil {
		t.Fatal(err)
	}
	create(t, c, x, pattern(200))
	if _, _, err := read(t.Context(), c, x, old.Version, 50, 100); !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("replaced: %v", err)
	}
	if err := c.Remove(t.Context(), x, storage.If{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(t.Context(), c, x, old.Version, 50, 100); !errors.Is(err, storage.ErrPrecondition) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted: %v", err)
	}
}

// TestStoreWithoutGenerations checks that a store that ignores generations is found out by the generation in its
// answer.
func TestStoreWithoutGenerations(t *testing.T) {
	fake := fakegcs.New("b")
	old := fake.Put("b", "folder/x", "", pattern(10))
	fake.Put("b", "folder/x", "", pattern(20))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = ""
		fake.ServeHTTP(w, r)
	}))
	defer server.Close()
	c := New(Options{Endpoint: server.URL, Anonymous: true}).(*client) //nolint:forcetypeassert // it is one
	if _, _, err := c.Read(t.Context(), x, fmt.Sprint(old), 0, 5); !errors.Is(err, storage.ErrPrecondition) {
		t.Errorf("error %v", err)
	}
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// TestContentEncoding checks that objects are read as they are stored: as a whole, in ranges, and when streams break.
func TestContentEncoding(t *testing.T) {
	for _, cut := range []int{0, 1, 100} {
		fake := fakegcs.New("b")
		stored := gzipped([]byte(strings.Repeat("some text. ", 1000) + string(pattern(5000))))
		version := fmt.Sprint(fake.Put("b", "folder/x", "gzip", stored))
		breaks := cut > 0
		c := serve(t, fake, func(r *http.Request, _ int) httpfault.Fault {
			if breaks && r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/b/") {
				return httpfault.Fault{Kind: httpfault.Cut, Bytes: cut}
			}
			return httpfault.Fault{}
		}, Options{})
		if info, err := c.Stat(t.Context(), x); err != nil || info.Size != int64(len(stored)) {
			t.Errorf("%+v, %v", info, err)
		}
		for _, from := range []int64{0, 1, 777} {
			var got []byte
			for at := from; at < int64(len(stored)); {
				body, info, err := c.Read(t.Context(), x, version, at, int64(len(stored)))
				if err != nil || info.Size != int64(len(stored)) {
					t.Fatal(info, err)
				}
				data, err := io.ReadAll(body)
				body.Close()
				if (err != nil) != (breaks && len(data) == cut) || len(data) > cut && breaks {
					t.Fatalf("%d bytes, %v", len(data), err)
				}
				got, at = append(got, data...), at+int64(len(data))
				if cut == 1 && at > from+50 {
					breaks = false
				}
			}
			if !bytes.Equal(got, stored[from:]) {
				t.Errorf("cut at %d, from %d: other bytes", cut, from)
			}
			breaks = cut > 0
		}
	}
}

// TestUnpacked checks that a server or proxy that sends other bytes than requested is noticed.
func TestUnpacked(t *testing.T) {
	fake := fakegcs.New("b")
	plainText := pattern(5000)
	version := fmt.Sprint(fake.Put("b", "folder/x", "gzip", gzipped(plainText)))
	for name, change := range map[string]func(*http.Request){
		"unpacks":          func(r *http.Request) { r.Header.Del("Accept-Encoding") },
		"knows no ranges":  func(r *http.Request) { r.Header.Del("Range") },
		"has other ranges": func(r *http.Request) { r.Header.Set("Range", "bytes=5-9") },
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			change(r)
			fake.ServeHTTP(w, r)
		}))
		c := New(Options{Endpoint: server.URL, Anonymous: true}).(*client) //nolint:forcetypeassert // it is one
		if data, _, err := read(t.Context(), c, x, version, 10, 20); err == nil {
			t.Errorf("%s: read %q", name, data)
		}
		server.Close()
	}
}

// TestNoGeneration checks that a store that does not state the generation it sends, such as gcp-storage-emulator, is
// rejected by name.
func TestNoGeneration(t *testing.T) {
	fake := fakegcs.New("b")
	fake.Put("b", "folder/x", "", pattern(50))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		fake.ServeHTTP(answer, r)
		answer.Header().Del("X-Goog-Generation")
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = answer.Body.WriteTo(w)
	}))
	t.Cleanup(server.Close)
	c := New(Options{Endpoint: server.URL, Anonymous: true}).(*client) //nolint:forcetypeassert // it is one
	_, _, err := read(t.Context(), c, x, "", 0, 50)
	if lasting := (bucket.LastingError{}); !errors.As(err, &lasting) || !strings.Contains(err.Error(), "which generation") {
		t.Errorf("error %v", err)
	}
}

// TestContentType checks that pages and JSON get types with which browsers show them.
func TestContentType(t *testing.T) {
	c := serve(t, fakegcs.New("b"), nil, Options{})
	for name, want := range map[string]string{
		"report.html": "text/html; charset=utf-8", "run.json": "application/json", "_SUCCESS": "application/octet-stream",
	} {
		at := bucket.Key{Bucket: "b", Name: "folder/" + name}
		create(t, c, at, pattern(50))
		o, err := c.object(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if attrs, err := o.Attrs(t.Context()); err != nil || attrs.ContentType != want {
			t.Errorf("%s: %+v, %v", name, attrs, err)
		}
	}
}

func TestList(t *testing.T) {
	for _, size := range []int{1, 3, 1000} {
		fake := fakegcs.New("b")
		fake.PageSize = size
		c := serve(t, fake, nil, Options{})
		names := []string{"a", "a/", "a/b", "a/b/c", "a/b0", "a/\U0010ffff", "é", "文書"}
		infos := map[string]storage.Info{}
		for _, name := range names {
			infos[name] = create(t, c, bucket.Key{Bucket: "b", Name: name}, []byte(name))
		}
		for _, q := range []struct {
			prefix, after string
			want          []string
		}{
			{"", "", names},
			{"a/", "", names[1:6]},
			{"a/", "a/b", names[3:6]},
			{"a/", "a/b/\U0010ffff", names[4:6]},
			{"", "文", names[7:]},
			{"no", "", nil},
		} {
			var got []string
			for more := ""; ; {
				page, err := c.List(t.Context(), bucket.Key{Bucket: "b", Name: q.prefix}, q.after, more)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range page.Objects {
					got = append(got, o.Path)
					if o != infos[o.Path] {
						t.Errorf("listed %+v, written %+v", o, infos[o.Path])
					}
				}
				if more = page.More; more == "" {
					break
				}
			}
			if !slices.Equal(got, q.want) {
				t.Errorf("pages of %d, %+v: %q", size, q, got)
			}
		}
	}
}

// TestManyPages checks that a page has no more objects than one request returns.
func TestManyPages(t *testing.T) {
	fake := fakegcs.New("b")
	for i := range 2*pageSize + 1 {
		fake.Put("b", fmt.Sprintf("%05d", i), "", nil)
	}
	c := serve(t, fake, nil, Options{})
	page, err := c.List(t.Context(), bucket.Key{Bucket: "b"}, "", "")
	if err != nil || len(page.Objects) != pageSize || page.More == "" || len(fake.Log()) != 1 {
		t.Fatalf("%d objects, more %q, %v, %d requests", len(page.Objects), page.More, err, len(fake.Log()))
	}
	// For 1000 objects: name, size, generation and time, and nothing else.
	if perObject := fake.Log()[0].Bytes / pageSize; perObject > 120 {
		t.Errorf("%d bytes an object", perObject)
	}
}

// TestMove moves objects with each of the possible requests.
func TestMove(t *testing.T) {
	for _, noMove := range []int{0, http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented} {
		t.Run(fmt.Sprint(noMove), func(t *testing.T) {
			fake := fakegcs.New("b", "b2")
			fake.NoMove, fake.RewriteBytes = noMove, 1000
			c := serve(t, fake, nil, Options{})
			y, elsewhere := bucket.Key{Bucket: "b", Name: "y"}, bucket.Key{Bucket: "b2", Name: "y"}
			data := gzipped(pattern(5000))
			fake.Put("b", x.Name, "gzip", data)
			create(t, c, y, []byte("old"))
			for _, to := range []bucket.Key{y, elsewhere, x, x} {
				from := map[bucket.Key]bucket.Key{y: x, elsewhere: y, x: elsewhere}[to]
				if got, _, there := fake.Get(x.Bucket, x.Name); to == x && there {
					from = x // to itself
					_ = got
				}
				if err := c.Move(t.Context(), from, to); err != nil {
					t.Fatal(err)
				}
				got, _, _ := fake.Get(to.Bucket, to.Name)
				if _, _, still := fake.Get(from.Bucket, from.Name); !bytes.Equal(got, data) || still && from != to {
					t.Errorf("%v to %v: %d bytes, source there: %v", from, to, len(got), still)
				}
			}
			for _, r := range fake.Log() {
				if r.Verb == "media" {
					t.Error("bytes went through the client")
				}
			}
			for _, from := range []bucket.Key{{Bucket: "b", Name: "no"}, {Bucket: "b2", Name: "no"}} {
				for _, to := range []bucket.Key{y, from} {
					if err := c.Move(t.Context(), from, to); !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%v to %v: %v", from, to, err)
					}
				}
			}
			for _, err := range []error{c.Move(t.Context(), x, bucket.Key{Bucket: "no", Name: "y"}), c.Move(t.Context(), bucket.Key{Bucket: "no", Name: "x"}, x)} {
				if err == nil || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("no such bucket: %v", err)
				}
			}
			if got, _, _ := fake.Get(x.Bucket, x.Name); !bytes.Equal(got, data) {
				t.Error("the object is lost")
			}
		})
	}
}

// race runs do 32 times at once, and returns how many calls succeeded. The others must return ErrPrecondition.
func race(t *testing.T, do func(i int) error) int {
	t.Helper()
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			switch err := do(i); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, storage.ErrPrecondition):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return int(won.Load())
}

// TestRace checks that of 32 writers one wins, whether its object is small or large.
func TestRace(t *testing.T) {
	for _, size := range []int{10, chunkBytes + 1} {
		fake := fakegcs.New("b")
		c := serve(t, fake, nil, Options{})
		data := pattern(size)
		version := ""
		var mu sync.Mutex
		for round := range 3 {
			cond := storage.If{Absent: version == "", Version: version}
			won := race(t, func(i int) error {
				info, err := c.Create(t.Context(), x, cond, func(w io.Writer) error {
					if _, err := fmt.Fprintf(w, "%02d%02d", round, i); err != nil {
						return err
					}
					return content(data)(w)
				})
				if err == nil {
					mu.Lock()
					version = info.Version
					mu.Unlock()
				}
				return err
			})
			if info, err := c.Stat(t.Context(), x); won != 1 || err != nil || info.Version != version {
				t.Errorf("%d bytes: %d won with %s, there is %+v, %v", size, won, version, info, err)
			}
		}
		if won := race(t, func(int) error { return c.Remove(t.Context(), x, storage.If{Version: version}) }); won != 1 {
			t.Errorf("%d removed it", won)
		}
		if fake.Unfinished() != 0 {
			t.Errorf("%d uploads left", fake.Unfinished())
		}
	}
}

// TestErrors checks which error users get, and its message, which is one line.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		say    string
		is     error
	}{
		"credentials": {401, "Invalid Credentials; log in with gcloud auth application-default login", fs.ErrPermission},
		"permission":  {403, "Permission 'storage.objects.get' denied on resource", fs.ErrPermission},
		"gone":        {410, "run again", nil},
		"other":       {418, "We encountered an internal error", nil},
	} {
		fake := fakegcs.New("b")
		c := serve(t, fake, func(*http.Request, int) httpfault.Fault {
			return httpfault.Fault{Kind: httpfault.Error, Status: test.status}
		}, Options{})
		for verb, do := range verbsOf(c) {
			t.Run(name+" "+verb, func(t *testing.T) {
				err := do(t.Context())
				if err == nil {
					t.Fatal("no error")
				}
				say := test.say
				if verb == "Read" && (test.status == 403 || test.status == 401) { // the XML API words this differently
					say = map[int]string{401: "Authentication required; log in with gcloud", 403: "Access denied; grant"}[test.status]
				}
				if !strings.Contains(err.Error(), say) || !strings.HasPrefix(err.Error(), "gs://b/folder/x: ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("%v", err)
				}
				if test.is != nil && !errors.Is(err, test.is) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrPrecondition) {
					t.Errorf("%v is another error", err)
				}
				if lasting := test.is != nil; lasts(err) != lasting {
					t.Errorf("%v lasts: %t", err, !lasting)
				}
			})
		}
	}
}

// lasts reports whether an error has the exit status for problems that a person must solve.
func lasts(err error) bool {
	var stated interface{ Status() int }
	return errors.As(err, &stated) && stated.Status() == 2
}

// TestUnknownAuthority checks that a store whose certificate is not trusted is tried once, and that the message says
// what to do.
func TestUnknownAuthority(t *testing.T) {
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	retries := storage.Retries()
	_, err := New(Options{Endpoint: secure.URL, Anonymous: true}).Stat(t.Context(), x)
	if got := storage.Retries() - retries; !lasts(err) || !strings.Contains(err.Error(), "; set SSL_CERT_FILE to a file") || got > 0 {
		t.Errorf("%d retries, error %v", got, err)
	}
}

// verbsOf returns everything a client can do, applied to the object x.
func verbsOf(c *client) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"List":   func(ctx context.Context) error { _, err := c.List(ctx, x, "", ""); return err },
		"Stat":   func(ctx context.Context) error { _, err := c.Stat(ctx, x); return err },
		"Read":   func(ctx context.Context) error { _, _, err := read(ctx, c, x, "1600000000000001", 0, 10); return err },
		"Remove": func(ctx context.Context) error { return c.Remove(ctx, x, storage.If{}) },
		"Move":   func(ctx context.Context) error { return c.Move(ctx, x, bucket.Key{Bucket: "b", Name: "y"}) },
		"Create": func(ctx context.Context) error {
			_, err := c.Create(ctx, x, storage.If{}, content(pattern(10)))
			return err
		},
		"Create large": func(ctx context.Context) error {
			_, err := c.Create(ctx, x, storage.If{}, content(pattern(2*chunkBytes)))
			return err
		},
	}
}

// TestUnreached checks that the message says what to check if nobody answers, and if there is no such host.
func TestUnreached(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, endpoint := range []string{closed.URL, "http://no..host"} {
		for verb, do := range verbsOf(New(Options{Endpoint: endpoint, Anonymous: true}).(*client)) {
			retries := storage.Retries()
			err := do(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "gs://b/folder/x: ") || !strings.Contains(err.Error(), "; check the network, and the endpoint") {
				t.Errorf("%s of %s: error %v", verb, endpoint, err)
			}
			if got := storage.Retries() - retries; got >= bucket.FirstTries || lasts(err) != (endpoint != closed.URL) {
				t.Errorf("%s of %s: %d retries, error %v lasts: %t", verb, endpoint, got, err, lasts(err))
			}
		}
	}
}

// TestNoBucket checks that a missing bucket is distinguished from a missing object.
func TestNoBucket(t *testing.T) {
	for verb, do := range verbsOf(serve(t, fakegcs.New("another"), nil, Options{})) {
		err := do(t.Context())
		if verb == "Read" {
			if !errors.Is(err, storage.ErrPrecondition) && err == nil {
				t.Errorf("%s: %v", verb, err)
			}
			continue
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "there is no such bucket") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func TestNoObject(t *testing.T) {
	for verb := range verbsOf(nil) {
		c := serve(t, fakegcs.New("b"), nil, Options{})
		want := map[string]error{"Stat": fs.ErrNotExist, "Move": fs.ErrNotExist, "Read": storage.ErrPrecondition}[verb]
		if err := verbsOf(c)[verb](t.Context()); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", verb, err, want)
		}
	}
}

// TestNoCredentials checks that no request is sent without credentials, and that they are not looked for before the
// first request.
func TestNoCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "missing.json")
	c := New(Options{})
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	_, err := c.Stat(t.Context(), x)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "gcloud auth application-default login") || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
}

// TestCredentials checks that credentials are looked for at the first request and sent with every request, even the one
// that cancels an upload, and that users are told what to do if they are refused.
func TestCredentials(t *testing.T) {
	fake := fakegcs.New("b")
	var bare atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the-token" {
			bare.Add(1)
		}
		fake.ServeHTTP(w, r)
	}))
	defer server.Close()
	var asked atomic.Int64
	valid := true
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if !valid {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`)
			return
		}
		_, _ = io.WriteString(w, `{"access_token":"the-token","token_type":"Bearer","expires_in":3600}`)
	}))
	defer tokens.Close()
	options := Options{Endpoint: server.URL}
	c := New(options).(*client) //nolint:forcetypeassert // it is one
	if c.gcs != nil {
		t.Error("it does not wait for its first request")
	}
	account, _ := fakegcs.Account(t, "p", tokens.URL)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", account)
	create(t, c, x, pattern(10))
	broken := errors.New("broken")
	if _, err := c.Create(t.Context(), x, storage.If{}, func(w io.Writer) error {
		return errors.Join(content(pattern(3*chunkBytes))(w), broken)
	}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if !slices.Contains(verbs(fake.Log()), "cancel") || bare.Load() > 0 || asked.Load() != 1 {
		t.Errorf("requests %q, %d without token, %d tokens", verbs(fake.Log()), bare.Load(), asked.Load())
	}
	valid = false
	_, err := New(options).Stat(t.Context(), x)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "invalid_grant") || !strings.Contains(err.Error(), "gcloud auth application-default login") ||
		strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "gs://b/folder/x: ") {
		t.Error(err)
	}
	if n := len(fake.Log()); bare.Load() > 0 {
		t.Errorf("%d requests, some without token", n)
	}
}

// TestEmulator uses the environment variable with which Google's clients name a server. No credentials are looked for
// then.
func TestEmulator(t *testing.T) {
	fake := fakegcs.New("b")
	server := httptest.NewServer(fake)
	defer server.Close()
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "missing.json"))
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(server.URL, "http://"))
	c := New(Options{}).(*client) //nolint:forcetypeassert // it is one
	info := create(t, c, x, pattern(10))
	if got, _, err := read(t.Context(), c, x, info.Version, 0, 10); err != nil || !bytes.Equal(got, pattern(10)) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCancelled(t *testing.T) {
	fake := fakegcs.New("b")
	fake.Put("b", x.Name, "", pattern(100))
	c := serve(t, fake, nil, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for verb, do := range verbsOf(c) {
		if err := do(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if len(fake.Log()) > 0 {
		t.Errorf("requests %q", verbs(fake.Log()))
	}
}

// TestCancelledMeanwhile checks that cancelling ends a request that is under way.
func TestCancelledMeanwhile(t *testing.T) {
	fake := fakegcs.New("b")
	fake.Put("b", x.Name, "", pattern(100))
	var end atomic.Pointer[context.CancelFunc]
	c := serve(t, fake, func(*http.Request, int) httpfault.Fault {
		(*end.Load())()
		return httpfault.Fault{Kind: httpfault.Error, Status: http.StatusServiceUnavailable}
	}, Options{})
	for verb, do := range verbsOf(c) {
		ctx, cancel := context.WithCancel(t.Context())
		end.Store(&cancel)
		if err := do(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// TestSecrets checks that errors do not show the URL of an upload, with which anyone could write.
func TestSecrets(t *testing.T) {
	impatient(t)
	defer func(was int) { maxTries = was }(maxTries)
	maxTries = 2
	for name, fault := range map[string]httpfault.Fault{
		"reset": {Kind: httpfault.Reset}, "stall": {Kind: httpfault.Stall}, "503": {Kind: httpfault.Error, Status: 503},
		"410": {Kind: httpfault.Error, Status: 410}, "308": {Kind: httpfault.Error, Status: 308},
	} {
		t.Run(name, func(t *testing.T) {
			fake := fakegcs.New("b")
			c := serve(t, fake, func(r *http.Request, _ int) httpfault.Fault {
				if r.URL.Query().Get("upload_id") != "" {
					return fault
				}
				return httpfault.Fault{}
			}, Options{})
			_, err := c.Create(t.Context(), x, storage.If{}, content(pattern(2*chunkBytes)))
			if err == nil || strings.Contains(err.Error(), "secret-session") || strings.Contains(fmt.Sprintf("%+v", err), "secret-session") || !strings.HasPrefix(err.Error(), "gs://b/folder/x: ") {
				t.Errorf("%v", err)
			}
			for cause := err; cause != nil; cause = errors.Unwrap(cause) {
				if strings.Contains(cause.Error(), "secret-session") {
					t.Errorf("wrapped: %v", cause)
				}
			}
		})
	}
}

// TestSessionEnds checks that an upload whose session is gone fails, with an error that says so.
func TestSessionEnds(t *testing.T) {
	fake := fakegcs.New("b")
	c := serve(t, fake, nil, Options{})
	_, err := c.Create(t.Context(), x, storage.If{}, func(w io.Writer) error {
		if err := content(pattern(2 * chunkBytes))(w); err != nil {
			return err
		}
		fake.End()
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "run again") {
		t.Errorf("%v", err)
	}
}

func TestStatus(t *testing.T) {
	if got := status(fmt.Errorf("wrapped: %w", &googleapi.Error{Code: 416})); got != 416 || status(io.EOF) != 0 {
		t.Errorf("%d", got)
	}
}
