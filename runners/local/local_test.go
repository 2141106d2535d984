package local

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
)

func init() {
	beam.RegisterFunction(square)
	beam.RegisterFunction(sumGroup)
	register.Emitter2[int64, int64]()
	register.Emitter1[string]()
	register.Iter1[int64]()
}

func square(v int64, emit func(int64, int64)) { emit(v%10, v) }

func sumGroup(k int64, values func(*int64) bool, emit func(string)) {
	var v, sum int64
	for values(&v) {
		sum += v
	}
	emit(fmt.Sprintf("%d:%d", k, sum))
}

func TestGroup(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	var in []any
	for i := range int64(100) {
		in = append(in, i)
	}
	groups := beam.GroupByKey(s, beam.ParDo(s, square, beam.Create(s, in...)))
	sums := beam.ParDo(s, sumGroup, groups)
	var want []any
	for k := range int64(10) {
		want = append(want, fmt.Sprintf("%d:%d", k, 10*k+450))
	}
	passert.Equals(s, sums, want...)
	ctx := WithOptions(context.Background(), Options{Workers: 2})
	if _, err := beam.Run(ctx, "local", p); err != nil {
		t.Fatal(err)
	}
}
