// Package process measures the cost of a command.
package process

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Taken is the cost of a process.
type Taken struct {
	Wall, CPU float64 // seconds
	Peak      int64   // bytes
}

// Measure runs a command and writes its output to out. It returns the cost even if there is an error. On Linux, the
// peak is at least that of this process so far.
func Measure(command *exec.Cmd, out io.Writer) (Taken, error) {
	return Watch(command, out, func(int) {})
}

// Watch is like Measure, but also calls look with the process id ten times per second.
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
