// Package process measures what a command takes.
package process

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Taken is what a process took.
type Taken struct {
	Wall, CPU float64 // seconds
	Peak      int64   // bytes
}

// Measure runs a command, whose output goes to out. What it took is returned beside an error, too.
// On Linux the peak is at least what this process has had itself by then.
func Measure(command *exec.Cmd, out io.Writer) (Taken, error) {
	return Watch(command, out, func(int) {})
}

// Watch is as Measure, and calls look with the id of the process, ten times a second.
func Watch(command *exec.Cmd, out io.Writer, look func(pid int)) (Taken, error) {
	var messages strings.Builder
	command.Stdout, command.Stderr = out, &messages
	begun := time.Now()
	err := command.Start()
	if err == nil {
		ended := make(chan error)
		go func() { ended <- command.Wait() }()
		err = looking(ended, func() { look(command.Process.Pid) })
	}
	state := command.ProcessState
	if state == nil {
		return Taken{}, fmt.Errorf("%v: %w", command.Args, err)
	}
	t := Taken{Wall: time.Since(begun).Seconds(), CPU: (state.UserTime() + state.SystemTime()).Seconds()}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		t.Peak = usage.Maxrss << 10
	}
	if err != nil {
		err = fmt.Errorf("%v: %w: %s", command.Args, err, messages.String())
	}
	return t, err
}

func looking(ended <-chan error, look func()) error {
	for tick := time.Tick(100 * time.Millisecond); ; {
		select {
		case err := <-ended:
			return err
		case <-tick:
			look()
		}
	}
}
