package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
)

const (
	urnSource = "beam:runner:source:v1"
	urnSink   = "beam:runner:sink:v1"

	sourceID     = "source" // the stage's only data source
	partitionsID = "partitions"

	// GroupsID is the transform, in a stage with a bare input, that makes groups from the numbers of partitions that the
	// source emits. The runner supplies its specification.
	GroupsID = "groups"
)

// fuser grows stages: each transform joins the stages that make its main input (for a Flatten's output several stages,
// each of which makes a part and gets the transform for that part), unless it must wait for a side input that depends
// on one of them.
type fuser struct {
	*graph
	stages []*Stage
	homes  map[string][]*Stage    // stages that produce a collection or a part of it
	inputs map[string]*Collection // input from which a stage emits a collection
	sides  map[sideKey]*Collection
}

type sideKey struct {
	pcollection string
	keyed       bool
}

func newFuser(g *graph) *fuser {
	return &fuser{graph: g, homes: map[string][]*Stage{}, inputs: map[string]*Collection{},
		sides: map[sideKey]*Collection{}}
}

func (f *fuser) add(n *node) error {
	urn := n.GetSpec().GetUrn()
	if barrier := urn == graphx.URNGBK || urn == graphx.URNReshuffle ||
		urn == graphx.URNFlatten; barrier && f.consumers[n.outputs[0]] == 0 {
		return nil
	}
	switch urn {
	case graphx.URNImpulse:
		f.open(n.outputs[0], nil)
	case graphx.URNGBK:
		return f.group(n)
	case graphx.URNReshuffle:
		f.open(n.outputs[0], f.materialise(n.main, Blocks))
	case graphx.URNFlatten:
		f.flatten(n)
	default:
		return f.fuse(n)
	}
	return nil
}

// open begins a stage that reads input and emits it as a collection. Several stages may do so.
func (f *fuser) open(pcollection string, input *Collection) *Stage {
	f.inputs[pcollection] = input
	s := &Stage{Input: input, source: pcollection, Outputs: map[string]*Collection{}, Sides: map[SideInput]*Collection{},
		After: map[*Stage]bool{}, same: map[string]string{}}
	if input != nil {
		input.Readers = append(input.Readers, s)
		for _, w := range input.Writers {
			s.After[w] = true
		}
	}
	f.stages = append(f.stages, s)
	f.homes[pcollection] = append(f.homes[pcollection], s)
	return s
}

// collect makes the producers of a collection also write it to c.
func (f *fuser) collect(pcollection, coder string, c *Collection) {
	p := f.comps.GetPcollections()[pcollection]
	window := f.comps.GetWindowingStrategies()[p.GetWindowingStrategyId()].GetWindowCoderId()
	c.Interval = f.comps.GetCoders()[window].GetSpec().GetUrn() == coderInterval
	c.Name = producer(f.comps, pcollection)
	c.Writers = slices.Clone(f.homes[pcollection])
	for _, s := range c.Writers {
		s.sinks = append(s.sinks, sink{pcollection, f.windowed(coder, pcollection), c})
	}
}

// windowed returns the coder of a collection's elements with their headers.
func (f *fuser) windowed(coder, pcollection string) string {
	strategy := f.comps.GetPcollections()[pcollection].GetWindowingStrategyId()
	return f.coder(coderWindowed, coder, f.comps.GetWindowingStrategies()[strategy].GetWindowCoderId())
}

// materialise keeps a collection unchanged between stages.
func (f *fuser) materialise(pcollection string, kind Kind) *Collection {
	c := &Collection{Kind: kind}
	f.collect(pcollection, f.comps.GetPcollections()[pcollection].GetCoderId(), c)
	return c
}

