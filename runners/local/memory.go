package local

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// fallbackMemory is assumed of a machine that does not tell.
const fallbackMemory = 4 << 30

// MachineMemory is what there is to use: the machine's memory, or the control group's if less.
func MachineMemory() int64 {
	total := installedMemory()
	if data, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			total = min(total, limit) // "max" is no number, and no limit
		}
	}
	return total
}

func installedMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return fallbackMemory
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return fallbackMemory
}
