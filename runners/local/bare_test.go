package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"

	"github.com/neardup/neardup/runners/local/internal/plan"
	"github.com/neardup/neardup/runners/local/internal/shuffle"
)

func init() {
	beam.RegisterFunction(bareValues)
	beam.RegisterFunction(digestBare)
	beam.RegisterFunction(digestBothBare)
	beam.RegisterFunction(sumBare)
	beam.RegisterFunction(firstBare)
	beam.RegisterFunction(sharedValue)
	beam.RegisterFunction(twoBare)
	beam.RegisterFunction(sharedByThree)
	beam.RegisterFunction(firstByte)
	beam.RegisterFunction(unsendable)
	beam.RegisterFunction(noUnsent)
	beam.RegisterType(reflect.TypeFor[byteSums]())
	beam.RegisterType(reflect.TypeFor[unsent]())
	beam.RegisterCoder(reflect.TypeFor[unsent](), func(unsent) ([]byte, error) { return nil, errOfTest }, func([]byte) (unsent, error) { return unsent{}, nil })
}

// bareSizes are sizes of values: empty ones, ones that are copied, ones that are kept, and one larger than what is sent
// at a time.
var bareSizes = []int{0, 1, 127, 128, 4 << 10, 5000, 70_000, 3 << 20}

func bareValuesOf(key int64) (values [][]byte) {
	for i, size := range bareSizes {
		for n := range 3 {
			value := make([]byte, size)
			for at := range value {
				value[at] = byte(int(key) + i + n + at)
			}
			values = append(values, value)
		}
	}
	return values
}

func bareValues(key int64, emit func(int64, []byte)) {
	for _, value := range bareValuesOf(key) {
		emit(key, value)
	}
}

func digestBare(key int64, values func(*[]byte) bool) string {
	var all [][]byte
	for v := []byte(nil); values(&v); {
		all = append(all, v)
	}
	return digestOf(fmt.Sprint(key), all)
}

// firstBare reads no more than three values.
func firstBare(_ int64, values func(*[]byte) bool) (n int) {
	for v := []byte(nil); n < 3 && values(&v); {
		n++
	}
	return n
}

func repeated(n, times int) []any { return slices.Repeat([]any{n}, times) }

func sumBare(_ []byte, values func(*int64) bool) (sum int64) {
	for v := int64(0); values(&v); {
		sum += v
	}
	return sum
}

func digestBothBare(key int64, first, second func(*[]byte) bool) string {
	return digestBare(key, first) + " " + digestBare(key, second)
}

// TestBareCollections checks that what is grouped by int64 is bare if its values are bytes and only the global window
// is used.
func TestBareCollections(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	pairs := beam.ParDo(s, bareValues, beam.Create(s, int64(1)))
	beam.ParDo(s, digestBare, beam.GroupByKey(s, pairs)) // the only one
	beam.ParDo(s, digestBare, beam.GroupByKey(s, beam.WindowInto(s, window.NewFixedWindows(1<<40), pairs)))
	beam.ParDo(s, sumBare, beam.GroupByKey(s, beam.SwapKV(s, pairs)))
	beam.ParDo(s, sumGroup, beam.GroupByKey(s, beam.ParDo(s, square, beam.Create(s, int64(1)))))
	beam.ParDo(s, digestBothBare, beam.CoGroupByKey(s, pairs, pairs))
	stages, err := translate(p)
	if err != nil {
		t.Fatal(err)
	}
	bare, groups := 0, 0
	for _, stage := range stages.Stages {
		if c := stage.Input; c != nil && c.Kind == plan.Groups {
			groups++
			if c.Bare {
				bare++
			}
		}
	}
	if bare != 1 || groups != 5 {
		t.Errorf("%d collections of %d are bare, want 1 of 5", bare, groups)
	}
}

