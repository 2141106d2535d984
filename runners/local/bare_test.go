package local

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"

	"github.com/neardup/neardup/runners/local/internal/plan"
)

func init() {
	beam.RegisterFunction(bareValues)
	beam.RegisterFunction(digestBare)
	beam.RegisterFunction(digestBothBare)
	beam.RegisterFunction(sumBare)
}

// bareSizes are sizes of values: none, such as are copied, such as are kept, and more than is sent at a time.
var bareSizes = []int{0, 1, 127, 128, 4 << 10, 5000, 70_000, 3 << 20}

func bareGroup(key int64) (values [][]byte) {
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
	for _, value := range bareGroup(key) {
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

func sumBare(_ []byte, values func(*int64) bool) (sum int64) {
	for v := int64(0); values(&v); {
		sum += v
	}
	return sum
}

func digestBothBare(key int64, first, second func(*[]byte) bool) string {
	return digestBare(key, first) + " " + digestBare(key, second)
}

// TestBareCollections: what is grouped by int64 is bare if it has bytes and no windows but the global one.
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

// TestBare groups int64s and bytes, which do not go through the SDK's data sink, in memory and on disk, and in windows, where they do.
func TestBare(t *testing.T) {
	keys := []any{int64(0), int64(1), int64(-1), int64(300), int64(math.MinInt64), int64(math.MaxInt64)}
	for _, o := range []Options{{Workers: 2}, {Workers: 2, buffers: 1 << 20}, {Workers: 2, message: 1}} {
		t.Run(fmt.Sprint(o.buffers, o.message), func(t *testing.T) {
			p, s := beam.NewPipelineWithRoot()
			pairs := beam.ParDo(s, bareValues, beam.Create(s, keys...))
			var want, both []any
			for _, key := range keys {
				group := digestOf(fmt.Sprint(key), bareGroup(key.(int64)))
				want, both = append(want, group), append(both, group+" "+group)
			}
			passert.Equals(s, beam.ParDo(s, digestBare, beam.GroupByKey(s, pairs)), want...)
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
