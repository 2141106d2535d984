package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
)

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("broken"), 1},
		{context.Canceled, 1},
		{&fs.PathError{Op: "open", Path: "in.jsonl", Err: syscall.EACCES}, 2},
		{&fs.PathError{Op: "mkdir", Path: "out", Err: syscall.EROFS}, 2},
		{&fs.PathError{Op: "read", Path: "in.jsonl", Err: syscall.EIO}, 1},
		{&output.NoFolderError{Dir: "out"}, 2},
		{fmt.Errorf("job.toml:3: %w", Usage("--recall 1")), 2},
		{&OutputExistsError{"out"}, 3},
		{errors.Join(&InterruptedError{"SIGTERM", 15}, errors.New("broken")), 143},
		{&PipelineError{&InterruptedError{"SIGINT", 2}}, 130},
	} {
		if got := Status(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

// An error that only says that the context ended is replaced by the reason; no other is.
func TestCause(t *testing.T) {
	why, broken := &InterruptedError{"SIGHUP", 1}, errors.New("broken")
	ended, end := context.WithCancelCause(context.Background())
	end(why)
	for _, c := range []struct {
		ctx       context.Context
		err, want error
	}{
		{ended, nil, nil},
		{ended, context.Canceled, why},
		{ended, &PipelineError{fmt.Errorf("step: %w", context.Canceled)}, why},
		{ended, broken, broken},
		{context.Background(), nil, nil},
		{context.Background(), broken, broken},
		{context.Background(), context.Canceled, context.Canceled},
	} {
		if got := Cause(c.ctx, c.err); got != c.want { //nolint:errorlint // the error itself, not one it wraps
			t.Errorf("%v, %v: %v, want %v", c.ctx.Err(), c.err, got, c.want)
		}
	}
}

// Copying standard input ends with its context, too.
func TestSpoolInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		w.Write([]byte("one"))
		cancel()
	}()
	in := stdinOf(r)
	temp := filepath.Join(t.TempDir(), "run")
	if err := storage.Begin(t.Context(), temp, true); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(temp, "stdin")
	if err := spoolStdin(ctx, in, file); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half of it is there: %v", err)
	}
}

// A read that waits for ever ends with its context.
func TestPatient(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go w.Write([]byte("one"))
	ctx, cancel := context.WithCancel(context.Background())
	text := make([]byte, len("one"))
	if _, err := io.ReadFull(Patient(ctx, r), text); err != nil || string(text) != "one" {
		t.Errorf("%q, %v", text, err)
	}
	cancel()
	if _, err := Patient(ctx, r).Read(text); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Users do not see Beam's words about a step that failed or panicked.
func TestPipelineError(t *testing.T) {
	const bug = "this is an error in neardup: index out of range [3]; run the same command with -v, and report the error with its log"
	for said, want := range map[string]string{
		"while executing Process for Plan[s01]:\n\tcaused by:\nDoFn[UID:14, PID:e3, Name: x.fn] failed:\ndisk full": "disk full",
		"DoFn[UID:1, PID:a, Name: x] failed:\nDoFn[UID:14, PID:e3, Name: y] failed:\ndisk full":                     "disk full",
		"panic: index out of range [3]\nFull error:\nwhile executing Plan[s01]\n\tcaused by:\n\tpanic: index":       bug,
		"panic: index out of range [3] goroutine 17 [running]:\nmain.f(0x1)":                                        bug,
		"a step panicked: index out of range [3]":                                                                   bug,
		"no job server answers": "no job server answers",
	} {
		if got := (&PipelineError{errors.New(said)}).Error(); got != want {
			t.Errorf("%q is told as %q, want %q", said, got, want)
		}
	}
	_, err := await(t.Context(), 0, func() (int, error) { panic("oh") })
	if panicked := (*PanicError)(nil); !errors.As(err, &panicked) || Status(err) != 1 {
		t.Errorf("a panic is %v", err)
	}
}

// A panic of a goroutine that a step or a command waits for is reported like its own.
func TestPanicInParallel(t *testing.T) {
	var group parallel.Group
	group.Go(func() { panic("oh") })
	_, err := await(t.Context(), 0, func() (int, error) { group.Wait(); return 0, nil })
	if panicked := (*PanicError)(nil); !errors.As(err, &panicked) || panicked.Value != "oh" {
		t.Errorf("it is %v", err)
	}
	said := ""
	func() {
		defer func() { said = fmt.Sprintf("panic: %v goroutine 1 [running]:\nwaits", recover()) }() // like Beam
		group.Wait()
	}()
	if got := (&PipelineError{errors.New(said)}).Error(); got != err.Error() {
		t.Errorf("%q is told as %q, want %q", said, got, err)
	}
}
