package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// similar has two similar documents, so that there is an example to show.
const similar = `{"id": "a", "text": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"}
{"id": "b", "text": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"}
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// broken returns a pipe without a reader.
func broken(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// full returns a file to which nothing can be written.
func full(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if os.IsNotExist(err) {
		t.Skip("this system has none")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Once its output is published, a run has succeeded, even if its messages cannot be written.
func TestStdoutAfterCommit(t *testing.T) {
	for name, stdout := range map[string]func(*testing.T) *os.File{"broken": broken, "full": full} {
		t.Run(name, func(t *testing.T) {
			for _, flag := range []string{"", "--json"} {
				p := prepare(t, "neardup", slices.DeleteFunc([]string{"dedup", "in.jsonl", "-o", "out", flag}, func(s string) bool { return s == "" })...)
				write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
				p.Stdout = stdout(t)
				stderr, status := p.start().ended()
				if status != 0 || !strings.Contains(stderr, "neardup: warning: write /dev/stdout: ") || !strings.Contains(stderr, "the run is complete; see out/run.json") {
					t.Errorf("%s: status %d: %s", flag, status, stderr)
				}
				if _, err := output.Open(t.Context(), filepath.Join(p.Dir, "out")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	p := prepare(t, "sh", "-c", "exec neardup dedup in.jsonl -o out >&-")
	write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
	if stderr, status := p.start().ended(); status != 0 {
		t.Errorf("closed: status %d: %s", status, stderr)
	}
}

// If nothing is committed, a result that cannot be written is a failure: query and compare end like other tools, by
// SIGPIPE.
func TestStdoutWithoutCommit(t *testing.T) {
	for _, c := range []struct {
		command string
		stdout  func(*testing.T) *os.File
		status  int
		signal  syscall.Signal
	}{
		{"dedup in.jsonl --dry-run", broken, -1, syscall.SIGPIPE},
		{"plan in.jsonl", broken, -1, syscall.SIGPIPE},
		{"dedup in.jsonl --dry-run --json", full, 1, -1},
		{"query in.jsonl --of a", full, 1, -1},
		{"query in.jsonl --of a", broken, -1, syscall.SIGPIPE},
		{"compare in.jsonl", broken, -1, syscall.SIGPIPE},
	} {
		t.Run(c.command, func(t *testing.T) {
			p := prepare(t, "neardup", strings.Fields(c.command)...)
			write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
			p.Stdout = c.stdout(t)
			if stderr, status := p.start().ended(); status.ExitStatus() != c.status || status.Signal() != c.signal {
				t.Errorf("exit status %d, signal %v, want %d, %v: %s", status.ExitStatus(), status.Signal(), c.status, c.signal, stderr)
			}
		})
	}
}

// panicking is a store that panics when a file is opened.
type panicking struct{ storage.Store }

// A panic of the Parquet library over the example is an error like others, of which the run warns.
func TestPanicOverExample(t *testing.T) {
	storage.Register("panicking://", panicking{})
	var c dedupCmd
	c.Output, c.Write = "panicking://out", []string{string(output.Pairs)}
	if example, err := c.example(t.Context(), &records.Run{Counts: records.Counts{NearPairs: 1}}); example != nil || err == nil {
		t.Errorf("%v, %v", example, err)
	}
}

// TestExampleOfThePage: the example has the texts that were read when the page was drawn, and no file is read again.
func TestExampleOfThePage(t *testing.T) {
	p := prepare(t, "neardup", "dedup", "in.jsonl", "--output", "out")
	write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
	if stderr, status := p.start().ended(); status.ExitStatus() != 0 {
		t.Fatal(stderr)
	}
	var c dedupCmd
	c.Output, c.Write = filepath.Join(p.Dir, "out"), []string{string(output.Pairs)}
	f, err := output.Open(t.Context(), c.Output)
	if err != nil {
		t.Fatal(err)
	}
	err = c.draw(t.Context(), io.Discard, f, func(_ context.Context, of []records.Place) (map[records.Place]string, error) {
		return map[records.Place]string{of[0]: "held"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if example, err := c.example(t.Context(), &f.Run); err != nil || example.TextA != "held" {
		t.Errorf("%+v, %v", example, err)
	}
}

// With --json, failures are printed like successes: status, error and exit, and the whole record if there is one.
func TestFailureAsJSON(t *testing.T) {
	for command, want := range map[string]struct {
		exit   int
		record bool
	}{
		"dedup in.jsonl -o out --json --treshold 1":      {2, false},
		"dedup in.jsonl --json":                          {2, false},
		"dedup in.jsonl --config json.toml":              {2, false},
		"dedup missing.jsonl -o out --json":              {2, true},
		"dedup missing.jsonl -o out --config json.toml":  {2, true},
		"dedup in.jsonl -o folder --json":                {3, true},
		"dedup in.jsonl -o folder --json --dry-run":      {3, true},
		"dedup in.jsonl bad.jsonl -o out --json":         {4, true},
		"dedup in.jsonl -o out --json --runner=flink":    {2, false},
		"query in.jsonl --of nobody --json":              {2, false},
		"query in.jsonl --of a --json -o folder/x.jsonl": {3, false},
		"compare in.jsonl --methods minhash --json":      {2, false},
		"compare missing.jsonl --json":                   {2, false},
	} {
		p := prepare(t, "neardup", strings.Fields(command)...)
		if err := os.Mkdir(filepath.Join(p.Dir, "folder"), 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"in.jsonl": similar, "folder/x.jsonl": similar, "bad.jsonl": "{", "json.toml": "json = true"} {
			write(t, filepath.Join(p.Dir, name), text)
		}
		stderr, status := p.start().ended()
		if err := failure(p, stderr, status, want.exit, want.record); err != nil {
			t.Errorf("%s: %v; it writes\n%s%s", command, err, stderr, &p.stdout)
		}
	}
	p := prepare(t, "neardup", "dedup", "-", "--format=jsonl", "-o", "out", "--json")
	p.reading()
	p.signal(syscall.SIGTERM)
	stderr, status := p.ended()
	if err := failure(p, stderr, status, 143, true); err != nil {
		t.Errorf("interrupted: %v; it writes\n%s%s", err, stderr, &p.stdout)
	}
}

// failure returns what is wrong with the way in which a command failed.
func failure(p *process, stderr string, status syscall.WaitStatus, exit int, record bool) error {
	var run records.Run
	var keys map[string]any
	for _, v := range []any{&run, &keys} {
		if err := json.Unmarshal(p.stdout.Bytes(), v); err != nil {
			return err
		}
	}
	switch {
	case status.ExitStatus() != exit || run.Exit != exit:
		return fmt.Errorf("exit status %d, and %d in the record, want %d", status.ExitStatus(), run.Exit, exit)
	case run.Status != "failed" || run.Error == "":
		return fmt.Errorf("status %q, error %q", run.Status, run.Error)
	case !strings.Contains(stderr, "neardup: "+strings.ReplaceAll(run.Error, p.Dir+"/", "")): // the log shortens paths
		return fmt.Errorf("the log does not say %q", run.Error)
	case record != (run.Job != "") || record != (len(keys) > 3):
		return fmt.Errorf("a whole record: %t, want %t", !record, record)
	}
	return nil
}
