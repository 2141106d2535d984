package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/neardup/neardup/runners/local/internal/shuffle"
)

func init() {
	register.DoFn2x1[int64, []byte, error](&bareFn{})
	beam.RegisterType(reflect.TypeFor[bareGroupsFn]()) // register.DoFn3x1 is seven megabytes of wrappers
	beam.RegisterType(reflect.TypeFor[bareGroup]())
	exec.RegisterEmitter(reflect.TypeFor[func(int64, *bareGroup)](), func(to exec.ElementProcessor) exec.ReusableEmitter {
		return &groupEmitter{to: to}
	})
	beam.RegisterFunction(noPairs)
}

// bareFn is the sink of a bare collection. The SDK's data sink would encode each element into a new buffer, which costs
// more than the whole store. Beam's DoFns may not change what they have emitted, so the store keeps a large value
// without copying it.
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

// ProcessElement writes an element, whose key it encodes as the SDK does.
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

// bareGroupsFn is the source of a bare collection. The SDK's data source would decode each value into a new buffer,
// from a message to which the runner would have had to copy it.
type bareGroupsFn struct{}

// ProcessElement reads the groups of a partition.
func (*bareGroupsFn) ProcessElement(ctx context.Context, partition int64, emit func(int64, *bareGroup)) error {
	i := ctx.Value(instanceKey{}).(*instance)
	source := i.bundle.stage.source.(*groupSource)
	groups, err := source.store.Open(int(partition))
	if err != nil {
		return i.failed(err)
	}
	defer groups.Close()
	group := &bareGroup{instance: i}
	for groups.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, _ := binary.Uvarint(groups.Key())
		group.collect(groups)
		if err := groups.Err(); err != nil { // the group may lack values
			return i.failed(err)
		}
		if emit(int64(key), group); group.err != nil {
			return i.failed(group.err)
		}
		i.groups.Add(1)
	}
	source.largest.raise(groups.Largest())
	return i.failed(groups.Err())
}

// failed makes a read error the job's, with the stage's name. It returns a DoFn's error, which the SDK has named,
// unchanged.
func (i *instance) failed(err error) error {
	if err == nil || doFnFailed.MatchString(err.Error()) {
		return err
	}
	return i.bundle.job.own(fmt.Errorf("stage %q: %w", i.bundle.stage.Name, err))
}

// bareGroup holds the values of a group. It is reused for the next group.
type bareGroup struct {
	instance *instance
	values   [][]byte
	rest     *shuffle.Values // of a long group; nil for others
	err      error           // of the transform that receives the group
}

const sliceSize = 24 // bytes of a slice header

// collect takes the values of the next group, or only the first ones of a long group.
func (g *bareGroup) collect(groups *shuffle.Groups) {
	clear(g.values)
	g.values, g.rest = g.values[:0], nil
	for left := g.instance.bundle.job.options.longest(); groups.NextValue(); {
		value := groups.Take()
		g.values = append(g.values, value)
		if left -= len(value) + sliceSize; left <= 0 {
			g.rest = groups.Rest()
			return
		}
	}
}

// Open returns a stream from the first value on.
func (g *bareGroup) Open() (exec.Stream, error) {
	s := &bareStream{instance: g.instance, values: g.values}
	if g.rest != nil {
		s.rest = g.rest.Iterator()
	}
	return s, nil
}

// bareStream reads the values of a group.
type bareStream struct {
	instance *instance
	values   [][]byte
	rest     *shuffle.Iterator
	value    exec.FullValue
}

// Read returns the next value in an element that is valid until the next Read.
func (s *bareStream) Read() (*exec.FullValue, error) {
	if len(s.values) > 0 {
		s.value.Elm, s.values = s.values[0], s.values[1:]
		return &s.value, nil
	}
	if s.rest == nil {
		return nil, io.EOF
	}
	value, err := s.rest.Take()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	s.value.Elm = value
	return &s.value, s.instance.failed(err)
}

// Close ends the reading.
func (s *bareStream) Close() error {
	s.values, s.rest, s.value = nil, nil, exec.FullValue{}
	return nil
}

// groupEmitter emits groups. The SDK's own emitters cannot pass a stream of values with an element.
type groupEmitter struct {
	to    exec.ElementProcessor
	ctx   context.Context
	group exec.FullValue
}

// Init takes the header of the element being processed, which becomes that of the groups.
func (e *groupEmitter) Init(
	ctx context.Context, pane typex.PaneInfo, windows []typex.Window, at typex.EventTime,
) error {
	e.ctx, e.group = ctx, exec.FullValue{Timestamp: at, Windows: windows, Pane: pane}
	return nil
}

// Value returns the function that a DoFn calls.
func (e *groupEmitter) Value() any { return e.emit }

func (e *groupEmitter) emit(key int64, values *bareGroup) {
	e.group.Elm = key
	values.err = e.to.ProcessElement(e.ctx, &e.group, values)
}

// bareSink and bareSource specify transforms that execute bareFn and bareGroupsFn.
var (
	bareSink = sync.OnceValue(func() *pipepb.FunctionSpec {
		return specify(func(s, root beam.Scope) { beam.ParDo0(s, &bareFn{}, beam.ParDo(root, noPairs, beam.Impulse(root))) })
	})
	bareSource = sync.OnceValue(func() *pipepb.FunctionSpec {
		return specify(func(s, root beam.Scope) { beam.ParDo(s, &bareGroupsFn{}, beam.Create(root, int64(0))) })
	})
)

// specify returns the specification of a transform that add adds to s. The SDK's own marshaller writes it, as part of a
// pipeline that serves no other purpose.
func specify(add func(s, root beam.Scope)) *pipepb.FunctionSpec {
	p, root := beam.NewPipelineWithRoot()
	add(root.Scope("bare"), root)
	edges, _, err := p.Build()
	if err != nil {
		panic(err)
	}
	model, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{}})
	if err != nil {
		panic(err)
	}
	for _, t := range model.GetComponents().GetTransforms() {
		if strings.HasPrefix(t.GetUniqueName(), "bare/") {
			return t.GetSpec()
		}
	}
	panic("a pipeline has lost a transform")
}

func noPairs([]byte, func(int64, []byte)) {}
