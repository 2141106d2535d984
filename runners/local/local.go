// Package local runs Beam pipelines in this process, on all cores and in bounded memory.
//
// A batch pipeline is cut into fused stages. Each worker, a goroutine, decodes its own copy of a stage's DoFns and
// executes bundles with the SDK's own worker packages, so DoFns behave as they do on a cluster. The data between stages
// is hash-partitioned, sorted and, when it outgrows the memory, spilled to disk. docs/local-runner.md explains the
// design and its guarantees.
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

// Options say how to run a pipeline.
type Options struct {
	// Workers is the number of bundles executed at a time; 0: one per core.
	Workers int
	// Memory limits the memory of the whole process in bytes: half of it is for data between stages, and nine tenths
	// become the garbage collector's limit unless that is already lower. 0 means half of the memory of the machine or
	// control group, and sets no limit for the garbage collector.
	Memory int64
	// TempDir is the folder in which the runner makes a folder for spilled data; "" is the system's folder for temporary
	// files.
	TempDir string
	// Progress, if set, is called about twice a second by one goroutine at a time, and once more when the pipeline has
	// ended.
	Progress func(Progress)

	steps int64 // bytes that the steps of all workers may hold

	// For tests: bytes for data between stages, instead of half of Memory; about how many bytes to feed to a bundle at a
	// time; and a wrapper for the runner's files.
	buffers int64
	message int
	opened  func(spill.Storage) spill.Storage
}

type optionsKey struct{}

// WithOptions returns a context that carries options to Execute.
func WithOptions(ctx context.Context, o Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, o)
}

// InForce returns the number of bundles that these options execute at a time, and the limit of the process's memory in
// bytes.
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

// longest returns the size in bytes from which a group is long: its rest is then streamed.
func (o Options) longest() int { return 4 * o.message }

// resolve validates the options and fills in defaults.
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

// Execute runs a pipeline with the options of ctx and returns when it has ended. The result is a *Result; once the
// pipeline has begun, Execute returns one even with an error.
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

// ExecuteModel is Execute for a pipeline in the form sent to other runners. This process must know its DoFns.
func ExecuteModel(ctx context.Context, model *pipepb.Pipeline) (beam.PipelineResult, error) {
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
	beam.PipelineOptions.LoadOptionsFromFlags(nil) // DoFns may read them
	if options.Memory > 0 {
		defer limits.begin(memory.Budget{Bytes: options.Memory}.Heap())()
	}
	return run(ctx, stages, options)
}

// translate plans the pipeline that the user built.
func translate(p *beam.Pipeline) (*plan.Plan, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	if len(edges) == 0 {
		return &plan.Plan{}, nil
	}
	refused, external := refuseEdges(edges)
	if external { // a pipeline with these has no model
		return plan.New(nil, refused...)
	}
	model, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{Urn: "beam:env:default:v1"}})
	if err != nil {
		return nil, err
	}
	return plan.New(model, refused...)
}

// refuseEdges returns what the runner cannot run and the pipeline's model does not show or cannot hold.
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
