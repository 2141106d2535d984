package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/neardup/neardup/internal/logging"
	"github.com/neardup/neardup/pipelines/job"
)

// interrupts are the signals that end a run in good order, by their names.
var interrupts = map[os.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGTERM: "SIGTERM",
}

// interruptible returns a context that the first of these signals ends, for a *job.InterruptedError; a
// second one ends the process. SIGQUIT writes to stderr what all goroutines do.
func interruptible(stderr io.Writer) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, len(interrupts))
	for s := range interrupts {
		if s == syscall.SIGHUP && signal.Ignored(s) {
			continue // by nohup
		}
		signal.Notify(signals, s)
	}
	go func() {
		first := <-signals
		// SIGQUIT stays: Go would end the process with status 2, which says that a person must act.
		signal.Reset(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
		if first == syscall.SIGQUIT {
			pprof.Lookup("goroutine").WriteTo(stderr, 2)
		}
		cancel(interruption(first))
		logging.Notice("stopping; interrupt again to quit immediately")
		os.Exit(interruption(<-signals).Status())
	}()
	return ctx
}

func interruption(s os.Signal) *job.InterruptedError {
	return &job.InterruptedError{Signal: interrupts[s], Number: int(s.(syscall.Signal))}
}
