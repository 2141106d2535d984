package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/internal/parallel"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

// Launch runs a pipeline on the chosen runner; temp is the run's temporary folder, or "" if it is not on a disk. stages
// are what the runner reports about its work, if it does.
type Launch func(ctx context.Context, p *beam.Pipeline, temp string) (
	result beam.PipelineResult, stages []records.Stage, err error,
)

type partKey struct{}

// WithPart returns the context of a job that executes one part of a run.
func WithPart(ctx context.Context, part string) context.Context {
	return context.WithValue(ctx, partKey{}, part)
}

// PartOf returns the part of a run that a job executes, for the job's name, or "" if it executes all of it.
func PartOf(ctx context.Context) string {
	part, _ := ctx.Value(partKey{}).(string)
	return part
}

// Outcome is the result of a pipeline.
type Outcome struct {
	Result beam.PipelineResult
	Stages []records.Stage
}

// Execute runs a pipeline, and waits for it to stop when ctx is done. If the pipeline fails, the error is a
// *PipelineError, or a *UsageError if a step refused what was asked.
func (r *Running) Execute(ctx context.Context, launch Launch, pipeline *beam.Pipeline, temp string) (Outcome, error) {
	if !storage.IsLocal(temp) {
		temp = ""
	}
	ended, err := await(ctx, r.grace(), func() (Outcome, error) {
		result, stages, err := launch(ctx, pipeline, temp)
		return Outcome{result, stages}, err
	})
	if panicked := (*PanicError)(nil); err != nil && !errors.As(err, &panicked) {
		slog.Info("pipeline failed", "error", err.Error())
		err = &PipelineError{err}
		if reason, refused := blocks.Refusal(err.Error()); refused {
			err = Usage("%s", reason)
		}
	}
	return ended, err
}

// interruptGrace is how long an interrupted run waits for operations that may not stop by themselves.
const interruptGrace = 2 * time.Second

// grace returns how long an interrupted run waits for the runner: the local one stops by itself, and has files to
// remove; a job on a cluster is cancelled there.
func (r *Running) grace() time.Duration {
	if r.Runner.Traits().Stops {
		return math.MaxInt64
	}
	return interruptGrace
}

// await returns do's result or, if do has not returned within grace after ctx is done, ctx's error: opening a pipe
// cannot be interrupted, nor can prism in the middle of a bundle.
func await[T any](ctx context.Context, grace time.Duration, do func() (T, error)) (T, error) {
	type returned struct {
		value T
		err   error
	}
	done := make(chan returned, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- returned{err: Panicked(p)}
			}
		}()
		value, err := do()
		done <- returned{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		if left := (*LeftError)(nil); errors.As(o.err, &left) {
			return o.value, o.err
		}
	case <-time.After(grace):
	}
	var none T
	return none, ctx.Err()
}

// Patient returns a reader of r whose reads end when ctx is done, since a read from a terminal or a pipe may block for
// ever.
func Patient(ctx context.Context, r io.Reader) io.Reader { return patient{ctx, r} }

type patient struct {
	ctx context.Context
	r   io.Reader
}

func (p patient) Read(b []byte) (int, error) {
	return await(p.ctx, 0, func() (int, error) { return p.r.Read(b) })
}

// PipelineError is the error of a step, as the runner reports it: Error returns the step's own words, Unwrap the whole
// error.
type PipelineError struct{ err error }

func (e *PipelineError) Error() string {
	// Our runners separate the step's words from their own.
	text := e.err.Error()
	var step interface{ Cause() string }
	if errors.As(e.err, &step) {
		text = step.Cause()
	}
	const mark = "] failed:\n" // ends Beam's description of the DoFn and its plan
	if i := strings.LastIndex(text, mark); i >= 0 {
		return text[i+len(mark):]
	}
	if panicked := stepPanicked.FindStringSubmatch(text); panicked != nil {
		return (&PanicError{panicked[1]}).Error()
	}
	return text
}

// stepPanicked matches Beam's report of a panic; the stack follows.
var stepPanicked = regexp.MustCompile(`(?s)panic(?:ked)?: (.*?)(?:\s+goroutine \d+ \[|\s+Full error:|$)`)

// PanicError is a bug in neardup.
type PanicError struct{ Value any }

func (e *PanicError) Error() string {
	return fmt.Sprintf("this is an error in neardup: %v; run the same command with -v, and report the "+
		"error with its log", e.Value)
}

// Panicked returns the error for a recovered panic, and logs its stack.
func Panicked(value any) error {
	stack := debug.Stack()
	if p, ok := value.(*parallel.Panic); ok {
		value, stack = p.Value, p.Stack
	}
	slog.Info("panic", "value", value, "stack", string(stack))
	return &PanicError{value}
}

func (e *PipelineError) Unwrap() error { return e.err }
