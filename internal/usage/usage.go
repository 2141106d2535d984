// Package usage tells what the process has taken of the machine.
package usage

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
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

// Meter measures what the process takes from one moment to another.
type Meter struct {
	started time.Time
	cpu     float64
	peak    bool // told from the start on
}

// Start starts a meter. Linux forgets the peak of memory so far; what is no
// longer used is given back before, so that it is no part of the next one.
func Start() Meter {
	debug.FreeOSMemory()
	const forgetPeak = "5"
	reset := os.WriteFile("/proc/self/clear_refs", []byte(forgetPeak), 0)
	cpu, _ := Process()
	return Meter{started: time.Now(), cpu: cpu, peak: reset == nil}
}

// Stop returns the seconds and the CPU seconds since the start, and the most
// bytes of memory that the process held meanwhile; 0 if the system does not tell.
func (m Meter) Stop() (seconds, cpu float64, peak int64) {
	cpu, _ = Process()
	if m.peak {
		peak = highWater()
	}
	return time.Since(m.started).Seconds(), cpu - m.cpu, peak
}

// highWater is the peak of resident memory since Linux forgot the last one, which getrusage does not know of.
func highWater() (bytes int64) {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			bytes, _ = strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		}
	}
	return bytes << 10
}
