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
	// goMemLimit is GOMEMLIMIT as the runtime parsed it; math.MaxInt64 if it is not set.
	goMemLimit = debug.SetMemoryLimit(-1)
)

// limit limits the memory of the process to what the command sets or, if it does not, to the default. Runners other
// than the local one have no limit: a process with one of those is limited like a worker.
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
		slog.Warn(fmt.Sprintf("the process may take %d MB of memory, but %s is %d MB; give it more memory, or set a "+
			"smaller --memory", budget.Most()/1e6, of, has/1e6))
	}
}

// limitWorker limits the heap of a worker to a part of the memory of its machine or container, which the runner's own
// processes share, unless GOMEMLIMIT is set.
func limitWorker() {
	if goMemLimit == math.MaxInt64 {
		has, _ := memory.Available(machine)
		debug.SetMemoryLimit(has / 10 * 7)
	}
}
