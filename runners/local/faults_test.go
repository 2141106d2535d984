package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"go.uber.org/goleak"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[fill]())
	beam.RegisterDoFn(reflect.TypeFor[drain]())
	beam.RegisterDoFn(reflect.TypeFor[failing]())
	register.Emitter2[int64, []byte]()
	register.Emitter1[int64]()
	register.Iter1[[]byte]()
}

// fill emits N values of Size bytes under Keys keys.
type fill struct{ N, Size, Keys int }

func (f *fill) ProcessElement(_ []byte, emit func(int64, []byte)) {
	reached("source")
	value := make([]byte, f.Size)
	for i := range f.N {
		emit(int64(i%f.Keys), value)
	}
}

// drain counts values. It fails at the group it is told to.
type drain struct{ Fail string }

func (f *drain) ProcessElement(key int64, values func(*[]byte) bool, emit func(int64)) error {
	reached("group")
	var v []byte
	var n int64
	for values(&v) {
		n++
	}
	switch f.Fail {
	case "error":
		return errOfTest
	case "panic":
		panic(errOfTest)
	}
	emit(n)
	return nil
}

func (f *drain) Setup()    { reached("setup") }
func (f *drain) Teardown() { reached("teardown") }

var errOfTest = errors.New("the disk of dreams is full")

// failing is a source that fails in its Phase.
type failing struct{ Phase, How string }

func (f *failing) at(phase string) error {
	if f.Phase != phase {
		return nil
	}
	if f.How == "panic" {
		panic(errOfTest)
	}
	return errOfTest
}

func (f *failing) Setup() error                                           { return f.at("Setup") }
func (f *failing) StartBundle(context.Context, func(int64, []byte)) error { return f.at("StartBundle") }
func (f *failing) FinishBundle(context.Context, func(int64, []byte)) error {
	return f.at("FinishBundle")
}
func (f *failing) Teardown() error { return f.at("Teardown") }
func (f *failing) ProcessElement(_ context.Context, _ []byte, emit func(int64, []byte)) error {
	emit(1, nil)
	return f.at("ProcessElement")
}

// reached is called by DoFns at points of interest, for tests that want to know.
func reached(point string) {
	if f := listener.Load(); f != nil {
		(*f)(point)
	}
}

var listener atomic.Pointer[func(string)]

func listen(t *testing.T, f func(string)) {
	t.Helper()
	listener.Store(&f)
	t.Cleanup(func() { listener.Store(nil) })
}

// spilling returns a pipeline that does not fit into a tiny memory budget.
func spilling(fail string) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	in := beam.ParDo(s.Scope("in"), &fill{N: 3000, Size: 1000, Keys: 7}, beam.Impulse(s))
	beam.ParDo(s.Scope("out"), &drain{Fail: fail}, beam.GroupByKey(s, in))
	return p
}

// tidy returns a folder for temporary files, and fails the test if it leaves goroutines or files behind.
func tidy(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
	return dir
}

func runIn(ctx context.Context, dir string, p *beam.Pipeline) error {
	_, err := Execute(WithOptions(ctx, Options{Workers: 3, TempDir: dir, buffers: 64 << 10}), p)
	return err
}

func TestErrorsOfDoFns(t *testing.T) {
	for _, phase := range []string{"Setup", "StartBundle", "ProcessElement", "FinishBundle", "Teardown"} {
		for _, how := range []string{"error", "panic"} {
			t.Run(phase+" "+how, func(t *testing.T) {
				dir := tidy(t)
				p, s := beam.NewPipelineWithRoot()
				in := beam.ParDo(s.Scope("in"), &failing{Phase: phase, How: how}, beam.Impulse(s))
				beam.ParDo(s.Scope("out"), &drain{}, beam.GroupByKey(s, in))
				err := runIn(context.Background(), dir, p)
				if err == nil || !strings.Contains(err.Error(), errOfTest.Error()) {
					t.Fatalf("got %v, want %v", err, errOfTest)
				}
				for _, part := range []string{"in", "failing"} { // path and name
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not name %s", err, part)
					}
				}
			})
		}
	}
}

// A panic of the progress hook ends the job, even if everything else is done.
func TestPanicOfProgress(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	beam.Impulse(s)
	_, err := Execute(WithOptions(context.Background(), Options{Workers: 1, TempDir: tidy(t), Progress: func(Progress) { panic(errOfTest) }}), p)
	if err == nil || !strings.Contains(err.Error(), errOfTest.Error()) {
		t.Errorf("got %v, want %v", err, errOfTest)
	}
}

