package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
)

// Kinds of transforms that graphx does not name.
const (
	urnCombinePre     = "beam:transform:combine_per_key_precombine:v1"
	urnCombineMerge   = "beam:transform:combine_per_key_merge_accumulators:v1"
	urnCombineExtract = "beam:transform:combine_per_key_extract_outputs:v1"
	urnPair           = "beam:transform:sdf_pair_with_restriction:v1"
	urnSplit          = "beam:transform:sdf_split_and_size_restrictions:v1"
	urnProcess        = "beam:transform:sdf_process_sized_element_and_restrictions:v1"
)

// node is a transform that is not a composite.
type node struct {
	id, name string
	*pipepb.PTransform
	main    string            // the main input; "" for a Flatten, all of whose inputs are main
	sides   map[string]string // collections by side input
	keyed   map[string]bool   // side inputs that are looked up by key
	outputs []string
}

// graph is a pipeline without composites, in which each node follows the producers of its inputs.
type graph struct {
	comps     *pipepb.Components
	nodes     []*node
	consumers map[string]int // how many times each collection is read
}

// expand resolves composites: it lifts combines, splits splittable DoFns and keeps reshuffles.
func expand(p *pipepb.Pipeline) (*graph, error) {
	g := &graph{comps: p.GetComponents(), consumers: map[string]int{}}
	for _, id := range p.GetRootTransformIds() {
		if err := g.walk(id); err != nil {
			return nil, err
		}
	}
	for _, n := range g.nodes {
		for _, in := range n.GetInputs() {
			g.consumers[in]++
		}
	}
	return g, g.sort()
}

func (g *graph) walk(id string) error {
	t := g.comps.GetTransforms()[id]
	switch {
	case t.GetSpec().GetUrn() == graphx.URNReshuffle:
		return g.add(id, t)
	case t.GetSpec().GetUrn() == graphx.URNCombinePerKey:
		return g.lift(id, t)
	case len(t.GetSubtransforms()) == 0:
		return g.add(id, t)
	}
	for _, sub := range t.GetSubtransforms() {
		if err := g.walk(sub); err != nil {
			return err
		}
	}
	return nil
}

func (g *graph) add(id string, t *pipepb.PTransform) error {
	n := &node{
		id: id, name: t.GetUniqueName(), PTransform: t,
		sides: map[string]string{}, keyed: map[string]bool{},
		outputs: slices.Sorted(maps.Values(t.GetOutputs())),
	}
	switch urn := t.GetSpec().GetUrn(); urn {
	case "": // a composite without parts does nothing
		return nil
	case graphx.URNFlatten:
	case graphx.URNParDo, urnPair, urnSplit, urnProcess:
		var payload pipepb.ParDoPayload
		if err := proto.Unmarshal(t.GetSpec().GetPayload(), &payload); err != nil {
			return fmt.Errorf("payload of %s: %w", n.name, err)
		}
		if urn == graphx.URNParDo && payload.GetRestrictionCoderId() != "" {
			return g.split(id, t, &payload)
		}
		for input, pcollection := range t.GetInputs() {
			side, ok := payload.GetSideInputs()[input]
			if !ok {
				n.main = pcollection
				continue
			}
			n.sides[input] = pcollection
			n.keyed[input] = side.GetAccessPattern().GetUrn() == graphx.URNMultimapSideInput
		}
	default:
		n.main = only(t.GetInputs())
	}
	g.nodes = append(g.nodes, n)
	return nil
}

