// Package storagetest checks that a Store keeps the promises of package storage, and provides a Store in memory for
// other tests.
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup/io/storage"
)

// Lacks says what a store cannot do.
type Lacks struct {
	// ConditionalRemove: Remove with a Version returns errors.ErrUnsupported.
	ConditionalRemove bool
	// LineBreaks: names cannot contain line breaks.
	LineBreaks bool
}

// suite is a store under test.
type suite struct {
	storage.Store
	folder string // for this test, empty at first
	lacks  Lacks
}

// Run checks the store of folder, an empty path.
func Run(t *testing.T, folder string, lacks Lacks) {
	store, err := storage.At(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		name  string
		check func(*suite, *testing.T)
	}{
		{"Create", (*suite).create}, {"WholeOrAbsent", (*suite).wholeOrAbsent},
		{"Conditions", (*suite).conditions}, {"Root", (*suite).root},
		{"RaceToCreate", (*suite).raceToCreate}, {"RaceToReplace", (*suite).raceToReplace}, {"Counter", (*suite).counter},
		{"Remove", (*suite).remove}, {"RaceToRemove", (*suite).raceToRemove}, {"Ranges", (*suite).ranges},
		{"OpenStays", (*suite).openStays},
		{"List", (*suite).list}, {"Stat", (*suite).stat}, {"Names", (*suite).names}, {"Move", (*suite).move},
		{"RemoveAll", (*suite).removeAll}, {"Cancelled", (*suite).cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.check(&suite{Store: store, folder: storage.Join(folder, "check"+strconv.Itoa(i)), lacks: lacks}, t)
		})
	}
}

func (s *suite) path(names ...string) string { return storage.Join(s.folder, names...) }

func text(content string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}
}

