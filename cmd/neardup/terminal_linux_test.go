package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is what a user types into and reads.
type screen struct {
	t     *testing.T
	keys  *os.File // and the screen
	mu    sync.Mutex
	shown bytes.Buffer
	// closed is closed once everything that the process has shown has arrived.
	closed chan struct{}
}

// onTerminal starts a process on its own terminal, of the given width.
func onTerminal(t *testing.T, p *process, columns uint16) *screen {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { keys.Close() })
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	p.Stdin, p.Stdout, p.Stderr = tty, tty, tty
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.start()
	s := &screen{t: t, keys: keys, closed: make(chan struct{})}
	go func() {
		defer close(s.closed)
		_, _ = io.Copy(s, keys) // until the process closes its end
	}()
	return s
}

// Write records what the screen shows.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(p)
}

// shows waits until the screen has shown a text.
func (s *screen) shows(text string) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		shown := s.shown.String()
		s.mu.Unlock()
		if strings.Contains(shown, text) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("not shown: %q\n%s", text, shown)
		}
	}
}

func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.t.Fatal(err)
	}
}

// TestDataflowOnTerminal: Ctrl-C asks whether to cancel the job, too.
func TestDataflowOnTerminal(t *testing.T) {
	for answer, state := range map[string]string{"y": "JOB_STATE_CANCELLED", "": "JOB_STATE_RUNNING"} {
		t.Run("answer "+answer, func(t *testing.T) {
			c := newProject(t)
			started, release := c.held()
			defer release()
			p := c.neardup(t, append(kinds, "gs://lake/in", "-o", "gs://lake/out")...)
			screen := onTerminal(t, p, 80)
			id := <-started
			screen.shows("Submitted job: " + id)
			screen.types("\x03")
			screen.shows("cancel Dataflow job " + id + " too? [y/N] ")
			screen.types(answer + "\n")
			if err := p.Wait(); p.ProcessState.ExitCode() != 130 {
				t.Error(err)
			}
			if now := c.Jobs()[0].CurrentState; now != state {
				t.Errorf("the job is %s", now)
			}
			if answer == "" {
				screen.shows("neardup finish gs://lake/out")
			}
		})
	}
}