func TestErrorsBehindAShuffle(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		err := runIn(context.Background(), tidy(t), spilling(how))
		if err == nil {
			t.Fatal("no error")
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		for _, part := range []string{`"out/`, "local.drain", errOfTest.Error()} {
			if !strings.Contains(first, part) {
				t.Errorf("%s: first line %q does not contain %s", how, first, part)
			}
		}
	}
}

func TestSpillSucceeds(t *testing.T) {
	dir := tidy(t)
	result, err := Execute(WithOptions(context.Background(), Options{Workers: 3, TempDir: dir, buffers: 64 << 10}), spilling(""))
	if err != nil {
		t.Fatal(err)
	}
	if result.(*Result).Report().Spilled == 0 {
		t.Error("nothing was spilled: the tests of faults test nothing")
	}
}

func TestCancel(t *testing.T) {
	for _, phase := range []string{"before", "source", "spill", "setup", "merge", "group", "teardown"} {
		t.Run(phase, func(t *testing.T) {
			dir := tidy(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if phase == "before" {
				cancel()
			}
			var there atomic.Bool
			listen(t, func(point string) {
				if point == phase {
					there.Store(true)
					cancel()
				}
			})
			o := Options{Workers: 3, TempDir: dir, buffers: 64 << 10, opened: func(s spill.Storage) spill.Storage { return watchedStorage{s} }}
			if _, err := Execute(WithOptions(ctx, o), spilling("")); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
			if phase != "before" && !there.Load() {
				t.Error("never got there")
			}
		})
	}
}

// watchedStorage reports when it is used.
type watchedStorage struct{ spill.Storage }

func (s watchedStorage) WriteAt(b []byte, at int64) (int, error) {
	reached("spill")
	return s.Storage.WriteAt(b, at)
}

func (s watchedStorage) ReadAt(b []byte, at int64) (int, error) {
	reached("merge")
	return s.Storage.ReadAt(b, at)
}

// storage fails, or corrupts what is read, as a test requires.
type storage struct {
	spill.Storage
	left    *atomic.Int64 // bytes that may be written
	spoilt  bool
	dropped bool
}

func (s *storage) WriteAt(b []byte, at int64) (int, error) {
	if s.left.Add(-int64(len(b))) < 0 {
		return 0, syscall.ENOSPC
	}
	return s.Storage.WriteAt(b, at)
}

func (s *storage) ReadAt(b []byte, at int64) (int, error) {
	if s.dropped {
		return 0, syscall.EIO
	}
	n, err := s.Storage.ReadAt(b, at)
	if s.spoilt && n > 0 {
		b[n/2] ^= 1
	}
	return n, err
}

func TestFaultyDisk(t *testing.T) {
	for _, c := range []struct {
		name string
		left int64
		with storage
		want error
		text string
	}{
		{"full", 4 << 10, storage{}, syscall.ENOSPC, "no space left"},
		{"spoilt", 1 << 30, storage{spoilt: true}, spill.ErrCorrupt, "checksum"},
		{"unreadable", 1 << 30, storage{dropped: true}, syscall.EIO, "input/output error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tidy(t)
			var left atomic.Int64
			left.Store(c.left)
			o, err := Options{Workers: 3, TempDir: dir, buffers: 64 << 10}.resolve()
			if err != nil {
				t.Fatal(err)
			}
			o.opened = func(s spill.Storage) spill.Storage {
				f := c.with
				f.Storage, f.left = s, &left
				return &f
			}
			_, err = Execute(WithOptions(context.Background(), o), spilling(""))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if c.name != "full" && !strings.HasPrefix(err.Error(), `stage "`) {
				t.Errorf("%v does not begin with the stage that reads", err)
			}
		})
	}
}

// failingOnce fails at one read.
type failingOnce struct {
	spill.Storage
	left *atomic.Int64 // reads before that
	err  error
}

func (s *failingOnce) ReadAt(b []byte, at int64) (int, error) {
	if s.left.Add(-1) == 0 {
		return 0, s.err
	}
	return s.Storage.ReadAt(b, at)
}

func init() {
	beam.RegisterDoFn(reflect.TypeFor[whole]())
	beam.RegisterDoFn(reflect.TypeFor[wholeNamed]())
	beam.RegisterFunction(named)
}

// whole records groups that do not have the expected number of values.
type whole struct{ Values int }

var cutGroups atomic.Int64

func (f *whole) ProcessElement(_ int64, values func(*[]byte) bool) {
	n := 0
	for v := []byte(nil); values(&v); {
		n++
	}
	if n != f.Values {
		cutGroups.Add(1)
	}
}

