package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/internal/early"
	"github.com/neardup/neardup/pipelines/job"
)

// process is a neardup with its own folder, also for temporary files.
type process struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr bytes.Buffer
	lines          *bufio.Scanner // of stderr, to wait for one
}

// prepare returns a process that is not started yet, and ends with the test.
func prepare(t *testing.T, name string, args ...string) *process {
	t.Helper()
	// Under nohup, tests and the processes they start would ignore it, too. A caught signal is not ignored by those.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, name, args...), t: t}
	p.Dir = t.TempDir()
	p.Env = append(os.Environ(), "TMPDIR="+p.Dir)
	p.Stdout = &p.stdout
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(io.TeeReader(stderr, &p.stderr))
	return p
}

func (p *process) start() *process {
	p.t.Helper()
	if err := p.Start(); err != nil {
		p.t.Fatal(err)
	}
	return p
}

// reading starts the process, and returns when it is reading standard input, which ends when the returned Closer is
// closed.
func (p *process) reading() io.Closer {
	p.t.Helper()
	in, err := p.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.start()
	const more = 1 << 18 // more than a pipe holds
	if _, err := in.Write(documents(p.t, more)); err != nil {
		p.t.Fatal(err)
	}
	return in
}

// documents returns at least size bytes of documents.
func documents(t *testing.T, size int) []byte {
	t.Helper()
	var all bytes.Buffer
	if err := corpusgen.Write(&all, corpusgen.Spec{Documents: size / 200}); err != nil {
		t.Fatal(err)
	}
	if all.Len() < size {
		t.Fatalf("%d bytes of documents, want %d", all.Len(), size)
	}
	return all.Bytes()
}

// said returns when a line on stderr contains the text.
func (p *process) said(text string) {
	p.t.Helper()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return
		}
	}
	p.t.Fatalf("nothing says %q in\n%s", text, &p.stderr)
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ended waits for the end of the process, and returns its stderr and how it ended.
func (p *process) ended() (stderr string, status syscall.WaitStatus) {
	p.t.Helper()
	for p.lines.Scan() {
		continue
	}
	err := p.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.stderr.String(), p.ProcessState.Sys().(syscall.WaitStatus)
}

// left returns the names that must not be left in the folder of an unfinished run, or below.
func (p *process) left() (names []string) {
	p.t.Helper()
	err := filepath.WalkDir(p.Dir, func(path string, _ os.DirEntry, err error) error {
		name := filepath.Base(path)
		if path != p.Dir && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "neardup") || name == "_SUCCESS") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return names
}

var signals = map[syscall.Signal]int{syscall.SIGHUP: 129, syscall.SIGINT: 130, syscall.SIGQUIT: 131, syscall.SIGTERM: 143}

// Each signal has its exit status, and nothing is left, both while standard input waits for more and while the pipeline
// runs.
func TestInterrupted(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(in, documents(t, 1<<24), 0o666); err != nil {
		t.Fatal(err)
	}
	for s, want := range signals {
		for name, begin := range map[string]func() *process{
			"dedup -": func() *process {
				p := prepare(t, "neardup", "dedup", "-", "--format=jsonl", "-o", "out")
				p.reading()
				return p
			},
			"query --file -": func() *process {
				p := prepare(t, "neardup", "query", in, "--file=-")
				p.reading()
				return p
			},
			"dedup": func() *process {
				p := prepare(t, "neardup", "dedup", in, "-o", "out", "-v").start()
				p.said("pipeline started")
				return p
			},
		} {
			p := begin()
			p.signal(s)
			stderr, status := p.ended()
			if status.ExitStatus() != want || !strings.Contains(stderr, "neardup: interrupted by "+early.Signals[s]) {
				t.Errorf("%s, %v: exit status %d, want %d; it says\n%s", name, s, status.ExitStatus(), want, stderr)
			}
			if left := p.left(); len(left) > 0 {
				t.Errorf("%s, %v leaves %q", name, s, left)
			}
			if dumped := strings.Contains(stderr, "main.main()"); dumped != (s == syscall.SIGQUIT) {
				t.Errorf("%s, %v: stacks of goroutines: %t\n%s", name, s, dumped, stderr)
			}
		}
	}
}