// put writes an object.
func (s *suite) put(t *testing.T, path, content string) storage.Info {
	t.Helper()
	info, err := s.Create(t.Context(), path, storage.If{}, text(content))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// get returns the content of an object, or "absent" if there is none.
func (s *suite) get(t *testing.T, path string) string {
	t.Helper()
	r, err := s.Open(t.Context(), path)
	if errors.Is(err, fs.ErrNotExist) {
		return "absent"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	info, err := r.Stat(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, info.Size)
	if n, err := r.ReadAt(data, 0); n != len(data) {
		t.Fatalf("%s: %d of %d bytes, %v", path, n, len(data), err)
	}
	return string(data)
}

// all returns the paths below folder, relative to it and sorted.
func (s *suite) all(t *testing.T, folder string, enter func(string) bool) []string {
	t.Helper()
	var rels []string
	for info, err := range s.List(t.Context(), folder, enter) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rel, ok := strings.CutPrefix(info.Path, folder+"/")
		if !ok {
			t.Errorf("List(%s) yields %s", folder, info.Path)
		}
		rels = append(rels, rel)
	}
	slices.Sort(rels)
	return rels
}

func (s *suite) nothingBut(t *testing.T, want ...string) {
	t.Helper()
	if got := s.all(t, s.folder, nil); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
}

func (s *suite) create(t *testing.T) {
	path := s.path("new", "folder", "x")
	large := strings.Repeat("a line\n", 1<<20)
	for _, content := range []string{"first", "second", "", large} {
		calls := 0
		info, err := s.Create(t.Context(), path, storage.If{}, func(w io.Writer) error {
			calls++
			for half := range slices.Chunk([]byte(content), max(1, len(content)/2)) {
				if _, err := w.Write(half); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || calls != 1 {
			t.Fatalf("%d calls of write, %v", calls, err)
		}
		there, err := s.Stat(t.Context(), path)
		if there.Modified.Sub(info.Modified).Abs() <= time.Second { // S3 does not answer an upload with the object's time
			there.Modified = info.Modified
		}
		if err != nil || !same(there, info) || info.Size != int64(len(content)) || info.Path != path {
			t.Errorf("Create returns %+v, Stat %+v, %v", info, there, err)
		}
		if got := s.get(t, path); got != content {
			t.Errorf("%d bytes, want %d", len(got), len(content))
		}
	}
	s.nothingBut(t, "new/folder/x")
}

func same(a, b storage.Info) bool {
	return a.Path == b.Path && a.Size == b.Size && a.Version == b.Version &&
		a.Type == b.Type && a.Modified.Equal(b.Modified)
}

func (s *suite) wholeOrAbsent(t *testing.T) {
	broken := errors.New("broken")
	for name, fail := range map[string]func(context.CancelFunc) error{
		"fails":     func(context.CancelFunc) error { return broken },
		"panics":    func(context.CancelFunc) error { panic(broken) },
		"ends":      func(context.CancelFunc) error { runtime.Goexit(); return nil },
		"cancelled": func(cancel context.CancelFunc) error { cancel(); return nil },
	} {
		for _, old := range []string{"absent", "old", "absent, unseen", "old, unseen"} {
			t.Run(name+" "+old, func(t *testing.T) {
				path := s.path(name, old)
				cond := storage.If{}
				if strings.HasSuffix(old, "unseen") {
					cond = storage.If{Root: s.folder, Unseen: true}
				}
				if !strings.HasPrefix(old, "absent") {
					s.put(t, path, old)
				}
				before := s.all(t, s.folder, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var err error
				done := make(chan bool)
				go func() {
					defer close(done)
					defer func() {
						if p := recover(); p != nil && p != any(broken) {
							t.Errorf("panic %v", p)
						}
					}()
					err = broken
					_, err = s.Create(ctx, path, cond, func(w io.Writer) error {
						if _, err := io.WriteString(w, "half"); err != nil {
							return err
						}
						return fail(cancel)
					})
				}()
				<-done
				if err == nil {
					t.Error("no error")
				}
				if got := s.get(t, path); got != old && (got != "absent" || !strings.HasPrefix(old, got)) {
					t.Errorf("now %q, want %q", got, old)
				}
				s.nothingBut(t, before...)
			})
		}
	}
}

func (s *suite) conditions(t *testing.T) {
	path := s.path("x")
	refused := func(cond storage.If) {
		t.Helper()
		before := s.get(t, path)
		if _, err := s.Create(t.Context(), path, cond, text("refused")); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("Create %+v: error %v, want ErrPrecondition", cond, err)
		}
		if got := s.get(t, path); got != before {
			t.Errorf("Create %+v: now %q, was %q", cond, got, before)
		}
	}
	refused(storage.If{Version: "1"})
	first, err := s.Create(t.Context(), path, storage.If{Absent: true}, text("one"))
	if err != nil {
		t.Fatal(err)
	}
	refused(storage.If{Absent: true})
	refused(storage.If{Version: first.Version + "0"})
	second, err := s.Create(t.Context(), path, storage.If{Version: first.Version}, text("two"))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.get(t, path); got != "two" {
		t.Errorf("now %q", got)
	}
	refused(storage.If{Version: first.Version})
	seen := map[string]bool{first.Version: true, second.Version: true}
	for last := second.Version; len(seen) < 100; { // of the same size, in quick succession
		info, err := s.Create(t.Context(), path, storage.If{Version: last}, text(fmt.Sprintf("%03d", len(seen))))
		if err != nil {
			t.Fatal(err)
		}
		if seen[info.Version] {
			t.Fatalf("version %s came back", info.Version)
		}
		last, seen[info.Version] = info.Version, true
	}
	s.nothingBut(t, "x")
}

// root checks that a Root that exists, or that a store without folders does not know, changes no condition.
func (s *suite) root(t *testing.T) {
	root := s.path("root")
	s.put(t, s.path("root", "x"), "x")
	first, err := s.Create(t.Context(), s.path("root", "a", "y"), storage.If{Absent: true, Root: root}, text("first"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Create(t.Context(), s.path("root", "a", "y"), storage.If{Version: first.Version, Root: root},
		text("second"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cond := range []storage.If{{Absent: true, Root: root}, {Version: first.Version, Root: root}} {
		if _, err := s.Create(t.Context(), s.path("root", "a", "y"), cond, text("refused")); !errors.Is(err,
			storage.ErrPrecondition) {
			t.Errorf("%+v: error %v, want ErrPrecondition", cond, err)
		}
	}
	if there, err := s.Stat(t.Context(), s.path("root", "a", "y")); err != nil || !same(there, second) {
		t.Errorf("there is %+v, %v, written was %+v", there, err, second)
	}
	s.nothingBut(t, "root/a/y", "root/x")
}

// race calls do many times concurrently and returns how many calls succeeded.
func race(t *testing.T, do func(i int) error) (won int) {
	t.Helper()
	const racers = 32
	var wg sync.WaitGroup
	start, errs := make(chan bool), make([]error, racers)
	for i := range racers {
		wg.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	wg.Wait()
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, storage.ErrPrecondition) {
			t.Error(err)
		}
	}
	return won
}

func (s *suite) raceToCreate(t *testing.T) {
	for round := range 20 {
		path := s.path(strconv.Itoa(round))
		var mu sync.Mutex
		winner := ""
		won := race(t, func(i int) error {
			name := fmt.Sprint("racer ", i)
			_, err := s.Create(t.Context(), path, storage.If{Absent: true}, text(name))
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				winner = name
			}
			return err
		})
		if got := s.get(t, path); won != 1 || got != winner {
			t.Fatalf("%d won, %s last, and it is %q", won, winner, got)
		}
	}
}

func (s *suite) raceToReplace(t *testing.T) {
	path := s.path("x")
	info := s.put(t, path, "old")
	for round := range 20 {
		var mu sync.Mutex
		next := info
		won := race(t, func(i int) error {
			// versions may depend on the text alone
			made, err := s.Create(t.Context(), path, storage.If{Version: info.Version}, text(fmt.Sprint(round, " ", i)))
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				next = made
			}
			return err
		})
		if there, err := s.Stat(t.Context(), path); won != 1 || err != nil || !same(there, next) {
			t.Fatalf("%d won, the winner wrote %+v, and there is %+v, %v", won, next, there, err)
		}
		info = next
	}
	s.nothingBut(t, "x")
}

// counter lets many add to one number: no addition may be lost.
func (s *suite) counter(t *testing.T) {
	path := s.path("x")
	s.put(t, path, "00")
	won := race(t, func(int) error {
		for {
			r, err := s.Open(t.Context(), path)
			if err != nil {
				return err
			}
			data := make([]byte, 2)
			_, err = r.ReadAt(data, 0)
			info, statErr := r.Stat(t.Context())
			r.Close()
			if err != nil && !errors.Is(err, io.EOF) || statErr != nil {
				return errors.Join(err, statErr)
			}
			n, err := strconv.Atoi(string(data))
			if err != nil {
				return err
			}
			_, err = s.Create(t.Context(), path, storage.If{Version: info.Version}, text(fmt.Sprintf("%02d", n+1)))
			if !errors.Is(err, storage.ErrPrecondition) {
				return err
			}
		}
	})
	if got := s.get(t, path); got != strconv.Itoa(won) {
		t.Errorf("%d added 1, and it is %s", won, got)
	}
}

func (s *suite) remove(t *testing.T) {
	path := s.path("x")
	if err := s.Remove(t.Context(), path, storage.If{}); err != nil {
		t.Errorf("nothing there: %v", err)
	}
	first := s.put(t, path, "one")
	second := s.put(t, path, "second")
	if s.lacks.ConditionalRemove {
		if err := s.Remove(t.Context(), path, storage.If{Version: second.Version}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("error %v, want ErrUnsupported", err)
		}
	} else {
		if err := s.Remove(t.Context(), path, storage.If{Version: first.Version}); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("an older version: error %v, want ErrPrecondition", err)
		}
		if got := s.get(t, path); got != "second" {
			t.Errorf("now %q", got)
		}
		if err := s.Remove(t.Context(), path, storage.If{Version: second.Version}); err != nil {
			t.Error(err)
		}
		if err := s.Remove(t.Context(), path, storage.If{Version: second.Version}); !errors.Is(err, storage.ErrPrecondition) {
			t.Errorf("removed before: error %v, want ErrPrecondition", err)
		}
		s.nothingBut(t)
		s.put(t, path, "third")
	}
	if err := s.Remove(t.Context(), path, storage.If{}); err != nil {
		t.Error(err)
	}
	s.nothingBut(t)
}

func (s *suite) raceToRemove(t *testing.T) {
	if s.lacks.ConditionalRemove {
		t.Skip("this store cannot")
	}
	path := s.path("x")
	for range 20 {
		info := s.put(t, path, "x")
		if won := race(t, func(int) error {
			return s.Remove(t.Context(), path,
				storage.If{Version: info.Version})
		}); won != 1 {
			t.Fatalf("%d removed it", won)
		}
	}
}

func (s *suite) ranges(t *testing.T) {
	const content = "0123456789"
	s.put(t, s.path("x"), content)
	r, err := s.Open(t.Context(), s.path("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for offset := range len(content) + 3 {
		for length := range len(content) + 3 {
			got := make([]byte, length)
			n, err := r.ReadAt(got, int64(offset))
			want := content[min(offset, len(content)):min(offset+length, len(content))]
			if string(got[:n]) != want || n < length && !errors.Is(err, io.EOF) ||
				n == length && err != nil && (!errors.Is(err, io.EOF) || offset+length < len(content)) {
				t.Errorf("ReadAt(%d bytes, %d) = %q, %v, want %q", length, offset, got[:n], err, want)
			}
		}
	}
	var wg sync.WaitGroup
	for i := range len(content) {
		wg.Go(func() {
			got := make([]byte, 1)
			if _, err := r.ReadAt(got, int64(i)); err != nil && !errors.Is(err, io.EOF) || got[0] != content[i] {
				t.Errorf("at %d: %q, %v", i, got, err)
			}
		})
	}
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// openStays checks that an open object stays unchanged, or cannot be read, when another takes its path.
func (s *suite) openStays(t *testing.T) {
	before := s.put(t, s.path("x"), "before")
	r, err := s.Open(t.Context(), s.path("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	after := s.put(t, s.path("x"), "behind")
	if before.Version == after.Version {
		t.Error("two states have one version")
	}
	if info, err := r.Stat(t.Context()); err == nil && !same(info, before) {
		t.Errorf("open is %+v, was %+v", info, before)
	}
	data := make([]byte, 6)
	if n, err := r.ReadAt(data, 0); string(data) != "before" && (err == nil || n > 0) {
		t.Errorf("read %q", data[:n])
	}
}

func (s *suite) list(t *testing.T) {
	want := []string{".hidden", "_x", "a", "a-b/c", "d/e", "d/f/g", "d/f/h/i"}
	for _, name := range want {
		s.put(t, s.path(name), name)
	}
	for i := range 3 { // names that begin like the folder's
		s.put(t, s.folder+strconv.Itoa(i)+"/no", "")
	}
	s.nothingBut(t, want...)
	var asked []string
	got := s.all(t, s.folder, func(rel string) bool { asked = append(asked, rel); return rel != "d/f" })
	if want := []string{".hidden", "_x", "a", "a-b/c", "d/e"}; !slices.Equal(got, want) {
		t.Errorf("without d/f: %q, want %q", got, want)
	}
	slices.Sort(asked)
	if want := []string{"a-b", "d", "d/f"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if got := s.all(t, s.folder, func(string) bool { return false }); !slices.Equal(got, []string{".hidden", "_x", "a"}) {
		t.Errorf("one level: %q", got)
	}
	if got := s.all(t, s.path("d"), nil); !slices.Equal(got, []string{"e", "f/g", "f/h/i"}) {
		t.Errorf("below d: %q", got)
	}
	for info, err := range s.List(t.Context(), s.path("a-b"), nil) {
		there, statErr := s.Stat(t.Context(), s.path("a-b/c"))
		if err != nil || statErr != nil || !same(info, there) {
			t.Errorf("listed %+v, %v, Stat %+v, %v", info, err, there, statErr)
		}
	}
	for range s.List(t.Context(), s.folder, nil) {
		break
	}
	for _, missing := range []string{s.path("missing"), ""} { // "" is not the root of the store
		calls := 0
		for _, err := range s.List(t.Context(), missing, nil) {
			if calls++; !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("missing %q: error %v, want fs.ErrNotExist", missing, err)
			}
		}
		if calls != 1 {
			t.Errorf("missing %q: %d errors", missing, calls)
		}
	}
}

func (s *suite) stat(t *testing.T) {
	s.put(t, s.path("folder", "x"), "x")
	for _, path := range []string{s.path("missing"), s.path("folder"), s.path("folder", "y"), s.path("f")} {
		if _, err := s.Stat(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat(%s): error %v, want fs.ErrNotExist", path, err)
		}
	}
	if _, err := s.Open(t.Context(), s.path("missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: error %v, want fs.ErrNotExist", err)
	}
}

func (s *suite) names(t *testing.T) {
	names := []string{
		"[1]", "a*b?", "a b", " c ", "ü 文書 ﷺ", "e\u0301", "é", "%41+&#", "quote'\"", "{a,b}",
		"back\\slash", "new\nline", "dot.", "~",
		strings.Repeat("n", 200) + ".jsonl", strings.Repeat("文", 60),
	}
	if s.lacks.LineBreaks {
		names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "\n") })
	}
	for i, name := range names {
		s.put(t, s.path(name, "x"), fmt.Sprint(i))
		s.put(t, s.path("files", name), fmt.Sprint(i))
	}
	for i, name := range names {
		if got := s.get(t, s.path(name, "x")); got != fmt.Sprint(i) {
			t.Errorf("below %q: %q, want %d", name, got, i)
		}
		if got := s.get(t, s.path("files", name)); got != fmt.Sprint(i) {
			t.Errorf("%q: %q, want %d", name, got, i)
		}
		if got := s.all(t, s.path(name), nil); !slices.Equal(got, []string{"x"}) {
			t.Errorf("below %q there is %q", name, got)
		}
	}
	slices.Sort(names)
	if got := s.all(t, s.path("files"), nil); !slices.Equal(got, names) {
		t.Errorf("listed %q, want %q", got, names)
	}
}

func (s *suite) move(t *testing.T) {
	moved := func(from, to string) {
		t.Helper()
		if err := s.Move(t.Context(), s.path(from), s.path(to)); err != nil {
			t.Error(err)
		}
	}
	s.put(t, s.path("a"), "a")
	moved("a", "new/folder/b")
	s.nothingBut(t, "new/folder/b")
	s.put(t, s.path("old"), "old")
	moved("new/folder/b", "old")
	if got := s.get(t, s.path("old")); got != "a" {
		t.Errorf("replaced by %q", got)
	}
	s.put(t, s.path("from", "x"), "x")
	s.put(t, s.path("from", "deep", "y"), "y")
	s.put(t, s.path("from2"), "another")
	moved("from", "to/it")
	s.nothingBut(t, "from2", "old", "to/it/deep/y", "to/it/x")
	if got := s.get(t, s.path("to/it/deep/y")); got != "y" {
		t.Errorf("moved %q", got)
	}
	for _, from := range []string{"missing", "from", "missing/deeper"} {
		if err := s.Move(t.Context(), s.path(from), s.path("elsewhere")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Move(%s): error %v, want fs.ErrNotExist", from, err)
		}
	}
	s.nothingBut(t, "from2", "old", "to/it/deep/y", "to/it/x")
}

func (s *suite) removeAll(t *testing.T) {
	for _, name := range []string{"x/a", "x/b/c", "x-", "xx", "y"} {
		s.put(t, s.path(name), name)
	}
	for _, name := range []string{"x", "y", "missing", "x"} {
		if err := s.RemoveAll(t.Context(), s.path(name)); err != nil {
			t.Error(err)
		}
	}
	s.nothingBut(t, "x-", "xx")
}

func (s *suite) cancelled(t *testing.T) {
	s.put(t, s.path("x"), "x")
	s.put(t, s.path("folder", "y"), "y")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]func() error{
		"List": func() (err error) {
			for _, err = range s.List(ctx, s.folder, nil) {
			}
			return err
		},
		"Stat":      func() error { _, err := s.Stat(ctx, s.path("x")); return err },
		"Open":      func() error { _, err := s.Open(ctx, s.path("x")); return err },
		"Create":    func() error { _, err := s.Create(ctx, s.path("z"), storage.If{}, text("z")); return err },
		"Remove":    func() error { return s.Remove(ctx, s.path("x"), storage.If{}) },
		"RemoveAll": func() error { return s.RemoveAll(ctx, s.path("folder")) },
		"Move":      func() error { return s.Move(ctx, s.path("x"), s.path("z")) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", name, err)
		}
	}
	s.nothingBut(t, "folder/y", "x")
	if got := s.get(t, s.path("x")); got != "x" {
		t.Errorf("x is %q", got)
	}
}

// RunFolder returns a new local folder, made as the launcher of a run makes it for its workers.
func RunFolder(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	if err := storage.Begin(t.Context(), folder, false); err != nil {
		t.Fatal(err)
	}
	return folder
}
