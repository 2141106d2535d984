package s3_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/internal/httpfault"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
	"github.com/neardup/neardup/io/storage/s3"
)

// sent is a kind of request.
type sent struct {
	name  string
	which func(*http.Request) bool
}

func method(name, has string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if r.Method != name {
			return false
		}
		query := r.URL.Query()
		if has == "" {
			return !query.Has("uploads") && !query.Has("uploadId") && !query.Has("list-type") && r.Header.Get("X-Amz-Copy-Source") == ""
		}
		return query.Has(has) || r.Header.Get(has) != ""
	}
}

var kinds = []sent{
	{"list", method("GET", "list-type")}, {"list uploads", method("GET", "uploads")}, {"get", method("GET", "")}, {"head", method("HEAD", "")},
	{"put", method("PUT", "")}, {"delete", method("DELETE", "")}, {"begin", method("POST", "uploads")}, {"part", method("PUT", "partNumber")},
	{"complete", method("POST", "uploadId")}, {"abort", method("DELETE", "uploadId")}, {"copy", method("PUT", "X-Amz-Copy-Source")},
}

var faults = map[string]httpfault.Fault{
	"429": {Kind: httpfault.Error, Status: 429}, "500": {Kind: httpfault.Error, Status: 500}, "503": {Kind: httpfault.Error, Status: 503},
	"reset": {Kind: httpfault.Reset}, "lost": {Kind: httpfault.Lost}, "cut at 0": {Kind: httpfault.Cut}, "cut": {Kind: httpfault.Cut, Bytes: 100},
	"stalled": {Kind: httpfault.Stall, Bytes: 100}, "slow": {Delay: 10 * silence},
}

// silence is how long a connection may be silent in tests about that.
const silence = 50 * time.Millisecond

// everything does all that a store can do, and checks the results.
func everything(t *testing.T, fake *fakes3.Server, c *s3.Client, conditional bool) {
	store := bucket.New("s3://", c)
	for _, size := range []int{part / 2, 4*part + 1} {
		content := long(size)
		cond := storage.If{Absent: conditional}
		_, err := c.Create(t.Context(), key("d/x"), cond, text(content))
		if err != nil && (!conditional || !errors.Is(err, storage.ErrPrecondition)) {
			t.Errorf("Create: %v", err)
		}
		if got, _, _ := fake.Get("b", "d/x"); got != content {
			t.Fatalf("%d bytes, %d written", len(got), size)
		}
		info, err := store.Stat(t.Context(), "s3://b/d/x")
		if err != nil || info.Size != int64(size) {
			t.Errorf("Stat tells %+v, %v", info, err)
		}
		if got := list(t, c, "d/", ""); !slices.Equal(got, []string{"d/x"}) {
			t.Errorf("listed %q", got)
		}
		r, err := store.Open(t.Context(), "s3://b/d/x")
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, size)
		if n, err := r.ReadAt(data, 0); n != size || string(data) != content {
			t.Errorf("read %d bytes, or others: %v", n, err)
		}
		r.Close()
		if err := c.Move(t.Context(), key("d/x"), key("d/y")); err != nil {
			t.Errorf("Move: %v", err)
		}
		if got, _, _ := fake.Get("b", "d/y"); got != content {
			t.Errorf("%d bytes, %d moved", len(got), size)
		}
		if _, _, there := fake.Get("b", "d/x"); there {
			t.Error("the source is still there")
		}
		if info, err = c.Stat(t.Context(), key("d/y")); err != nil {
			t.Error(err)
		}
		until := storage.If{Until: time.Now().Add(time.Minute)}
		if conditional {
			until.Version = info.Version
		}
		if err := c.Remove(t.Context(), key("d/y"), until); err != nil && (!conditional || !errors.Is(err, storage.ErrPrecondition)) {
			t.Errorf("Remove: %v", err)
		}
		if _, _, there := fake.Get("b", "d/y"); there {
			t.Error("it is still there")
		}
		_, err = c.Create(t.Context(), key("z"), storage.If{}, func(w io.Writer) error {
			return errors.Join(text(content)(w), fs.ErrInvalid)
		})
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("error %v", err)
		}
	}
	if err := c.Abort(t.Context(), key("")); err != nil {
		t.Error(err)
	}
}