// A signal that arrives while the command line is parsed ends the run before it begins, and is reported like any other.
func TestInterruptedEarly(t *testing.T) {
	for s, want := range signals {
		p := prepare(t, "neardup", "dedup", "in.jsonl", "-o", "out", "--config=job.toml", "--json")
		fifo := filepath.Join(p.Dir, "job.toml")
		if err := syscall.Mkfifo(fifo, 0o666); err != nil {
			t.Fatal(err)
		}
		p.start()
		config, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for its reader
		if err != nil {
			t.Fatal(err)
		}
		p.signal(s)
		p.said("stopping; interrupt again to quit immediately")
		if _, err := io.WriteString(config, "threshold = 0.7\n"); err != nil {
			t.Fatal(err)
		}
		config.Close()
		stderr, status := p.ended()
		if err := failure(p, stderr, status, want, false); err != nil {
			t.Errorf("%v: %v; it writes\n%s%s", s, err, stderr, &p.stdout)
		}
		if left := p.left(); len(left) > 0 {
			t.Errorf("%v leaves %q", s, left)
		}
	}
}

// Signals are caught before most packages are initialised, which takes longer than everything before.
func TestCaughtFirst(t *testing.T) {
	p := prepare(t, "neardup", "version")
	p.Env = append(p.Env, "GODEBUG=inittrace=1")
	stderr, _ := p.start().ended()
	before, after, found := strings.Cut(stderr, "\ninit github.com/neardup/neardup/internal/early ")
	if !found || 4*strings.Count(before, "\ninit ") > strings.Count(after, "\ninit ") {
		t.Errorf("signals are caught late:\n%s", stderr)
	}
}

// A second signal ends the process at once, here one that waits for a reader of its JSON.
func TestInterruptedTwice(t *testing.T) {
	for s, exit := range signals {
		p := prepare(t, "neardup", "dedup", "-", "--format=jsonl", "-o", "out", "--json")
		p.Stdout = stuffed(t)
		p.reading()
		p.signal(syscall.SIGTERM)
		p.said("stopping; interrupt again to quit immediately")
		p.signal(s)
		stderr, status := p.ended()
		if s == syscall.SIGQUIT {
			if status.ExitStatus() != exit {
				t.Errorf("%v: exit status %d, want %d", s, status.ExitStatus(), exit)
			}
		} else if !status.Signaled() || status.Signal() != s {
			t.Errorf("%v does not end the process: status %d", s, status.ExitStatus())
		}
		if strings.Contains(stderr, "interrupted by") {
			t.Errorf("%v: the run went on to its end:\n%s", s, stderr)
		}
	}
}

// stuffed returns a pipe that is full until somebody reads it.
func stuffed(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	if err := w.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the pipe is not full: %v", err)
	}
	return w
}

// A run reports its progress to the program that called it, ends with it, and leaves nothing although nobody reads its
// messages.
func TestCaller(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(in, documents(t, 1<<24), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"dedup", in, "-o", "out"}, {"query", in, "--of", "0"}} {
		p := prepare(t, "neardup", append(args, "--signature=salted", "--workers=1", "--caller=3", "--log-format=json")...)
		caller, held, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		heard, says, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p.ExtraFiles, p.Stderr = []*os.File{caller}, says
		p.start()
		caller.Close()
		says.Close()
		line, err := bufio.NewReader(heard).ReadString('\n')
		if err != nil || !regexp.MustCompile(`"progress":{"elapsed_seconds":\d\.`).MatchString(line) {
			t.Errorf("%v: it says %q: %v", args, line, err)
		}
		heard.Close()
		held.Close()
		if err := p.Wait(); p.ProcessState.ExitCode() != signals[syscall.SIGTERM] {
			t.Errorf("%v: %v", args, err)
		}
		if left := p.left(); len(left) > 0 {
			t.Errorf("%v leaves %q", args, left)
		}
	}
}

// A process started by nohup continues when its terminal is closed.
func TestNohup(t *testing.T) {
	p := prepare(t, "sh", "-c", `trap "" HUP; exec neardup dedup - --format=jsonl -o out`)
	in := p.reading()
	p.signal(syscall.SIGHUP)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if stderr, status := p.ended(); status != 0 {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// The signals have the names and numbers of the system.
func TestInterruption(t *testing.T) {
	var told []job.InterruptedError
	for s := range early.Signals {
		told = append(told, *interruption(s))
	}
	slices.SortFunc(told, func(a, b job.InterruptedError) int { return a.Number - b.Number })
	want := []job.InterruptedError{{Signal: "SIGHUP", Number: 1}, {Signal: "SIGINT", Number: 2}, {Signal: "SIGQUIT", Number: 3}, {Signal: "SIGTERM", Number: 15}}
	if !slices.Equal(told, want) {
		t.Errorf("%v, want %v", told, want)
	}
}