// lift replaces a combine with its parts around a GroupByKey of accumulators.
func (g *graph) lift(id string, t *pipepb.PTransform) error {
	var payload pipepb.CombinePayload
	if err := proto.Unmarshal(t.GetSpec().GetPayload(), &payload); err != nil {
		return fmt.Errorf("payload of %s: %w", t.GetUniqueName(), err)
	}
	in, out := only(t.GetInputs()), only(t.GetOutputs())
	key := g.comps.GetCoders()[g.comps.GetPcollections()[in].GetCoderId()].GetComponentCoderIds()[0]
	accumulator := payload.GetAccumulatorCoderId()
	pair := g.coder(coderKV, key, accumulator)
	grouped := g.coder(coderKV, key, g.coder(coderIterable, accumulator))

	lifted := g.pcollection(id+"_lifted", in, pair)
	groups := g.pcollection(id+"_groups", in, grouped)
	merged := g.pcollection(id+"_merged", in, pair)
	for _, part := range []struct{ name, urn, in, out string }{
		{"precombine", urnCombinePre, in, lifted},
		{"group", graphx.URNGBK, lifted, groups},
		{"merge", urnCombineMerge, groups, merged},
		{"extract", urnCombineExtract, merged, out},
	} {
		err := g.add(id+"_"+part.name, &pipepb.PTransform{
			UniqueName: t.GetUniqueName(), // users know one combine, and look for its counters under this name
			Spec:       &pipepb.FunctionSpec{Urn: part.urn, Payload: t.GetSpec().GetPayload()},
			Inputs:     map[string]string{"i0": part.in},
			Outputs:    map[string]string{"i0": part.out},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// split replaces a splittable DoFn with its three parts and spreads its splits over the workers.
func (g *graph) split(id string, t *pipepb.PTransform, payload *pipepb.ParDoPayload) error {
	var input string
	for local := range t.GetInputs() {
		if _, side := payload.GetSideInputs()[local]; !side {
			input = local
		}
	}
	in := t.GetInputs()[input]
	restricted := g.coder(coderKV, g.comps.GetPcollections()[in].GetCoderId(), payload.GetRestrictionCoderId())
	sized := g.coder(coderKV, restricted, g.coder(coderDouble))

	pairs := g.pcollection(id+"_pairs", in, restricted)
	splits := g.pcollection(id+"_splits", in, sized)
	spread := g.pcollection(id+"_spread", in, sized)
	part := func(name, urn, in string, outputs map[string]string) error {
		inputs := map[string]string{"i0": in}
		if urn == urnProcess { // other parts do not read them
			inputs = maps.Clone(t.GetInputs())
			inputs[input] = in
		}
		return g.add(id+"_"+name, &pipepb.PTransform{
			UniqueName: t.GetUniqueName(),
			Spec:       &pipepb.FunctionSpec{Urn: urn, Payload: t.GetSpec().GetPayload()},
			Inputs:     inputs, Outputs: outputs,
		})
	}
	if err := part("pair", urnPair, in, map[string]string{"i0": pairs}); err != nil {
		return err
	}
	if err := part("split", urnSplit, pairs, map[string]string{"i0": splits}); err != nil {
		return err
	}
	if err := part("spread", graphx.URNReshuffle, splits, map[string]string{"i0": spread}); err != nil {
		return err
	}
	return part("process", urnProcess, spread, t.GetOutputs())
}

// pcollection adds a copy of a collection with another coder, and returns its id.
func (g *graph) pcollection(id, like, coder string) string {
	c := proto.Clone(g.comps.GetPcollections()[like]).(*pipepb.PCollection)
	c.UniqueName, c.CoderId = id, coder
	g.comps.Pcollections[id] = c
	return id
}

// coder adds a coder with components, unless it exists, and returns its id.
func (g *graph) coder(urn string, components ...string) string {
	id := fmt.Sprint(urn, components)
	g.comps.Coders[id] = &pipepb.Coder{Spec: &pipepb.FunctionSpec{Urn: urn}, ComponentCoderIds: components}
	return id
}

// sort puts every node after the producers of its inputs, and otherwise keeps the order.
func (g *graph) sort() error {
	made, waiting := map[string]bool{}, g.nodes
	g.nodes = nil
	for len(waiting) > 0 {
		var later []*node
		for _, n := range waiting {
			ready := true
			for _, in := range n.GetInputs() {
				ready = ready && made[in]
			}
			if !ready {
				later = append(later, n)
				continue
			}
			g.nodes = append(g.nodes, n)
			for _, out := range n.outputs {
				made[out] = true
			}
		}
		if len(later) == len(waiting) {
			return fmt.Errorf("transform %q reads what nothing produces", later[0].name)
		}
		waiting = later
	}
	return nil
}

// only returns the one value of a map.
func only(m map[string]string) string {
	for _, v := range m {
		return v
	}
	return ""
}
