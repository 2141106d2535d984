// Package plan turns a portable Beam pipeline into fused stages: what each worker executes, what
// lies between them, and which must be done before which.
package plan

import (
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// Kind says how a collection between stages is kept.
type Kind int

const (
	// Blocks holds windowed elements as they were encoded, in no order.
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
	// KeySize returns how many bytes of an encoded element are its key, or less than 0 where
	// they end in the middle of it. Kinds without keys have none.
	KeySize func(element []byte) int
	// StripKey says that the key is length-prefixed here, but not for those who ask for it.
	StripKey bool
	// Bare says that keys are int64s and values bytes, in the global window, and
	// that values are kept without the length that their coder writes before them.
	Bare bool
	// Interval says that windows are intervals rather than the global one.
	Interval bool

	Writers, Readers []*Stage
}

// Stage is a part of the pipeline that runs without a barrier, on all workers.
type Stage struct {
	Index int
	Name  string
	// Input is what the stage reads; nil for an impulse, which is one empty element.
	Input      *Collection
	Descriptor *fnpb.ProcessBundleDescriptor
	// Outputs are the collections that its data sinks fill, by the sink's transform.
	Outputs map[string]*Collection
	Sides   map[SideInput]*Collection
	After   map[*Stage]bool

	source string // the collection that the data source emits
	nodes  []*node
	sinks  []sink
	same   map[string]string // what a Flatten makes here of one collection alone, and that one
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
	// Stages are in an order in which they can run one after another.
	Stages []*Stage
	// Names are the full names of transforms.
	Names map[string]string
}

// New plans a pipeline of which Refuse has nothing to say. The pipeline is the plan's afterwards.
func New(p *pipepb.Pipeline) (*Plan, error) {
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