// TestHostileNames: whatever the ids, files and texts, no command prints what a terminal would interpret.
func TestHostileNames(t *testing.T) {
	const evil = "\x1b[2J\u009b31m\u202e"
	dir := t.TempDir()
	in := filepath.Join(dir, evil+".jsonl")
	record := `{"id": "` + strings.ReplaceAll(evil, "\x1b", `\u001b`) + `%d", "text": "a text of some words ` + strings.ReplaceAll(evil, "\x1b", `\u001b`) + ` and %d more of them"}` + "\n"
	if err := os.WriteFile(in, fmt.Appendf(nil, record+record+record, 1, 1, 2, 1, 3, 2), 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out"+evil)
	for _, args := range [][]string{
		{in, "-o", out, "-t", ".5"}, {"report", out, "-o", in}, {"show", out, evil + "1"}, {"show", out, evil + "1", "--json"}, {"export", out, "--table", "pairs", "--format", "csv", "-o", "-"},
		{"export", out, "--table", "removed", "--format", "jsonl", "-o", "-"}, {"study", in, "--show-matrices"}, {"query", in, "--of", evil + "1"}, {"diff", in + "@0", in + "@1", in},
		{"plan", in}, {evil, "-o", out + "2"}, {"dedup", in, "-o", out}, {"dedup", in, "-o", out, "--json"},
	} {
		p := prepare(t, "neardup", args...)
		p.Env = append(p.Env, "NO_COLOR=1", "TERM=xterm")
		screen := onTerminal(t, p, 80)
		_ = p.Wait()
		<-screen.closed
		shown := strings.ReplaceAll(screen.shown.String(), "\r\n", "\n") // added by the terminal itself
		shown = strings.ReplaceAll(shown, "\r"+strings.Repeat(" ", 79)+"\r", "")
		if strings.ContainsAny(shown, "\x1b\r\u009b\u202e") || !strings.Contains(shown, "·") && !strings.Contains(shown, `\u`) {
			t.Errorf("%q prints %q", args, shown)
		}
	}
}

// TestPageOnTerminal: report prints no page to a terminal, but to any other device.
func TestPageOnTerminal(t *testing.T) {
	p := prepare(t, "neardup", "report", "out")
	screen := onTerminal(t, p, 80)
	screen.shows("which a terminal cannot show")
	if _ = p.Wait(); p.ProcessState.ExitCode() != 2 {
		t.Errorf("exit status %d, want 2", p.ProcessState.ExitCode())
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p = prepare(t, "sh", "-c", "neardup dedup in.jsonl -o out -q && exec neardup report out")
	write(t, filepath.Join(p.Dir, "in.jsonl"), similar)
	p.Stdout = null
	if err := p.Run(); err != nil {
		t.Errorf("report to %s: %v", os.DevNull, err)
	}
}

// TestFits: on a terminal of 80 columns, commands print lines of at most 80, however long ids are, and cut no word.
func TestFits(t *testing.T) {
	corpus, err := filepath.Abs("../../testdata/tldr")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	var long strings.Builder
	id := "https://example.com/" + strings.Repeat("a/long/path/", 12)
	for i, text := range []string{"one and the same text of some words", "one and the same text of some words", "one and the same text of some more words", "another"} {
		fmt.Fprintf(&long, "{\"id\": \"%s%d\", \"text\": \"%s\"}\n", id, i, text)
	}
	paths, outOfPaths := filepath.Join(t.TempDir(), "paths.jsonl"), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(paths, []byte(long.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{paths, "-o", outOfPaths, "--threshold=.5"}, {"show", outOfPaths, id + "0"}, {"show", outOfPaths, id + "3"}, {"query", paths, "--of", id + "0"},
		{"compare", paths, "--methods=brute-force,minhash", "--threshold=.5"}, {"diff", id + "0", id + "2", paths}, {"eval", outOfPaths, "--sample=4"},
		{"study", paths, "--show-matrices"},
		{corpus, "-o", out}, {"show", out, "osx/as"}, {"show", out, "freebsd/chsh"}, {"query", corpus, "--of", "osx/as"}, {"plan", corpus}, {"version"},
		{"compare", corpus, "--limit", "500", "--methods", "brute-force,minhash,bands,pieces"}, {"study", corpus, "--limit", "5", "--show-matrices"},
		{"diff", "linux/as", "osx/as", corpus, "--measures"}, {"curve", "--bands", "20", "--rows", "5"}, {"eval", out, "--sample", "100"},
		{"plan", corpus, "--text", "body"}, {"compare", corpus, "--methods", "some"}, {"plan", "nowhere.txt"}, {"dedup", "--help"}, {"--help"},
	} {
		t.Run(args[0], func(t *testing.T) {
			p := prepare(t, "neardup", args...)
			p.Env = append(p.Env, "NO_COLOR=1", "TERM=xterm")
			screen := onTerminal(t, p, 80)
			_ = p.Wait()
			<-screen.closed
			lines := 0
			for line := range strings.Lines(screen.shown.String()) {
				line = strings.TrimSuffix(line, "\r\n")
				line = line[strings.LastIndex(line, "\r")+1:]
				if len([]rune(line)) > 80 && (strings.Contains(line, " ") || strings.Contains(line, id)) {
					t.Errorf("%q has %d columns", line, len([]rune(line)))
				}
				lines++
			}
			if lines == 0 {
				t.Error("nothing is printed")
			}
		})
	}
}

// TestProgressOnTerminal: the bar of a run fits the screen, reaches its end, never goes back and leaves a clean line.
func TestProgressOnTerminal(t *testing.T) {
	percent := regexp.MustCompile(`^(?:\[=*>? *\] +)?(\d+) %`)
	for _, c := range []struct {
		columns uint16
		env     string
		erase   string
	}{
		{80, "TERM=xterm", "\r\x1b[K"},
		{40, "TERM=xterm", "\r\x1b[K"},
		{17, "TERM=xterm", "\r\x1b[K"},
		{40, "NO_COLOR=1", "\r" + strings.Repeat(" ", 39) + "\r"},
		{40, "TERM=dumb", "\r" + strings.Repeat(" ", 39) + "\r"},
	} {
		t.Run(fmt.Sprintf("%d columns, %s", c.columns, c.env), func(t *testing.T) {
			p := prepare(t, "neardup", "in.jsonl", "-o", "out", "--workers=1", "--signature=salted") // which takes a while
			p.Env = append(p.Env, "NO_COLOR=", c.env)
			if err := os.WriteFile(filepath.Join(p.Dir, "in.jsonl"), documents(t, 1<<20), 0o666); err != nil {
				t.Fatal(err)
			}
			screen := onTerminal(t, p, c.columns)
			if err := p.Wait(); err != nil {
				t.Fatal(err)
			}
			<-screen.closed
			bars, summary, ok := strings.Cut(screen.shown.String(), c.erase+"read ")
			if !ok {
				t.Fatalf("no summary on a clean line:\n%q", screen.shown.String())
			}
			if strings.Contains(summary, "\r\x1b") || strings.Contains(summary, " %, ") {
				t.Errorf("progress in the summary: %q", summary)
			}
			last := -1
			lines := strings.Split(strings.TrimPrefix(bars, c.erase), c.erase)
			for _, line := range lines {
				found := percent.FindStringSubmatch(line)
				if len(line) >= int(c.columns) || found == nil || strings.ContainsAny(line, "\r\n\x1b") {
					t.Fatalf("%q", line)
				}
				now, err := strconv.Atoi(found[1])
				if err != nil || now < last || now > 100 {
					t.Errorf("%q after %d %%", line, last)
				}
				last = now
			}
			t.Logf("%d lines", len(lines))
			if last != 100 {
				t.Errorf("the last of %d lines is at %d %%", len(lines), last)
			}
		})
	}
}