// TestFaults checks that the client recovers from each fault of each kind of request, with the right bytes. A repeated
// conditional request whose answer was lost finds its own success.
func TestFaults(t *testing.T) {
	for _, kind := range kinds {
		for name, fault := range faults {
			for _, conditional := range []bool{false, true} {
				t.Run(fmt.Sprint(kind.name, " ", name, " ", conditional), func(t *testing.T) {
					fake, c := serve(t)
					if fault.Kind == httpfault.Stall || fault.Delay > 0 {
						t.Cleanup(s3.Quicken(silence))
					}
					asked, retries := 0, storage.Retries()
					fake.Fault = func(r *http.Request, _ int) httpfault.Fault {
						if !kind.which(r) {
							return httpfault.Fault{}
						}
						if asked++; asked%3 != 1 {
							return httpfault.Fault{}
						}
						return fault
					}
					everything(t, fake, c, conditional)
					if asked == 0 {
						t.Error("there was no such request")
					}
					bodiless := map[string]bool{"put": true, "part": true, "delete": true, "abort": true, "head": true}[kind.name]
					whole := bodiless && (fault.Kind == httpfault.Cut || fault.Kind == httpfault.Stall)
					if storage.Retries() == retries && !whole {
						t.Error("no retry was counted")
					}
					if left := fake.Uploads(); len(left) > 0 {
						t.Errorf("unfinished uploads %q", left)
					}
				})
			}
		}
	}
}

// TestErrorAfterHeaders checks answers that begin as a success but contain an error (CopyObject,
// CompleteMultipartUpload).
func TestErrorAfterHeaders(t *testing.T) {
	for _, kind := range kinds {
		if kind.name != "complete" && kind.name != "copy" {
			continue
		}
		fake, c := serve(t)
		fake.Put("b", "x", "x", nil)
		refused := 0
		fake.Fault = func(r *http.Request, _ int) httpfault.Fault {
			if refused == 2 || !kind.which(r) {
				return httpfault.Fault{}
			}
			refused++
			return httpfault.Fault{Kind: httpfault.Error, Status: 200}
		}
		if err := c.Move(t.Context(), key("x"), key("y")); err != nil {
			t.Error(err)
		}
		if _, err := c.Create(t.Context(), key("x"), storage.If{Absent: true}, text(long(4*part))); err != nil {
			t.Error(err)
		}
		if got, _, _ := fake.Get("b", "y"); got != "x" {
			t.Errorf("moved %q", got)
		}
		if got, _, _ := fake.Get("b", "x"); got != long(4*part) || refused != 2 {
			t.Errorf("%d bytes, refused %d times", len(got), refused)
		}
	}
}

// TestAttempts checks that a store that always fails is asked a bounded number of times.
func TestAttempts(t *testing.T) {
	for name, fault := range faults {
		if name == "lost" || name == "slow" || fault.Kind == httpfault.Stall || fault.Kind == httpfault.Cut {
			continue
		}
		fake, c := serve(t)
		if _, err := c.List(t.Context(), key(""), "", ""); err != nil { // it has answered once
			t.Fatal(err)
		}
		fake.Fault = func(*http.Request, int) httpfault.Fault { return fault }
		retries := storage.Retries()
		_, err := c.Stat(t.Context(), key("x"))
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "s3://b/x: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", name, err)
		}
		least := s3.Attempts
		if fault.Kind == httpfault.Reset {
			least /= 2 // a connection that was reset may be recognized as such before it is written to
		}
		if n := count(fake, "HEAD"); n < least || n > 2*s3.Attempts { // the transport retries by itself
			t.Errorf("%s: %d requests", name, n)
		}
		if got := storage.Retries() - retries; got < s3.Attempts-1 {
			t.Errorf("%s: %d retries counted", name, got)
		}
	}
}