func (f *fuser) group(n *node) error {
	coder := f.comps.GetPcollections()[n.main].GetCoderId()
	if urn := f.comps.GetCoders()[coder].GetSpec().GetUrn(); urn != coderKV {
		return fmt.Errorf("transform %q groups elements of coder %s, which have no key", n.name, urn)
	}
	c := &Collection{Kind: Groups}
	sized, prefixed := f.keyed(coder)
	f.collect(n.main, sized, c)
	key, value := f.components(coder)
	c.Bare = key == coderVarInt && value == coderBytes && !c.Interval
	f.open(n.outputs[0], c).Name = n.name
	out := f.comps.GetPcollections()[n.outputs[0]] // whose keys have the prefix, too
	out.CoderId = f.coder(coderKV, prefixed, f.comps.GetCoders()[out.GetCoderId()].GetComponentCoderIds()[1])
	return nil
}

// flatten adds a Flatten to each stage that makes some of its inputs. A stage that makes only one needs none.
func (f *fuser) flatten(n *node) {
	parts := map[*Stage]map[string]string{}
	for _, local := range slices.Sorted(maps.Keys(n.GetInputs())) {
		in := n.GetInputs()[local]
		for _, s := range f.homes[in] {
			if parts[s] == nil {
				parts[s] = map[string]string{}
			}
			parts[s][fmt.Sprintf("i%d", len(parts[s]))] = s.here(in)
		}
	}
	out := n.outputs[0]
	for _, s := range f.stages {
		inputs := parts[s]
		switch len(inputs) {
		case 0:
			continue
		case 1:
			s.same[out] = only(inputs)
		default:
			s.nodes = append(s.nodes, &node{id: n.id, name: n.name, PTransform: reading(n.PTransform, inputs)})
		}
		f.homes[out] = append(f.homes[out], s)
	}
}

// reading returns a copy of a transform with other inputs.
func reading(t *pipepb.PTransform, inputs map[string]string) *pipepb.PTransform {
	return &pipepb.PTransform{UniqueName: t.GetUniqueName(), Spec: t.GetSpec(), Inputs: inputs, Outputs: t.GetOutputs()}
}

// here returns the stage's name for a collection.
func (s *Stage) here(pcollection string) string { return cmp.Or(s.same[pcollection], pcollection) }

func (f *fuser) fuse(n *node) error {
	var sides []*Collection
	for _, input := range slices.Sorted(maps.Keys(n.sides)) {
		sides = append(sides, f.side(n, input))
	}
	hosts := f.hosts(n.main, sides)
	for _, s := range hosts {
		s.nodes = append(s.nodes, n)
		if s.Name == "" {
			s.Name = n.name
		}
		if s.Input != nil && n.GetSpec().GetUrn() == urnCombineMerge {
			s.Input.Bare = false // it may change its first value, which others may share
		}
		for i, input := range slices.Sorted(maps.Keys(n.sides)) {
			s.Sides[SideInput{n.id, input}] = sides[i]
			if !slices.Contains(sides[i].Readers, s) {
				sides[i].Readers = append(sides[i].Readers, s)
			}
			for _, w := range sides[i].Writers {
				s.After[w] = true
			}
		}
	}
	for _, out := range n.outputs {
		f.homes[out] = hosts
	}
	return nil
}

// side returns the collection that holds a side input.
func (f *fuser) side(n *node, input string) *Collection {
	key := sideKey{n.sides[input], n.keyed[input]}
	if c := f.sides[key]; c != nil {
		return c
	}
	c := &Collection{Kind: Side}
	coder := f.comps.GetPcollections()[key.pcollection].GetCoderId()
	if key.keyed {
		c.Kind = KeyedSide
		coder, _ = f.keyed(coder)
	}
	f.collect(key.pcollection, coder, c)
	f.sides[key] = c
	return c
}

// hosts finds the stages for a transform with a main input and side inputs: those that make the main input, each a part
// of it, or one that reads it.
func (f *fuser) hosts(pcollection string, sides []*Collection) []*Stage {
	waits := func(s *Stage) bool {
		return slices.ContainsFunc(sides, func(c *Collection) bool { return leads(s, c.Writers) })
	}
	if homes := f.homes[pcollection]; !slices.ContainsFunc(homes, waits) {
		return homes
	}
	if c := f.inputs[pcollection]; c != nil {
		if i := slices.IndexFunc(c.Readers, func(s *Stage) bool { return !waits(s) }); i >= 0 {
			return c.Readers[i : i+1 : i+1]
		}
	}
	c := f.inputs[pcollection]
	if c == nil {
		c = f.materialise(pcollection, Blocks)
	}
	homes := f.homes[pcollection]
	s := f.open(pcollection, c)
	f.homes[pcollection] = homes // the reader repeats the collection, but does not make it
	return []*Stage{s}
}

