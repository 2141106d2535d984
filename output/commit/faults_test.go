package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/notroot"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
)

// only fails the test if a folder has other names than these.
func only(t *testing.T, folder string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(names) {
		t.Errorf("%s holds %q, want %q", folder, got, names)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestCannotSwapAfterAll: an output that can no longer be exchanged when the new one is ready, because it became a
// link, is filled, and nothing stays beside it.
func TestCannotSwapAfterAll(t *testing.T) {
	dir := folder(t, "swap")
	ok(t, first.run(t.Context(), commit.Options{Dir: dir}))
	c := begin(t, dir)
	stage(t, c, second)
	moved := filepath.Join(filepath.Dir(dir), "moved")
	ok(t, os.Rename(dir, moved))
	ok(t, os.Symlink(moved, dir))
	ok(t, c.Close(t.Context(), publish(t, c, second)))
	ok(t, check(t.Context(), moved, second))
	only(t, filepath.Dir(dir), "moved", "out")
}

// TestKilledWhileTidying: the rest of an old output whose removal was killed does not count as files of others, and the
// next run removes it.
func TestKilledWhileTidying(t *testing.T) {
	dir := folder(t, "swap")
	large := edition{}
	for i := range 2000 {
		large[fmt.Sprintf("%d/%d", i%20, i)] = "x"
	}
	for range 2 {
		ok(t, large.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}))
		killed := start(t, dir, "killed", "")
		for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Microsecond) {
			going, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".out.neardup-*~"))
			if len(going) == 0 {
				continue
			}
			if _, err := os.Stat(filepath.Join(going[0], "out", "manifest.json")); err != nil {
				break
			}
		}
		_ = killed.Process.Kill()
		status(killed)
		ends(t, dir, "next", "")
	}
}

// TestLockOfOthers: a lock file that is too large to be a lock, or is not a regular file.
func TestLockOfOthers(t *testing.T) {
	dir := folder(t, "swap")
	plant(t, filepath.Join(dir, ".lock"), strings.Repeat("mine\n", 1000))
	refuses(t, filepath.Dir(dir), dir, ".lock", true)
	ok(t, os.Remove(filepath.Join(dir, ".lock")))
	plant(t, filepath.Join(dir, ".neardup"), "mine")
	refuses(t, filepath.Dir(dir), dir, ".neardup", true)
	file := filepath.Join(filepath.Dir(dir), "file")
	plant(t, file, "mine")
	refuses(t, filepath.Dir(dir), file, file+" is not a folder", true)
}

// TestFailedElsewhere: the record of a failed run reaches a folder on another file system.
func TestFailedElsewhere(t *testing.T) {
	dir := folder(t, "swap")
	other, err := os.MkdirTemp("/dev/shm", "neardup")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(other) })
	ok(t, os.Symlink(other, commit.FailedDir(dir)))
	ok(t, first.run(t.Context(), commit.Options{Dir: dir}))
	if err := failing.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}); err == nil || err.Error() != errFailed.Error() {
		t.Errorf("error %v, want %v", err, errFailed)
	}
	only(t, other, "rejected", "run.json")
	only(t, filepath.Join(other, "rejected"), "part-00000-of-00001.parquet")
}

// TestFailedIsFile: a file of others in place of the folder for a record stays, without a warning.
func TestFailedIsFile(t *testing.T) {
	dir := folder(t, "swap")
	plant(t, commit.FailedDir(dir), "mine")
	ok(t, first.run(t.Context(), commit.Options{Dir: dir, Warn: func(format string, args ...any) {
		t.Errorf(format, args...)
	}}))
}

// TestFoldersAsBefore: a run that leaves nothing removes the folders that it made, and no others.
func TestFoldersAsBefore(t *testing.T) {
	root := filepath.Dir(folder(t, "swap"))
	ok(t, os.Mkdir(filepath.Join(root, "mine"), 0o750))
	for _, dir := range []string{"mine", "mine/new/out"} {
		c := begin(t, filepath.Join(root, dir))
		if err := c.Close(t.Context(), errFailed); !errors.Is(err, errFailed) {
			t.Error(err)
		}
		only(t, root, "mine")
		only(t, filepath.Join(root, "mine"))
	}
}

// TestParentNotListed: nothing is put beside an output where it could not be found again.
func TestParentNotListed(t *testing.T) {
	if notroot.Ran(t) { // root may list any folder
		return
	}
	dir := folder(t, "swap")
	parent := filepath.Dir(dir)
	t.Cleanup(func() { os.Chmod(parent, 0o700) })
	ok(t, os.Chmod(parent, 0o300))
	c := begin(t, dir)
	staged := c.Staged().Dir
	if !strings.HasPrefix(staged, dir) {
		t.Errorf("files are staged in %s", staged)
	}
	stage(t, c, first)
	ok(t, c.Close(t.Context(), publish(t, c, first)))
	ok(t, os.Chmod(parent, 0o700))
	only(t, parent, "out")
}

