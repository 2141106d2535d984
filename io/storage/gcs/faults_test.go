package gcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/fakegcs"
	"github.com/neardup/neardup/internal/httpfault"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/bucket"
)

var y = bucket.Key{Bucket: "b", Name: "folder/y"}

// action is something a client does to x, whose content is old, with a request that may fail.
type action struct {
	// do returns what it read, if anything.
	do func(ctx context.Context, c *client, old storage.Info) ([]byte, error)
	// lost is the error it reports if its request took effect and is sent again.
	lost error
	// x and y are the contents afterwards; nil means no object.
	x, y []byte
	read []byte
	// requests is how many requests it takes.
	requests int
}

var (
	oldData   = pattern(3000)
	newSmall  = pattern(5000)
	oldListed = []byte("folder/x,")
)

func creates(data []byte, at bucket.Key, cond func(storage.Info) storage.If) func(context.Context, *client, storage.Info) ([]byte, error) {
	return func(ctx context.Context, c *client, old storage.Info) ([]byte, error) {
		info, err := c.Create(ctx, at, cond(old), content(data))
		if err == nil && (info.Size != int64(len(data)) || info.Version == old.Version) {
			return nil, fmt.Errorf("made %+v", info)
		}
		return nil, err
	}
}

func always(storage.Info) storage.If { return storage.If{} }

func same(old storage.Info) storage.If { return storage.If{Version: old.Version} }

func absent(storage.Info) storage.If { return storage.If{Absent: true} }

func actions() map[string]action {
	newLarge := pattern(2*chunkBytes + 3) // a first request and three chunks
	return map[string]action{
		"List": {do: func(ctx context.Context, c *client, _ storage.Info) ([]byte, error) {
			page, err := c.List(ctx, bucket.Key{Bucket: "b", Name: "folder/"}, "", "")
			var names []byte
			for _, o := range page.Objects {
				names = append(append(names, o.Path...), ',')
			}
			return names, err
		}, x: oldData, read: oldListed, requests: 1},
		"Stat": {do: func(ctx context.Context, c *client, old storage.Info) ([]byte, error) {
			info, err := c.Stat(ctx, x)
			if err == nil && info != old {
				return nil, fmt.Errorf("%+v", info)
			}
			return nil, err
		}, x: oldData, requests: 1},
		"Read": {do: func(ctx context.Context, c *client, old storage.Info) ([]byte, error) {
			data, _, err := read(ctx, c, x, old.Version, 100, 2000)
			return data, err
		}, x: oldData, read: oldData[100:2000], requests: 1},
		"Read any": {do: func(ctx context.Context, c *client, old storage.Info) ([]byte, error) {
			data, info, err := read(ctx, c, x, "", 0, 5000)
			if err == nil && info != old {
				return nil, fmt.Errorf("%+v", info)
			}
			return data, err
		}, x: oldData, read: oldData, requests: 1},
		"Remove": {do: func(ctx context.Context, c *client, _ storage.Info) ([]byte, error) {
			return nil, c.Remove(ctx, x, storage.If{})
		}, requests: 1},
		"Remove version": {do: func(ctx context.Context, c *client, old storage.Info) ([]byte, error) {
			return nil, c.Remove(ctx, x, same(old))
		}, lost: storage.ErrPrecondition, requests: 1},
		"Move": {do: func(ctx context.Context, c *client, _ storage.Info) ([]byte, error) {
			return nil, c.Move(ctx, x, y)
		}, lost: fs.ErrNotExist, y: oldData, requests: 1},
		"Create":         {do: creates(newSmall, x, always), x: newSmall, requests: 1},
		"Create version": {do: creates(newSmall, x, same), x: newSmall, lost: storage.ErrPrecondition, requests: 1},
		"Create absent":  {do: creates(newSmall, y, absent), x: oldData, y: newSmall, lost: storage.ErrPrecondition, requests: 1},
		"Create large":   {do: creates(newLarge, x, always), x: newLarge, requests: 4},
		// A session answers again with the result of its last request.
		"Create large version": {do: creates(newLarge, x, same), x: newLarge, requests: 4},
		"Create large absent":  {do: creates(newLarge, y, absent), x: oldData, y: newLarge, requests: 4},
	}
}

var faults = map[string]httpfault.Fault{
	"429":       {Kind: httpfault.Error, Status: 429},
	"500":       {Kind: httpfault.Error, Status: 500},
	"503":       {Kind: httpfault.Error, Status: 503},
	"reset":     {Kind: httpfault.Reset},
	"lost":      {Kind: httpfault.Lost},
	"cut at 0":  {Kind: httpfault.Cut},
	"cut":       {Kind: httpfault.Cut, Bytes: 40},
	"cut late":  {Kind: httpfault.Cut, Bytes: 1500},
	"stall":     {Kind: httpfault.Stall},
	"stall mid": {Kind: httpfault.Stall, Bytes: 40},
	"silent":    {Delay: time.Minute},
}

// there checks the object at a name.
func there(t *testing.T, fake *fakegcs.Server, at bucket.Key, wants ...[]byte) {
	t.Helper()
	got, _, ok := fake.Get(at.Bucket, at.Name)
	for _, want := range wants {
		if ok == (want != nil) && bytes.Equal(got, want) {
			return
		}
	}
	t.Errorf("%s: %d bytes, there: %v", at.Name, len(got), ok)
}