func named(key int64, value []byte) (string, []byte) { return fmt.Sprint(key), value }

// wholeNamed is like whole, for groups that the SDK decodes.
type wholeNamed struct{ Values int }

func (f *wholeNamed) ProcessElement(_ string, values func(*[]byte) bool) {
	(&whole{f.Values}).ProcessElement(0, values)
}

// TestCutGroups checks that no DoFn takes part of a group for all of it, whichever read fails, and that a file that
// ends early is an error.
func TestCutGroups(t *testing.T) {
	const size = 1000
	for _, c := range []struct {
		buffers, values, keys int
		step                  int64 // from one failing read to the next
		named                 bool
	}{{4 << 20, 30_000, 3000, 87, false}, {64 << 10, 9000, 3, 87, false}, {64 << 10, 9000, 3, 13, true}} {
		for _, err := range []error{syscall.EIO, io.EOF} {
			for reads := int64(1); reads < 700; reads += c.step {
				o, optionsErr := Options{Workers: 1, TempDir: t.TempDir(), buffers: int64(c.buffers)}.resolve()
				if optionsErr != nil {
					t.Fatal(optionsErr)
				}
				var left atomic.Int64
				left.Store(reads)
				o.opened = func(s spill.Storage) spill.Storage { return &failingOnce{s, &left, err} }
				cutGroups.Store(0)
				p, s := beam.NewPipelineWithRoot()
				in := beam.ParDo(s, &fill{N: c.values, Size: size, Keys: c.keys}, beam.Impulse(s))
				if c.named {
					beam.ParDo0(s, &wholeNamed{c.values / c.keys}, beam.GroupByKey(s, beam.ParDo(s, named, in)))
				} else {
					beam.ParDo0(s, &whole{c.values / c.keys}, beam.GroupByKey(s, in))
				}
				_, got := Execute(WithOptions(context.Background(), o), p)
				if failed := left.Load() <= 0; failed != (got != nil) {
					t.Errorf("%d values, %v at read %d: got %v", c.values, err, reads, got)
				}
				if n := cutGroups.Load(); n > 0 {
					t.Errorf("%d values, %v at read %d: %d groups lack values", c.values, err, reads, n)
				}
			}
		}
	}
}

func TestTempDirRemoved(t *testing.T) {
	dir := tidy(t)
	var once atomic.Bool
	p, s := beam.NewPipelineWithRoot()
	in := beam.ParDo(s, &vanish{}, beam.Impulse(s))
	beam.ParDo(s, &drain{}, beam.GroupByKey(s, in))
	listen(t, func(point string) {
		if point == "vanish" && once.CompareAndSwap(false, true) {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		}
	})
	if err := runIn(context.Background(), dir, p); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the folder does not exist", err)
	}
}

func init() { beam.RegisterDoFn(reflect.TypeFor[vanish]()) }

// vanish lets the test remove the folder before anything is spilled.
type vanish struct{ fill }

func (f *vanish) ProcessElement(b []byte, emit func(int64, []byte)) {
	reached("vanish")
	(&fill{N: 3000, Size: 1000, Keys: 7}).ProcessElement(b, emit)
}

func init() {
	beam.RegisterDoFn(reflect.TypeFor[failingLate]())
	beam.RegisterDoFn(reflect.TypeFor[slowToEnd]())
}

// late passes a channel that is closed when the job has ended: from a DoFn that is about to fail to one being taken
// down.
var late = make(chan (<-chan struct{}))

type failingLate struct{}

func (*failingLate) ProcessElement(ctx context.Context, _ []byte) error {
	late <- ctx.Done()
	return errOfTest
}

type slowToEnd struct{}

func (*slowToEnd) ProcessElement([]byte) {}

func (*slowToEnd) Teardown() {
	<-<-late
	time.Sleep(50 * time.Millisecond) // meanwhile all workers are woken
}

// A worker that ends a stage while another worker fails does not wait for tasks after that. Either stage may be the
// first.
func TestErrorWhileStageEnds(t *testing.T) {
	dir := tidy(t)
	for range 8 {
		p, s := beam.NewPipelineWithRoot()
		beam.ParDo0(s, &failingLate{}, beam.Impulse(s))
		beam.ParDo0(s, &slowToEnd{}, beam.Impulse(s))
		ended := make(chan error, 1)
		go func() {
			_, err := Execute(WithOptions(context.Background(), Options{Workers: 2, TempDir: dir}), p)
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), errOfTest.Error()) {
				t.Fatalf("got %v, want %v", err, errOfTest)
			}
		case <-time.After(time.Minute):
			t.Fatal("the job does not end")
		}
	}
}
