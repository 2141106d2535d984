package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
)

func init() {
	beam.RegisterFunction(start)
	beam.RegisterFunction(pass)
	beam.RegisterFunction(fork)
	beam.RegisterFunction(beside)
	beam.RegisterFunction(lookUp)
	beam.RegisterFunction(group)
	beam.RegisterFunction(groupBeside)
	beam.RegisterFunction(add)
	beam.RegisterFunction(startBytes)
	beam.RegisterFunction(each)
	beam.RegisterFunction(join)
	register.Iter1[[]byte]()
	beam.RegisterDoFn(reflect.TypeFor[ranged]())
	register.Emitter2[int64, int64]()
	register.Iter1[int64]()
	register.Iter2[int64, int64]()
}

func start([]byte) (int64, int64)                                       { return 0, 0 }
func pass(k, v int64) (int64, int64)                                    { return k, v }
func fork(_, _ int64, _, _ func(int64, int64))                          {}
func beside(k, v int64, _ func(*int64, *int64) bool) (int64, int64)     { return k, v }
func lookUp(k, v int64, _ func(int64) func(*int64) bool) (int64, int64) { return k, v }
func group(k int64, _ func(*int64) bool) (int64, int64)                 { return k, 0 }
func groupBeside(k int64, _ func(*int64) bool, _ func(*int64, *int64) bool) (int64, int64) {
	return k, 0
}
func add(a, b int64) int64 { return a + b }

func startBytes([]byte) (int64, []byte) { return 0, nil }
func each(int64, func(*[]byte) bool)    {}
func join(a, b []byte) []byte           { return append(a, b...) }

// ranged is a splittable DoFn.
type ranged struct{}

func (*ranged) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{}
}
func (*ranged) SplitRestriction(_ []byte, r offsetrange.Restriction) []offsetrange.Restriction {
	return r.EvenSplits(2)
}
func (*ranged) RestrictionSize(_ []byte, r offsetrange.Restriction) float64 { return r.Size() }
func (*ranged) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}
func (*ranged) ProcessElement(*sdf.LockRTracker, []byte, func(int64, int64)) {}

