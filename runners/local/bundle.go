package local

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness/statecache"

	"github.com/neardup/neardup/runners/local/internal/plan"
	"github.com/neardup/neardup/runners/local/internal/shuffle"
)

// longestBundle is the size in bytes from which a bundle takes no more tasks: DoFns that hold data until the bundle's
// end should not hold all of it.
const longestBundle = 64 << 20

// bundle is what the DoFns of a stage read and write in one bundle: the data of its input, side inputs, the rest of
// long groups, and its sinks.
type bundle struct {
	job   *job
	stage *stage
	task  int

	ctx    context.Context
	cancel context.CancelFunc
	feeder sync.WaitGroup
	data   chan exec.Elements
	buffer []byte
	free   func() // releases the memory of the task's elements
	fed    int64  // elements sent
	rest   *shuffle.Values

	// For other requests that the SDK could make: for state and timers, which no planned pipeline has.
	exec.StateReader
	exec.DataManager
}

// GetSideInputCache returns a cache that keeps nothing, because side inputs are in this process already.
func (*bundle) GetSideInputCache() exec.SideCache { return &statecache.SideInputCache{} }

func newBundle(ctx context.Context, j *job, s *stage, task int) *bundle {
	b := &bundle{job: j, stage: s, task: task, data: make(chan exec.Elements)}
	b.ctx, b.cancel = context.WithCancel(ctx)
	return b
}

// close waits for the feeder and frees what it left behind.
func (b *bundle) close() {
	b.cancel()
	b.feeder.Wait()
	b.release()
}

// OpenElementChan starts to feed the bundle.
func (b *bundle) OpenElementChan(context.Context, exec.StreamID, []string) (<-chan exec.Elements, error) {
	b.feeder.Go(func() { b.job.guard(b.feed) })
	return b.data, nil
}

// feed sends the elements of one task after another. It takes a task only when the bundle asks for more, so that no
// worker waits while another has two tasks.
func (b *bundle) feed() error {
	var size int64
	for task, ok := b.task, true; ok; task, ok = b.stage.source.take() {
		n, err := b.stage.source.read(task, b)
		if err != nil {
			return b.unless(err)
		}
		if size += n; size >= longestBundle {
			break
		}
		if err := b.through(); err != nil {
			return b.unless(err)
		}
		b.release()
	}
	close(b.data)
	return nil
}

// unless drops an error that only says that the bundle has ended; it adds the stage's name to others.
func (b *bundle) unless(err error) error {
	if b.ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("stage %q: %w", b.stage.Name, err)
}

// through waits until the bundle has processed all it was sent.
func (b *bundle) through() error { return b.pass(exec.Elements{}) }

func (b *bundle) send(data []byte, elements int) error {
	b.fed += int64(elements)
	return b.pass(exec.Elements{Data: data})
}

func (b *bundle) pass(e exec.Elements) error {
	select {
	case b.data <- e:
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}

// later sets the function to call once the bundle has processed a task.
func (b *bundle) later(free func()) { b.free = free }

func (b *bundle) release() {
	if b.free != nil {
		b.free()
		b.free = nil
	}
}

// OpenWrite opens a sink.
func (b *bundle) OpenWrite(_ context.Context, id exec.StreamID) (io.WriteCloser, error) {
	return b.job.data[b.stage.Outputs[id.PtransformID]].writer(b.job), nil
}

// OpenIterable reads the rest of a long group.
func (b *bundle) OpenIterable(context.Context, exec.StreamID, []byte) (io.ReadCloser, error) {
	return b.job.watch(b.rest.Reader(nil)), nil
}

// OpenIterableSideInput reads a side input of a window.
func (b *bundle) OpenIterableSideInput(
	_ context.Context, id exec.StreamID, input string, window []byte,
) (io.ReadCloser, error) {
	return b.side(id, input, window)
}

// OpenMultiMapSideInput reads the values of a key of a side input of a window.
func (b *bundle) OpenMultiMapSideInput(
	_ context.Context, id exec.StreamID, input string, key, window []byte,
) (io.ReadCloser, error) {
	return b.side(id, input, append(window[:len(window):len(window)], key...))
}

func (b *bundle) side(id exec.StreamID, input string, key []byte) (io.ReadCloser, error) {
	c := b.stage.Sides[plan.SideInput{Transform: id.PtransformID, Input: input}]
	values, err := b.job.data[c].store.Lookup(key)
	if err != nil {
		b.job.fail(err)
		return nil, err
	}
	return b.job.watch(values.Reader(values.Close)), nil
}
