package peers

import (
	"syscall"
	"time"

	"github.com/neardup/neardup/bench/internal/process"
)

// adopt makes orphans of what this process starts its children. Servers of Python's multiprocessing and Spark's JVM
// outlive the process that started them, which does not wait for them: nobody would count what they took.
func adopt() {
	const setChildSubreaper = 36
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
}

// reap waits for them, and returns what all took together and the largest had.
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
