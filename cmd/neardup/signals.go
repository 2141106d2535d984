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

// interruptible returns a context that the first signal ends, for a *job.InterruptedError; a
// second one ends the process. SIGQUIT writes to stderr what all goroutines do.
func interruptible(stderr io.Writer) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		first := <-early.Caught
		// SIGQUIT stays: Go would end the process with status 2, which says that a person must act.
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

// endWith ends the run, as SIGTERM does, with the program that holds the other end of a pipe, and which then hears no more.
func endWith(caller *os.File) {
	signal.Ignore(syscall.SIGPIPE)
	_, _ = io.Copy(io.Discard, caller)
	early.Caught <- syscall.SIGTERM
}

func interruption(s os.Signal) *job.InterruptedError {
	return &job.InterruptedError{Signal: early.Signals[s], Number: int(s.(syscall.Signal))}
}

// interruptWorker ends a worker by a signal, at once, as that has nothing to tidy up.
func interruptWorker() {
	signal.Reset()
	select {
	case s := <-early.Caught:
		os.Exit(interruption(s).Status())
	default:
	}
}

// abortFatal lets the process end by SIGABRT where Go's runtime gives up, as without memory or threads: its own status would
// be 2, which says that a person must act. No core is dumped, as that would hold texts. Who sets GOTRACEBACK wants another end.
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