// leads reports whether one of to is s or waits for s.
func leads(s *Stage, to []*Stage) bool {
	seen, queue := map[*Stage]bool{}, slices.Clone(to)
	for len(queue) > 0 {
		t := queue[0]
		queue = queue[1:]
		if t == s {
			return true
		}
		if !seen[t] {
			seen[t] = true
			queue = slices.AppendSeq(queue, maps.Keys(t.After))
		}
	}
	return false
}

// finish orders the stages and writes their descriptors.
func (f *fuser) finish() []*Stage {
	var ordered []*Stage
	done := map[*Stage]bool{}
	for len(ordered) < len(f.stages) {
		for _, s := range f.stages {
			ready := !done[s]
			for a := range s.After {
				ready = ready && done[a]
			}
			if ready {
				done[s] = true
				s.Index = len(ordered)
				ordered = append(ordered, s)
			}
		}
	}
	for _, s := range ordered {
		f.describe(s)
	}
	return ordered
}

func (f *fuser) describe(s *Stage) {
	if s.Name == "" {
		s.Name = producer(f.comps, s.source)
	}
	s.Name = strings.TrimSuffix(s.Name, "/Impulse")
	d := &fnpb.ProcessBundleDescriptor{
		Id:                  fmt.Sprintf("stage%d", s.Index),
		Transforms:          map[string]*pipepb.PTransform{},
		Pcollections:        map[string]*pipepb.PCollection{},
		WindowingStrategies: f.comps.GetWindowingStrategies(),
		Coders:              f.comps.GetCoders(),
	}
	add := func(id string, t *pipepb.PTransform) {
		d.Transforms[id] = t
		for _, side := range []map[string]string{t.GetInputs(), t.GetOutputs()} {
			for _, p := range side {
				d.Pcollections[p] = f.comps.GetPcollections()[p]
			}
		}
	}
	coder, out := f.comps.GetPcollections()[s.source].GetCoderId(), s.source
	if s.Input != nil && s.Input.Bare {
		coder, out = f.coder(coderVarInt), partitionsID
		add(GroupsID, &pipepb.PTransform{
			UniqueName: GroupsID,
			Inputs:     map[string]string{"i0": partitionsID},
			Outputs:    map[string]string{"i0": s.source},
		})
	}
	add(sourceID, &pipepb.PTransform{
		UniqueName: sourceID,
		Spec:       port(urnSource, f.windowed(coder, s.source)),
		Outputs:    map[string]string{"i0": out},
	})
	for _, n := range s.nodes {
		t := n.PTransform
		if s.here(n.main) != n.main {
			inputs := maps.Clone(t.GetInputs())
			for input, p := range inputs {
				inputs[input] = s.here(p)
			}
			t = reading(t, inputs)
		}
		add(n.id, t)
	}
	for i, k := range s.sinks {
		id := fmt.Sprintf("sink%d", i)
		add(id, &pipepb.PTransform{
			UniqueName: id,
			Spec:       port(urnSink, k.coder),
			Inputs:     map[string]string{"i0": s.here(k.pcollection)},
		})
		s.Outputs[id] = k.to
	}
	if out == partitionsID {
		// The SDK encodes some elements to measure them. At that time groups have no values, so their keys are measured.
		p := proto.Clone(f.comps.GetPcollections()[s.source]).(*pipepb.PCollection)
		p.CoderId = coder
		d.Pcollections[partitionsID], d.Pcollections[s.source] = p, p
	}
	s.Descriptor = d
}

func port(urn, coder string) *pipepb.FunctionSpec {
	payload, err := proto.Marshal(&fnpb.RemoteGrpcPort{CoderId: coder})
	if err != nil {
		panic(err) // the message has only a string
	}
	return &pipepb.FunctionSpec{Urn: urn, Payload: payload}
}
