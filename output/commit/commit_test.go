package commit_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/records"
)

// An edition is the output of a run: files by name. It is also its own fingerprint.
type edition map[string]string

// Editions that share names, with other bytes of the same or another size, with the same bytes, or not at all.
var (
	first  = edition{"pairs/part-00000-of-00001.parquet": "first", "corpus/a.jsonl": "same", "corpus/sub/b.jsonl": "first b", "rejected/part-00000-of-00001.parquet": "x"}
	second = edition{"pairs/part-00000-of-00001.parquet": "secnd", "corpus/a.jsonl": "same", "corpus/sub/c.jsonl": "second c"}
	third  = edition{"pairs/part-00000-of-00001.parquet": "third", "corpus/d.jsonl": "third d"}
)

func (e edition) manifest() *records.Manifest {
	m := &records.Manifest{Version: 1}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		sum := sha256.Sum256([]byte(e[name]))
		m.Files = append(m.Files, records.ManifestFile{Path: name, Bytes: int64(len(e[name])), SHA256: hex.EncodeToString(sum[:])})
	}
	return m
}

func (e edition) fingerprint() string { return fmt.Sprint(map[string]string(e)) }

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// run is a whole run that makes the edition, like pipelines/dedup.
func (e edition) run(ctx context.Context, o commit.Options) error {
	o.Run = commit.NewRun()
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	c, err := commit.Begin(ctx, o)
	if err != nil {
		return err
	}
	if o.Continue {
		if err := e.inParts(ctx, c); err != nil {
			return c.Close(context.WithoutCancel(ctx), err)
		}
	}
	return c.Close(context.WithoutCancel(ctx), e.build(ctx, c, o.Run))
}

// takenOver counts the parts taken over from other runs.
var takenOver atomic.Int64

// inParts writes each file as a part, with a file that is not in the output, unless a former run has done so.
func (e edition) inParts(ctx context.Context, c *commit.Commit) error {
	if done, err := c.Recovered(e.fingerprint()); done || err != nil {
		return err
	}
	if err := c.BeginParts(ctx); err != nil {
		return err
	}
	if _, err := c.Retain(ctx, func(p commit.Part) bool { return p.Fingerprint == e.fingerprint() }); err != nil {
		return err
	}
	staged := c.Staged()
	for i, name := range slices.Sorted(maps.Keys(e)) {
		part := fmt.Sprintf("part-%d", i)
		kept := storage.Join(c.Kept(), part+".kept")
		if _, done := c.Parts()[part]; done {
			takenOver.Add(1)
			for path, want := range map[string]string{kept: e[name], staged.Path(name): e[name]} {
				if data, err := storage.ReadFile(ctx, path); err != nil || string(data) != want {
					return fmt.Errorf("a part that is done: %s holds %q: %w", path, data, err)
				}
			}
			continue
		}
		if _, err := storage.WriteBelow(ctx, c.Kept(), kept, text(e[name])); err != nil {
			return err
		}
		if _, err := storage.WriteBelow(ctx, staged.Dir, staged.Path(name), text(e[name])); err != nil {
			return err
		}
		size := int64(len(e[name]))
		files := []commit.PartFile{{In: commit.InOutput, Name: name, Bytes: size}, {In: commit.InKept, Name: part + ".kept", Bytes: size}}
		if err := c.Keep(ctx, commit.Part{Name: part, Fingerprint: e.fingerprint(), Files: files, State: json.RawMessage("{}")}); err != nil {
			return err
		}
	}
	return nil
}

var errFailed = errors.New("the job failed")

func (e edition) build(ctx context.Context, c *commit.Commit, run string) error {
	if done, err := c.Recovered(e.fingerprint()); done || err != nil {
		return err
	}
	staged := c.Staged()
	for i, name := range slices.Sorted(maps.Keys(e)) {
		if _, done := c.Parts()[fmt.Sprintf("part-%d", i)]; done {
			continue
		}
		if _, err := storage.WriteBelow(ctx, staged.Dir, staged.Path(name), text(e[name])); err != nil {
			return err
		}
	}
	record := &records.Run{Status: "done", Job: run, Formats: records.Formats{Tables: records.Tables}}
	if e["fails"] != "" {
		record.Status, record.Exit = "failed", 1
		err := c.Fail(ctx, record, []string{"rejected/part-00000-of-00001.parquet"})
		return errors.Join(errFailed, err)
	}
	return c.Publish(ctx, e.fingerprint(), e.manifest(), record)
}

