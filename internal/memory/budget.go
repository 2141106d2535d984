// Package memory determines the memory limit of this process. It is the only place that divides it: half for what flows
// between the steps of a job, a quarter for readers, and a quarter for the steps, by worker.
package memory

import (
	"fmt"
	"io/fs"
)

const (
	// Least is the minimum budget of a job.
	Least = 256_000_000
	// Beyond is what the process may take beyond its budget: the program, and small allocations that are not counted.
	Beyond = 100_000_000
)

// Budget is the memory limit of the process. The zero Budget has no limit: it is for workers on a cluster, on other
// machines.
type Budget struct {
	Bytes int64
	// From says what sets it, as in "set by --memory".
	From string
}

// Asked returns the budget that a user sets by a flag.
func Asked(n int64, flag string) Budget { return Budget{n, "set by " + flag} }

// Usual returns the default budget: half of the available memory. If GOMEMLIMIT is not more than that memory, it sets
// the budget of which the heap has that limit; math.MaxInt64 means that it is not set. root is the root of the file
// system.
func Usual(root fs.FS, goMemLimit int64) Budget {
	n, source := Available(root)
	if goMemLimit <= n {
		return atLeast(goMemLimit/heap*10, fmt.Sprintf("from GOMEMLIMIT, which is %s", size(goMemLimit)))
	}
	return atLeast(n/2, fmt.Sprintf("half of %s of %s", source, size(n)))
}

func atLeast(n int64, from string) Budget {
	if n < Least {
		return Budget{Least, "the minimum; " + from + " is less"}
	}
	return Budget{n, from}
}

// heap is how many tenths the garbage collector may use: the rest is for memory that it does not see.
const heap = 9

// Heap returns the limit for the garbage collector.
func (b Budget) Heap() int64 { return b.Bytes / 10 * heap }

// Most returns the maximum memory of the process, or 0 if there is no limit.
func (b Budget) Most() int64 {
	if b.Bytes == 0 {
		return 0
	}
	return b.Bytes + Beyond
}

// Exchange returns the share of what flows between steps. If nothing flows, it is for the command that reads a finished
// output.
func (b Budget) Exchange() int64 { return b.Bytes / 2 }

// Reading returns the share of all readers, which is the size of their Room.
func (b Budget) Reading() int64 { return b.Bytes / 4 }

// Step returns the share of a step in each worker.
func (b Budget) Step(workers int) int64 { return b.Bytes / 4 / int64(workers) }

func size(n int64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