// each runs a test of each action with each fault: first the faults without stalls, then those with.
func each(t *testing.T, test func(t *testing.T, name string, a action, fault httpfault.Fault)) {
	for _, stalls := range []bool{false, true} {
		t.Run(fmt.Sprint("stalls=", stalls), func(t *testing.T) {
			if stalls {
				impatient(t)
			}
			for actionName, a := range actions() {
				for faultName, fault := range faults {
					if stalls != (fault.Kind == httpfault.Stall || fault.Delay > 0) {
						continue
					}
					t.Run(actionName+"/"+faultName, func(t *testing.T) {
						t.Parallel()
						test(t, actionName, a, fault)
					})
				}
			}
		})
	}
}

// start puts x into a fake and returns information about it.
func start(t *testing.T) (*fakegcs.Server, storage.Info) {
	t.Helper()
	fake := fakegcs.New("b")
	fake.Put("b", x.Name, "", oldData)
	old, err := serve(t, fake, nil, Options{}).Stat(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	return fake, old
}

// TestOneFault checks that after one failed request everything is right, or the error says what happened.
func TestOneFault(t *testing.T) {
	each(t, func(t *testing.T, name string, a action, fault httpfault.Fault) {
		for fails := range a.requests {
			fake, old := start(t)
			hit := false
			c := serve(t, fake, func(_ *http.Request, n int) httpfault.Fault {
				if n == fails+1 {
					hit = true
					return fault
				}
				return httpfault.Fault{}
			}, Options{})
			got, err := a.do(t.Context(), c, old)
			if !hit {
				t.Fatal("no request failed")
			}
			effect := fault.Kind >= httpfault.Lost || fault.Delay > 0 // only these faults may have taken effect
			switch {
			case err == nil && !bytes.Equal(got, a.read):
				t.Errorf("read %d bytes, want %d", len(got), len(a.read))
			case err == nil:
			case strings.HasPrefix(name, "Read") && fault.Kind > httpfault.Lost:
				if !bytes.HasPrefix(a.read, got) || len(got) > fault.Bytes || !strings.HasPrefix(err.Error(), "gs://b/folder/x: ") {
					t.Errorf("%d bytes, then %v", len(got), err)
				}
			case !effect || a.lost == nil || !errors.Is(err, a.lost):
				t.Error(err)
			}
			there(t, fake, x, a.x)
			there(t, fake, y, a.y)
			// Only the store knows about an upload whose first answer is lost.
			if left := fake.Unfinished(); left > 0 && (fails > 0 || fault.Kind != httpfault.Lost) {
				t.Errorf("request %d: %d uploads left", fails, left)
			}
		}
	})
}

// TestOnlyFaults checks that a store that always fails causes an error after a bounded number of requests, and that the
// object is either still there or has been replaced as a whole.
func TestOnlyFaults(t *testing.T) {
	defer func(was int) { maxTries = was }(maxTries)
	maxTries = 3
	each(t, func(t *testing.T, _ string, a action, fault httpfault.Fault) {
		fake, old := start(t)
		var requests atomic.Int64
		c := serve(t, fake, func(*http.Request, int) httpfault.Fault {
			requests.Add(1)
			return fault
		}, Options{})
		got, err := a.do(t.Context(), c, old)
		if err == nil && fault.Kind < httpfault.Cut {
			t.Errorf("no error, read %d bytes", len(got))
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "gs://b/folder/") || strings.Contains(err.Error(), "\n") || errors.Is(err, io.EOF)) {
			t.Error(err)
		}
		if n := requests.Load(); n > int64(maxTries*a.requests+1) {
			t.Errorf("%d requests", n)
		}
		if fault.Kind < httpfault.Lost {
			there(t, fake, x, oldData)
			there(t, fake, y, nil)
		}
		there(t, fake, x, oldData, a.x)
		there(t, fake, y, nil, a.y)
	})
}

// TestRetriesAreCounted checks that each retry is counted.
func TestRetriesAreCounted(t *testing.T) {
	for name, a := range actions() {
		for _, fails := range []int{1, 2, maxTries - 1, maxTries} {
			fake, old := start(t)
			c := serve(t, fake, func(_ *http.Request, n int) httpfault.Fault {
				if n <= fails {
					return httpfault.Fault{Kind: httpfault.Error, Status: http.StatusServiceUnavailable}
				}
				return httpfault.Fault{}
			}, Options{})
			before := storage.Retries()
			_, err := a.do(t.Context(), c, old)
			if n := storage.Retries() - before; n != int64(min(fails, maxTries-1)) || (err == nil) != (fails < maxTries) {
				t.Errorf("%s, %d requests fail: %d sent again, %v", name, fails, n, err)
			}
		}
	}
}

// TestManyFaults checks that an upload of many chunks may retry more often than a single request.
func TestManyFaults(t *testing.T) {
	fake := fakegcs.New("b")
	c := serve(t, fake, func(_ *http.Request, n int) httpfault.Fault {
		if n%4 != 0 {
			return httpfault.Fault{Kind: httpfault.Error, Status: http.StatusServiceUnavailable}
		}
		return httpfault.Fault{}
	}, Options{})
	want := pattern(5*chunkBytes + 1)
	create(t, c, x, want)
	there(t, fake, x, want)
}
