// Package memory says how much memory this process is kept to, and is the one place that shares it out: half for what
// flows between the steps of a job, a quarter for who reads, and a quarter for the steps, by worker.
package memory

import (
	"fmt"
	"io/fs"
)

const (
	// Least is the smallest memory that a job can be kept to.
	Least = 256_000_000
	// Beyond is what the process may take beside: the program, and small things that nobody counts.
	Beyond = 100_000_000
)

// Budget is how much memory the process is kept to. The zero Budget has no
// bounds: it is that of a worker on a cluster, whose machine is another.
type Budget struct {
	Bytes int64
	// From says what it follows from, as in "set by --memory".
	From string
}

// Asked is the budget that a user asks for by a flag.
func Asked(n int64, flag string) Budget { return Budget{n, "set by " + flag} }

// Usual is the budget of a process whose user asks for none: half of what there is. A GOMEMLIMIT that is no more than
// there is stands for the memory that it is the heap of; math.MaxInt64 is none. Root is the root of the file system.
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

// heap is how many tenths the garbage collector is told of: the rest is for what it does not see.
const heap = 9

// Heap is the limit of the garbage collector.
func (b Budget) Heap() int64 { return b.Bytes / 10 * heap }

// Most is what the process takes at most; 0: it is not known.
func (b Budget) Most() int64 {
	if b.Bytes == 0 {
		return 0
	}
	return b.Bytes + Beyond
}

// Exchange is the share of what flows between steps. When nothing
// flows, the command that reads a finished output has it.
func (b Budget) Exchange() int64 { return b.Bytes / 2 }

// Reading is the share of all who read, which is the size of their Room.
func (b Budget) Reading() int64 { return b.Bytes / 4 }

// Step is the share of what a step holds in each of so many workers.
func (b Budget) Step(workers int) int64 { return b.Bytes / 4 / int64(workers) }

func size(n int64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
