package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
)

var errOnce = errors.New("the store could not do it")

// failingAt returns the hook of a process whose request number n fails; alive is set if it ended before.
func failingAt(n int, alive *bool) func(string) error {
	*alive = true
	return func(string) error {
		if n--; n == -1 {
			*alive = false
			return errOnce
		}
		return nil
	}
}

// TestErrors: whichever request fails, the old output stays or the same command completes the new one, and no run that
// has published returns an error.
func TestErrors(t *testing.T) {
	for name, editions := range prepared {
		t.Run(name, func(t *testing.T) {
			for n, ended := 0, false; !ended; n++ {
				l := newLake(t)
				l.prepare(editions)
				err := second.run(t.Context(), l.process("one", failingAt(n, &ended)))
				when := fmt.Sprintf("request %d fails, %v", n, err)
				if published := check(t.Context(), "lake://"+l.dir, second) == nil; published != (err == nil) {
					t.Errorf("%s: published %v", when, published)
				}
				l.later()
				if err := second.run(t.Context(), l.process("two", lives)); err != nil {
					t.Fatalf("%s: the same command fails: %v", when, err)
				}
				l.whole(when, second)
				l.clean(when)
			}
		})
	}
}

// TestPausedBeforeReading is TestPaused for a run that pauses before it reads or lists something.
func TestPausedBeforeReading(t *testing.T) {
	for n, ended := int64(0), false; !ended; n++ {
		l := newLake(t)
		l.prepare([]edition{first})
		arrived, goOn, done := make(chan bool, 1), make(chan bool), make(chan error)
		var count atomic.Int64 // some reads are parallel
		one, two := l.process("one", lives), l.process("two", lives)
		storage.Register("one://", &reading{process{lake: l, scheme: "one://", before: lives}, func() {
			if count.Add(1) == n+1 {
				arrived <- true
				<-goOn
			}
		}})
		go func() { done <- second.run(context.Background(), one) }()
		var err error
		select {
		case err = <-done:
			ended = true
		case <-arrived:
		}
		l.later()
		// The other is paused in the middle of its work, too: the first must not remove what it has staged.
		other := begins(t, two)
		if !ended {
			close(goOn)
			err = <-done
		}
		stage(t, other, third)
		otherErr := other.Close(t.Context(), publish(t, other, third))
		if err != nil && otherErr != nil || otherErr != nil && ended {
			t.Errorf("paused at %d: the errors are %v and %v", n, err, otherErr)
		}
		l.whole(fmt.Sprint("paused at ", n), nil)
	}
}

