package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/pprof"
	"syscall"

	"github.com/neardup/neardup/internal/early"
	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/pipelines/job"
)

// interruptible returns a context that the first signal cancels, with a *job.InterruptedError as its cause; a second
// one ends the process. SIGQUIT also writes the stacks of all goroutines to stderr.
func interruptible(stderr io.Writer) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		first := <-early.Caught
		// Keep handling SIGQUIT: Go would end the process with status 2, which means that a person must act.
		signal.Reset(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
		if first == syscall.SIGQUIT {
			pprof.Lookup("goroutine").WriteTo(stderr, 2)
		}
		cancel(interruption(first))
		logging.Notice("stopping; interrupt again to quit immediately")
		os.Exit(interruption(<-early.Caught).Status())
	}()
	return ctx
}

// endWith ends the run, as SIGTERM does, when the program at the other end of a pipe ends. Nobody reads the output
// then, so SIGPIPE must be ignored before.
func endWith(caller *os.File) {
	_, _ = io.Copy(io.Discard, caller)
	early.Caught <- syscall.SIGTERM
}

func interruption(s os.Signal) *job.InterruptedError {
	return &job.InterruptedError{Signal: early.Signals[s], Number: int(s.(syscall.Signal))}
}

// interruptWorker lets a signal end a worker at once, since a worker has nothing to clean up.
func interruptWorker() {
	signal.Reset()
	select {
	case s := <-early.Caught:
		os.Exit(interruption(s).Status())
	default:
	}
}

// abortFatal makes fatal errors of Go's runtime, such as a lack of memory or threads, end the process with SIGABRT: its
// own status would be 2, which means that a person must act. It disables core dumps, because they would contain texts.
// If GOTRACEBACK is set, the user wants another behaviour.
func abortFatal() {
	var core syscall.Rlimit
	if os.Getenv("GOTRACEBACK") != "" || syscall.Getrlimit(syscall.RLIMIT_CORE, &core) != nil {
		return
	}
	core.Cur = 0
	if syscall.Setrlimit(syscall.RLIMIT_CORE, &core) == nil {
		debug.SetTraceback("crash")
	}
}
