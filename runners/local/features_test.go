package local

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"

	"github.com/neardup/neardup/runners/local/internal/shuffle"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[stamped]())
	beam.RegisterDoFn(reflect.TypeFor[showWindow]())
	beam.RegisterDoFn(reflect.TypeFor[ranged]())
	beam.RegisterDoFn(reflect.TypeFor[counting]())
	beam.RegisterDoFn(reflect.TypeFor[megabytes]())
	beam.RegisterDoFn(reflect.TypeFor[countingBytes]())
	register.Emitter1[[]byte]()
	register.Emitter3[beam.EventTime, int64, int64]()
	beam.RegisterType(reflect.TypeFor[place]())
	beam.RegisterFunction(placed)
	beam.RegisterFunction(sumPlace)
	beam.RegisterFunction(sumPlaceBeside)
	beam.RegisterFunction(sizedGroup)
	beam.RegisterDoFn(reflect.TypeFor[digest]())
	beam.RegisterFunction(digestBoth)
	register.Emitter2[string, []byte]()
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
		emit(r.End-r.Start, i) // also how long the split is
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
			o.Progress = func(p Progress) {
				if p.Done+len(p.Running)+len(p.Ahead) != p.Stages {
					t.Errorf("progress %+v, want each stage to be done, running or ahead", p)
				}
				if last.Ended {
					t.Error("a report after the last")
				}
				last = p
			}
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
			if !last.Ended || last.Done != last.Stages || last.Stages == 0 || len(last.Running) != 0 {
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

// place is a key whose coder, one for rows, does not tell its size.
type place struct {
	Street string
	Number int64
}

func placed(v int64) (place, int64) { return place{"High Street", v % 3}, v }

func sumPlace(k place, values func(*int64) bool) int64 { return totalOf(k.Number, list(values)).V }

func sumPlaceBeside(k place, values func(*int64) bool, largest int64) int64 {
	return sumPlace(k, values) - largest
}

// TestGroupsReadByTwoStages reads groups again for a DoFn that waits for the result of the first reading.
func TestGroupsReadByTwoStages(t *testing.T) {
	for _, setting := range settings {
		t.Run(setting.name, func(t *testing.T) {
			p, s := beam.NewPipelineWithRoot()
			groups := beam.GroupByKey(s, beam.ParDo(s, placed, beam.Create(s, int64(1), int64(2), int64(3), int64(4))))
			sums := beam.ParDo(s, sumPlace, groups)
			passert.Equals(s, sums, int64(1+4)*31+2, int64(2*31+1), int64(3*31+1))
			beside := beam.ParDo(s, sumPlaceBeside, groups, beam.SideInput{Input: beam.Create(s, int64(7))})
			passert.Equals(s, beside, int64(1+4)*31+2-7, int64(2*31+1-7), int64(3*31+1-7))
			last := stats.Max(s, sums)
			passert.Equals(s, beam.ParDo(s, sumPlaceBeside, groups, beam.SideInput{Input: last}), int64(0), int64(2*31+1-157), int64(3*31+1-157))
			if _, err := beam.Run(WithOptions(context.Background(), setting.options), "local", p); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// sizesOfGroup returns the sizes of the values of a group. Every third group is large enough to be streamed. Of the
// others, several fit into a message, or one takes several messages.
func sizesOfGroup(i int64) (sizes []int) {
	random := rand.New(rand.NewPCG(uint64(i), 3))
	if i%3 == 0 {
		for total := 0; total < 6*messageSize; total += sizes[len(sizes)-1] {
			sizes = append(sizes, 1+random.IntN(300_000))
		}
		return append(sizes, 0)
	}
	for range 1 + random.IntN(5) {
		sizes = append(sizes, 1+random.IntN(1<<random.IntN(19)))
	}
	return sizes
}

func valuesOfGroup(i int64) (values [][]byte) {
	random := rand.NewChaCha8([32]byte{byte(i)})
	for _, size := range sizesOfGroup(i) {
		value := make([]byte, size)
		_, _ = random.Read(value) // never fails
		values = append(values, value)
	}
	return values
}

func sizedGroup(i int64, emit func(string, []byte)) {
	key := inOnePartition()[i]
	for _, value := range valuesOfGroup(i) {
		emit(key, value)
	}
}

// inOnePartition returns sorted keys that all belong to the first partition.
var inOnePartition = sync.OnceValue(func() (keys []string) {
	mem := shuffle.NewMemory(1<<20, 1)
	for i := 0; len(keys) < 60; i++ {
		key := fmt.Sprintf("%06d", i)
		s := shuffle.NewStore(mem, nil, false)
		w := s.Writer()
		if err := w.Append([]byte{byte(len(key))}, []byte(key), nil); err != nil {
			panic(err)
		}
		w.Park()
		if s.Bytes(0) > 0 {
			keys = append(keys, key)
		}
		if err := s.Close(); err != nil {
			panic(err)
		}
	}
	return keys
})

var digestSeed = maphash.MakeSeed()

func digestOf(key string, values [][]byte) string {
	var size int
	var sum uint64 // in any order
	for _, v := range values {
		size += len(v)
		sum += maphash.Bytes(digestSeed, v)
	}
	return fmt.Sprintf("%s: %d values, %d bytes, %x", key, len(values), size, sum)
}

// digest emits a digest of the values of a group or, if First is set, how many of the first First values there are.
type digest struct{ First int }

func (f *digest) ProcessElement(key string, values func(*[]byte) bool) string {
	var all [][]byte
	for v := []byte(nil); (f.First == 0 || len(all) < f.First) && values(&v); {
		all = append(all, v)
	}
	if f.First > 0 {
		return fmt.Sprint(key, len(all))
	}
	return digestOf(key, all)
}

func digestBoth(key string, first, second func(*[]byte) bool) string {
	var whole digest
	return whole.ProcessElement(key, first) + " " + whole.ProcessElement(key, second)
}

// TestLongAndShortGroupsInOnePartition takes many messages for one partition, in which long groups come before short
// ones. Each group is read by two DoFns, one of which stops early, and by a join, which reads it once for each of its
// sides.
func TestLongAndShortGroupsInOnePartition(t *testing.T) {
	var in, begun, whole, joined []any
	for i := range int64(len(inOnePartition())) {
		key, values := inOnePartition()[i], valuesOfGroup(i)
		in = append(in, i)
		begun = append(begun, fmt.Sprint(key, min(3, len(values))))
		whole = append(whole, digestOf(key, values))
		joined = append(joined, digestOf(key, values)+" "+digestOf(key, values))
	}
	for _, o := range []Options{{Workers: 2}, {Workers: 2, buffers: 1 << 20}} {
		t.Run(fmt.Sprint(o.buffers), func(t *testing.T) {
			p, s := beam.NewPipelineWithRoot()
			pairs := beam.ParDo(s, sizedGroup, beam.Create(s, in...))
			groups := beam.GroupByKey(s, pairs)
			passert.Equals(s, beam.ParDo(s, &digest{First: 3}, groups), begun...)
			passert.Equals(s, beam.ParDo(s, &digest{}, groups), whole...)
			passert.Equals(s, beam.ParDo(s, digestBoth, beam.CoGroupByKey(s, pairs, pairs)), joined...)
			if _, err := beam.Run(WithOptions(context.Background(), o), "local", p); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// megabytes emits as many elements of 1 MiB as its input says.
type megabytes struct{}

func (*megabytes) ProcessElement(n int64, emit func([]byte)) {
	for range n {
		emit(make([]byte, 1<<20))
	}
}

type countingBytes struct{}

func (*countingBytes) ProcessElement(ctx context.Context, _ []byte) { seen.Inc(ctx, 1) }

// The counters of a worker's second bundle count as those of its first do.
func TestCountersOfAllBundles(t *testing.T) {
	const elements = 3 * longestBundle >> 20
	p, s := beam.NewPipelineWithRoot()
	in := beam.ParDo(s, &megabytes{}, beam.Create(s, int64(elements)))
	beam.ParDo0(s, &countingBytes{}, beam.Reshuffle(s, in))
	result, err := beam.Run(WithOptions(context.Background(), Options{Workers: 1}), "local", p)
	if err != nil {
		t.Fatal(err)
	}
	stages := result.(*Result).Report().Stages
	if reader := stages[len(stages)-1]; reader.Bundles < 2 {
		t.Fatalf("%d bundles, several are wanted", reader.Bundles)
	}
	if counters := result.Metrics().AllMetrics().Counters(); len(counters) != 1 || counters[0].Result() != elements {
		t.Errorf("counters %+v, want one of %d", counters, elements)
	}
}
