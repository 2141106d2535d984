package local

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/runners/local/internal/shuffle"
)

func init() {
	register.DoFn2x1[int64, []byte, error](&bareFn{})
	beam.RegisterFunction(noPairs)
}

// bareFn is the sink of a bare collection. The SDK's data sink encodes each element into a new buffer, which costs more than all that
// the store does. Beam's DoFns may not change what they have emitted, so the store keeps a large value without a copy.
type bareFn struct {
	job     *job
	to      *collection
	writer  *shuffle.Writer
	key     []byte
	largest int
}

type instanceKey struct{}

// StartBundle opens the sink that the planner gave this transform's name.
func (f *bareFn) StartBundle(ctx context.Context) {
	b := ctx.Value(instanceKey{}).(*instance).bundle
	f.job, f.to = b.job, b.job.data[b.stage.Outputs[metrics.GetTransformID(ctx)]]
	f.writer, f.largest = f.to.store.Writer(), 0
}

// ProcessElement writes an element, with its key as the SDK encodes it.
func (f *bareFn) ProcessElement(key int64, value []byte) error {
	f.largest = max(f.largest, len(value))
	f.key = binary.AppendUvarint(f.key[:0], uint64(key))
	return f.job.own(f.writer.Keep(f.key, value))
}

// FinishBundle ends the writing.
func (f *bareFn) FinishBundle() {
	f.to.largest.raise(int64(f.largest))
	f.writer.Park()
}

// bareSink specifies a transform that is bareFn. The SDK's own marshaller writes it, in a pipeline that is good for nothing else.
var bareSink = sync.OnceValue(func() *pipepb.FunctionSpec {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, &bareFn{}, beam.ParDo(s, noPairs, beam.Impulse(s)))
	edges, _, err := p.Build()
	if err != nil {
		panic(err)
	}
	model, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{}})
	if err != nil {
		panic(err)
	}
	for _, t := range model.GetComponents().GetTransforms() {
		if len(t.GetOutputs()) == 0 && t.GetSpec().GetUrn() == graphx.URNParDo {
			return t.GetSpec()
		}
	}
	panic("a pipeline that ends with bareFn has no such transform")
})

func noPairs([]byte, func(int64, []byte)) {}
