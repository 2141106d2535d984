package main

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/pipelines/job"
)

var (
	machine = os.DirFS("/")
	// goMemLimit is GOMEMLIMIT as the runtime has read it; math.MaxInt64 if it is not set.
	goMemLimit = debug.SetMemoryLimit(-1)
)

// limit keeps the process to the memory that the command asks for or, if it does not, to the default. Runners other than the local one have no
// bound: a process with one of those is limited as a worker is.
func limit(command *kong.Node) {
	usual := memory.Usual(machine, goMemLimit)
	c, runs := command.Target.Addr().Interface().(interface {
		KeepTo(usual memory.Budget) (memory.Budget, job.Runner)
	})
	if !runs {
		debug.SetMemoryLimit(min(usual.Heap(), goMemLimit))
		return
	}
	budget, runner := c.KeepTo(usual)
	switch {
	case !runner.Traits().Bounded:
		limitWorker()
		return
	case budget == usual:
		debug.SetMemoryLimit(min(budget.Heap(), goMemLimit))
	default:
		debug.SetMemoryLimit(budget.Heap())
	}
	if has, of := memory.Available(machine); budget.Most() > has {
		slog.Warn(fmt.Sprintf("the process may take %d MB of memory, but %s is %d MB; give it more memory, or set a smaller --memory", budget.Most()/1e6, of, has/1e6))
	}
}

// limitWorker keeps the heap of a worker below what its machine or container has, where whoever starts workers has not
// set GOMEMLIMIT: beside it are the runner's own processes.
func limitWorker() {
	if goMemLimit == math.MaxInt64 {
		has, _ := memory.Available(machine)
		debug.SetMemoryLimit(has / 10 * 7)
	}
}
