package commit_test

import (
	"context"
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
	removals map[string]storage.If // by path, those with a version
	aborted  []string
	left     []string // what is staged when uploads are aborted
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

// TestLate: what a run removes of the former output may take effect for a minute from the last proof of its lock, who takes a
// lock by force publishes after that minute, and uploads are aborted when nothing is left to upload from.
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
		// Without force nothing has to be waited for.
		begun = time.Now()
		if err := third.run(t.Context(), commit.Options{Dir: options.Dir, Overwrite: true}); err != nil || time.Since(begun) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}
