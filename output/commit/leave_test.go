package commit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
)

// leave runs, and leaves the staged files of an edition to a job.
func (l *lake) leave(e edition, to string) *commit.Left {
	l.t.Helper()
	o := l.process("leaves", lives)
	o.Run, o.Warn = commit.NewRun(), func(string, ...any) {}
	c, err := commit.Begin(l.t.Context(), o)
	if err != nil {
		l.t.Fatal(err)
	}
	for name, content := range e {
		if _, err := storage.WriteBelow(l.t.Context(), c.Staged().Dir, c.Staged().Path(name), text(content)); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := c.Leave(l.t.Context(), to, map[string]string{"fingerprint": e.fingerprint()}); err != nil {
		l.t.Fatal(err)
	}
	left, err := commit.FindLeft(l.t.Context(), o.Dir)
	if err != nil || left == nil || left.Run != o.Run || left.To != to || string(left.State) != fmt.Sprintf(`{"fingerprint":%q}`, e.fingerprint()) {
		l.t.Fatalf("%+v, %v", left, err)
	}
	return left
}

// finish resumes the run that was left, and publishes an edition.
func (l *lake) finish(ctx context.Context, e edition, o commit.Options) error {
	o.Warn = func(string, ...any) {}
	left, err := commit.FindLeft(ctx, o.Dir)
	if err != nil || left == nil {
		return errors.Join(err, errors.New("nothing is left"))
	}
	c, err := commit.Resume(ctx, o, left)
	if err != nil {
		return err
	}
	return c.Close(context.WithoutCancel(ctx), e.build(ctx, c, left.Run))
}

// TestLeft: a run that was left is finished as it would have ended itself, however old its lock is.
func TestLeft(t *testing.T) {
	for name, editions := range prepared {
		t.Run(name, func(t *testing.T) {
			l := newLake(t)
			l.prepare(editions)
			l.leave(second, "job 1")
			l.later()
			if err := l.finish(t.Context(), second, l.process("two", lives)); err != nil {
				t.Fatal(err)
			}
			l.whole("finished", second)
			l.clean("finished")
			if left, err := commit.FindLeft(t.Context(), "lake://"+l.dir); left != nil || err != nil {
				t.Errorf("%+v, %v", left, err)
			}
		})
	}
}

// TestLeftIsHeld: no other run gets the output before the job has ended; then it does.
func TestLeftIsHeld(t *testing.T) {
	l := newLake(t)
	l.leave(second, "job 1")
	l.later()
	asked, ended := "", false
	o := l.process("two", lives)
	locked := (*storage.LockedError)(nil)
	if err := third.run(t.Context(), o); !errors.As(err, &locked) || locked.Owner.To != "job 1" {
		t.Errorf("nobody knows of the job: %v", err)
	}
	o.Lock.Ended = func(_ context.Context, to string) (bool, error) { asked = to; return ended, nil }
	if err := third.run(t.Context(), o); !errors.As(err, &locked) || asked != "job 1" {
		t.Errorf("the job goes on: %v", err)
	}
	broken := errors.New("nobody answers")
	o.Lock.Ended = func(context.Context, string) (bool, error) { return true, broken }
	if err := third.run(t.Context(), o); !errors.Is(err, broken) {
		t.Errorf("nobody tells: %v", err)
	}
	ended = true
	o.Lock.Ended = func(context.Context, string) (bool, error) { return ended, nil }
	if err := third.run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	l.whole("taken over", third)
	l.clean("taken over")
	if err := l.finish(t.Context(), second, l.process("three", lives)); err == nil {
		t.Error("what is gone was finished")
	}
	l.whole("finished too late", third)
}

// TestFinishedTwice: if two processes finish a run at the same time, one of them does.
func TestFinishedTwice(t *testing.T) {
	l := newLake(t)
	l.leave(second, "job 1")
	o := l.process("two", lives)
	o.Warn = func(string, ...any) {}
	left, err := commit.FindLeft(t.Context(), o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := commit.Resume(t.Context(), o, left)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.finish(t.Context(), second, l.process("three", lives)); !errors.As(err, new(*storage.LockedError)) {
		t.Errorf("the other: %v", err)
	}
	if err := c.Close(t.Context(), second.build(t.Context(), c, left.Run)); err != nil {
		t.Fatal(err)
	}
	// A process that found the run before.
	if _, err := commit.Resume(t.Context(), l.process("four", lives), left); !errors.As(err, new(*commit.RefusedError)) {
		t.Errorf("after that: %v", err)
	}
	l.whole("finished", second)
	l.clean("finished")
}

// TestFinishIsKilled: whenever a process that finishes a run is killed, an output that looks finished is whole, and
// another process finishes the run.
func TestFinishIsKilled(t *testing.T) {
	for n, ended := 0, false; !ended; n++ {
		l := newLake(t)
		l.prepare([]edition{first})
		l.leave(second, "job 1")
		err := l.finish(t.Context(), second, l.process("two", killedAt(n, &ended)))
		if ended && err != nil {
			t.Fatal(err)
		}
		when := fmt.Sprintf("killed at %d", n)
		l.whole(when, nil)
		l.later()
		if left, err := commit.FindLeft(t.Context(), "lake://"+l.dir); err != nil {
			t.Fatal(err)
		} else if left == nil { // it was published, or its files are being removed
			if err := second.run(t.Context(), l.process("three", lives)); err != nil {
				t.Fatalf("%s: %v", when, err)
			}
		} else if err := l.finish(t.Context(), second, l.process("three", lives)); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		l.whole(when, second)
		l.clean(when)
	}
}

// TestFinishLacksFiles: a run whose sealed files were deleted cannot be finished.
func TestFinishLacksFiles(t *testing.T) {
	ctx, tried := t.Context(), false
	for n, ended := 0, false; !ended; n++ {
		l := newLake(t)
		left := l.leave(second, "job 1")
		_ = l.finish(ctx, second, l.process("two", killedAt(n, &ended)))
		o := l.process("three", lives)
		o.Warn = func(string, ...any) {}
		staging := storage.Join(o.Dir, ".neardup", left.Run)
		sealed, err := storage.Exists(ctx, storage.Join(staging, "sealed"))
		if err != nil {
			t.Fatal(err)
		}
		published, err := storage.Exists(ctx, storage.Join(o.Dir, output.SuccessFile))
		if err != nil {
			t.Fatal(err)
		}
		if !sealed || published {
			continue
		}
		tried = true
		l.later()
		if err := storage.RemoveAll(ctx, storage.Join(staging, "w")); err != nil {
			t.Fatal(err)
		}
		if _, err := commit.Resume(ctx, o, left); !errors.As(err, new(*commit.RefusedError)) {
			t.Errorf("killed at %d: %v", n, err)
		}
	}
	if !tried {
		t.Error("no run was killed while it published")
	}
}