// failing leaves a record and a table of rejected records.
var failing = edition{"rejected/part-00000-of-00001.parquet": "rejected", "fails": "yes"}

// check returns what is wrong with a folder that looks finished; want, unless nil, is its required content.
func check(ctx context.Context, dir string, want edition) error {
	_, err := storage.Stat(ctx, storage.Join(dir, output.SuccessFile))
	if errors.Is(err, fs.ErrNotExist) && want == nil {
		return nil
	}
	finished, err := output.Open(ctx, dir)
	if err != nil {
		if want == nil && errors.As(err, new(*output.StatusError)) {
			return nil // it was being replaced when it was opened
		}
		return err
	}
	err = checkFiles(ctx, finished, dir, want)
	if same, markErr := finished.Unchanged(ctx); markErr == nil && !same && want == nil {
		return nil // the reader knows that it did not read a single output
	}
	return err
}

func checkFiles(ctx context.Context, finished *output.Finished, dir string, want edition) error {
	listed := map[string]bool{output.RunFile: true, output.ManifestFile: true, output.SuccessFile: true}
	for _, f := range finished.Manifest.Files {
		listed[f.Path] = true
		data, err := storage.ReadFile(ctx, finished.Path(f.Path))
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(data); int64(len(data)) != f.Bytes || hex.EncodeToString(sum[:]) != f.SHA256 {
			return fmt.Errorf("%s holds %q", f.Path, data)
		}
	}
	if want != nil && fmt.Sprint(finished.Manifest) != fmt.Sprint(*want.manifest()) {
		return fmt.Errorf("the output is another: %v", finished.Manifest)
	}
	entries, err := storage.List(ctx, dir)
	for _, e := range entries {
		if name, _ := storage.Rel(dir, e.Path); !listed[name] && name != "." && err == nil {
			err = fmt.Errorf("%s is not in the manifest", name)
		}
	}
	return err
}

// lake is an object store that several processes use, each under its own scheme.
type lake struct {
	storagetest.Memory
	t     *testing.T
	dir   string
	parts bool // runs work in parts
	mu    sync.Mutex
	clock time.Time
	// unwatched allows outputs that look finished not to be whole after a request.
	unwatched bool
}

func newLake(t *testing.T) *lake {
	l := &lake{t: t, dir: "lake/out", clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	l.Now = func() time.Time {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.clock = l.clock.Add(time.Millisecond)
		return l.clock
	}
	storage.Register("lake://", l)
	return l
}

// later lets the locks of inactive processes expire.
func (l *lake) later() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock = l.clock.Add(6 * time.Minute)
}

// process returns options of a run by a new process, which calls before before each request that changes something, one
// at a time.
func (l *lake) process(name string, before func(request string) error) commit.Options {
	scheme := name + "://"
	storage.Register(scheme, &process{lake: l, scheme: scheme, before: single(before)})
	return commit.Options{Dir: scheme + l.dir, Overwrite: true, Continue: l.parts}
}

// single returns a function that calls before for one request at a time.
func single(before func(request string) error) func(request string) error {
	var mu sync.Mutex
	return func(request string) error {
		mu.Lock()
		defer mu.Unlock()
		return before(request)
	}
}

// whole fails the test if an output looks finished but is not whole.
func (l *lake) whole(when string, want edition) {
	l.t.Helper()
	if err := check(context.Background(), "lake://"+l.dir, want); err != nil {
		l.t.Fatalf("%s: %v", when, err)
	}
}

