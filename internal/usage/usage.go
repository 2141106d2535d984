// Package usage measures the CPU time and memory of the process.
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

// Meter measures the usage of the process between two moments.
type Meter struct {
	started time.Time
	cpu     float64
	peak    bool // the peak since the start is known
}

// Start starts a meter. It makes Linux reset the peak of memory, after it has returned unused memory to the system,
// which would otherwise count.
func Start() Meter {
	debug.FreeOSMemory()
	const forgetPeak = "5"
	reset := os.WriteFile("/proc/self/clear_refs", []byte(forgetPeak), 0)
	cpu, _ := Process()
	return Meter{started: time.Now(), cpu: cpu, peak: reset == nil}
}

// Stop returns the seconds and the CPU seconds since the start, and the peak of memory in bytes meanwhile, or 0 if the
// system does not report it.
func (m Meter) Stop() (seconds, cpu float64, peak int64) {
	cpu, _ = Process()
	if m.peak {
		peak = highWater()
	}
	return time.Since(m.started).Seconds(), cpu - m.cpu, peak
}

// highWater returns the peak of resident memory since Linux reset it, which getrusage does not know.
func highWater() (bytes int64) {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			bytes, _ = strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		}
	}
	return bytes << 10
}
