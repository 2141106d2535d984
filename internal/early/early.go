// Package early does what must come first in the program. It depends only on the standard library's os and os/signal,
// so it is initialised before most other packages.
package early

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals are the signals that end a run, with their names.
var Signals = map[os.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGTERM: "SIGTERM",
}

// Caught receives these signals from the start of the process, so that they end it in the same way at any time.
var Caught = make(chan os.Signal, len(Signals))

func init() {
	for s := range Signals {
		if s == syscall.SIGHUP && signal.Ignored(s) {
			continue // ignored by nohup
		}
		signal.Notify(Caught, s)
	}
	// Beam looks up the user's home folder when it is initialised, and panics without one. In containers the system may
	// not know the user.
	for name, value := range map[string]string{"USER": "nobody", "HOME": os.TempDir()} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, value) // cannot fail for these names
		}
	}
}
