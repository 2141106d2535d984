package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/records"
)

// These tests disturb a run on a disk at its syncs.

// replacing returns a run that is ready to replace a finished output, with the record of a failed run beside it. It
// calls disturb at its sync number n, from 1 on.
func replacing(t *testing.T, way string, n int, disturb func(dir string, c *commit.Commit) error) (dir string, c *commit.Commit, reached *bool) {
	t.Helper()
	dir = folder(t, way)
	if err := first.run(t.Context(), commit.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if err := failing.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}); !errors.Is(err, errFailed) {
		t.Fatal(err)
	}
	c = begin(t, dir)
	stage(t, c, second)
	reached = new(bool)
	c.OnSync(func(sync func() error) error {
		if n--; n == 0 {
			*reached = true
			if err := disturb(dir, c); err != nil {
				return err
			}
		}
		return sync()
	})
	return dir, c, reached
}

// published reports whether there is a mark of success, and fails the test if an output with it is not whole.
func published(t *testing.T, when, dir string) bool {
	t.Helper()
	if err := check(t.Context(), dir, nil); err != nil {
		t.Errorf("%s: %v", when, err)
	}
	_, err := os.Lstat(filepath.Join(dir, output.SuccessFile))
	return err == nil
}

// TestSyncFails: if a disk fails a sync before the output is published, the run fails; the record of an earlier failure
// stays and, if folders are exchanged, the output is unchanged. Afterwards the failure is only a warning.
func TestSyncFails(t *testing.T) {
	broken := errors.New("the disk is broken")
	for _, way := range []string{"swap", "fill"} {
		failed := 0
		for n := 1; ; n++ {
			when := fmt.Sprintf("%s, sync %d", way, n)
			warned := false
			dir, c, reached := replacing(t, way, n, func(string, *commit.Commit) error { return broken })
			c.SetWarn(func(format string, args ...any) {
				warned = warned || strings.Contains(fmt.Sprintf(format, args...), broken.Error())
			})
			err := publish(t, c, second)
			if err != nil && !errors.Is(err, broken) {
				t.Errorf("%s: %v", when, err)
			}
			ended := c.Close(t.Context(), err)
			_, failure := os.Lstat(filepath.Join(commit.FailedDir(dir), output.RunFile))
			if err == nil {
				if ended != nil || failure == nil || *reached != warned {
					t.Errorf("%s: error %v, the earlier failure: %v, warned: %t", when, ended, failure, warned)
				}
				if err := check(t.Context(), dir, second); err != nil {
					t.Errorf("%s: %v", when, err)
				}
				if !*reached {
					break
				}
				continue
			}
			failed++
			if failure != nil {
				t.Errorf("%s: what is known of an earlier failure: %v", when, failure)
			}
			if there := published(t, when, dir); way == "swap" && !there {
				t.Errorf("%s: the output is gone", when)
			}
			if err := second.run(t.Context(), commit.Options{Dir: dir, Overwrite: true}); err != nil {
				t.Errorf("%s: the same command: %v", when, err)
			}
			if err := check(t.Context(), dir, second); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		if want := map[string]int{"swap": 2, "fill": 4}[way]; failed != want {
			t.Errorf("%s: %d syncs failed the run, want %d", way, failed, want)
		}
	}
}

// TestLockTaken: a run whose lock is taken at any moment replaces nothing from then on, even if the new holder has not
// removed its staging folder yet, and says so.
func TestLockTaken(t *testing.T) {
	for _, way := range []string{"swap", "fill"} {
		for n := 1; ; n++ {
			when := fmt.Sprintf("%s, sync %d", way, n)
			var taker *storage.Lock
			before, committed := "", false
			dir, c, reached := replacing(t, way, n, func(dir string, _ *commit.Commit) (err error) {
				before, committed = names(t, dir), check(t.Context(), dir, second) == nil
				taker, _, err = storage.Acquire(t.Context(), storage.Join(dir, output.LockFile), commit.NewRun(), storage.LockOptions{Force: true})
				return err
			})
			err := publish(t, c, second)
			fenced := (*storage.FencedError)(nil)
			if !*reached {
				if err := c.Close(t.Context(), err); err != nil {
					t.Fatal(err)
				}
				break
			}
			if err == nil {
				if !committed {
					t.Errorf("%s: published what was another's", when)
				}
			} else {
				if !errors.As(err, &fenced) {
					t.Errorf("%s: %v", when, err)
				}
				if now := names(t, dir); now != before {
					t.Errorf("%s: there are\n%s, and were\n%s", when, now, before)
				}
			}
			if err := c.Close(t.Context(), err); err != nil && !errors.As(err, &fenced) {
				t.Errorf("%s: %v", when, err)
			}
			if err := taker.Release(t.Context(), false); err != nil && !errors.As(err, &fenced) {
				t.Errorf("%s: %v", when, err)
			}
		}
	}
}

// names returns the names of all files in an output except hidden ones.
func names(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	for name := range tree(t, dir) {
		if !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestLateFile: no file can be added to the staging folder once its files are counted.
func TestLateFile(t *testing.T) {
	for _, way := range []string{"swap", "fill"} {
		dir, c, _ := replacing(t, way, 1, func(_ string, c *commit.Commit) error {
			if err := os.WriteFile(c.Staged().Path("corpus/late"), []byte("late"), 0o666); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: error %v", way, err)
			}
			return nil
		})
		if err := c.Close(t.Context(), publish(t, c, second)); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		if err := check(t.Context(), dir, second); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// TestExchangeFails: if exchanging the folders fails, other than because it is unsupported, the run fails.
func TestExchangeFails(t *testing.T) {
	dir, c, _ := replacing(t, "swap", 0, nil)
	staging := filepath.Dir(c.Staged().Dir)
	c.OnSync(func(sync func() error) error {
		err := sync()
		if _, before := os.Stat(filepath.Join(staging, "out", output.LockFile)); before != nil { // the last includes it
			return err
		}
		if gone := os.Rename(filepath.Join(staging, "out"), filepath.Join(staging, "gone")); gone != nil {
			t.Error(gone)
		}
		return err
	})
	err := publish(t, c, second)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if ended := c.Close(t.Context(), err); !errors.Is(ended, err) {
		t.Errorf("it ended with %v", ended)
	}
	if err := check(t.Context(), dir, first); err != nil {
		t.Error(err)
	}
}

// TestFailHalfPublished: the record of a run that fails while its files are moved does not overwrite them, and the next
// run continues from there.
func TestFailHalfPublished(t *testing.T) {
	dir := folder(t, "fill")
	c := begin(t, dir)
	stage(t, c, second)
	n := 0
	c.OnSync(func(sync func() error) error {
		if n++; n == 3 { // all are in their places except the mark of success
			return errFailed
		}
		return sync()
	})
	err := publish(t, c, second)
	if !errors.Is(err, errFailed) {
		t.Fatal(err)
	}
	before := names(t, dir)
	if err := c.Fail(t.Context(), &records.Run{Status: "failed", Job: c.Run(), Formats: records.Formats{Tables: records.Tables}}, nil); err != nil {
		t.Error(err)
	}
	if now := names(t, dir); now != before || !strings.Contains(now, "corpus/a.jsonl") {
		t.Errorf("there are\n%s, and were\n%s", now, before)
	}
	if r := record(t, c.FailedFolder()); r.Status != "failed" || c.FailedFolder() == dir {
		t.Errorf("%+v in %s", r, c.FailedFolder())
	}
	if err := c.Close(t.Context(), err); !errors.Is(err, errFailed) {
		t.Error(err)
	}
	if err := second.run(t.Context(), commit.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if err := check(t.Context(), dir, second); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestFinishedMeanwhile: an output that another run finishes after this one's check, and before it has the lock, is not
// replaced without --overwrite.
func TestFinishedMeanwhile(t *testing.T) {
	l := newLake(t)
	other := false
	options := l.process("one", func(request string) error {
		if strings.HasPrefix(request, "create one://lake/out/.lock") && !other {
			other = true
			return first.run(t.Context(), l.process("two", lives))
		}
		return nil
	})
	options.Overwrite = false
	if refused := (*commit.RefusedError)(nil); !errors.As(second.run(t.Context(), options), &refused) || !other {
		t.Errorf("it was not refused")
	}
	l.whole("finished meanwhile", first)
	l.clean("finished meanwhile")
}

// TestOneRequestFails: a failed request makes the run fail, or does no harm; once the mark of success is in its place,
// it is only a warning. The same command then completes.
func TestOneRequestFails(t *testing.T) {
	broken := errors.New("the store is broken")
	mark := output.Folder{Opaque: true}.Name(output.SuccessFile)
	for _, name := range []string{"nothing", "failed beside finished"} {
		for n, ended := 0, false; !ended; n++ {
			l := newLake(t)
			l.prepare(prepared[name])
			count, moved, committed := n, false, false
			err := second.run(t.Context(), l.process("one", func(request string) error {
				committed = committed || moved && count > 0
				moved = moved || strings.HasPrefix(request, "remove ") && strings.HasSuffix(request, "/"+mark)
				if count--; count == -1 {
					return fmt.Errorf("%s: %w", request, broken)
				}
				return nil
			}))
			ended = count >= 0
			when := fmt.Sprintf("%s, request %d, %v", name, n, err)
			switch {
			case err == nil:
				l.whole(when, second)
			case !errors.Is(err, broken):
				t.Errorf("%s: the error does not tell", when)
			case committed:
				t.Errorf("%s: it had published", when)
			}
			l.later()
			if err := second.run(t.Context(), l.process("two", lives)); err != nil {
				t.Errorf("%s: the same command: %v", when, err)
			}
			l.whole(when, second)
			l.clean(when)
		}
	}
}

// TestCancelled: a run that is cancelled while it publishes completes; earlier, it leaves the output unchanged.
func TestCancelled(t *testing.T) {
	for n, ended := 0, false; !ended; n++ {
		l := newLake(t)
		l.prepare([]edition{first})
		ctx, cancel := context.WithCancel(t.Context())
		count := n
		err := second.run(ctx, l.process("one", func(string) error {
			if count--; count == -1 {
				cancel()
			}
			return nil
		}))
		cancel()
		ended = count >= 0
		want := second
		if err != nil {
			want = first
		}
		l.whole(fmt.Sprintf("cancelled at %d, %v", n, err), want)
	}
}

// killedBefore returns options of a run that is killed before its first request that contains request.
func (l *lake) killedBefore(request string) commit.Options {
	dead := false
	return l.process("one", func(r string) error {
		if dead = dead || strings.Contains(r, request); dead {
			return errKilled
		}
		return nil
	})
}

// sealed returns a lake in which a run that was replacing the first edition with the second was killed before a
// request.
func sealed(t *testing.T, request string) *lake {
	t.Helper()
	l := newLake(t)
	l.prepare([]edition{first})
	if err := second.run(t.Context(), l.killedBefore(request)); !errors.Is(err, errKilled) {
		t.Fatalf("it was not killed: %v", err)
	}
	l.later()
	return l
}

// staged returns the path of a staged file of the only run that left some, or "" if it was moved.
func (l *lake) staged(name string) string {
	l.t.Helper()
	name = output.Folder{Opaque: true}.Name(name)
	for info := range l.List(context.Background(), "lake://lake", nil) {
		if strings.HasSuffix(info.Path, "/w/"+name) {
			return info.Path
		}
	}
	return ""
}

const (
	beforeReplacing = "remove one://lake/out/_SUCCESS"
	amidstReplacing = " to one://lake/out/corpus/sub/c.jsonl"
	endReplacing    = " to one://lake/out/run.json"
)

// TestSealThatCannotBeCarriedOut: if something has removed files that a killed run had ready, they are made again,
// whatever it had published; a file of the same size does not replace a missing one.
func TestSealThatCannotBeCarriedOut(t *testing.T) {
	for _, killed := range []string{beforeReplacing, amidstReplacing, endReplacing} {
		for _, name := range []string{"pairs/part-00000-of-00001.parquet", "corpus/sub/c.jsonl", output.SuccessFile} {
			for what, harm := range map[string]func(l *lake, path string) error{
				"is gone": func(l *lake, path string) error { return l.Remove(t.Context(), path, storage.If{}) },
				"is another": func(l *lake, path string) error {
					_, err := l.Create(t.Context(), path, storage.If{}, text(""))
					return err
				},
			} {
				l := sealed(t, killed)
				path := l.staged(name)
				if path == "" {
					continue
				}
				if err := harm(l, path); err != nil {
					t.Fatal(err)
				}
				when := fmt.Sprintf("killed before %s, %s %s", killed, name, what)
				if err := third.run(t.Context(), l.process("two", lives)); err != nil {
					t.Errorf("%s: %v", when, err)
				}
				l.whole(when, third)
				l.clean(when)
			}
		}
	}
}

// TestNamesOfStaleSeal: a file that a killed run moved to its place, and that only its seal names, is not foreign, even
// if the seal cannot be carried out.
func TestNamesOfStaleSeal(t *testing.T) {
	l := sealed(t, beforeReplacing)
	const name = "corpus/sub/c.jsonl" // not in the first edition
	if err := l.Move(t.Context(), l.staged(name), "lake://"+l.dir+"/"+name); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"lake://" + l.dir + "/" + output.SuccessFile, l.staged(output.ManifestFile)} {
		if err := l.Remove(t.Context(), gone, storage.If{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := third.run(t.Context(), l.process("two", lives)); err != nil {
		t.Fatal(err)
	}
	l.whole("made anew", third)
	l.clean("made anew")
}

// TestSealOfAReplacedOutput: the output that a killed run had ready does not replace one finished since.
func TestSealOfAReplacedOutput(t *testing.T) {
	l := sealed(t, beforeReplacing)
	elsewhere := commit.Options{Dir: "lake://lake/other"}
	if err := third.run(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	for info, err := range l.List(t.Context(), "lake://lake/out", func(name string) bool { return name != ".neardup" }) {
		if err == nil {
			err = l.Remove(t.Context(), info.Path, storage.If{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Move(t.Context(), "lake://lake/other", "lake://lake/out"); err != nil {
		t.Fatal(err)
	}
	options := l.process("two", lives)
	options.Overwrite = false
	if refused := (*commit.RefusedError)(nil); !errors.As(second.run(t.Context(), options), &refused) || !strings.Contains(refused.Reason, "--overwrite") {
		t.Errorf("it was not refused: %v", refused)
	}
	l.whole("an output that was finished since", third)
	if err := second.run(t.Context(), l.process("two", lives)); err != nil {
		t.Error(err)
	}
	l.whole("replaced", second)
	l.clean("replaced")
}

// TestChangedWhileReplaced: a file that changes after the run has made its seal is not removed.
func TestChangedWhileReplaced(t *testing.T) {
	for _, way := range []string{"local", "lake"} {
		mine := func(path string) error {
			_, err := storage.WriteFile(t.Context(), path, text("mine"))
			return err
		}
		const old = "corpus/sub/b.jsonl" // not in the new output
		var dir string
		var err error
		if way == "local" {
			var c *commit.Commit
			dir, c, _ = replacing(t, "fill", 3, func(dir string, _ *commit.Commit) error { return mine(storage.Join(dir, old)) })
			err = c.Close(t.Context(), publish(t, c, second))
		} else {
			l := newLake(t)
			l.prepare([]edition{first})
			dir = "lake://" + l.dir
			err = second.run(t.Context(), l.process("one", func(request string) error {
				if request == beforeReplacing {
					return mine(storage.Join(dir, old))
				}
				return nil
			}))
		}
		if refused := (*commit.RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), old) {
			t.Errorf("%s: error %v", way, err)
		}
		if data, err := storage.ReadFile(t.Context(), storage.Join(dir, old)); err != nil || string(data) != "mine" {
			t.Errorf("%s: %q, %v", way, data, err)
		}
		if _, err := storage.Stat(t.Context(), storage.Join(dir, output.SuccessFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it looks finished: %v", way, err)
		}
		// Once the file is moved away, the next run continues from there.
		if err := storage.RemoveAll(t.Context(), storage.Join(dir, old)); err != nil {
			t.Fatal(err)
		}
		if err := second.run(t.Context(), commit.Options{Dir: dir}); err != nil {
			t.Errorf("%s: the same command: %v", way, err)
		}
		if err := check(t.Context(), dir, second); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// TestSealCutOff: a seal that was truncated by a loss of power has no effect.
func TestSealCutOff(t *testing.T) {
	for _, cut := range []string{"", `{"run": "`, "\x00\x00"} {
		l := sealed(t, beforeReplacing)
		for info := range l.List(t.Context(), "lake://lake", nil) {
			if strings.HasSuffix(info.Path, "/sealed") {
				if _, err := l.Create(t.Context(), info.Path, storage.If{}, text(cut)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := second.run(t.Context(), l.process("two", lives)); err != nil {
			t.Errorf("%q: %v", cut, err)
		}
		l.whole(cut, second)
		l.clean(cut)
	}
}

// TestDisturbedWhileReplaced: an output that lacks files, or has others, after all were moved does not get the mark.
func TestDisturbedWhileReplaced(t *testing.T) {
	for what, disturb := range map[string]func(l *lake) error{
		"pairs/part-00000-of-00001.parquet has": func(l *lake) error {
			_, err := l.Create(t.Context(), "lake://lake/out/pairs/part-00000-of-00001.parquet", storage.If{}, text("longer"))
			return err
		},
		"pairs/part-00000-of-00001.parquet is missing": func(l *lake) error {
			return l.Remove(t.Context(), "lake://lake/out/pairs/part-00000-of-00001.parquet", storage.If{})
		},
		"mine was not written by neardup": func(l *lake) error {
			_, err := l.Create(t.Context(), "lake://lake/out/mine", storage.If{}, text("mine"))
			return err
		},
	} {
		moved := func(request string) bool {
			_, to, copied := strings.Cut(request, " to one://lake/out/")
			return copied && to != "_SUCCESS" && !strings.HasPrefix(to, ".neardup/")
		}
		l, all := newLake(t), 0
		l.prepare([]edition{first})
		if err := second.run(t.Context(), l.process("one", func(request string) error {
			if moved(request) {
				all++
			}
			return nil
		})); err != nil {
			t.Fatal(err)
		}
		l = newLake(t)
		l.prepare([]edition{first})
		err := second.run(t.Context(), l.process("one", func(request string) error {
			if moved(request) {
				all--
			} else if all == 0 { // each has been copied
				all--
				return disturb(l)
			}
			return nil
		}))
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: error %v", what, err)
		}
		if _, err := l.Stat(t.Context(), "lake://lake/out/_SUCCESS"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it looks finished: %v", what, err)
		}
	}
}

// TestKilledOnceFinished: a run that was killed after it had published, but before it had cleaned up, counts as
// finished.
func TestKilledOnceFinished(t *testing.T) {
	l := newLake(t)
	l.prepare([]edition{first})
	dead := false
	_ = third.run(t.Context(), l.process("one", func(r string) error {
		if dead = dead || strings.HasPrefix(r, "remove ") && strings.HasSuffix(r, "/sealed"); dead {
			return errKilled
		}
		return nil
	}))
	l.later()
	options := l.process("two", lives)
	options.Overwrite = false
	if err := third.run(t.Context(), options); err != nil || !dead {
		t.Errorf("killed: %t; the same command: %v", dead, err)
	}
	l.whole("killed once finished", third)
	l.clean("killed once finished")
}

// TestCancelledBeginning: a run on a disk that is cancelled at any moment of its beginning leaves nothing.
func TestCancelledBeginning(t *testing.T) {
	const run = "20260102-030405-0a1b2c3d"
	for _, way := range []string{"swap", "fill"} {
		moments := 1
		for ; ; moments++ {
			dir := folder(t, way)
			root := filepath.Dir(dir)
			before := tree(t, root)
			ctx, cancel := storagetest.EndsAt(t.Context(), moments)
			c, err := commit.Begin(ctx, commit.Options{
				Dir: dir, Run: run, Temp: commit.TempFolder(root, run), Warn: func(format string, args ...any) { t.Errorf(format, args...) },
			})
			if err == nil {
				err = c.Close(t.Context(), nil)
			}
			cancel()
			same(t, fmt.Sprintf("%s, cancelled at %d: %v", way, moments, err), tree(t, root), before)
			if err == nil {
				break
			}
		}
		if moments < 20 {
			t.Errorf("%s: the run has only %d moments", way, moments)
		}
	}
}
