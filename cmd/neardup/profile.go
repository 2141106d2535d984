package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"

	"github.com/neardup/neardup/pipelines/job"
)

// profiles are files for Go's own tools.
type profiles struct {
	CPU    string `name:"cpuprofile" placeholder:"FILE" help:"Write a CPU profile, for go tool pprof; the file must not exist." group:"Running"`
	Memory string `name:"memprofile" placeholder:"FILE" help:"Write a profile of all allocations, for go tool pprof; the file must not exist." group:"Running"`
	Trace  string `name:"trace" placeholder:"FILE" help:"Write an execution trace, for go tool trace; the file must not exist." group:"Running"`
}

// profile is one of them.
type profile struct {
	flag, path  string
	start, stop func(io.Writer) error
	file        *os.File
}

// record calls do and writes the profiles of it. It does not call do if one of the files is there already.
func (p profiles) record(do func() error) error {
	asked := []*profile{
		{flag: "memprofile", path: p.Memory, start: sampleAllocations, stop: writeAllocations},
		{flag: "trace", path: p.Trace, start: trace.Start, stop: func(io.Writer) error { trace.Stop(); return nil }},
		{flag: "cpuprofile", path: p.CPU, start: pprof.StartCPUProfile, stop: func(io.Writer) error { pprof.StopCPUProfile(); return nil }},
	}
	asked = slices.DeleteFunc(asked, func(p *profile) bool { return p.path == "" })
	for i, p := range asked {
		if err := p.create(); err != nil {
			for _, created := range asked[:i] {
				err = errors.Join(err, created.file.Close(), os.Remove(created.path))
			}
			return err
		}
	}
	for _, p := range asked {
		if err := p.start(p.file); err != nil {
			return fmt.Errorf("--%s: %w", p.flag, err)
		}
		defer p.end()
	}
	return do()
}

func (p *profile) create() (err error) {
	p.file, err = os.OpenFile(p.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return job.Usage("--%s: %s already exists; remove it or choose another name", p.flag, p.path)
	case err != nil:
		return job.Usage("--%s: %w", p.flag, err)
	}
	return nil
}

// end warns of what goes wrong: the run may be committed.
func (p *profile) end() {
	if err := errors.Join(p.stop(p.file), p.file.Close()); err != nil {
		slog.Warn(fmt.Sprintf("--%s: %v", p.flag, err))
	}
}

// sampling is how allocations are sampled for a profile of them. Only --memprofile asks for one.
var sampling = runtime.MemProfileRate

func sampleAllocations(io.Writer) error {
	runtime.MemProfileRate = sampling
	return nil
}

func writeAllocations(w io.Writer) error {
	runtime.GC() // the profile is as of the last collection
	return pprof.Lookup("allocs").WriteTo(w, 0)
}
