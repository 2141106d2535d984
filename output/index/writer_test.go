package index_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/index"
	"github.com/neardup/neardup/records"
)

// pended returns an index in dir, locked by a run that has published an output and recorded an empty segment.
func pended(t *testing.T, dir string) *index.Writer {
	t.Helper()
	ctx, out := t.Context(), t.TempDir()
	if _, err := index.Create(ctx, dir, index.Generation{}); err != nil {
		t.Fatal(err)
	}
	w, err := index.Lock(ctx, dir, "run", storage.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.Pend(ctx, index.Segment{Name: "run", Runs: []index.Added{{Run: "run", Output: out}}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "_SUCCESS"), []byte(`{"run":"run","manifest":""}`), 0o666); err != nil {
		t.Fatal(err)
	}
	return w
}

// has returns an error unless an index is intact and has the run once.
func has(ctx context.Context, dir string) error {
	x, err := index.Open(ctx, dir)
	if err == nil && len(x.Segments) != 1 {
		err = fmt.Errorf("it has %d segments", len(x.Segments))
	}
	return err
}

// At whatever moment a change of an index is cancelled, the index stays intact, and is complete once the run has closed
// it.
func TestChangeCancelled(t *testing.T) {
	for n, ended := 1, true; ended; n++ {
		dir := t.TempDir()
		w := pended(t, dir)
		ctx, cancel := storagetest.EndsAt(t.Context(), n)
		err := w.Recover(ctx)
		ended = ctx.Err() != nil
		cancel()
		if err == nil && ended { // the last question came too late
			continue
		}
		if err := errors.Join(w.Close(t.Context()), has(t.Context(), dir)); err != nil {
			t.Fatalf("cancelled by question %d: %v", n, err)
		}
	}
}

// stored writes a segment with one document of a table, and returns it.
func stored(t *testing.T, w *index.Writer, name string, table output.Part, document string) index.Segment {
	t.Helper()
	folder := w.Folder(name)
	if err := storage.Begin(t.Context(), folder.Dir, false); err != nil {
		t.Fatal(err)
	}
	file, err := folder.Write(t.Context(), output.TableFile(table, 0, 1), true, func(to io.Writer) error {
		return parquet.Write(to, []records.Stored{{Name: document, Text: []byte("text")}})
	})
	if err != nil {
		t.Fatal(err)
	}
	file.Path, file.Rows = index.FileOf(name, file.Path), 1
	run := index.Added{Run: name, Kept: 1}
	if table == output.Removed {
		run = index.Added{Run: name, Removed: 1}
	}
	return index.Segment{Name: name, Runs: []index.Added{run}, Files: []records.ManifestFile{file}}
}

// At whatever moment the removal of a run is cancelled, what it has rewritten so far is removed, except just before the
// change. The rewritten segment of a run that was alone in its own has no documents, and is removed in any case.
func TestDropCancelled(t *testing.T) {
	for n, ended := 1, true; ended; n++ {
		dir := t.TempDir()
		w := &index.Writer{Index: &index.Index{Dir: dir}}
		first := index.Generation{Segments: []index.Segment{
			stored(t, w, "one", output.Kept, `{"id":"a","source":"f","position":1}`),
			stored(t, w, "two", output.Removed, `{"id":"b","source":"g","position":1,"fell":{"id":"a","source":"f","position":1}}`),
		}}
		_, err := index.Create(t.Context(), dir, first)
		if err == nil {
			w, err = index.Lock(t.Context(), dir, "run", storage.LockOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := storagetest.EndsAt(t.Context(), n)
		_, _ = w.Drop(ctx, "one")
		ended = ctx.Err() != nil
		cancel()
		if err := w.Close(t.Context()); err != nil {
			t.Fatalf("cancelled by question %d: %v", n, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "segments", "run-0", "*")); err != nil || len(left) > 0 {
			t.Fatalf("cancelled by question %d: generation %d, left %q, error %v", n, w.Number, left, err)
		}
	}
}

// unheard is a store that loses the answer to the first conditional request to create a file with this name, and
// refuses its repetition.
type unheard struct {
	storagetest.Memory
	name string
}

func (u *unheard) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (storage.Info, error) {
	info, err := u.Memory.Create(ctx, path, cond, write)
	if err == nil && u.name != "" && strings.Contains(path, u.name) && cond != (storage.If{}) {
		u.name = ""
		return u.Memory.Create(ctx, path, cond, write)
	}
	return info, err
}

// A change whose answer is lost is made once.
func TestChangeUnheard(t *testing.T) {
	for scheme, name := range map[string]string{"unheard-generation": "/generations/", "unheard-current": "/current.json"} {
		store := &unheard{}
		storage.Register(scheme+"://", store)
		dir := scheme + "://b/index"
		w := pended(t, dir)
		store.name = name
		if err := errors.Join(w.Close(t.Context()), has(t.Context(), dir)); err != nil || w.Number != 2 {
			t.Errorf("%s: generation %d, error %v", name, w.Number, err)
		}
	}
}

// overtaken is a store on which another writer changes the index just before a new generation is created.
type overtaken struct {
	storagetest.Memory
	before func()
}

func (o *overtaken) Create(ctx context.Context, path string, cond storage.If, write func(io.Writer) error) (storage.Info, error) {
	if before := o.before; before != nil && strings.Contains(path, "/generations/") {
		o.before = nil
		before()
	}
	return o.Memory.Create(ctx, path, cond, write)
}

// A writer that wakes up after another one has taken over leaves the index of that one intact.
func TestChangeOvertaken(t *testing.T) {
	store := &overtaken{}
	storage.Register("overtaken://", store)
	dir := "overtaken://b/index"
	late := pended(t, dir)
	var failed error
	store.before = func() {
		w, err := index.Lock(t.Context(), dir, "other", storage.LockOptions{Force: true})
		if err == nil {
			err = w.Close(t.Context())
		}
		failed = errors.Join(err, has(t.Context(), dir))
	}
	if late.Recover(t.Context()) == nil {
		t.Error("the writer that was overtaken is told that it changed the index")
	}
	if err := errors.Join(failed, has(t.Context(), dir)); err != nil {
		t.Error(err)
	}
}

// A run whose index another has taken over records no segment, whose files the other has removed.
func TestPendOvertaken(t *testing.T) {
	storage.Register("pend://", &storagetest.Memory{})
	const dir = "pend://b/index"
	if _, err := index.Create(t.Context(), dir, index.Generation{}); err != nil {
		t.Fatal(err)
	}
	w, err := index.Lock(t.Context(), dir, "run", storage.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := index.Lock(t.Context(), dir, "other", storage.LockOptions{Force: true})
	if err = errors.Join(err, other.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	err = w.Pend(t.Context(), index.Segment{Name: "run", Runs: []index.Added{{Run: "run", Output: t.TempDir()}}})
	if !errors.As(err, new(*storage.FencedError)) {
		t.Errorf("error %v", err)
	}
	if names, err := storage.NamesIn(t.Context(), storage.Join(dir, "pending")); err != nil || len(names) > 0 {
		t.Errorf("recorded %q, error %v", names, err)
	}
}

// Files that killed writers were writing hinder nobody.
func TestKilledWriting(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "generations"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"", "generations"} {
		if err := os.WriteFile(filepath.Join(dir, folder, ".neardup-"+rand.Text()), []byte(`{"format":`), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := index.Create(t.Context(), dir, index.Generation{}); err != nil {
		t.Fatal(err)
	}
	w, err := index.Lock(t.Context(), dir, "run", storage.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Prune(t.Context(), 0)
	if err = errors.Join(err, w.Close(t.Context())); err != nil {
		t.Error(err)
	}
}
