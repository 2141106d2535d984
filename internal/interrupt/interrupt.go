// Package interrupt catches the signals that end a run. It depends on os/signal alone, so it is initialised before most
// other packages, and a process that is only just starting ends as one does that runs.
package interrupt

import (
	"os"
	"os/signal"
	"syscall"
)

// Names are those of the signals that are caught.
var Names = map[os.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGTERM: "SIGTERM",
}

// Caught receives them.
var Caught = make(chan os.Signal, len(Names))

func init() {
	for s := range Names {
		if s == syscall.SIGHUP && signal.Ignored(s) {
			continue // by nohup
		}
		signal.Notify(Caught, s)
	}
}
