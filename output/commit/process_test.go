package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
)

// Environment variables that turn this binary into a process with one run: the output, its edition, and flags.
const (
	childDir   = "NEARDUP_COMMIT_DIR"
	childMark  = "NEARDUP_COMMIT_EDITION"
	childFlags = "NEARDUP_COMMIT_FLAGS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(dir, os.Getenv(childMark), os.Getenv(childFlags)))
	}
	os.Exit(m.Run())
}

const (
	exitCommitted = 0
	exitOther     = 1
	exitRefused   = 3 // locked, or fenced off
	exitHeld      = 4 // another process has locked a file to be replaced
)

func child(dir, name, flags string) int {
	dir, err := storage.Resolve(dir)
	if err == nil && strings.Contains(flags, "fill") {
		// A working directory of a process cannot be exchanged.
		err = errors.Join(os.MkdirAll(dir, 0o777), os.Chdir(dir))
	}
	if err == nil {
		options := commit.Options{Dir: dir, Overwrite: true, Private: true, Warn: func(format string, args ...any) {
			if strings.Contains(flags, "warn") {
				fmt.Fprintf(os.Stderr, format+"\n", args...)
			}
		}}
		options.Lock.Force, options.Continue = strings.Contains(flags, "force"), strings.Contains(flags, "parts")
		if strings.Contains(flags, "wait") {
			options.Lock.Wait = time.Minute
		}
		err = made(name, flags).run(context.Background(), options)
	}
	switch {
	case err == nil:
		return exitCommitted
	case errors.As(err, new(*storage.LockedError)), errors.As(err, new(*storage.FencedError)):
		return exitRefused
	case strings.Contains(err.Error(), "is locked by another process"):
		return exitHeld
	}
	fmt.Fprintln(os.Stderr, err)
	return exitOther
}

// many returns an edition of many files, some of which other editions have too.
func many(name string) edition {
	e := edition{}
	for i := range 40 {
		e[fmt.Sprintf("corpus/%d.jsonl", i+len(name))] = fmt.Sprintf("%s %d", name, i)
	}
	return e
}

// made returns the edition that a process with these flags makes.
func made(name, flags string) edition {
	if strings.Contains(flags, "few") {
		return few(name)
	}
	return many(name)
}

// few returns an edition of three files, one of which others have too.
func few(name string) edition {
	return edition{"corpus/sub/b.jsonl": name, "pairs/part-00000-of-00001.parquet": name, "removed/" + name: name}
}

func start(t *testing.T, dir, name, flags string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childMark+"="+name, childFlags+"="+flags)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// status waits for a process, and returns its exit status, or -1 if it was killed.
func status(cmd *exec.Cmd) int {
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

func ends(t *testing.T, dir, name, flags string) {
	t.Helper()
	if got := status(start(t, dir, name, flags)); got != exitCommitted {
		t.Fatalf("%s ended with %d", name, got)
	}
	if err := check(t.Context(), dir, made(name, flags)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 1 {
		t.Fatalf("beside the output there are %v, %v: %v", entries, err, tree(t, filepath.Dir(dir)))
	}
	for _, hidden := range []string{".lock", ".neardup"} {
		if _, err := os.Lstat(filepath.Join(dir, hidden)); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s is left: %v in %v", hidden, err, tree(t, dir))
		}
	}
}

// duration returns how long the processes compete.
func duration() time.Duration {
	if nightly.On() {
		return time.Minute
	}
	return time.Second
}

// TestProcesses: four processes that replace one output repeatedly, and are killed at any moment, leave it whole at
// every moment; if they exchange folders, it also exists at every moment.
func TestProcesses(t *testing.T) {
	for _, way := range []string{"swap", "fill", "swap parts", "fill parts"} {
		t.Run(way, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			ends(t, dir, "first", way)
			until := time.Now().Add(duration())
			var processes sync.WaitGroup
			var mu sync.Mutex
			outcomes := map[int]int{}
			for i := range 4 {
				processes.Go(func() {
					for n := 0; time.Now().Before(until); n++ {
						cmd := start(t, dir, fmt.Sprintf("%d-%d", i, n), way+" wait")
						if rand.IntN(3) > 0 {
							time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() { _ = cmd.Process.Kill() })
						}
						got := status(cmd)
						mu.Lock()
						outcomes[got]++
						mu.Unlock()
					}
				})
			}
			read := 0
			for ; time.Now().Before(until); read++ {
				if err := check(t.Context(), dir, nil); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(filepath.Join(dir, "_SUCCESS")); err != nil && strings.HasPrefix(way, "swap") {
					t.Error(err)
				}
			}
			processes.Wait()
			t.Logf("read %d times; processes by exit status: %v", read, outcomes)
			if outcomes[exitCommitted] == 0 || outcomes[-1] == 0 || outcomes[exitOther] > 0 {
				t.Errorf("processes by exit status: %v", outcomes)
			}
			ends(t, dir, "last", way+" warn")
		})
	}
}

// TestStopped: a process that is stopped while another takes over the output finds out when it continues, and does no
// harm.
func TestStopped(t *testing.T) {
	rounds := 10
	if nightly.On() {
		rounds = 500
	}
	for _, way := range []string{"swap", "fill", "swap parts", "fill parts"} {
		t.Run(way, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			began := time.Now()
			ends(t, dir, "first", way)
			alone := time.Since(began)
			outcomes := map[int]int{}
			// A fast process may have ended each time.
			for n := 0; n < rounds || n < 20*rounds && outcomes[exitRefused] == 0; n++ {
				stopped := start(t, dir, "stopped", way)
				time.Sleep(rand.N(alone))
				if err := stopped.Process.Signal(syscall.SIGSTOP); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
				name := fmt.Sprint("taker", n)
				took := status(start(t, dir, name, way+" force"))
				if took == exitCommitted {
					if err := check(t.Context(), dir, many(name)); err != nil {
						t.Error(err)
					}
				}
				_ = stopped.Process.Signal(syscall.SIGCONT)
				got := status(stopped)
				outcomes[got]++
				if took == exitHeld { // it was stopped while it removed a file
					took = status(start(t, dir, name, way+" force"))
				}
				if took != exitCommitted {
					t.Fatalf("the other ended with %d", took)
				}
				// It may have been stopped before it began.
				if err := check(t.Context(), dir, nil); err != nil {
					t.Error(err)
				}
				if err := check(t.Context(), dir, many(name)); err != nil && got != exitCommitted {
					t.Errorf("it ended with %d: %v", got, err)
				}
			}
			t.Logf("the stopped processes by exit status: %v", outcomes)
			if outcomes[exitRefused] == 0 || outcomes[exitOther] > 0 {
				t.Errorf("the stopped processes by exit status: %v", outcomes)
			}
			ends(t, dir, "last", way+" warn")
		})
	}
}
