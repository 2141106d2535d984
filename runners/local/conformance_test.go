package local

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/test/integration/primitives"
)

// built returns a function that returns the pipeline that build makes.
func built(build func(beam.Scope)) func() *beam.Pipeline {
	return func() *beam.Pipeline {
		p, s := beam.NewPipelineWithRoot()
		build(s)
		return p
	}
}

// conformance lists all pipelines that Beam tests its runners with. Those with a reason are rejected for that reason.
var conformance = []struct {
	name   string
	build  func() *beam.Pipeline
	reason string
}{
	{"CoGBK", built(primitives.CoGBK), ""},
	{"Reshuffle", built(primitives.Reshuffle), ""},
	{"ReshuffleKV", built(primitives.ReshuffleKV), ""},
	{"GBKShortRead", built(primitives.GBKShortRead), ""},
	{"Flatten", built(primitives.Flatten), ""},
	{"FlattenDup", built(primitives.FlattenDup), ""},
	{"ParDoMultiOutput", primitives.ParDoMultiOutput, ""},
	{"ParDoSideInput", primitives.ParDoSideInput, ""},
	{"ParDoKVSideInput", primitives.ParDoKVSideInput, ""},
	{"ParDoMultiMapSideInput", primitives.ParDoMultiMapSideInput, ""},
	{"ParDoPipelineOptions", sync.OnceValue(primitives.ParDoPipelineOptions), ""}, // it defines flags
	{"ValidateWindowedSideInputs", built(primitives.ValidateWindowedSideInputs), ""},

	{"WindowSums_Lifted", built(primitives.WindowSums_Lifted), "session windows"}, // and others: see TestWindows
	{"WindowSums_GBK", built(primitives.WindowSums_GBK), "session windows"},

	{"Checkpoints", built(primitives.Checkpoints), "asks to be resumed later"},
	{"Drain", built(primitives.Drain), "asks to be resumed later"},

	{"ValueStateParDo", built(primitives.ValueStateParDo), "uses state"},
	{"ValueStateParDoWindowed", built(primitives.ValueStateParDoWindowed), "uses state"},
	{"ValueStateParDoClear", built(primitives.ValueStateParDoClear), "uses state"},
	{"BagStateParDo", built(primitives.BagStateParDo), "uses state"},
	{"BagStateParDoClear", built(primitives.BagStateParDoClear), "uses state"},
	{"BagStateBlindWriteParDo", built(primitives.BagStateBlindWriteParDo), "uses state"},
	{"CombiningStateParDo", built(primitives.CombiningStateParDo), "uses state"},
	{"MapStateParDo", built(primitives.MapStateParDo), "uses state"},
	{"MapStateParDoClear", built(primitives.MapStateParDoClear), "uses state"},
	{"SetStateParDo", built(primitives.SetStateParDo), "uses state"},
	{"SetStateParDoClear", built(primitives.SetStateParDoClear), "uses state"},
	{"OrderedListStateParDo", built(primitives.OrderedListStateParDo), "uses state"},

	{"TimersEventTimeBounded", built(primitives.TimersEventTimeBounded), "uses timers"},
	{"TimersEventTimeUnbounded", built(primitives.TimersEventTimeUnbounded), "uses timers"},
	{"TimersEventTime_WithOutputTimestamp", built(primitives.TimersEventTime_WithOutputTimestamp), "uses timers"},
	{"TimersEventTime_WithNoOutputTimestamp", built(primitives.TimersEventTime_WithNoOutputTimestamp), "uses timers"},
	{"TimersProcessingTimeTestStream_Infinity", built(primitives.TimersProcessingTimeTestStream_Infinity), "uses timers"},
	{"TimersProcessingTime_Bounded", built(primitives.TimersProcessingTime_Bounded), "uses timers"},
	{"TimersProcessingTime_Unbounded", built(primitives.TimersProcessingTime_Unbounded), "uses timers"},

	{"TestStreamStrings", built(primitives.TestStreamStrings), "is a TestStream"},
	{"TestStreamByteSliceSequence", built(primitives.TestStreamByteSliceSequence), "is a TestStream"},
	{"TestStreamInt64Sequence", built(primitives.TestStreamInt64Sequence), "is a TestStream"},
	{"TestStreamInt16Sequence", built(primitives.TestStreamInt16Sequence), "is a TestStream"},
	{"TestStreamTwoInt64Sequences", built(primitives.TestStreamTwoInt64Sequences), "is a TestStream"},
	{"TestStreamFloat64Sequence", built(primitives.TestStreamFloat64Sequence), "is a TestStream"},
	{"TestStreamTwoFloat64Sequences", built(primitives.TestStreamTwoFloat64Sequences), "is a TestStream"},
	{"TestStreamBoolSequence", built(primitives.TestStreamBoolSequence), "is a TestStream"},
	{"TestStreamTwoBoolSequences", built(primitives.TestStreamTwoBoolSequences), "is a TestStream"},
	{"TestStreamTwoUserTypeSequences", built(primitives.TestStreamTwoUserTypeSequences), "is a TestStream"},
	{"TestStreamSimple", built(primitives.TestStreamSimple), "is a TestStream"},
	{"TestStreamSimple_InfinityDefault", built(primitives.TestStreamSimple_InfinityDefault), "is a TestStream"},
	{"TestStreamToGBK", built(primitives.TestStreamToGBK), "is a TestStream"},
	{"TestStreamTimersEventTime", built(primitives.TestStreamTimersEventTime), "is a TestStream"},
	{"Panes", built(primitives.Panes), "is a TestStream"},

	{"TriggerDefault", built(primitives.TriggerDefault), "is a TestStream"},
	{"TriggerAlways", built(primitives.TriggerAlways), "triggers are not supported"},
	{"TriggerElementCount", built(primitives.TriggerElementCount), "triggers are not supported"},
	{"TriggerRepeat", built(primitives.TriggerRepeat), "triggers are not supported"},
	{"TriggerAfterEndOfWindow", built(primitives.TriggerAfterEndOfWindow), "triggers are not supported"},
	{"TriggerAfterAll", built(primitives.TriggerAfterAll), "triggers are not supported"},
	{"TriggerAfterEach", built(primitives.TriggerAfterEach), "triggers are not supported"},
	{"TriggerAfterAny", built(primitives.TriggerAfterAny), "triggers are not supported"},
	{"TriggerAfterProcessingTime", built(primitives.TriggerAfterProcessingTime), "triggers are not supported"},
	{"TriggerAfterProcessingTimeNotTriggered", built(primitives.TriggerAfterProcessingTimeNotTriggered), "triggers are not supported"},
	{"TriggerAfterSynchronizedProcessingTime", built(primitives.TriggerAfterSynchronizedProcessingTime), "triggers are not supported"},
	{"TriggerNever", built(primitives.TriggerNever), "triggers are not supported"},
	{"TriggerOrFinally", built(primitives.TriggerOrFinally), "triggers are not supported"},

	// OomParDo takes all of the machine's memory and wants a heap dump in a bucket: it is meant for Dataflow.
}