func begins(t *testing.T, o commit.Options) *commit.Commit {
	t.Helper()
	o.Run, o.Warn = "20260102-030405-0a1b2c3d", t.Logf
	c, err := commit.Begin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reading is a process that pauses before it reads.
type reading struct {
	process
	before func()
}

func (r *reading) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[storage.Info, error] {
	r.before()
	return r.process.List(ctx, folder, enter)
}

func (r *reading) Stat(ctx context.Context, path string) (storage.Info, error) {
	r.before()
	return r.process.Stat(ctx, path)
}

func (r *reading) Open(ctx context.Context, path string) (storage.Reader, error) {
	r.before()
	return r.process.Open(ctx, path)
}

// TestFilesAndFolders: a file may become a folder in the new output, and vice versa, even if the run is interrupted in
// between.
func TestFilesAndFolders(t *testing.T) {
	file, folders := edition{"corpus/a": "file"}, edition{"corpus/a/b/c": "in a folder"}
	for _, way := range []string{"swap", "fill"} {
		dir := folder(t, way)
		for range 2 {
			for _, e := range []edition{file, folders} {
				if err := e.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}); err != nil {
					t.Fatal(err)
				}
				if err := check(t.Context(), dir, e); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestPending: a run that could not publish all of its output leaves it for the next one to complete.
func TestPending(t *testing.T) {
	l := newLake(t)
	l.prepare([]edition{first})
	failed := false
	c := begins(t, l.process("one", func(request string) error {
		if !failed && strings.HasPrefix(request, "copy") && strings.HasSuffix(request, "/out/corpus/sub/c.jsonl") {
			failed = true
			return errOnce
		}
		return nil
	}))
	stage(t, c, second)
	temporary := storage.Join(c.Temporary(), "x")
	if _, err := storage.WriteFile(t.Context(), temporary, text("x")); err != nil {
		t.Fatal(err)
	}
	err := publish(t, c, second)
	if !errors.Is(err, errOnce) || !c.Pending() {
		t.Fatalf("error %v, pending %v", err, c.Pending())
	}
	if err := c.Close(t.Context(), err); !strings.Contains(err.Error(), "run again to finish") {
		t.Error(err)
	}
	for _, path := range []string{"lake://lake/out/_SUCCESS", temporary} {
		if _, err := storage.Stat(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
	if err := second.run(t.Context(), l.process("two", lives)); err != nil { // without waiting for the lock
		t.Fatal(err)
	}
	l.whole("published by the next", second)
	l.clean("published by the next")
	if r := record(t, "lake://lake/out"); r.Job != "20260102-030405-0a1b2c3d" {
		t.Errorf("it was made once more, by %s", r.Job)
	}
}

// TestSealsOfOthers: a seal is not carried out if it names something that is not a file of an output, or if it was lost
// in a power failure.
func TestSealsOfOthers(t *testing.T) {
	const run = "20260102-030405-0a1b2c3d"
	for name, content := range map[string]string{
		"above":  `{"run": "` + run + `", "from": "w", "files": [{"name": "../mine", "bytes": 4}, {"name": "_SUCCESS", "bytes": 4}]}`,
		"lock":   `{"run": "` + run + `", "from": "w", "files": [{"name": ".lock", "bytes": 4}, {"name": "_SUCCESS", "bytes": 4}]}`,
		"from":   `{"run": "` + run + `", "from": "../..", "files": [{"name": "_SUCCESS", "bytes": 4}]}`,
		"old":    `{"run": "` + run + `", "from": "w", "files": [{"name": "_SUCCESS", "bytes": 4}], "old": [{"name": "../mine"}]}`,
		"order":  `{"run": "` + run + `", "from": "w", "files": [{"name": "_SUCCESS", "bytes": 4}, {"name": "x", "bytes": 4}]}`,
		"empty":  "",
		"broken": `{"run": "`,
	} {
		dir := folder(t, "swap")
		staging := filepath.Join(filepath.Dir(dir), ".out.neardup-"+run)
		mine := filepath.Join(filepath.Dir(dir), "mine")
		plant(t, mine, "precious")
		plant(t, filepath.Join(staging, "run"), `{"run": "`+run+`"}`)
		plant(t, filepath.Join(staging, "sealed"), content)
		plant(t, filepath.Join(staging, "w", "x"), "evil")
		err := second.run(t.Context(), commit.Options{Dir: dir})
		if lost := content == "" || name == "broken"; lost != (err == nil) || !lost && !strings.Contains(err.Error(), staging) {
			t.Errorf("%s: error %v", name, err)
		}
		if data, err := os.ReadFile(mine); err != nil || string(data) != "precious" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

// TestOtherUsers: what another user has staged is neither carried out nor removed.
func TestOtherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files to others")
	}
	const run = "20260102-030405-0a1b2c3d"
	dir := folder(t, "swap")
	staging := filepath.Join(filepath.Dir(dir), ".out.neardup-"+run)
	plant(t, filepath.Join(staging, "run"), `{"run": "`+run+`"}`)
	plant(t, filepath.Join(staging, "w", "_SUCCESS"), "evil")
	plant(t, filepath.Join(staging, "sealed"), `{"run": "`+run+`", "from": "w", "files": [{"name": "_SUCCESS", "bytes": 4}]}`)
	if err := os.Chown(staging, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	before := tree(t, staging)
	if err := second.run(t.Context(), commit.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if err := check(t.Context(), dir, second); err != nil {
		t.Error(err)
	}
	same(t, "what another user staged", tree(t, staging), before)
}

// TestLongNames: an output whose name is too long for a folder beside it is published nevertheless.
func TestLongNames(t *testing.T) {
	for _, length := range []int{220, 221, 222, 248, 255} {
		dir := filepath.Join(folder(t, "swap"), strings.Repeat("x", length))
		for _, e := range []edition{first, second} {
			if err := e.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}); err != nil {
				t.Fatalf("%d: %v", length, err)
			}
			if err := check(t.Context(), dir, e); err != nil {
				t.Errorf("%d: %v", length, err)
			}
		}
		if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
			t.Errorf("%d: %v, %v", length, left, err)
		}
	}
}

// TestGroups: published files belong to the group that files created in the folder have.
func TestGroups(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files to others")
	}
	defer syscall.Umask(syscall.Umask(0o027))
	for _, way := range []string{"swap", "fill"} {
		dir := folder(t, way)
		if err := errors.Join(os.MkdirAll(dir, 0o777), os.Chown(dir, -1, 12345), os.Chmod(dir, 0o2770|fs.ModeSetgid)); err != nil {
			t.Fatal(err)
		}
		for _, e := range []edition{first, second} {
			if err := e.run(t.Context(), commit.Options{Dir: dir, Overwrite: true, Private: true}); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{".", "corpus", "corpus/a.jsonl", "run.json"} {
				info, err := os.Stat(filepath.Join(dir, name))
				if err != nil || info.Sys().(*syscall.Stat_t).Gid != 12345 || info.Mode().Perm()&0o040 == 0 {
					t.Errorf("%s, %s: %v, %+v", way, name, err, info)
				}
			}
		}
	}
}

// TestObjectsBeside: an object with an output's name, without the slash, belongs to others.
func TestObjectsBeside(t *testing.T) {
	l := newLake(t)
	objects := []string{"lake://lake/out", "lake://lake/out.failed"}
	for _, path := range objects {
		if _, err := l.Create(t.Context(), path, storage.If{}, text("mine")); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []edition{failing, first, failing, second} {
		if err := e.run(t.Context(), l.process("one", lives)); (err == nil) != (e["fails"] == "") {
			t.Fatal(err)
		}
	}
	for _, path := range objects {
		if data, err := storage.ReadFile(t.Context(), path); err != nil || string(data) != "mine" {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
	if _, err := output.Open(t.Context(), "lake://lake/out"); err != nil {
		t.Error(err)
	}
}
