// Package early does what must come first in the program. It depends on the standard library's os and os/signal
// alone, so it is initialised before most other packages.
package early

import (
	"os"
	"os/signal"
	"syscall"
)

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
}
