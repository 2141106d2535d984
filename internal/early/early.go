// Package early does what must come first in the program. It depends on the standard library's os, os/signal and
// runtime alone, so it is initialised before most other packages.
package early

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

// The heap grows to this many times 4 MB before it is collected
// (https://go.dev/doc/gc-guide: the minimum total heap size). Sooner collections mark what packages initialise, and
// what a small job needs: 4 of 28 ms of a start.
const first = 16

// Signals are those that end a run, by their names.
var Signals = map[os.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGTERM: "SIGTERM",
}

// Caught receives them, so a process that is only just starting ends as one does that runs.
var Caught = make(chan os.Signal, len(Signals))

func init() {
	for s := range Signals {
		if s == syscall.SIGHUP && signal.Ignored(s) {
			continue // by nohup
		}
		signal.Notify(Caught, s)
	}
	// Beam asks for the user's home folder when it is initialised, and panics if there is no answer. In containers the
	// system may not know the user.
	for name, value := range map[string]string{"USER": "nobody", "HOME": os.TempDir()} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, value) // fails for no such name
		}
	}
	if percent := debug.SetGCPercent(-1); percent >= 0 { // negative: GOGC=off
		debug.SetGCPercent(first * percent)
		runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, percent)
	}
}
