package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/runners/local/internal/spill"
)

func init() { beam.RegisterFunction(inflate) }

// inflate emits a megabyte for each element.
func inflate(k, _ int64, emit func(int64, []byte)) {
	value := make([]byte, 1000)
	for range 1000 {
		emit(k, value)
	}
}

// childDir names the folder that TestChild spills to.
const childDir = "LOCAL_RUNNER_TEST_DIR"

// TestChild is a command that does not end until it is told to: a process of its own, which the tests below start.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("started by other tests")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	said := sync.OnceFunc(func() { fmt.Println("spilling") })
	listen(t, func(point string) {
		if point == "spill" {
			said()
		}
	})
	p, s := beam.NewPipelineWithRoot()
	pairs := beam.Reshuffle(s, beam.ParDo(s, &generate{Seed: 1, N: 1 << 20, Keys: 100}, beam.Impulse(s)))
	beam.ParDo(s, &drain{}, beam.GroupByKey(s, beam.ParDo(s, inflate, pairs)))
	o := Options{Workers: 2, TempDir: dir, buffers: 8 << 20, opened: func(s spill.Storage) spill.Storage { return watchedStorage{s} }}
	if _, err := Execute(WithOptions(ctx, o), p); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// endChild starts a child that spills to dir, sends it a signal meanwhile, and returns how it ended.
func endChild(t *testing.T, dir string, with os.Signal) error {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, self, "-test.run=^TestChild$", "-test.v")
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	spilled, text := false, ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text += lines.Text() + "\n"
		if strings.HasSuffix(lines.Text(), "spilling") {
			spilled = true
			if err := child.Process.Signal(with); err != nil {
				t.Error(err)
			}
		}
	}
	err = child.Wait()
	if !spilled || ctx.Err() != nil {
		t.Fatalf("the child spilled: %t; %v; %v\n%s", spilled, ctx.Err(), err, text)
	}
	return err
}

// TestInterrupt checks that a command that is interrupted while it spills cancels its job, ends in good order and
// leaves nothing behind.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	if err := endChild(t, dir, os.Interrupt); err != nil {
		t.Errorf("the child has failed: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestKill checks that a process that had no chance to clean up leaves only an empty folder, since its files have no
// names.
func TestKill(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems may keep the names of open files")
	}
	dir := t.TempDir()
	var exit *exec.ExitError
	if err := endChild(t, dir, syscall.SIGKILL); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the child has ended with %v, not by the signal", err)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
