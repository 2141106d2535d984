// Package usage tells what the process has taken of the machine.
package usage

import (
	"runtime"
	"syscall"
	"time"
)

// Process returns the CPU seconds of the process and its peak memory in bytes.
func Process() (cpu float64, peak int64) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	seconds := func(t syscall.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }
	peak = usage.Maxrss
	if runtime.GOOS != "darwin" {
		peak <<= 10 // counted in KiB
	}
	return seconds(usage.Utime) + seconds(usage.Stime), peak
}