// settings are options that must not change results.
var settings = []struct {
	name    string
	options Options
}{
	{"1 worker", Options{Workers: 1}},
	{"4 workers", Options{Workers: 4}},
	{"spilling", Options{Workers: 3, buffers: 1, message: 64}},
}

func TestConformance(t *testing.T) {
	for _, c := range conformance {
		t.Run(c.name, func(t *testing.T) {
			pipeline := c.build()
			if c.reason != "" {
				_, err := beam.Run(context.Background(), "local", pipeline)
				if err == nil || !strings.Contains(err.Error(), c.reason) || !strings.Contains(err.Error(), "cannot run this pipeline") {
					t.Errorf("got %v, want a refusal: %s", err, c.reason)
				}
				return
			}
			for _, s := range settings {
				if _, err := beam.Run(WithOptions(context.Background(), s.options), "local", pipeline); err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
			}
		})
	}
}

func TestExternalTransformsAreRefused(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	beam.External(s.Scope("there"), "beam:transform:other:v1", nil, []beam.PCollection{beam.Impulse(s)}, nil, true)
	_, err := beam.Run(context.Background(), "local", p)
	want := `the local runner cannot run this pipeline: transform "there/External" has the kind beam:transform:other:v1, which is not supported; cross-language transforms never are`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBundleFinalizers(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(beam.Scope)
		want  int32
	}{
		{"in ProcessElement", primitives.ParDoProcessElementBundleFinalizer, primitives.BundleFinalizerProcess},
		{"in FinishBundle", primitives.ParDoFinishBundleFinalizer, primitives.BundleFinalizerFinish},
		{"in all", primitives.ParDoFinalizerInAll, primitives.BundleFinalizerStart + primitives.BundleFinalizerProcess + primitives.BundleFinalizerFinish},
	} {
		primitives.CountInvokeBundleFinalizer.Store(0)
		if _, err := beam.Run(context.Background(), "local", built(c.build)()); err != nil {
			t.Fatal(err)
		}
		if got := primitives.CountInvokeBundleFinalizer.Load(); got != c.want {
			t.Errorf("%s: finalizers counted %d, want %d", c.name, got, c.want)
		}
	}
}
