package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/records"
)

// stuck is a process whose store answers no request from number n on, and which is then interrupted. Its requests may
// take effect late.
type stuck struct {
	process
	interrupt func()
	n         atomic.Int64
	again     bool // the store answers again once the run has given up publishing
}

var errStopped = errors.New("stopped")

func (s *stuck) wait(ctx context.Context) error {
	left := s.n.Add(-1)
	if left == 0 {
		s.interrupt()
	}
	if left > 0 || left < 0 && s.again {
		return ctx.Err()
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *stuck) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (storage.Info, error) {
	if err := s.wait(ctx); err != nil {
		return storage.Info{}, err
	}
	return s.process.Create(ctx, path, cond, write)
}

func (s *stuck) Remove(ctx context.Context, path string, cond storage.If) error {
	return errors.Join(s.wait(ctx), ctx.Err(), s.process.Remove(ctx, path, cond))
}

func (s *stuck) Move(ctx context.Context, from, to string) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.process.Move(ctx, from, to)
}

func (s *stuck) Abort(context.Context, string) error { return nil }

func (s *stuck) Within() time.Duration { return 10 * time.Millisecond }

// TestInterruptedWhilePublishing: a run that is interrupted while it publishes on a store that no longer answers, or
// not for a while, ends nevertheless. It leaves the old output or an unfinished one, and the next run continues once
// the first one's requests can no longer take effect.
func TestInterruptedWhilePublishing(t *testing.T) {
	t.Cleanup(commit.Hurry(10*time.Millisecond, 30*time.Millisecond))
	for _, again := range []bool{false, true} {
		pending, waited := 0, 0
		for n, ended := int64(1), false; !ended; n++ {
			l := newLake(t)
			l.prepare([]edition{first})
			ctx, interrupt := context.WithCancelCause(t.Context())
			o := l.process("one", lives)
			s := &stuck{process: process{lake: l, scheme: "one://", before: lives}, interrupt: func() { interrupt(errStopped) }, again: again}
			s.n.Store(1 << 30)
			storage.Register("one://", s)
			c := begins(t, o)
			stage(t, c, second)
			ending, done := commit.Ending(ctx)
			s.n.Store(n)
			err := c.Publish(ctx, second.fingerprint(), second.manifest(), &records.Run{Status: "done", Job: c.Run(), Formats: records.Formats{Tables: records.Tables}})
			ended = s.n.Load() > 0
			when := fmt.Sprintf("request %d, answers again: %t, %v", n, again, err)
			if left := c.Close(ending, err); err != nil && !errors.Is(left, err) {
				t.Errorf("%s: it ends with %v", when, left)
			}
			done()
			interrupt(nil)
			var leaves interface{ Pending() bool }
			if errors.As(err, &leaves) {
				pending++
				if !errors.Is(err, errStopped) || !strings.Contains(err.Error(), "run again to finish publishing it") {
					t.Errorf("%s: it does not say why, or what to do", when)
				}
			}
			l.later()
			next := l.process("two", lives)
			storage.Register("two://", &stuck{process: process{lake: l, scheme: "two://", before: lives}, again: true})
			next.Warn = func(format string, args ...any) {
				if strings.Contains(format, "waiting") {
					waited++
				}
			}
			if err := second.run(t.Context(), next); err != nil {
				t.Fatalf("%s: the next run: %v", when, err)
			}
			l.whole(when, second)
			l.clean(when)
		}
		if pending < 5 || again && waited < 5 {
			t.Errorf("publishing was interrupted %d times, and the next run waited %d times", pending, waited)
		}
	}
}
