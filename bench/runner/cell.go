package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct" //nolint:staticcheck // deprecated, but a second runner to compare with
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/neardup/neardup/bench/internal/process"
	"github.com/neardup/neardup/runners/local"
)

// cell is one measurement.
type cell struct {
	Work    string
	N       int64
	Runner  string
	Workers int // and cores; 0 means all
	Memory  int64
}

// taken is the cost of a cell.
type taken struct {
	process.Taken
	Spilled int64
	GaveUp  bool
}

// patience is the maximum time for a cell.
const patience = 3 * time.Minute

var works = map[string]func(beam.Scope, int64){"small": small, "large": large, "chain": chain}

// runCell runs a cell in this process and prints its cost.
func runCell(text string) error {
	var c cell
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	beam.Init()
	if c.Workers > 0 {
		runtime.GOMAXPROCS(c.Workers) // otherwise, the garbage collector would use another core
	}
	p, s := beam.NewPipelineWithRoot()
	works[c.Work](s, c.N)
	ctx := local.WithOptions(context.Background(), local.Options{Workers: c.Workers, Memory: c.Memory})
	begun := time.Now()
	result, err := beam.Run(ctx, c.Runner, p)
	if err != nil {
		return err
	}
	var t taken
	t.Wall = time.Since(begun).Seconds()
	if r, ok := result.(*local.Result); ok {
		t.Spilled = r.Report().Spilled
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

// measureCell runs a cell in its own process.
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
	t.Taken, err = process.Measure(exec.CommandContext(ctx, self, "-cell", string(text)), &out)
	if ctx.Err() != nil {
		t.GaveUp = true // the cost so far is a lower bound
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
