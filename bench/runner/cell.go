package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct" //nolint:staticcheck // deprecated, but a second runner to compare with
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/neardup/neardup/runners/local"
)

// cell is one measurement.
type cell struct {
	Work    string
	N       int64
	Runner  string
	Workers int
	Memory  int64
}

// taken is what a cell took.
type taken struct {
	Wall, CPU float64 // seconds
	Peak      int64   // bytes
	Spilled   int64
	GaveUp    bool
}

// patience is how long a cell may take.
const patience = 3 * time.Minute

var works = map[string]func(beam.Scope, int64){"small": small, "large": large, "chain": chain}

// runCell runs a cell in this process and prints what it took.
func runCell(text string) error {
	var c cell
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	beam.Init()
	p, s := beam.NewPipelineWithRoot()
	works[c.Work](s, c.N)
	ctx := local.WithOptions(context.Background(), local.Options{Workers: c.Workers, Memory: c.Memory})
	begun := time.Now()
	result, err := beam.Run(ctx, c.Runner, p)
	if err != nil {
		return err
	}
	t := taken{Wall: time.Since(begun).Seconds()}
	if r, ok := result.(*local.Result); ok {
		t.Spilled = r.Report().Spilled
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

// measureCell runs a cell in a process of its own.
func measureCell(c cell) (t taken, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return t, err
	}
	self, err := os.Executable()
	if err != nil {
		return t, err
	}
	var out strings.Builder
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	t, err = measureCommand(exec.CommandContext(ctx, self, "-cell", string(text)), &out)
	if ctx.Err() != nil {
		t.GaveUp = true // what it took so far is a lower bound
		return t, nil
	}
	if err != nil {
		return t, err
	}
	wholeCPU, peak := t.CPU, t.Peak
	if err := json.Unmarshal([]byte(out.String()), &t); err != nil {
		return t, fmt.Errorf("cell %s printed %q: %w", text, out.String(), err)
	}
	t.CPU, t.Peak = wholeCPU, peak
	return t, nil
}

// measureCommand runs a command.
func measureCommand(command *exec.Cmd, out io.Writer) (taken, error) {
	var messages strings.Builder
	command.Stdout, command.Stderr = out, &messages
	begun := time.Now()
	err := command.Run()
	state := command.ProcessState
	if state == nil {
		return taken{}, fmt.Errorf("%v: %w", command.Args, err)
	}
	t := taken{Wall: time.Since(begun).Seconds(), CPU: (state.UserTime() + state.SystemTime()).Seconds()}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		t.Peak = usage.Maxrss << 10
	}
	if err != nil {
		err = fmt.Errorf("%v: %w: %s", command.Args, err, messages.String())
	}
	return t, err
}