// TestNotSealed: a run that cannot write its seal leaves the old output unchanged, and nothing for the next run.
func TestNotSealed(t *testing.T) {
	l := newLake(t)
	l.prepare([]edition{first})
	c := begins(t, l.process("one", func(request string) error {
		if strings.HasPrefix(request, "create") && strings.HasSuffix(request, "/sealed") {
			return errOnce
		}
		return nil
	}))
	stage(t, c, second)
	err := c.Close(t.Context(), publish(t, c, second))
	if !errors.Is(err, errOnce) || strings.Contains(err.Error(), "run again") {
		t.Errorf("error %v", err)
	}
	l.whole("not sealed", first)
	l.clean("not sealed")
}

// TestSealedNevertheless: a seal counts even if the store reported an error when it created it.
func TestSealedNevertheless(t *testing.T) {
	l := newLake(t)
	l.prepare([]edition{first})
	o := l.process("one", lives)
	storage.Register("one://", &late{process{lake: l, scheme: "one://", before: lives}})
	c := begins(t, o)
	stage(t, c, second)
	err := c.Close(t.Context(), publish(t, c, second))
	if !errors.Is(err, errOnce) || !strings.Contains(err.Error(), "run again to finish") {
		t.Errorf("error %v", err)
	}
	ok(t, third.run(t.Context(), l.process("two", lives)))
	l.whole("sealed nevertheless", third)
	l.clean("sealed nevertheless")
}

// late is a process that gets an error after its seal has been created.
type late struct{ process }

func (p *late) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (storage.Info, error) {
	info, err := p.process.Create(ctx, path, cond, write)
	if err == nil && strings.HasSuffix(path, "/sealed") {
		err = errOnce
	}
	return info, err
}

// TestLockedByReader: the run waits a moment for a file that it must replace and another process has locked. If the
// lock stays, the error says so, and the same command completes once it is released.
func TestLockedByReader(t *testing.T) {
	for _, letGo := range []time.Duration{50 * time.Millisecond, time.Minute} {
		var reader storage.Hold
		dir, c, _ := replacing(t, "fill", 2, func(dir string, _ *commit.Commit) error {
			store, err := storage.At(dir)
			ok(t, err)
			mark := filepath.Join(dir, "_SUCCESS")
			info, err := store.Stat(t.Context(), mark)
			ok(t, err)
			reader, err = store.(storage.Holder).Hold(t.Context(), mark, info.Version)
			ok(t, err)
			time.AfterFunc(letGo, func() { reader.Close() })
			return nil
		})
		err := c.Close(t.Context(), publish(t, c, second))
		if letGo == time.Minute {
			if err == nil || !strings.Contains(err.Error(), "_SUCCESS is locked by another process") {
				t.Errorf("error %v", err)
			}
			ok(t, check(t.Context(), dir, first))
			ok(t, reader.Close())
			err = second.run(t.Context(), commit.Options{Dir: dir, Overwrite: true})
		}
		ok(t, err)
		ok(t, check(t.Context(), dir, second))
		only(t, dir, "_SUCCESS", "corpus", "manifest.json", "pairs", "run.json")
	}
}

// TestHalfPublishedByAnotherUser: the next user is told that the owner can complete the output: if the owner deleted
// what is staged, half an output would be left.
func TestHalfPublishedByAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files to others")
	}
	dir := folder(t, "fill")
	staging := filepath.Join(dir, ".neardup", "20260102-030405-0a1b2c3d")
	plant(t, filepath.Join(staging, "ready", "x"), "staged")
	plant(t, filepath.Join(dir, "clusters", "part-00000-of-00001.parquet"), "half")
	ok(t, os.Chown(staging, 12345, 12345))
	before := tree(t, dir)
	plant(t, filepath.Join(dir, ".lock"), "")
	told := ""
	err := second.run(t.Context(), commit.Options{Dir: dir, Overwrite: true, Warn: func(format string, args ...any) {
		told += fmt.Sprintf(format, args...)
	}})
	if refused := (*commit.RefusedError)(nil); !errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(told, "its owner can run the same command again") {
		t.Errorf("it was told %q", told)
	}
	same(t, "half published", tree(t, dir), before)
}

// TestMarkOfAnother: a run that was about to move its mark of success when another replaced its output has lost the
// lock, though both marks have the same size.
func TestMarkOfAnother(t *testing.T) {
	l := newLake(t)
	l.prepare([]edition{first})
	taken := false
	c := begins(t, l.process("one", func(request string) error {
		if !taken && strings.HasPrefix(request, "copy") && strings.HasSuffix(request, "/out/_SUCCESS") {
			taken = true
			o := l.process("two", lives)
			o.Lock.Force = true
			return third.run(t.Context(), o)
		}
		return nil
	}))
	stage(t, c, second)
	err := c.Close(t.Context(), publish(t, c, second))
	if fenced := (*storage.FencedError)(nil); !errors.As(err, &fenced) {
		t.Errorf("error %v", err)
	}
	l.whole("taken over", third)
	l.clean("taken over")
}
