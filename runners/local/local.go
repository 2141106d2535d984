// Package local runs Beam pipelines in this process, on all cores and in bounded memory.
//
// A batch pipeline is cut into fused stages. Each worker, a goroutine, decodes its own copy of a
// stage's DoFns and executes bundles of it with the SDK's own worker packages, so DoFns behave as
// they do on a cluster; what lies between stages is hash-partitioned, sorted and, when it outgrows
// the memory, spilled to disk. docs/local-runner.md tells how it works and what it promises.
//
// Importing the package registers the runner as "local".
package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/runners/local/internal/plan"
	"github.com/neardup/neardup/runners/local/internal/spill"
)

func init() { beam.RegisterRunner("local", Execute) }

// Options are how to run a pipeline.
type Options struct {
	// Workers is how many bundles are executed at a time; 0 means one for each core.
	Workers int
	// Memory bounds the whole process, in bytes: half of it is for data between stages, and the
	// garbage collector is told of nine tenths, unless it is told of less. 0 means half of what the machine, or the
	// control group, has, and tells the garbage collector of no limit.
	Memory int64
	// TempDir is where data is spilled to, in a folder of its own; empty means the system's
	// folder for temporary files.
	TempDir string
	// Progress, if set, is called about twice a second, by one goroutine at a time, and when the
	// pipeline has ended.
	Progress func(Progress)

	steps int64 // bytes for what the steps of all workers hold

	// For tests: bytes for data between stages, instead of half of Memory, about how many are fed
	// to a bundle at a time, and what is put between the runner and its files.
	buffers int64
	message int
	opened  func(spill.Storage) spill.Storage
}

type optionsKey struct{}

// WithOptions returns a context that carries options to Execute.
func WithOptions(ctx context.Context, o Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, o)
}

// InForce is how many bundles are executed at a time with these
// options, and to how many bytes of memory the process is kept.
func (o Options) InForce() (workers int, bytes int64) {
	workers, bytes = o.Workers, o.Memory
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if bytes == 0 {
		bytes = memory.Usual(os.DirFS("/"), math.MaxInt64).Bytes
	}
	return workers, bytes
}

// longest is from how many bytes on a group is long: the rest is streamed.
func (o Options) longest() int { return 4 * o.message }

// resolve fills in what was left open.
func (o Options) resolve() (Options, error) {
	if o.Workers < 0 {
		return o, fmt.Errorf("%d workers: give at least 1, or 0 for one per core", o.Workers)
	}
	if o.Memory != 0 && o.Memory < memory.Least {
		return o, fmt.Errorf("%d bytes of memory are too few; give at least %d (256 MB)", o.Memory, memory.Least)
	}
	workers, bytes := o.InForce()
	budget := memory.Budget{Bytes: bytes}
	o.Workers, o.steps = workers, budget.Step(1)
	if o.buffers == 0 {
		o.buffers = budget.Exchange()
	}
	if o.message == 0 {
		o.message = messageSize
	}
	return o, nil
}

// Execute runs a pipeline and returns when it has ended. The options come with the context. The
// result is a *Result, also beside an error once the pipeline was begun.
func Execute(ctx context.Context, p *beam.Pipeline) (beam.PipelineResult, error) {
	if !beam.Initialized() {
		return nil, errors.New("local runner: beam.Init must be called first")
	}
	stages, err := translate(p)
	if err != nil {
		return nil, err
	}
	return runPlan(ctx, stages)
}

// ExecuteModel is Execute of a pipeline as other runners are sent it. What DoFns it has must be known to this process.
func ExecuteModel(ctx context.Context, model *pipepb.Pipeline) (beam.PipelineResult, error) {
	if err := plan.Refusal(plan.Refuse(model)); err != nil {
		return nil, err
	}
	stages, err := plan.New(model)
	if err != nil {
		return nil, err
	}
	return runPlan(ctx, stages)
}

func runPlan(ctx context.Context, stages *plan.Plan) (beam.PipelineResult, error) {
	options, _ := ctx.Value(optionsKey{}).(Options)
	options, err := options.resolve()
	if err != nil {
		return nil, fmt.Errorf("local runner: %w", err)
	}
	beam.PipelineOptions.LoadOptionsFromFlags(nil) // DoFns may ask for them
	if options.Memory > 0 {
		defer limits.begin(memory.Budget{Bytes: options.Memory}.Heap())()
	}
	return run(ctx, stages, options)
}

// translate plans what the user built.
func translate(p *beam.Pipeline) (*plan.Plan, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	if len(edges) == 0 {
		return &plan.Plan{}, nil
	}
	refused, external := refuseEdges(edges)
	if external { // the rest has no model
		return nil, plan.Refusal(refused)
	}
	model, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{Urn: "beam:env:default:v1"}})
	if err != nil {
		return nil, err
	}
	if err := plan.Refusal(append(refused, plan.Refuse(model)...)); err != nil {
		return nil, err
	}
	return plan.New(model)
}

// refuseEdges names what the model of the pipeline does not show, or what would not get into it.
func refuseEdges(edges []*graph.MultiEdge) (refused []error, external bool) {
	for _, e := range edges {
		name := strings.TrimPrefix(e.Scope().String()+"/"+e.Name(), "root/")
		if e.External != nil {
			external = true
			refused = append(refused, fmt.Errorf("transform %q is from another language, which is not supported", name))
		}
		if e.DoFn == nil {
			continue
		}
		if _, resumes := e.DoFn.ProcessElementFn().ProcessContinuation(); resumes {
			refused = append(refused, fmt.Errorf(
				"transform %q asks to be resumed later (a ProcessContinuation), which is not supported", name))
		}
	}
	return refused, external
}
