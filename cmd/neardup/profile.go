package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
)

// profiles are files for Go's own tools.
type profiles struct {
	CPU    string `name:"cpuprofile" placeholder:"FILE" help:"Write a CPU profile, for go tool pprof." group:"Profiles"`
	Memory string `name:"memprofile" placeholder:"FILE" help:"Write a profile of all allocations, for go tool pprof." group:"Profiles"`
	Trace  string `name:"trace" placeholder:"FILE" help:"Write an execution trace, for go tool trace." group:"Profiles"`
}

// record calls do and writes the profiles of it.
func (p profiles) record(do func() error) error {
	around := func(path string, start func(*os.File) error, stop func(*os.File) error) {
		if path == "" {
			return
		}
		recorded := do
		do = func() error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			if err := start(f); err != nil {
				return errors.Join(err, f.Close())
			}
			return errors.Join(recorded(), stop(f), f.Close())
		}
	}
	around(p.CPU,
		func(f *os.File) error { return pprof.StartCPUProfile(f) },
		func(*os.File) error { pprof.StopCPUProfile(); return nil })
	around(p.Trace,
		func(f *os.File) error { return trace.Start(f) },
		func(*os.File) error { trace.Stop(); return nil })
	around(p.Memory,
		func(*os.File) error { return nil },
		func(f *os.File) error {
			runtime.GC() // the profile is as of the last collection
			return pprof.Lookup("allocs").WriteTo(f, 0)
		})
	return do()
}