// model returns the portable form of a pipeline.
func model(t *testing.T, build func(beam.Scope)) *pipepb.Pipeline {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	build(s)
	edges, _, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	m, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// shape describes a plan with a line for each stage: what it reads, its transforms, what it writes with the stages that
// read it, and the stages it waits for. All are sorted by name, and a stage is named after the last of its transforms,
// since the SDK puts independent stages in any order.
func shape(t *testing.T, p *Plan) (lines []string) {
	kinds := map[Kind]string{Blocks: "blocks", Groups: "groups", Side: "side", KeyedSide: "keyed side"}
	transforms := map[*Stage][]string{}
	for i, s := range p.Stages {
		for a := range s.After {
			if a.Index >= i || s.Index != i {
				t.Errorf("stage %d is said to be %d, and waits for %d", i, s.Index, a.Index)
			}
		}
		for _, n := range s.nodes {
			name, _, _ := strings.Cut(n.name, "/")
			if urn := n.GetSpec().GetUrn(); urn != graphx.URNParDo {
				name = strings.TrimSuffix(strings.TrimPrefix(urn, "beam:transform:"), ":v1")
				if urn == graphx.URNFlatten {
					name += fmt.Sprint("*", len(n.GetInputs()))
				}
			}
			transforms[s] = append(transforms[s], name)
		}
		slices.Sort(transforms[s])
	}
	names := func(stages []*Stage) string {
		var all []string
		for _, s := range stages {
			all = append(all, transforms[s][len(transforms[s])-1])
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	for _, s := range p.Stages {
		line := "impulse: "
		if s.Input != nil {
			line = kinds[s.Input.Kind] + ": "
		}
		line += strings.Join(transforms[s], " ")
		var to []string
		for _, k := range s.sinks {
			to = append(to, " > "+kinds[k.to.Kind]+" for "+names(k.to.Readers))
		}
		slices.Sort(to)
		line += strings.Join(to, "")
		if len(s.After) > 0 {
			line += " after " + names(slices.Collect(maps.Keys(s.After)))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func TestFusion(t *testing.T) {
	source := func(s beam.Scope) beam.PCollection { return beam.ParDo(s.Scope("start"), start, beam.Impulse(s)) }
	side := func(c beam.PCollection) beam.SideInput { return beam.SideInput{Input: c} }
	for _, c := range []struct {
		name  string
		build func(s beam.Scope)
		want  []string
	}{
		{"a chain is one stage", func(s beam.Scope) {
			beam.ParDo(s.Scope("b"), pass, beam.ParDo(s.Scope("a"), pass, source(s)))
		}, []string{"impulse: a b start"}},
		{"a group is a border", func(s beam.Scope) {
			beam.ParDo(s.Scope("a"), group, beam.GroupByKey(s, source(s)))
		}, []string{
			"groups: a after start",
			"impulse: start > groups for a",
		}},
		{"a reshuffle is a border", func(s beam.Scope) {
			beam.ParDo(s.Scope("a"), pass, beam.Reshuffle(s, source(s)))
		}, []string{
			"blocks: a after start",
			"impulse: start > blocks for a",
		}},
		{"what nobody reads is not written", func(s beam.Scope) {
			in := source(s)
			beam.GroupByKey(s, in)
			beam.Reshuffle(s, in)
			beam.Flatten(s, in, in)
		}, []string{"impulse: start"}},
		{"several outputs", func(s beam.Scope) {
			first, second := beam.ParDo2(s.Scope("fork"), fork, source(s))
			beam.ParDo(s.Scope("a"), group, beam.GroupByKey(s, first))
			beam.ParDo(s.Scope("b"), group, beam.GroupByKey(s, second))
			beam.ParDo(s.Scope("c"), pass, second)
		}, []string{
			"groups: a after start",
			"groups: b after start",
			"impulse: c fork start > groups for a > groups for b",
		}},
		{"a side input of another stage", func(s beam.Scope) {
			other := beam.ParDo(s.Scope("other"), start, beam.Impulse(s))
			beam.ParDo(s.Scope("a"), beside, source(s), side(other))
		}, []string{
			"impulse: a start after other",
			"impulse: other > side for start",
		}},
		{"a side input of the same stage", func(s beam.Scope) {
			in := source(s)
			beam.ParDo(s.Scope("b"), beside, in, side(beam.ParDo(s.Scope("a"), pass, in)))
		}, []string{
			"blocks: b after start",
			"impulse: a start > blocks for b > side for b",
		}},
		{"a collection beside itself, by key", func(s beam.Scope) {
			in := source(s)
			beam.ParDo(s.Scope("a"), lookUp, in, side(in))
		}, []string{
			"blocks: a after start",
			"impulse: start > blocks for a > keyed side for a",
		}},
		{"a side input that waits for the stage", func(s beam.Scope) {
			in := source(s)
			far := beam.ParDo(s.Scope("a"), group, beam.GroupByKey(s, in))
			beam.ParDo(s.Scope("b"), beside, in, side(far))
		}, []string{
			"blocks: b after a start",
			"groups: a > side for b after start",
			"impulse: start > blocks for b > groups for a",
		}},
		{"those who wait for the same are one stage", func(s beam.Scope) {
			in := source(s)
			far := beam.ParDo(s.Scope("a"), pass, in)
			beam.ParDo(s.Scope("b"), beside, in, side(far))
			beam.ParDo(s.Scope("c"), beside, in, side(far))
		}, []string{
			"blocks: b c after start",
			"impulse: a start > blocks for c > side for c",
		}},
		{"groups are read again, not copied", func(s beam.Scope) {
			groups := beam.GroupByKey(s, source(s))
			beam.ParDo(s.Scope("b"), groupBeside, groups, side(beam.ParDo(s.Scope("a"), group, groups)))
		}, []string{
			"groups: a > side for b after start",
			"groups: b after a start",
			"impulse: start > groups for a b",
		}},
		{"and so is what a reshuffle keeps", func(s beam.Scope) {
			in := beam.Reshuffle(s, source(s))
			beam.ParDo(s.Scope("b"), beside, in, side(beam.ParDo(s.Scope("a"), pass, in)))
		}, []string{
			"blocks: a > side for b after start",
			"blocks: b after a start",
			"impulse: start > blocks for a b",
		}},
		{"a collection flattened with itself", func(s beam.Scope) {
			in := source(s)
			beam.ParDo(s.Scope("a"), pass, beam.Flatten(s, in, in))
		}, []string{"impulse: a flatten*2 start"}},
		{"a flatten of two stages, and what follows, is in both", func(s beam.Scope) {
			in, other := source(s), beam.ParDo(s.Scope("other"), start, beam.Impulse(s))
			beam.ParDo(s.Scope("b"), group, beam.GroupByKey(s, beam.ParDo(s.Scope("a"), pass, beam.Flatten(s, in, other, in))))
		}, []string{
			"groups: b after other start",
			"impulse: a flatten*2 start > groups for b",
			"impulse: a other > groups for b",
		}},
		{"a flatten of two stages one of which leads to a side input is kept", func(s beam.Scope) {
			in, other := source(s), beam.ParDo(s.Scope("other"), start, beam.Impulse(s))
			beam.ParDo(s.Scope("a"), beside, beam.Flatten(s, in, other), side(other))
		}, []string{
			"blocks: a after other start",
			"impulse: other > blocks for a > side for a",
			"impulse: start > blocks for a",
		}},
		{"flattens have one input in each stage, and are not there", func(s beam.Scope) {
			in, other := source(s), beam.ParDo(s.Scope("other"), start, beam.Impulse(s))
			both := beam.Flatten(s, in, other)
			beam.ParDo(s.Scope("a"), pass, beam.Flatten(s, both, beam.ParDo(s.Scope("third"), start, beam.Impulse(s))))
		}, []string{
			"impulse: a other",
			"impulse: a start",
			"impulse: a third",
		}},
		{"a combine is lifted", func(s beam.Scope) {
			beam.ParDo(s.Scope("a"), pass, beam.CombinePerKey(s, add, source(s)))
		}, []string{
			"groups: a combine_per_key_extract_outputs combine_per_key_merge_accumulators after start",
			"impulse: combine_per_key_precombine start > groups for combine_per_key_merge_accumulators",
		}},
		{"splits are spread", func(s beam.Scope) {
			beam.ParDo(s.Scope("a"), &ranged{}, beam.Impulse(s))
		}, []string{
			"blocks: sdf_process_sized_element_and_restrictions after sdf_split_and_size_restrictions",
			"impulse: sdf_pair_with_restriction sdf_split_and_size_restrictions > blocks for sdf_process_sized_element_and_restrictions",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := model(t, c.build)
			if why := refuse(m); why != nil {
				t.Fatal(why)
			}
			p, err := New(m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, shape(t, p)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// TestRefuse has a line for each reason to reject a pipeline, and tests all of them at once.
func TestRefuse(t *testing.T) {
	build := func(s beam.Scope) {
		in := beam.ParDo(s.Scope("start"), start, beam.Impulse(s))
		beam.GroupByKey(s, beam.WindowInto(s, window.NewSessions(1), in))
		beam.Reshuffle(s, in) // it has a trigger of its own, which does not matter
	}
	name := "start/plan.start"
	change := func(m *pipepb.Pipeline, f func(*pipepb.PTransform, *pipepb.ParDoPayload)) {
		for _, tr := range m.GetComponents().GetTransforms() {
			if tr.GetUniqueName() != name {
				continue
			}
			var payload pipepb.ParDoPayload
			if err := proto.Unmarshal(tr.GetSpec().GetPayload(), &payload); err != nil {
				t.Fatal(err)
			}
			f(tr, &payload)
			var err error
			if tr.Spec.Payload, err = proto.Marshal(&payload); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		want   string
		change func(*pipepb.Pipeline)
	}{
		{`transform "start/plan.start" uses state, which is not supported; group by key instead`, func(m *pipepb.Pipeline) {
			change(m, func(_ *pipepb.PTransform, p *pipepb.ParDoPayload) {
				p.StateSpecs = map[string]*pipepb.StateSpec{"s": {}}
			})
		}},
		{`transform "start/plan.start" uses timers, which are not supported`, func(m *pipepb.Pipeline) {
			change(m, func(_ *pipepb.PTransform, p *pipepb.ParDoPayload) {
				p.TimerFamilySpecs = map[string]*pipepb.TimerFamilySpec{"t": {}}
			})
		}},
		{`transform "start/plan.start" requires time-sorted input, which is not supported`, func(m *pipepb.Pipeline) {
			change(m, func(_ *pipepb.PTransform, p *pipepb.ParDoPayload) { p.RequiresTimeSortedInput = true })
		}},
		{`transform "start/plan.start" is a TestStream, which is not supported`, func(m *pipepb.Pipeline) {
			change(m, func(tr *pipepb.PTransform, _ *pipepb.ParDoPayload) { tr.Spec.Urn = "beam:transform:teststream:v1" })
		}},
		{`transform "start/plan.start" has the kind other:v1, which is not supported; cross-language transforms never are`, func(m *pipepb.Pipeline) {
			change(m, func(tr *pipepb.PTransform, _ *pipepb.ParDoPayload) { tr.Spec.Urn = "other:v1" })
		}},
		{`collection "start/plan.start" is unbounded: streaming is not supported`, func(m *pipepb.Pipeline) {
			change(m, func(tr *pipepb.PTransform, _ *pipepb.ParDoPayload) {
				m.GetComponents().GetPcollections()[only(tr.GetOutputs())].IsBounded = pipepb.IsBounded_UNBOUNDED
			})
		}},
		{"triggers are not supported: a batch fires once, at its end", func(m *pipepb.Pipeline) {
			for _, w := range m.GetComponents().GetWindowingStrategies() {
				if w.GetWindowFn().GetUrn() == urnSessions {
					w.Trigger = &pipepb.Trigger{Trigger: &pipepb.Trigger_Always_{}}
				}
			}
		}},
	} {
		m := model(t, build)
		c.change(m)
		sessions := "session windows are not supported; use fixed or sliding windows"
		want := []string{"the local runner cannot run this pipeline: " + c.want, sessions}
		if strings.HasPrefix(c.want, "triggers") {
			want = []string{"the local runner cannot run this pipeline: " + sessions, c.want}
		}
		_, err := New(m)
		if err == nil {
			t.Errorf("no refusal, want %s", c.want)
		} else if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	}
}

// TestBare checks that groups of numbers and bytes are passed on without decoding, unless they are read by a combiner,
// which changes the first value in place although others may hold it.
func TestBare(t *testing.T) {
	for name, c := range map[string]struct {
		build func(beam.Scope, beam.PCollection)
		bare  bool
	}{
		"group":   {func(s beam.Scope, in beam.PCollection) { beam.ParDo0(s, each, beam.GroupByKey(s, in)) }, true},
		"combine": {func(s beam.Scope, in beam.PCollection) { beam.CombinePerKey(s, join, in) }, false},
	} {
		m := model(t, func(s beam.Scope) { c.build(s, beam.ParDo(s, startBytes, beam.Impulse(s))) })
		p, err := New(m)
		if err != nil {
			t.Fatal(err)
		}
		groups := 0
		for _, s := range p.Stages {
			if s.Input != nil && s.Input.Kind == Groups {
				groups++
				if s.Input.Bare != c.bare {
					t.Errorf("%s: bare %t, want %t", name, s.Input.Bare, c.bare)
				}
			}
		}
		if groups != 1 {
			t.Errorf("%s: %d groups", name, groups)
		}
	}
}
