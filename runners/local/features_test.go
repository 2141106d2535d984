package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
)

func init() {
	register.DoFn2x0[[]byte, func(beam.EventTime, int64, int64)](&stamped{})
	register.DoFn4x0[beam.Window, int64, func(*int64) bool, func(string)](&showWindow{})
	register.DoFn3x0[*sdf.LockRTracker, int64, func(int64, int64)](&ranged{})
	register.DoFn3x0[context.Context, int64, int64](&counting{})
	register.Emitter3[beam.EventTime, int64, int64]()
}

// stamped emits 0 to 9 at these milliseconds, under the keys 0 and 1.
type stamped struct{}

func (*stamped) ProcessElement(_ []byte, emit func(beam.EventTime, int64, int64)) {
	for i := range int64(10) {
		emit(mtime.FromMilliseconds(i), i%2, i)
	}
}

type showWindow struct{}

func (*showWindow) ProcessElement(w beam.Window, k int64, values func(*int64) bool, emit func(string)) {
	all := list(values)
	slices.Sort(all)
	emit(fmt.Sprint(k, " until ", w.MaxTimestamp().Milliseconds(), all))
}

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		name   string
		window *window.Fn
		want   []any
	}{
		{"fixed", window.NewFixedWindows(4 * time.Millisecond), []any{
			"0 until 3 [0 2]", "0 until 7 [4 6]", "0 until 11 [8]",
			"1 until 3 [1 3]", "1 until 7 [5 7]", "1 until 11 [9]",
		}},
		{"sliding", window.NewSlidingWindows(4*time.Millisecond, 8*time.Millisecond), []any{
			"0 until 3 [0 2]", "0 until 7 [0 2 4 6]", "0 until 11 [4 6 8]", "0 until 15 [8]",
			"1 until 3 [1 3]", "1 until 7 [1 3 5 7]", "1 until 11 [5 7 9]", "1 until 15 [9]",
		}},
	} {
		for _, setting := range settings {
			t.Run(c.name+" "+setting.name, func(t *testing.T) {
				p, s := beam.NewPipelineWithRoot()
				in := beam.WindowInto(s, c.window, beam.ParDo(s, &stamped{}, beam.Impulse(s)))
				shown := beam.ParDo(s, &showWindow{}, beam.GroupByKey(s, beam.Reshuffle(s, in)))
				passert.Equals(s, beam.WindowInto(s, window.NewGlobalWindows(), shown), c.want...)
				if _, err := beam.Run(WithOptions(context.Background(), setting.options), "local", p); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// ranged is a splittable DoFn that emits the numbers below its element.
type ranged struct{}

func (*ranged) CreateInitialRestriction(n int64) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: n}
}

func (*ranged) SplitRestriction(_ int64, r offsetrange.Restriction) []offsetrange.Restriction {
	return r.EvenSplits(5)
}

func (*ranged) RestrictionSize(_ int64, r offsetrange.Restriction) float64 { return r.Size() }

func (*ranged) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

func (*ranged) ProcessElement(rt *sdf.LockRTracker, _ int64, emit func(int64, int64)) {
	r := rt.GetRestriction().(offsetrange.Restriction)
	for i := r.Start; rt.TryClaim(i); i++ {
		emit(r.End-r.Start, i) // how long the split is, too
	}
}

func TestSplittableDoFn(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	numbers := beam.ParDo(s, &ranged{}, beam.Create(s, int64(20)))
	var all []any
	for i := range int64(20) {
		all = append(all, i)
	}
	passert.Equals(s, beam.DropKey(s, numbers), all...)
	fours := all[:0:0]
	for range 20 {
		fours = append(fours, int64(4)) // five splits of four
	}
	passert.Equals(s, beam.DropValue(s, numbers), fours...)
	if _, err := beam.Run(context.Background(), "local", p); err != nil {
		t.Fatal(err)
	}
}

var (
	seen  = beam.NewCounter("test", "seen")
	sizes = beam.NewDistribution("test", "sizes")
)

type counting struct{}

func (*counting) ProcessElement(ctx context.Context, k, v int64) {
	seen.Inc(ctx, 2)
	sizes.Update(ctx, v)
}

func TestMetricsAndReport(t *testing.T) {
	for _, setting := range settings {
		t.Run(setting.name, func(t *testing.T) {
			p, s := beam.NewPipelineWithRoot()
			in := beam.ParDo(s, &ranged{}, beam.Create(s, int64(1000)))
			beam.ParDo0(s.Scope("here"), &counting{}, beam.Reshuffle(s, in))
			var last Progress
			o := setting.options
			o.Progress = func(p Progress) { last = p }
			result, err := beam.Run(WithOptions(context.Background(), o), "local", p)
			if err != nil {
				t.Fatal(err)
			}
			all := result.Metrics().AllMetrics()
			counters, distributions := all.Counters(), all.Distributions()
			if len(counters) != 1 || counters[0].Result() != 2000 || !strings.HasPrefix(counters[0].Transform(), "here/") {
				t.Errorf("counters %+v, want one of 2000 from here", counters)
			}
			if len(distributions) != 1 || distributions[0].Result().Count != 1000 || distributions[0].Result().Sum != 999*1000/2 ||
				distributions[0].Result().Min != 0 || distributions[0].Result().Max != 999 {
				t.Errorf("distributions %+v, want that of 0 to 999", distributions)
			}
			if last.Done != last.Stages || last.Stages == 0 || len(last.Running) != 0 {
				t.Errorf("last progress %+v, want all stages done", last)
			}
			stages := result.(*Result).Report().Stages
			reader := stages[len(stages)-1]
			if reader.Elements != 1000 || reader.Bundles == 0 {
				t.Errorf("last stage %+v, want 1000 elements read", reader)
			}
			if writer := stages[len(stages)-2]; writer.Written != 1000 || writer.Bytes < 15*1000 {
				t.Errorf("stage before the last %+v, want 1000 elements written of 15 bytes or more", writer)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	beam.Impulse(s)
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Workers: -1}, "-1 workers"},
		{Options{Memory: 1 << 20}, "at least 256000000"},
		{Options{TempDir: "/dev/null/x"}, "temporary folder"},
	} {
		if _, err := beam.Run(WithOptions(context.Background(), c.options), "local", p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.options, err, c.want)
		}
	}
}

func TestEmptyPipeline(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	beam.Impulse(s)
	if _, err := beam.Run(context.Background(), "local", p); err != nil {
		t.Error(err)
	}
	if _, err := beam.Run(context.Background(), "local", beam.NewPipeline()); err != nil {
		t.Errorf("no transform at all: %v", err)
	}
}
