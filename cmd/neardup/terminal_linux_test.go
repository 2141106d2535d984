package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is what a user types into and reads.
type screen struct {
	t     *testing.T
	keys  *os.File // and the screen
	mu    sync.Mutex
	shown bytes.Buffer
}

// onTerminal starts a process on a terminal of its own.
func onTerminal(t *testing.T, p *process) *screen {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { keys.Close() })
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	p.Stdin, p.Stdout, p.Stderr = tty, tty, tty
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.start()
	s := &screen{t: t, keys: keys}
	go func() { _, _ = io.Copy(s, keys) }() // until the process closes its end
	return s
}

// Write is what the screen shows.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(p)
}

// shows waits until the screen has shown a text.
func (s *screen) shows(text string) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		shown := s.shown.String()
		s.mu.Unlock()
		if strings.Contains(shown, text) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("not shown: %q\n%s", text, shown)
		}
	}
}

func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.t.Fatal(err)
	}
}

// TestDataflowOnTerminal: Ctrl-C asks whether the job is to be cancelled, too.
func TestDataflowOnTerminal(t *testing.T) {
	for answer, state := range map[string]string{"y": "JOB_STATE_CANCELLED", "": "JOB_STATE_RUNNING"} {
		t.Run("answer "+answer, func(t *testing.T) {
			c := newProject(t)
			started, release := c.held()
			defer release()
			p := c.neardup(t, append(kinds, "gs://lake/in", "-o", "gs://lake/out")...)
			screen := onTerminal(t, p)
			id := <-started
			screen.shows("Submitted job: " + id)
			screen.types("\x03")
			screen.shows("cancel the Dataflow job " + id + ", too? [y/N] ")
			screen.types(answer + "\n")
			if err := p.Wait(); p.ProcessState.ExitCode() != 130 {
				t.Error(err)
			}
			if now := c.Jobs()[0].CurrentState; now != state {
				t.Errorf("the job is %s", now)
			}
			if answer == "" {
				screen.shows("neardup finish gs://lake/out")
			}
		})
	}
}