// clean fails the test if anything is left besides the output.
func (l *lake) clean(when string) {
	l.t.Helper()
	for info := range l.List(context.Background(), "lake://lake", nil) {
		name := strings.TrimPrefix(info.Path, "lake://lake/")
		if strings.HasPrefix(name, "out.failed") || strings.Contains(name, ".neardup") || strings.Contains(name, ".lock") {
			l.t.Fatalf("%s: %s is left", when, name)
		}
	}
}

type process struct {
	lake   *lake
	scheme string
	before func(request string) error
	one    sync.Mutex // serialises its requests
}

func (p *process) in(path string) string { return "lake://" + strings.TrimPrefix(path, p.scheme) }

func (p *process) out(info storage.Info) storage.Info {
	info.Path = p.scheme + strings.TrimPrefix(info.Path, "lake://")
	return info
}

// request makes a request, unless the process is dead.
func (p *process) request(kind, path string, do func() error) error {
	p.one.Lock()
	defer p.one.Unlock()
	if err := p.before(kind + " " + path); err != nil {
		return err
	}
	err := do()
	if !p.lake.unwatched {
		p.lake.whole("after "+kind+" "+path, nil)
	}
	return err
}

func (p *process) List(ctx context.Context, folder string, enter func(string) bool) iter.Seq2[storage.Info, error] {
	return func(yield func(storage.Info, error) bool) {
		for info, err := range p.lake.List(ctx, p.in(folder), enter) {
			if !yield(p.out(info), err) {
				return
			}
		}
	}
}

func (p *process) Stat(ctx context.Context, path string) (storage.Info, error) {
	info, err := p.lake.Stat(ctx, p.in(path))
	return p.out(info), err
}

func (p *process) Open(ctx context.Context, path string) (storage.Reader, error) {
	return p.lake.Open(ctx, p.in(path))
}

func (p *process) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (info storage.Info, err error) {
	err = p.request("create", path, func() error {
		info, err = p.lake.Create(ctx, p.in(path), cond, write)
		return err
	})
	return p.out(info), err
}

func (p *process) Remove(ctx context.Context, path string, cond storage.If) error {
	return p.request("remove", path, func() error { return p.lake.Remove(ctx, p.in(path), cond) })
}

func (p *process) RemoveAll(ctx context.Context, path string) error {
	for info := range p.List(ctx, path, nil) {
		if err := p.Remove(ctx, info.Path, storage.If{}); err != nil {
			return err
		}
	}
	return p.Remove(ctx, path, storage.If{})
}

