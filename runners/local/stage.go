package local

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/runners/local/internal/plan"
)

// stage is a planned stage at run time. The job's mutex guards its mutable fields.
type stage struct {
	*plan.Stage
	source  source // nil before the stage may begin
	waits   int    // stages that must end first
	begun   time.Time
	active  int  // bundles being executed
	drained bool // the source has no more tasks
	all     []*instance
	idle    []*instance // used by no bundle
	ended   bool
	report  StageReport
}

// instance is a copy of a stage's DoFns, which one bundle uses at a time.
type instance struct {
	plan   *exec.Plan
	bundle *bundle         // the last one
	ctx    context.Context // holds the counters of one bundle; the job's mutex guards it between bundles
	busy   bool            // a bundle is being executed; the job's mutex guards it
	groups atomic.Int64    // of a bare input, read by the bundle
}

// instance returns an unused copy of the stage's DoFns.
func (j *job) instance(s *stage) (*instance, error) {
	j.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		i := s.idle[last]
		s.idle = s.idle[:last]
		i.busy = true
		j.mu.Unlock()
		return i, nil
	}
	j.mu.Unlock()
	p, err := exec.UnmarshalPlan(s.Descriptor, nil)
	if err != nil {
		return nil, fmt.Errorf("stage %q: %w", s.Name, err)
	}
	i := &instance{plan: p, busy: true}
	i.ctx = j.counting(s, i)
	j.mu.Lock()
	s.all = append(s.all, i)
	j.mu.Unlock()
	return i, nil
}

// counting returns a context for one bundle. It holds the bundle's counters, and tells the runner's own DoFns which
// instance executes them and other DoFns how much memory they may hold.
func (j *job) counting(s *stage, i *instance) context.Context {
	ctx := memory.Worker(context.WithValue(j.ctx, instanceKey{}, i), j.steps.Claim(j.options.steps))
	return metrics.SetBundleID(ctx, s.Descriptor.GetId())
}

// bundle executes a bundle of a stage. The bundle begins with task and takes further tasks.
func (j *job) bundle(s *stage, task int) error {
	i, err := j.instance(s)
	if err != nil {
		return err
	}
	b := newBundle(i.ctx, j, s, task)
	i.bundle = b
	j.meter.enter(s)
	err = i.plan.Execute(i.ctx, "", exec.DataContext{Data: b, State: b})
	b.close()
	j.meter.leave(s)
	if err == nil {
		err = j.ctx.Err() // to the data source, that looks like the end
	}
	if err != nil {
		return j.explain(s, err)
	}
	if err := i.plan.Finalize(); err != nil {
		return fmt.Errorf("stage %q: at its end: %w", s.Name, err)
	}
	snapshot, _ := i.plan.Progress()
	if snapshot.Source.Count != b.fed {
		return fmt.Errorf("local runner: internal error; please report it: stage %q was fed %d elements and processed %d",
			s.Name, b.fed, snapshot.Source.Count)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s.report.Elements += s.read(i)
	i.groups.Store(0)
	s.report.Bundles++
	// In one context, Beam keeps only the counts of the first bundle.
	j.metrics.add(metrics.GetStore(i.ctx))
	i.ctx = j.counting(s, i)
	i.busy = false
	s.idle = append(s.idle, i)
	return nil
}

// read returns how many elements a bundle has read.
func (s *stage) read(i *instance) int64 {
	if s.Input != nil && s.Input.Bare {
		return i.groups.Load() // the elements fed are partitions
	}
	snapshot, _ := i.plan.Progress()
	return snapshot.Source.Count
}

// down tears down the stage's DoFns, and adds their counters. After a failure, it ignores errors of the teardown.
func (j *job) down(s *stage) error {
	j.mu.Lock()
	all := s.all
	s.all, s.idle = nil, nil
	healthy := j.err == nil && j.ctx.Err() == nil
	j.mu.Unlock()
	var failed error
	for _, i := range all {
		// Teardown must work even after a cancellation.
		if err := i.plan.Down(context.WithoutCancel(i.ctx)); err != nil && healthy {
			failed = errors.Join(failed, fmt.Errorf("stage %q: teardown: %w", s.Name, err))
		}
		j.metrics.add(metrics.GetStore(i.ctx))
	}
	return failed
}
