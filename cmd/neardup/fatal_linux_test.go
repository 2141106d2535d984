package main

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// If Go's runtime ends the process, here for lack of address space, the status is not that of wrong usage.
func TestFatal(t *testing.T) {
	p := prepare(t, "neardup", "dedup", "-", "--format=jsonl", "-o", "out")
	in := p.reading()
	if err := unix.Prlimit(p.Process.Pid, unix.RLIMIT_AS, &unix.Rlimit{}, nil); err != nil {
		t.Fatal(err)
	}
	in.Close()
	stderr, status := p.ended()
	if !status.Signaled() || status.Signal() != syscall.SIGABRT || status.CoreDump() || !strings.Contains(stderr, "fatal error: ") {
		t.Errorf("status %#x: %s", status, stderr)
	}
}
