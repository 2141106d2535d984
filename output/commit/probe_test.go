package commit_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
)

// probed is a process whose probe requests are repeated, because their answers are lost, or fail.
type probed struct {
	process
	lost    func(n int) bool // by number of the request that changes the probe, from 1
	fails   func(n int) bool
	deletes bool // the store ignores conditions when it removes
	n       int
}

func (p *probed) ask(path string, do func() error) error {
	if !strings.HasSuffix(path, "/probe") {
		return do()
	}
	p.n++
	if p.fails(p.n) {
		return errOnce
	}
	err := do()
	if p.lost(p.n) {
		err = do()
	}
	return err
}

func (p *probed) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (info storage.Info, err error) {
	var text strings.Builder // a client keeps the text for a repetition
	if err := write(&text); err != nil {
		return storage.Info{}, err
	}
	return info, p.ask(path, func() error {
		info, err = p.process.Create(ctx, path, cond, func(w io.Writer) error {
			_, err := io.WriteString(w, text.String())
			return err
		})
		return err
	})
}

func (p *probed) Remove(ctx context.Context, path string, cond storage.If) error {
	return p.ask(path, func() error {
		if !p.deletes || cond.Version == "" {
			return p.process.Remove(ctx, path, cond)
		}
		if _, err := p.Stat(ctx, path); err != nil {
			return storage.ErrPrecondition // like S3 for If-Match on a missing object
		}
		return p.process.Remove(ctx, path, storage.If{})
	})
}

// replaces registers the store, and replaces the output there.
func (p *probed) replaces(l *lake) error {
	o := l.process("one", lives)
	p.process = process{lake: l, scheme: "one://", before: lives}
	storage.Register("one://", p)
	return second.run(l.t.Context(), o)
}

func never(int) bool { return false }

// TestProbeLost: a probe request that is repeated because its answer was lost may be refused because the first one
// succeeded; the run continues. A store that then only seems to respect the condition of a removal is detected.
func TestProbeLost(t *testing.T) {
	for n := 1; n <= 6; n++ {
		l := newLake(t)
		l.prepare([]edition{first})
		p := &probed{lost: func(i int) bool { return i == n }, fails: never}
		if err := p.replaces(l); err != nil {
			t.Errorf("answer %d is lost: %v", n, err)
		}
		if n < 6 && p.n < n {
			t.Errorf("%d requests", p.n)
		}
		l.whole("an answer is lost", second)
		l.clean("an answer is lost")
	}
	l := newLake(t)
	l.prepare([]edition{first})
	p := &probed{lost: func(i int) bool { return i == 5 }, fails: never, deletes: true}
	if err := p.replaces(l); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "conditional DELETE") {
		t.Errorf("a store that ignores the condition of a removal: %v", err)
	}
	l.whole("no conditional removal", first)
}

// TestProbeFails: a store that fails the probe does not count as one that ignores conditions.
func TestProbeFails(t *testing.T) {
	for n := 1; n <= 5; n++ {
		l := newLake(t)
		l.prepare([]edition{first})
		p := &probed{lost: never, fails: func(i int) bool { return i == n }}
		if err := p.replaces(l); !errors.Is(err, errOnce) || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("request %d fails: %v", n, err)
		}
		l.whole("the probe fails", first)
	}
}

// unlisting is a process on a store that cannot list unfinished uploads.
type unlisting struct {
	process
	whole int64
}

func (u *unlisting) Abort(context.Context, string) error {
	return &storage.UnlistedError{Err: errOnce, Whole: u.whole}
}

func (u *unlisting) Within() time.Duration { return 0 }

// TestUnlisted: a store that cannot list unfinished uploads is used, except for files whose move needs an upload: a run
// with such a file ends before it has replaced anything, even if another process finishes it.
func TestUnlisted(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		for _, whole := range []int64{5, 1 << 20} { // in bytes; files have more than 5
			l := newLake(t)
			l.prepare([]edition{first})
			o := l.process("one", lives)
			storage.Register("one://", &unlisting{process{lake: l, scheme: "one://", before: lives}, whole})
			c := begins(t, o)
			stage(t, c, second)
			if leaves {
				ok(t, c.Leave(t.Context(), "job", nil))
				left, err := commit.FindLeft(t.Context(), o.Dir)
				ok(t, err)
				o.Warn = t.Logf
				c, err = commit.Resume(t.Context(), o, left)
				ok(t, err)
			}
			err := c.Close(t.Context(), publish(t, c, second))
			if whole > 5 {
				ok(t, err)
				l.whole("small files", second)
				continue
			}
			if unlisted := (*storage.UnlistedError)(nil); !errors.As(err, &unlisted) || unlisted.Status() != 2 {
				t.Errorf("error %v", err)
			}
			l.whole("a large file", first)
			l.clean("a large file")
		}
	}
}
