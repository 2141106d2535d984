package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
)

const urnSessions = "beam:window_fn:session_windows:v1"

// supported are the transforms that the runner executes, apart from composites.
var supported = map[string]bool{
	graphx.URNImpulse: true, graphx.URNParDo: true, graphx.URNFlatten: true, graphx.URNGBK: true, graphx.URNWindow: true,
	graphx.URNMapWindows: true, graphx.URNReshuffle: true, graphx.URNCombinePerKey: true, graphx.URNToString: true,
}

// refuse returns everything in a pipeline that the runner cannot run.
func refuse(p *pipepb.Pipeline) (found []error) {
	comps := p.GetComponents()
	for _, id := range slices.Sorted(maps.Keys(comps.GetTransforms())) {
		t := comps.GetTransforms()[id]
		if why := unsupported(t); why != "" {
			found = append(found, fmt.Errorf("transform %q %s", t.GetUniqueName(), why))
		}
	}
	reshuffled := reshuffleWindows(comps)
	for _, id := range slices.Sorted(maps.Keys(comps.GetPcollections())) {
		c := comps.GetPcollections()[id]
		if c.GetIsBounded() == pipepb.IsBounded_UNBOUNDED {
			found = append(found, fmt.Errorf("collection %q is unbounded: streaming is not supported", producer(comps, id)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(comps.GetWindowingStrategies())) {
		w := comps.GetWindowingStrategies()[id]
		if reshuffled[id] {
			continue
		}
		if w.GetWindowFn().GetUrn() == urnSessions {
			found = append(found, errors.New("session windows are not supported; use fixed or sliding windows"))
		}
		if !batchTrigger(w.GetTrigger()) {
			found = append(found, errors.New("triggers are not supported: a batch fires once, at its end"))
		}
	}
	return found
}

func unsupported(t *pipepb.PTransform) string {
	urn := t.GetSpec().GetUrn()
	composite := len(t.GetSubtransforms()) > 0
	switch {
	case urn == "beam:transform:teststream:v1":
		return "is a TestStream, which is not supported"
	case !composite && urn != "" && !supported[urn]:
		return "has the kind " + urn + ", which is not supported; cross-language transforms never are"
	case urn != graphx.URNParDo:
		return ""
	}
	var payload pipepb.ParDoPayload
	if err := proto.Unmarshal(t.GetSpec().GetPayload(), &payload); err != nil {
		return "has a broken payload: " + err.Error()
	}
	switch {
	case len(payload.GetTimerFamilySpecs()) > 0:
		return "uses timers, which are not supported"
	case len(payload.GetStateSpecs()) > 0:
		return "uses state, which is not supported; group by key instead"
	case payload.GetRequiresTimeSortedInput():
		return "requires time-sorted input, which is not supported"
	}
	return ""
}

// batchTrigger reports whether a trigger has no effect if all data is there at once.
func batchTrigger(t *pipepb.Trigger) bool {
	switch t.GetTrigger().(type) {
	case nil, *pipepb.Trigger_Default_:
		return true
	}
	return false
}

// reshuffleWindows returns the windowing strategies inside reshuffles, which the runner does not execute as such.
func reshuffleWindows(comps *pipepb.Components) map[string]bool {
	inner := map[string]bool{}
	for _, t := range comps.GetTransforms() {
		if t.GetSpec().GetUrn() != graphx.URNReshuffle {
			continue
		}
		outputs := only(t.GetOutputs())
		for _, sub := range t.GetSubtransforms() {
			for _, out := range comps.GetTransforms()[sub].GetOutputs() {
				if out != outputs {
					inner[comps.GetPcollections()[out].GetWindowingStrategyId()] = true
				}
			}
		}
	}
	return inner
}

// producer returns the name of the transform that makes a collection.
func producer(comps *pipepb.Components, pcollection string) string {
	first := "" // the first by id: a composite without parts has the output of another transform
	for id, t := range comps.GetTransforms() {
		if len(t.GetSubtransforms()) > 0 {
			continue
		}
		for _, out := range t.GetOutputs() {
			if out == pcollection && (first == "" || id < first) {
				first = id
			}
		}
	}
	if first == "" {
		return pcollection
	}
	return comps.GetTransforms()[first].GetUniqueName()
}
