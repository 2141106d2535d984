package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output/commit"
)

// lingering is a store in which a request may take effect a minute after it was sent.
type lingering struct {
	storagetest.Memory
	removals map[string]storage.If // removals with a version, by path
	aborted  []string
	left     []string // what is still staged when uploads are aborted
}

func (*lingering) Within() time.Duration { return time.Minute }

func (l *lingering) Abort(ctx context.Context, folder string) error {
	l.aborted = append(l.aborted, folder)
	for info := range l.List(ctx, storage.Join(folder, ".neardup"), nil) {
		if info.Path != "" {
			l.left = append(l.left, info.Path)
		}
	}
	return nil
}

func (l *lingering) Remove(ctx context.Context, path string, cond storage.If) error {
	if cond.Version != "" {
		l.removals[path] = cond
	}
	return l.Memory.Remove(ctx, path, cond)
}

// TestLate: removals of the old output may take effect for a minute from the last proof of the lock; a run that takes a
// lock by force publishes after that minute; and uploads are aborted once nothing is left to upload from.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lingering{removals: map[string]storage.If{}, Memory: storagetest.Memory{ETags: true}}
		storage.Register("late://", l)
		options := commit.Options{Dir: "late://lake/out", Overwrite: true}
		if err := first.run(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		if _, _, err := storage.Acquire(t.Context(), "late://lake/out/.lock", "stopped", storage.LockOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Create(t.Context(), "late://lake/out/.neardup/20260102-030405-00000000/w/x", storage.If{}, text("x")); err != nil {
			t.Fatal(err)
		}
		l.aborted, l.left, l.removals = nil, nil, map[string]storage.If{}
		waited := ""
		options.Lock.Force = true
		options.Warn = func(format string, args ...any) {
			if strings.HasPrefix(format, "waiting") {
				waited = format
			}
		}
		begun := time.Now()
		if err := second.run(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < time.Minute || took > 2*time.Minute || waited == "" {
			t.Errorf("it waited for %v and said %q", took, waited)
		}
		if !slices.Equal(l.aborted, []string{options.Dir}) || len(l.left) > 0 {
			t.Errorf("aborted %q while there was %q", l.aborted, l.left)
		}
		for _, name := range []string{"_SUCCESS", "rejected/part-00000-of-00001.parquet", "corpus/sub/b.jsonl"} {
			until := l.removals[storage.Join(options.Dir, name)].Until
			if until.Before(begun.Add(time.Minute)) || until.After(time.Now().Add(time.Minute)) {
				t.Errorf("%s may be removed until %v", name, until.Sub(begun))
			}
		}
		if err := check(t.Context(), options.Dir, second); err != nil {
			t.Error(err)
		}
		// Without force there is no wait.
		begun = time.Now()
		if err := third.run(t.Context(), commit.Options{Dir: options.Dir, Overwrite: true}); err != nil || time.Since(begun) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// fencing is a process on a store where versions recur, so its removals have a deadline.
type fencing struct {
	process
	heedless bool // the store ignores versions when it removes
}

func (*fencing) Within() time.Duration { return 20 * time.Millisecond }

func (*fencing) Abort(context.Context, string) error { return nil }

func (p *fencing) Remove(ctx context.Context, path string, cond storage.If) error {
	return p.request("remove", path, func() error {
		if !cond.Until.IsZero() && p.lake.Now().After(cond.Until) {
			return fs.ErrPermission
		}
		if p.heedless {
			cond.Version = ""
		}
		return p.lake.Remove(ctx, p.in(path), cond)
	})
}

// TestPausedForced: a run that pauses before any request, while another takes its lock by force and publishes the same
// bytes as before, finds out when it resumes, and leaves the output alone.
func TestPausedForced(t *testing.T) {
	for _, weak := range []bool{false, true} {
		pausedForced(t, weak)
	}
}

func pausedForced(t *testing.T, weak bool) {
	t.Helper()
	fenced := 0
	for n, ended := 0, false; !ended; n++ {
		l := newLake(t)
		l.ETags = true
		l.Now = func() time.Time { // advances only for the wait
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.clock
		}
		l.prepare([]edition{first})
		arrived, goOn, done := make(chan bool, 1), make(chan bool), make(chan error)
		count, when := 0, fmt.Sprintf("weak: %t, paused at %d", weak, n)
		options, forced := l.process("one", nil), l.process("two", nil)
		options.Weak, forced.Weak = weak, weak
		storage.Register("one://", &fencing{process{lake: l, scheme: "one://", before: func(request string) error {
			if count++; count == n+1 {
				when += ", " + request
				arrived <- true
				<-goOn
			}
			return nil
		}}, weak})
		storage.Register("two://", &fencing{process{lake: l, scheme: "two://", before: lives}, weak})
		go func() {
			var err error
			defer func() { done <- err }() // even if the test fails in it
			err = second.run(context.Background(), options)
		}()
		var err error
		select {
		case err = <-done:
			ended = true
		case <-arrived:
		}
		text, lockErr := storage.ReadFile(t.Context(), "lake://"+l.dir+"/.lock")
		locked := lockErr == nil && !strings.Contains(string(text), `"released":true`)
		committed := check(t.Context(), "lake://"+l.dir, second) == nil
		forced.Run, forced.Lock.Force = "20260102-030405-0a1b2c3d", true
		waited, begun := false, time.Now()
		forced.Warn = func(format string, _ ...any) {
			if strings.HasPrefix(format, "waiting") {
				waited = true
				l.later()
			}
		}
		two, beginErr := commit.Begin(t.Context(), forced)
		if beginErr != nil {
			t.Fatalf("%s: %v", when, beginErr)
		}
		stage(t, two, first)
		published := publish(t, two, first)
		if locked && !waited && time.Since(begun) > (*fencing)(nil).Within() {
			l.later() // this machine was so slow that the lock had expired
		}
		if !ended {
			close(goOn)
			err = <-done
		}
		by := (*storage.FencedError)(nil)
		switch {
		case !locked: // it had not begun, or had ended
		case committed && err == nil:
		case !errors.As(err, &by) || by.By == nil || by.By.Job != forced.Run:
			t.Errorf("%s: %v", when, err)
		default:
			fenced++
		}
		if err := two.Close(t.Context(), published); err != nil {
			t.Errorf("%s: the other: %v", when, err)
		}
		l.whole(when, first)
	}
	if fenced < 20 {
		t.Errorf("fenced off %d times", fenced)
	}
}

// TestPausedFailing: a failing run that pauses before any request, while another takes over the output and publishes,
// leaves that alone, even if its files have the same bytes as those of an earlier run.
func TestPausedFailing(t *testing.T) {
	made := edition{"rejected/part-00000-of-00001.parquet": "rejected", "corpus/a.jsonl": "a"}
	for name, editions := range prepared {
		for n, ended := 0, false; !ended; n++ {
			l := newLake(t)
			l.ETags = true
			l.prepare(editions)
			late := func(scheme string, before func(string) error) commit.Options {
				o := l.process(scheme, before)
				storage.Register(scheme+"://", &fencing{process: process{lake: l, scheme: scheme + "://", before: before}})
				return o
			}
			two := late("two", lives)
			at, err := paused(failing, n, func(before func(string) error) commit.Options { return late("one", before) }, func() {
				l.later()
				ok(t, made.run(t.Context(), two))
			})
			ended = at == ""
			l.whole(fmt.Sprintf("%s, paused before %s, %v", name, at, err), made)
		}
	}
}

// TestSealGoesFirst: when a staging folder is removed, the seal is removed first: a run that finds it with half of its
// files would take files of another output, with the same names and sizes, for published ones.
func TestSealGoesFirst(t *testing.T) {
	l := newLake(t)
	var removed []string
	ok(t, second.run(t.Context(), l.process("one", func(request string) error {
		if name, is := strings.CutPrefix(request, "remove "); is && strings.Contains(name, "/.neardup/") {
			removed = append(removed, name)
		}
		return nil
	})))
	at := func(name string) int {
		return slices.IndexFunc(removed, func(path string) bool { return strings.HasSuffix(path, name) })
	}
	if at("/sealed") < 0 || at("/run") < at("/sealed") {
		t.Errorf("removed are, in this order, %q", removed)
	}
}