// Move copies an object, and then deletes it.
func (p *process) Move(ctx context.Context, from, to string) error {
	var data []byte
	err := p.request("copy", from+" to "+to, func() (err error) {
		if data, err = storage.ReadFile(ctx, p.in(from)); err == nil {
			_, err = p.lake.Create(ctx, p.in(to), storage.If{}, func(w io.Writer) error { _, err := w.Write(data); return err })
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.Remove(ctx, from, storage.If{})
}

var errKilled = errors.New("the process was killed")

// killedAt returns the hook of a process that is killed before its request number n; alive is set if it ended before.
func killedAt(n int, alive *bool) func(string) error {
	*alive = true
	return func(string) error {
		if n--; n < 0 {
			*alive = false
			return errKilled
		}
		return nil
	}
}

func lives(string) error { return nil }

// prepared has the outputs that a run may find.
var prepared = map[string][]edition{"nothing": nil, "finished": {first}, "failed": {failing}, "failed beside finished": {first, failing}}

func (l *lake) prepare(editions []edition) {
	l.t.Helper()
	for _, e := range editions {
		if err := e.run(l.t.Context(), l.process("prep", lives)); err != nil && !errors.Is(err, errFailed) {
			l.t.Fatal(err)
		}
	}
}

// TestKilled: whenever a run is killed, an output that looks finished is whole, and the same command then completes,
// even if it is killed once more.
func TestKilled(t *testing.T) {
	for name, editions := range prepared {
		t.Run(name, func(t *testing.T) { killed(t, editions, false) })
	}
}

// TestKilledInParts: the same holds for runs in parts, which continue with the finished parts.
func TestKilledInParts(t *testing.T) {
	takenOver.Store(0)
	for name, editions := range prepared {
		t.Run(name, func(t *testing.T) { killed(t, editions, true) })
	}
	if n := takenOver.Load(); n < 100 {
		t.Errorf("%d parts were taken over", n)
	}
}

func killed(t *testing.T, editions []edition, parts bool) {
	for n, ended := 0, false; !ended; n++ {
		again := 0 // the request at which the second is killed; -1 if it is not
		for step := steps(n); ; again += step {
			l := newLake(t)
			l.prepare(editions)
			l.parts = parts
			var once, twice bool
			err := second.run(t.Context(), l.process("one", killedAt(n, &once)))
			if once && err != nil {
				t.Fatal(err)
			}
			ended = once
			l.later()
			err = second.run(t.Context(), l.process("two", killedAt(again, &twice)))
			if twice && err != nil {
				t.Fatalf("killed at %d: the same command fails: %v", n, err)
			}
			l.later()
			if !twice {
				if err := second.run(t.Context(), l.process("three", lives)); err != nil {
					t.Fatalf("killed at %d and %d: the same command fails: %v", n, again, err)
				}
			}
			when := fmt.Sprintf("killed at %d and %d", n, again)
			l.whole(when, second)
			l.clean(when)
			if twice || once {
				break
			}
		}
	}
}

// TestFencedKeepsParts: the work of a run that is fenced off, and ends before its successor takes that over, remains
// for the successor. From then on it keeps nothing more.
func TestFencedKeepsParts(t *testing.T) {
	l := newLake(t)
	l.parts = true
	for where, dir := range map[string]string{"store": "lake://" + l.dir, "disk": folder(t, "fill")} {
		o := commit.Options{Dir: dir, Overwrite: true, Continue: true, Run: commit.NewRun(), Warn: func(string, ...any) {}}
		c, err := commit.Begin(t.Context(), o)
		ok(t, err)
		ok(t, second.inParts(t.Context(), c))
		force := storage.LockOptions{Force: true}
		_, _, err = storage.Acquire(t.Context(), storage.Join(dir, output.LockFile), commit.NewRun(), force)
		ok(t, err)
		if err := c.Keep(t.Context(), commit.Part{Name: "late"}); !errors.As(err, new(*storage.FencedError)) {
			t.Errorf("%s: a part of a run that was fenced off: %v", where, err)
		}
		if err := c.Close(t.Context(), errFailed); !errors.As(err, new(*storage.FencedError)) {
			t.Errorf("%s: error %v", where, err)
		}
		takenOver.Store(0)
		o.Lock.Force = true
		ok(t, second.run(t.Context(), o))
		if n := takenOver.Load(); n != int64(len(second)) {
			t.Errorf("%s: %d parts of %d were taken over", where, n, len(second))
		}
		ok(t, check(t.Context(), dir, second))
	}
}

// TestReadyPartsAreKept: the parts of a run that was killed when it was about to publish on a disk remain for the next.
// The output it replaced is not among its parts, whatever its files are called.
func TestReadyPartsAreKept(t *testing.T) {
	for _, c := range []struct {
		way, ready string
		mark       bool // of the killed run
		want       int
	}{
		{"swap", "out", true, len(second)}, {"swap", "out", false, 0},
		{"swap", "ready", true, len(second)}, {"fill", "ready", true, len(second)},
	} {
		dir := folder(t, c.way)
		o := commit.Options{Dir: dir, Overwrite: true, Continue: true, Run: commit.NewRun(), Warn: func(string, ...any) {}}
		killed, err := commit.Begin(t.Context(), o)
		ok(t, err)
		ok(t, second.inParts(t.Context(), killed))
		work, mark := killed.Staged().Dir, commit.NewRun()
		if c.mark {
			mark = o.Run
		}
		plant(t, filepath.Join(work, killed.Staged().Name(output.SuccessFile)), fmt.Sprintf(`{"run":%q,"manifest":"x"}`, mark))
		ok(t, os.Rename(work, filepath.Join(filepath.Dir(work), c.ready)))
		takenOver.Store(0)
		next := o
		next.Lock.Force = true
		ok(t, second.run(t.Context(), next))
		if n := takenOver.Load(); n != int64(c.want) {
			t.Errorf("%+v: %d parts were taken over", c, n)
		}
		ok(t, check(t.Context(), dir, second))
		if err := killed.Close(t.Context(), errFailed); !errors.As(err, new(*storage.FencedError)) {
			t.Errorf("error %v", err)
		}
		ok(t, check(t.Context(), dir, second))
	}
}

// TestShortPart: a part is repeated if one of its files was truncated, and kept only if all have their full length.
func TestShortPart(t *testing.T) {
	dir := folder(t, "swap")
	o := commit.Options{Dir: dir, Continue: true, Run: commit.NewRun(), Warn: func(string, ...any) {}}
	killed, err := commit.Begin(t.Context(), o)
	ok(t, err)
	ok(t, second.inParts(t.Context(), killed))
	short := filepath.Join(killed.Kept(), "part-1.kept")
	ok(t, os.Truncate(short, 1))
	kept := commit.Part{Name: "x", Files: []commit.PartFile{{In: commit.InKept, Name: "part-1.kept", Bytes: 2}}}
	if err := killed.Keep(t.Context(), kept); err == nil {
		t.Error("a file that was cut off is kept")
	}
	takenOver.Store(0)
	o.Lock.Force = true
	ok(t, second.run(t.Context(), o))
	if n := takenOver.Load(); n != int64(len(second))-1 {
		t.Errorf("%d parts were taken over", n)
	}
	ok(t, check(t.Context(), dir, second))
	if err := killed.Close(t.Context(), errFailed); !errors.As(err, new(*storage.FencedError)) {
		t.Errorf("error %v", err)
	}
}

// TestRefusedRemovesLeftovers checks that a run that a finished output refuses removes the folders of killed runs beside
// it, also that of the run that made the output. Parts of other runs stay for a run that continues them.
func TestRefusedRemovesLeftovers(t *testing.T) {
	for _, resumes := range []bool{false, true} {
		dir := folder(t, "swap")
		o := commit.Options{Dir: dir, Continue: resumes}
		ok(t, first.run(t.Context(), o))
		made := record(t, dir).Job
		beside := func(run string, files ...string) string {
			left := filepath.Join(filepath.Dir(dir), ".out.neardup-"+run)
			plant(t, filepath.Join(left, "run"), fmt.Sprintf(`{"run":%q}`, run))
			for _, name := range files {
				plant(t, filepath.Join(left, name), "x")
			}
			return left
		}
		gone := []string{beside(made, "kept/a.part", "kept/a"), beside("20260102-030405-0a1b2c3d", "tmp/x")}
		stays := beside("20260102-030405-0a1b2c3e", "kept/a.part")
		if err := second.run(t.Context(), o); !errors.As(err, new(*commit.RefusedError)) {
			t.Fatalf("error %v", err)
		}
		for _, folder := range gone {
			if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("resumes %v: %s is still there: %v", resumes, folder, err)
			}
		}
		if _, err := os.Stat(stays); err != nil {
			t.Errorf("resumes %v: %v", resumes, err)
		}
		ok(t, check(t.Context(), dir, first))
		plant(t, filepath.Join(dir, "notes.txt"), "mine")
		beside("20260102-030405-0a1b2c3d", "tmp/x")
		if err := second.run(t.Context(), o); !errors.As(err, new(*commit.RefusedError)) {
			t.Errorf("error %v", err)
		}
		if _, err := os.Stat(gone[1]); err != nil {
			t.Errorf("resumes %v: beside a folder with files of others: %v", resumes, err)
		}
	}
}

// TestForgedPart: a part only moves files out of the folders of its run, whatever its record and its note say.
func TestForgedPart(t *testing.T) {
	dir := folder(t, "swap")
	secret := filepath.Join(t.TempDir(), "secret")
	plant(t, secret, "secret")
	forged := filepath.Join(filepath.Dir(dir), ".out.neardup-20260102-030405-0a1b2c3d")
	above, err := filepath.Rel(filepath.Join(forged, "kept"), secret)
	ok(t, err)
	plant(t, filepath.Join(forged, "run"), fmt.Sprintf(`{"run":"20260102-030405-0a1b2c3d","temp":%q}`, filepath.Dir(secret)))
	for name, file := range map[string]commit.PartFile{
		"temp": {In: commit.InTemporary, Name: "secret", Bytes: 6}, "above": {In: commit.InKept, Name: above, Bytes: 6},
		"root": {In: commit.InKept, Name: secret, Bytes: 6}, "kind": {In: "x", Name: "a", Bytes: 6},
	} {
		data, err := json.Marshal(commit.Part{Name: name, Files: []commit.PartFile{file}})
		ok(t, err)
		plant(t, filepath.Join(forged, "kept", name+".part"), string(data))
	}
	c, err := commit.Begin(t.Context(), commit.Options{Dir: dir, Continue: true, Run: commit.NewRun(), Warn: t.Logf})
	ok(t, err)
	if len(c.Parts()) > 0 {
		t.Errorf("parts are %v", c.Parts())
	}
	ok(t, c.Close(t.Context(), nil))
	if data, err := os.ReadFile(secret); string(data) != "secret" {
		t.Errorf("%q, %v", data, err)
	}
}

// steps is the distance between the moments at which the second run is killed.
func steps(n int) int { return nightly.Or(1, 53+n%17) }

// paused runs an edition that pauses before its request number n, from 0 on, until another run has acted. It returns
// that request, or "" if the run ended before.
func paused(e edition, n int, process func(before func(string) error) commit.Options, other func()) (at string, err error) {
	arrived, goOn, done := make(chan string, 1), make(chan bool), make(chan error, 1)
	one := process(func(request string) error {
		if n--; n == -1 {
			arrived <- request
			<-goOn
		}
		return nil
	})
	go func() {
		ran := errors.New("the test failed")
		defer func() { done <- ran }()
		ran = e.run(context.Background(), one)
	}()
	select {
	case err = <-done:
		other()
	case at = <-arrived:
		other()
		close(goOn)
		err = <-done
	}
	return at, err
}

// TestPaused: a run that pauses while another takes over the output does no harm when it resumes.
func TestPaused(t *testing.T) {
	for name, editions := range prepared {
		t.Run(name, func(t *testing.T) { pausedAtEach(t, editions, third, false, 0, 1) })
	}
}

// TestPausedInParts: the same holds for runs in parts, where the other continues with the finished parts.
func TestPausedInParts(t *testing.T) {
	takenOver.Store(0)
	for name, editions := range prepared {
		for i, other := range []edition{second, third} {
			t.Run(name, func(t *testing.T) { pausedAtEach(t, editions, other, true, i, nightly.Or(1, 2)) })
		}
	}
	if n := takenOver.Load(); n < 10 {
		t.Errorf("%d parts were taken over", n)
	}
}

// pausedAtEach pauses a run before every step-th request, from first on.
func pausedAtEach(t *testing.T, editions []edition, other edition, parts bool, first, step int) {
	for n, ended := first, false; !ended; n += step {
		l := newLake(t)
		l.prepare(editions)
		l.parts = parts
		two := l.process("two", lives)
		at, err := paused(second, n, func(before func(string) error) commit.Options { return l.process("one", before) }, func() {
			l.later()
			if err := other.run(t.Context(), two); err != nil {
				t.Fatalf("paused at %d: the other: %v", n, err)
			}
		})
		ended = at == ""
		when := fmt.Sprintf("paused at %d, %v", n, err)
		if fenced := (*storage.FencedError)(nil); err != nil && !errors.As(err, &fenced) && !errors.As(err, new(*storage.LockedError)) {
			t.Errorf("%s: the error does not tell", when)
		}
		if err == nil { // it finished before or after the other
			l.whole(when, nil)
		} else {
			l.whole(when, other)
		}
	}
}

// record reads the run.json of a folder.
func record(t *testing.T, dir string) (r records.Run) {
	t.Helper()
	data, err := storage.ReadFile(t.Context(), storage.Join(dir, output.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}