// TestFirstTries checks that a store that has never answered and breaks each connection is tried only a few times.
func TestFirstTries(t *testing.T) {
	fake, c := serve(t)
	t.Cleanup(s3.Quicken(silence))
	fake.Fault = func(*http.Request, int) httpfault.Fault { return httpfault.Fault{Kind: httpfault.Reset} }
	retries := storage.Retries()
	_, err := c.List(t.Context(), key(""), "", "")
	if got := storage.Retries() - retries; err == nil || got != bucket.FirstTries-1 {
		t.Errorf("%d retries, %v", got, err)
	}
}

// TestStalled checks that a silent connection is closed, and that what came before is used.
func TestStalled(t *testing.T) {
	fake, c := serve(t)
	t.Cleanup(s3.Quicken(silence))
	fake.Put("b", "x", long(500), nil)
	fake.Fault = func(*http.Request, int) httpfault.Fault { return httpfault.Fault{Kind: httpfault.Stall, Bytes: 100} }
	got, _, err := read(t.Context(), c, key("x"), "", 0, 500)
	if got != long(500)[:100] || err == nil || !strings.Contains(err.Error(), "silent") || !strings.Contains(err.Error(), "s3://b/x") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestSlowReader checks that a slow reader does not lose the connection.
func TestSlowReader(t *testing.T) {
	fake, c := serve(t)
	t.Cleanup(s3.Quicken(silence))
	content := long(1 << 20) // more than the transport buffers
	fake.Put("b", "x", content, nil)
	r, _, err := c.Read(t.Context(), key("x"), "", 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	time.Sleep(3 * silence)
	if got, err := io.ReadAll(r); err != nil || string(got) != content {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestLostBegin checks that Abort ends an upload whose id never arrived.
func TestLostBegin(t *testing.T) {
	fake, c := serve(t)
	faultOnce(fake, httpfault.Fault{Kind: httpfault.Lost}, method("POST", "uploads"))
	if _, err := c.Create(t.Context(), key("d/x"), storage.If{}, text(long(2*part))); err != nil {
		t.Error(err)
	}
	if left := fake.Uploads(); !slices.Equal(left, []string{"d/x"}) {
		t.Errorf("unfinished uploads %q", left)
	}
	if err := c.Abort(t.Context(), key("d/")); err != nil {
		t.Error(err)
	}
	if left := fake.Uploads(); len(left) > 0 {
		t.Errorf("unfinished uploads %q", left)
	}
}

// TestOvertaken checks that an upload that another run has ended neither becomes an object nor succeeds.
func TestOvertaken(t *testing.T) {
	for _, cond := range []storage.If{{}, {Absent: true}} {
		fake, c := serve(t)
		_, err := c.Create(t.Context(), key("x"), cond, func(w io.Writer) error {
			if err := text(long(4 * part))(w); err != nil {
				return err
			}
			return c.Abort(t.Context(), key(""))
		})
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: error %v", cond, err)
		}
		if _, _, there := fake.Get("b", "x"); there || len(fake.Uploads()) > 0 {
			t.Errorf("there is an object: %t, or uploads: %q", there, fake.Uploads())
		}
	}
}

// TestUnlistedUploads checks answers other than a list of unfinished uploads. They can mean that there are none, that
// the store cannot list them, or that these credentials may not; the error then names the request and the permission.
func TestUnlistedUploads(t *testing.T) {
	for status, check := range map[int]func(error) bool{
		404: func(err error) bool { return err == nil },
		501: func(err error) bool {
			var unlisted *storage.UnlistedError
			return errors.As(err, &unlisted) && unlisted.Whole == 3*part && strings.Contains(err.Error(), "(HTTP 501 to ListMultipartUploads)")
		},
		403: func(err error) bool {
			return lasts(err) && strings.Contains(err.Error(), "ListMultipartUploads needs s3:ListBucketMultipartUploads")
		},
		500: func(err error) bool { return err != nil && !lasts(err) },
	} {
		fake, c := serve(t)
		t.Cleanup(s3.Quicken(silence))
		fake.Fault = func(r *http.Request, _ int) (f httpfault.Fault) {
			if r.URL.Query().Has("uploads") {
				f = httpfault.Fault{Kind: httpfault.Error, Status: status}
			}
			return f
		}
		if err := c.Abort(t.Context(), key("d/")); !check(err) {
			t.Errorf("HTTP %d: error %v", status, err)
		}
	}
}
