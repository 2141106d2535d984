package neardup_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
)

// pages returns settings for the bundled corpus.
func pages(t *testing.T) (neardup.Spec, neardup.How) {
	spec := neardup.Default()
	spec.Inputs = []string{"testdata/tldr"}
	return spec, neardup.How{Output: filepath.Join(t.TempDir(), "out")}
}

func manifest(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, output.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Several runs at once, with any How, have the same bytes, and leave the process unchanged.
func TestRuns(t *testing.T) {
	procs, limit := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1)
	var all sync.WaitGroup
	spec, first := pages(t)
	hows := []neardup.How{first}
	for _, how := range []neardup.How{{Workers: 1, Memory: 256e6}, {Resume: "always", TempDir: t.TempDir()}} {
		_, out := pages(t)
		how.Output = out.Output
		hows = append(hows, how)
	}
	results := make([]*neardup.Result, len(hows))
	for i, how := range hows {
		all.Go(func() {
			var err error
			if results[i], err = neardup.Run(t.Context(), spec, how); err != nil {
				t.Errorf("%+v: %v", how, err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	want := manifest(t, first.Output)
	for i, how := range hows {
		if got := manifest(t, how.Output); got != want {
			t.Errorf("%+v: another manifest:\n%s", how, cmp.Diff(want, got))
		}
		counts := results[i].Record.Counts
		rows := [...]int64{
			count(t, results[i].Pairs(t.Context())), count(t, results[i].Removed(t.Context())), count(t, results[i].Rejected(t.Context())),
		}
		if rows != [...]int64{counts.Pairs, counts.Removed, counts.NotCompared + counts.Unreadable} || counts.Pairs == 0 {
			t.Errorf("%+v: %v rows, and run.json has %+v", how, rows, counts)
		}
		if n := count(t, results[i].Clusters(t.Context())); n < 2*counts.Clusters {
			t.Errorf("%+v: %d documents in %d clusters", how, n, counts.Clusters)
		}
	}
	if runtime.GOMAXPROCS(0) != procs || debug.SetMemoryLimit(-1) != limit {
		t.Error("the process is not as it was")
	}
}

func count[T any](t *testing.T, rows iter.Seq2[T, error]) (n int64) {
	t.Helper()
	for _, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// With Process, the run keeps the settings of the process.
func TestProcess(t *testing.T) {
	procs, limit := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1)
	defer func() {
		runtime.GOMAXPROCS(procs)
		debug.SetMemoryLimit(limit)
	}()
	spec, how := pages(t)
	how.Process, how.Workers, how.Memory = true, 1, 300e6
	if _, err := neardup.Run(t.Context(), spec, how); err != nil {
		t.Fatal(err)
	}
	if n, set := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != 1 || set >= 300e6 || set < 200e6 {
		t.Errorf("GOMAXPROCS is %d, the memory limit %d", n, set)
	}
}

// An invalid field is an error with its name and status 2, and nothing is written.
func TestWrongSpec(t *testing.T) {
	spec, how := pages(t)
	spec.Shingle = "word:0"
	for name, do := range map[string]func() error{
		"Run":  func() error { _, err := neardup.Run(t.Context(), spec, how); return err },
		"Plan": func() error { _, err := neardup.Plan(t.Context(), spec, how); return err },
	} {
		var status interface{ Status() int }
		if err := do(); !errors.As(err, &status) || status.Status() != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(how.Output); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is written: %v", err)
	}
}

// A run whose context ends returns its cause, and leaves nothing.
func TestCancelled(t *testing.T) {
	because := errors.New("the user has gone home")
	spec, how := pages(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	spec.Inputs = nil
	_, err := neardup.RunDocuments(ctx, spec, how, func(yield func(neardup.Document, error) bool) {
		for yield(neardup.Document{ID: "x", Text: "a text"}, nil) {
			if n++; n == 3 {
				cancel(because)
			}
		}
	})
	if !errors.Is(err, because) {
		t.Errorf("error %v", err)
	}
	spec, how = pages(t)
	if _, err := neardup.Run(ctx, spec, how); !errors.Is(err, because) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(how.Output)); len(left) > 0 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
}

// The run returns an error from the documents.
func TestBrokenDocuments(t *testing.T) {
	broken := errors.New("the database has gone")
	_, how := pages(t)
	_, err := neardup.RunDocuments(t.Context(), neardup.Default(), how, func(yield func(neardup.Document, error) bool) {
		_ = yield(neardup.Document{ID: "1", Text: "a text"}, nil) && yield(neardup.Document{}, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// A panic of the documents' iterator, and its end of the goroutine, leave nothing in the folder for temporary files.
func TestBrokenOff(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for name, end := range map[string]func(){"panic": func() { panic("the caller's") }, "Goexit": runtime.Goexit} {
		_, how := pages(t)
		ended := make(chan any)
		go func() {
			defer func() { ended <- recover() }()
			_, err := neardup.RunDocuments(t.Context(), neardup.Default(), how, func(yield func(neardup.Document, error) bool) {
				yield(neardup.Document{ID: "1", Text: "a text"}, nil)
				if files, err := filepath.Glob(filepath.Join(temp, "neardup-*", "*")); len(files) == 0 || err != nil {
					t.Errorf("%s: the documents are not in the system's folder: %v", name, err)
				}
				end()
			})
			t.Errorf("%s: it returns %v", name, err)
		}()
		if p := <-ended; (p != nil) != (name == "panic") {
			t.Errorf("%s: the panic is %v", name, p)
		}
		for _, folder := range []string{temp, filepath.Dir(how.Output)} {
			if left, err := os.ReadDir(folder); len(left) > 0 || err != nil {
				t.Errorf("%s: left are %v, %v", name, left, err)
			}
		}
	}
}

// Text and ID of the Spec name the columns of the documents to compare with.
func TestDocumentsAgainst(t *testing.T) {
	against := filepath.Join(t.TempDir(), "known.jsonl")
	if err := os.WriteFile(against, []byte(`{"key":"k1","body":"a text of many words"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	spec, how := neardup.Default(), neardup.How{Output: filepath.Join(t.TempDir(), "out")}
	spec.Against, spec.Text, spec.ID = []string{against}, []string{"body"}, "key"
	result, err := neardup.RunDocuments(t.Context(), spec, how, func(yield func(neardup.Document, error) bool) {
		yield(neardup.Document{ID: "a", Text: "a text of many words"}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for removed, err := range result.Removed(t.Context()) {
		if err != nil || removed.ID != "a" || removed.KeptID != "k1" {
			t.Errorf("%+v, %v", removed, err)
		}
	}
	if n := result.Record.Counts.Removed; n != 1 {
		t.Errorf("%d documents are removed", n)
	}
}

// Documents are compared with those of an index, whose columns are its own.
func TestDocumentsOfIndex(t *testing.T) {
	spec := neardup.Default()
	spec.Against, spec.Append = []string{filepath.Join(t.TempDir(), "index")}, true
	if _, err := dedup.CreateIndex(t.Context(), spec.Against[0], neardup.Default(), 1000); err != nil {
		t.Fatal(err)
	}
	for night, id := range []string{"a", "b"} {
		how := neardup.How{Output: filepath.Join(t.TempDir(), "out")}
		result, err := neardup.RunDocuments(t.Context(), spec, how, func(yield func(neardup.Document, error) bool) {
			yield(neardup.Document{ID: id, Text: "a text of many words"}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := result.Record.Counts.Removed; n != int64(night) {
			t.Errorf("night %d: %d documents are removed", night, n)
		}
	}
}

// Documents are read as given, whatever the Spec says about files; fields that cannot apply are an error.
func TestDocumentsAsGiven(t *testing.T) {
	given := func(ids ...string) iter.Seq2[neardup.Document, error] {
		return func(yield func(neardup.Document, error) bool) {
			for _, id := range ids {
				if !yield(neardup.Document{ID: id, Text: "<a text> of é, and of " + id[:1]}, nil) {
					return
				}
			}
		}
	}
	spec, how := neardup.Default(), neardup.How{Output: filepath.Join(t.TempDir(), "out")}
	spec.Format, spec.Text, spec.ID, spec.Encoding, spec.NoHeader = "csv", []string{"body"}, "key", "utf-16le", true
	result, err := neardup.RunDocuments(t.Context(), spec, how, given("a1", "a2", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for removed, err := range result.Removed(t.Context()) {
		if err != nil || removed.ID != "a2" || removed.KeptID != "a1" {
			t.Errorf("%+v, %v", removed, err)
		}
	}
	if n := result.Record.Counts; n.Records != 3 || n.Removed != 1 {
		t.Errorf("counts %+v", n)
	}
	_, how = pages(t)
	if _, err := neardup.RunDocuments(t.Context(), neardup.Default(), how, given("a", "b\xff")); err == nil ||
		!strings.Contains(err.Error(), `"b\xff" is not UTF-8`) {
		t.Errorf("error %v", err)
	}
	spec = neardup.Default()
	spec.Include = []string{"*.txt"}
	if _, err := neardup.RunDocuments(t.Context(), spec, how, given("a")); err == nil {
		t.Error("patterns of files are taken")
	}
}

// Inputs that only the program can read are an error.
func TestInputs(t *testing.T) {
	for _, change := range []func(*neardup.Spec){
		func(s *neardup.Spec) { s.Inputs = []string{"-"} },
		func(s *neardup.Spec) { s.Inputs, s.InputsFrom = nil, "list" },
		func(s *neardup.Spec) { s.InputsFrom = "list" },
	} {
		spec, how := pages(t)
		change(&spec)
		var status interface{ Status() int }
		if _, err := neardup.Run(t.Context(), spec, how); !errors.As(err, &status) || status.Status() != 2 {
			t.Errorf("%v", err)
		}
	}
	spec, how := pages(t)
	spec.Inputs, spec.NamedInputs = nil, spec.Inputs
	if planned, err := neardup.Plan(t.Context(), spec, how); err != nil || planned.Forecast.Documents < 1000 {
		t.Errorf("%+v, %v", planned, err)
	}
}

// A value of Resume that the program refuses is an error, and nothing is written.
func TestResume(t *testing.T) {
	spec, _ := pages(t)
	documents := func(h neardup.How) error {
		_, err := neardup.RunDocuments(t.Context(), neardup.Default(), h, func(func(neardup.Document, error) bool) {})
		return err
	}
	for value, do := range map[string]func(neardup.How) error{
		"x":    func(h neardup.How) error { _, err := neardup.Run(t.Context(), spec, h); return err },
		"Auto": documents, "always": documents,
	} {
		_, how := pages(t)
		how.Resume = value
		var status interface{ Status() int }
		if err := do(how); !errors.As(err, &status) || status.Status() != 2 || !strings.Contains(err.Error(), "--resume") || !strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", value, err)
		}
		if _, err := os.Stat(how.Output); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("something is written: %v", err)
		}
	}
}

// What a context ends returns its cause.
func TestCause(t *testing.T) {
	spec, how := pages(t)
	result, err := neardup.Run(t.Context(), spec, how)
	if err != nil {
		t.Fatal(err)
	}
	because := errors.New("the user has gone home")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	from := neardup.How{Output: filepath.Join(t.TempDir(), "again"), From: how.Output}
	for name, do := range map[string]func() error{
		"Open": func() error { _, err := neardup.Open(ctx, how.Output); return err },
		"From": func() error { _, err := neardup.Run(ctx, neardup.Default(), from); return err },
		"Plan": func() error { _, err := neardup.Plan(ctx, neardup.Default(), from); return err },
		"RunDocuments": func() error {
			_, err := neardup.RunDocuments(ctx, neardup.Default(), from, func(func(neardup.Document, error) bool) {})
			return err
		},
		"Pairs":    func() error { return last(result.Pairs(ctx)) },
		"Clusters": func() error { return last(result.Clusters(ctx)) },
		"Removed":  func() error { return last(result.Removed(ctx)) },
		"Rejected": func() error { return last(result.Rejected(ctx)) },
	} {
		if err := do(); !errors.Is(err, because) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// last returns the error that ends an iteration.
func last[T any](rows iter.Seq2[T, error]) (ended error) {
	for _, err := range rows {
		ended = err
	}
	return ended
}

// A path that is in no store is a mistake of the caller.
func TestOpenNowhere(t *testing.T) {
	for _, dir := range []string{"s3://", "s3://bucket/out", filepath.Join(t.TempDir(), "missing")} {
		var status interface{ Status() int }
		if _, err := neardup.Open(t.Context(), dir); !errors.As(err, &status) || status.Status() != 2 {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// A plan says what a run would do, and writes nothing.
func TestPlan(t *testing.T) {
	spec, how := pages(t)
	planned, err := neardup.Plan(t.Context(), spec, how)
	if err != nil {
		t.Fatal(err)
	}
	if f := planned.Forecast; f == nil || f.Documents < 1000 || planned.Chosen.Bands == 0 {
		t.Errorf("planned is %+v", planned)
	}
	if _, err := os.Stat(how.Output); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is written: %v", err)
	}
}

// The page From Go shows lines of the example, which is run.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("docs/from-go.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, found := strings.Cut(code, "```")
	lines := strings.Split(strings.TrimSpace(code), "\n")
	if !found || len(lines) < 8 {
		t.Fatalf("the page shows %q", code)
	}
	left := string(example)
	for _, line := range lines {
		var there bool
		if _, left, there = strings.Cut(left, strings.TrimSpace(line)+"\n"); !there {
			t.Errorf("%q is not in the example, or not in this order", line)
		}
	}
}

// From decides again like a whole run with the same bands.
func TestFrom(t *testing.T) {
	removed := func(threshold float64, how neardup.How) int64 {
		s := neardup.Default()
		s.Threshold = threshold
		if how.From == "" {
			s.Inputs, s.Bands, s.Rows = []string{"testdata/tldr"}, 30, 3
		}
		r, err := neardup.Run(t.Context(), s, how)
		if err != nil {
			t.Fatal(err)
		}
		return r.Record.Counts.Removed
	}
	first, again := t.TempDir(), neardup.How{Output: filepath.Join(t.TempDir(), "again")}
	all, want := removed(.5, neardup.How{Output: first}), removed(.9, neardup.How{Output: t.TempDir()})
	again.From = first
	if got := removed(.9, again); got != want || got == all {
		t.Errorf("%d documents are removed, want %d of %d", got, want, all)
	}
}