// TestBare groups int64s and bytes, which bypass the SDK's data sink, in memory and on disk, and in windows, where they
// do not.
func TestBare(t *testing.T) {
	keys := []any{int64(0), int64(1), int64(-1), int64(300), int64(math.MinInt64), int64(math.MaxInt64)}
	for _, o := range []Options{{Workers: 2}, {Workers: 2, buffers: 1 << 20}, {Workers: 2, message: 1}} {
		t.Run(fmt.Sprint(o.buffers, o.message), func(t *testing.T) {
			p, s := beam.NewPipelineWithRoot()
			pairs := beam.ParDo(s, bareValues, beam.Create(s, keys...))
			var want, both []any
			for _, key := range keys {
				group := digestOf(fmt.Sprint(key), bareValuesOf(key.(int64)))
				want, both = append(want, group), append(both, group+" "+group)
			}
			groups := beam.GroupByKey(s, pairs)
			passert.Equals(s, beam.ParDo(s, firstBare, groups), repeated(3, len(keys))...)
			passert.Equals(s, beam.ParDo(s, digestBare, groups), want...)
			passert.Equals(s, beam.ParDo(s, digestBothBare, beam.CoGroupByKey(s, pairs, pairs)), both...)
			windowed := beam.WindowInto(s, window.NewFixedWindows(1<<40), pairs)
			digests := beam.ParDo(s, digestBare, beam.GroupByKey(s, windowed))
			passert.Equals(s, beam.WindowInto(s, window.NewGlobalWindows(), digests), want...)
			if _, err := beam.Run(WithOptions(context.Background(), o), "local", p); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// sharedValue emits two values under each of 200 keys. The first one is the same for all keys.
func sharedValue(_ []byte, emit func(int64, []byte)) {
	value := make([]byte, 1<<20)
	for key := range int64(200) {
		emit(key, value)
		emit(key, nil)
	}
}

// twoBare fails unless the group has the values of sharedValue.
func twoBare(key int64, values func(*[]byte) bool) error {
	n := 0
	for v := []byte(nil); values(&v); {
		n++
	}
	if n != 2 {
		return fmt.Errorf("key %d has %d values, want 2", key, n)
	}
	return nil
}

// TestBareReport checks that a group counts as one element in the report, even if a partition has several groups.
func TestBareReport(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, twoBare, beam.GroupByKey(s, beam.ParDo(s, sharedValue, beam.Impulse(s))))
	result, err := beam.Run(WithOptions(context.Background(), Options{Workers: 1}), "local", p)
	if err != nil {
		t.Fatal(err)
	}
	stages := result.(*Result).Report().Stages
	reader := stages[len(stages)-1]
	if reader.Bundles < 2 {
		t.Fatalf("%d bundles, several are wanted", reader.Bundles)
	}
	if reader.Elements != 200 || reader.Group != 1<<20 {
		t.Errorf("%d groups, the largest of %d bytes, want 200 and 1 MiB", reader.Elements, reader.Group)
	}
}

// byteSums sums bytes. It adopts its first input and changes accumulators, as Beam allows, but no other input.
type byteSums struct{}

func (byteSums) CreateAccumulator() []byte { return nil }

func (byteSums) AddInput(sums, value []byte) []byte {
	if len(sums) == 0 {
		return value
	}
	return byteSums{}.MergeAccumulators(slices.Clone(sums), value)
}

func (byteSums) MergeAccumulators(a, b []byte) []byte {
	for i := range b {
		a[i] += b[i]
	}
	return a
}

func (byteSums) ExtractOutput(sums []byte) []byte { return sums }

// sharedByThree emits the same bytes under three keys.
func sharedByThree(_ []byte, emit func(int64, []byte)) {
	value := slices.Repeat([]byte{1}, 6000)
	for key := range int64(3) {
		emit(key, value)
	}
}

func firstByte(key int64, value []byte) string { return fmt.Sprint(key, value[0]) }

// TestBareCombine checks that a CombineFn may change its accumulators, which nobody else holds.
func TestBareCombine(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	var parts []beam.PCollection
	for range 3 {
		parts = append(parts, beam.ParDo(s, sharedByThree, beam.Impulse(s)))
	}
	sums := beam.CombinePerKey(s, &byteSums{}, beam.Flatten(s, parts...))
	passert.Equals(s, beam.ParDo(s, firstByte, sums), "0 3", "1 3", "2 3")
	if _, err := beam.Run(WithOptions(context.Background(), Options{Workers: 1}), "local", p); err != nil {
		t.Fatal(err)
	}
}

// unsent is a type that cannot be encoded.
type unsent struct{ Key int64 }

func unsendable(key int64, _ func(*[]byte) bool) unsent { return unsent{key} }

func noUnsent(unsent) {}

// TestBareError checks that an error after the groups that no DoFn returned names the stage, and is not a panic.
func TestBareError(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, noUnsent, beam.Reshuffle(s, beam.ParDo(s, unsendable, beam.GroupByKey(s, beam.ParDo(s, sharedByThree, beam.Impulse(s))))))
	_, err := beam.Run(WithOptions(context.Background(), Options{Workers: 1}), "local", p)
	if !errors.Is(err, errOfTest) || !strings.Contains(err.Error(), `stage "`) || strings.Contains(err.Error(), "panic") {
		t.Errorf("got %v, want %v of a stage", err, errOfTest)
	}
}

// TestLongBareGroup checks that only the first values of a long group are in memory; it is read twice.
func TestLongBareGroup(t *testing.T) {
	mem := shuffle.NewMemory(1<<30, 1)
	store := shuffle.NewStore(mem, nil, false)
	w := store.Writer()
	const values = 1000
	for i := range values {
		if err := w.Keep([]byte{1}, make([]byte, i%8000)); err != nil {
			t.Fatal(err)
		}
	}
	w.Park()
	for partition := range shuffle.Partitions {
		groups, err := store.Open(partition)
		if err != nil {
			t.Fatal(err)
		}
		for groups.Next() {
			group := &bareGroup{instance: &instance{bundle: &bundle{job: &job{options: Options{message: 1000}}}}}
			if group.collect(groups); len(group.values) == 0 || len(group.values) > 90 {
				t.Errorf("%d values of 0, 1, 2 … bytes are in memory, of 4000 bytes in all", len(group.values))
			}
			for range 2 {
				stream, err := group.Open()
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for {
					if _, err := stream.Read(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatal(err)
					}
					n++
				}
				if n != values {
					t.Errorf("%d values, want %d", n, values)
				}
			}
		}
		groups.Close()
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}
