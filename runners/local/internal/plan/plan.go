// Package plan turns a portable Beam pipeline into fused stages: what each worker executes, the data between them, and
// their order.
package plan

import (
	"errors"
	"fmt"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// Kind says how a collection is kept between stages.
type Kind int

const (
	// Blocks holds encoded, windowed elements in no particular order.
	Blocks Kind = iota
	// Groups holds values by window and key, for a GroupByKey.
	Groups
	// Side holds the values of a side input by window.
	Side
	// KeyedSide holds the values of a map side input by window and key.
	KeyedSide
)

// Collection is data that leaves a stage.
type Collection struct {
	Kind Kind
	Name string
	// Bare says that keys are int64s and values bytes, in the global window, and that values are stored without the length
	// that their coder writes before them.
	Bare bool
	// Interval says that windows are intervals, not the global window.
	Interval bool

	Writers, Readers []*Stage
}

// Stage is a part of the pipeline that all workers run without a barrier.
type Stage struct {
	Index int
	Name  string
	// Input is the collection that the stage reads; nil for an impulse, which is one empty element.
	Input      *Collection
	Descriptor *fnpb.ProcessBundleDescriptor
	// Outputs are the collections that the stage's data sinks fill, by the sink's transform.
	Outputs map[string]*Collection
	Sides   map[SideInput]*Collection
	After   map[*Stage]bool

	source string // the collection that the data source emits
	nodes  []*node
	sinks  []sink
	same   map[string]string // by the output of a Flatten, the only collection that this stage contributes to it
}

// SideInput names a side input of a transform.
type SideInput struct{ Transform, Input string }

type sink struct {
	pcollection string
	coder       string
	to          *Collection
}

// Plan is a pipeline ready to run.
type Plan struct {
	// Stages are in an order in which they can run one by one.
	Stages []*Stage
	// Names are the full names of transforms.
	Names map[string]string
}

// New plans a pipeline, which the plan then owns. If there is anything that the runner cannot run, the error has one
// line for each reason, after those that are already known.
func New(p *pipepb.Pipeline, known ...error) (*Plan, error) {
	if reasons := errors.Join(append(known, refuse(p)...)...); reasons != nil {
		return nil, fmt.Errorf("the local runner cannot run this pipeline: %w", reasons)
	}
	g, err := expand(p)
	if err != nil {
		return nil, err
	}
	f := newFuser(g)
	for _, n := range g.nodes {
		if err := f.add(n); err != nil {
			return nil, err
		}
	}
	names := make(map[string]string, len(g.nodes))
	for _, n := range g.nodes {
		names[n.id] = n.name
	}
	return &Plan{Stages: f.finish(), Names: names}, nil
}
