package peers

import (
	"syscall"
	"time"

	"github.com/neardup/neardup/bench/internal/process"
)

// adopt makes this process the parent of its orphaned descendants. Servers of Python's multiprocessing and Spark's JVM
// outlive the process that started them, which does not wait for them, so nobody would count their cost.
func adopt() {
	const setChildSubreaper = 36
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
}

// reap waits for these processes. It returns the total CPU time, and the peak memory of the largest process.
func reap(t process.Taken) (cpu float64, peak int64) {
	for range 100 {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			break
		}
		if pid == 0 {
			time.Sleep(100 * time.Millisecond)
		}
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return t.CPU, t.Peak
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), max(t.Peak, u.Maxrss<<10)
}
