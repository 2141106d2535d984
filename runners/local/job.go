package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/runners/local/internal/plan"
	"github.com/neardup/neardup/runners/local/internal/shuffle"
	"github.com/neardup/neardup/runners/local/internal/spill"
)

// job is one run of a pipeline.
type job struct {
	options Options
	names   map[string]string
	mem     *shuffle.Memory
	steps   memory.Room
	dir     *spill.Dir
	meter   *meter
	metrics *collector

	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	wake    sync.Cond // signalled when a waiting worker may find a task
	stages  []*stage
	data    map[*plan.Collection]*collection
	pending int // stages that have not yet ended
	err     error
}

// run runs all stages and cleans up.
func run(ctx context.Context, p *plan.Plan, options Options) (*Result, error) {
	begun := time.Now()
	dir, err := spill.NewDir(options.TempDir, options.opened)
	if err != nil {
		return nil, fmt.Errorf("local runner: %w", err)
	}
	j := newJob(ctx, p, options, dir)
	defer j.cancel()
	defer heap.begin(j.mem)()
	stop := j.report()
	j.work()
	err = cmp.Or(j.err, ctx.Err())
	err = errors.Join(err, j.close())
	stop()
	err = cmp.Or(err, j.err) // of the last report
	result := j.result(time.Since(begun))
	slog.DebugContext(ctx, "local runner: ended", "seconds", result.report.Seconds, "spilled",
		result.report.Spilled, "error", err)
	return result, err
}

func newJob(ctx context.Context, p *plan.Plan, options Options, dir *spill.Dir) *job {
	j := &job{
		options: options, names: p.Names, dir: dir, meter: newMeter(dir.Written),
		mem:     shuffle.NewMemory(options.buffers, options.Workers),
		metrics: newCollector(p.Names),
		data:    map[*plan.Collection]*collection{},
		pending: len(p.Stages),
	}
	j.wake.L = &j.mu
	j.ctx, j.cancel = context.WithCancel(ctx)
	for _, s := range p.Stages {
		if s.Input != nil && s.Input.Bare {
			s.Descriptor.Transforms[plan.GroupsID].Spec = bareSource()
		}
		for id, c := range s.Outputs {
			if c.Bare {
				s.Descriptor.Transforms[id].Spec = bareSink()
			}
			if j.data[c] == nil {
				j.data[c] = newCollection(c, j.mem, dir)
			}
		}
		j.stages = append(j.stages, &stage{Stage: s, waits: len(s.After), report: StageReport{Name: s.Name}})
	}
	return j
}

// work runs the workers until the pipeline has ended.
func (j *job) work() {
	defer context.AfterFunc(j.ctx, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.wake.Broadcast()
	})()
	for _, s := range j.stages {
		if s.waits == 0 {
			j.begin(s)
		}
	}
	var workers sync.WaitGroup
	for range j.options.Workers {
		workers.Go(func() {
			for {
				s, task, ok := j.next()
				if !ok {
					return
				}
				j.guard(func() error { return j.bundle(s, task) })
				j.ended(s)
			}
		})
	}
	workers.Wait()
}

// next waits for a task and returns it, or returns false when there will be no more.
func (j *job) next() (s *stage, task int, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for !j.over() {
		// Prefer the earliest stage, so that its data is freed sooner.
		for _, s := range j.stages {
			if s.source == nil || s.drained {
				continue
			}
			if task, ok := s.source.take(); ok {
				s.active++
				return s, task, true
			}
			s.drained = true
			if s.active == 0 {
				j.end(s)
			}
		}
		// The job was unlocked while a stage ended, so the last wake-up may have passed.
		if !j.over() && !j.runnable() {
			j.wake.Wait()
		}
	}
	return nil, 0, false
}

// over reports whether there will be no more tasks.
func (j *job) over() bool { return j.pending == 0 || j.err != nil || j.ctx.Err() != nil }

func (j *job) runnable() bool {
	for _, s := range j.stages {
		if s.source != nil && !s.drained {
			return true
		}
	}
	return false
}

// ended says that a bundle of a stage has ended.
func (j *job) ended(s *stage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.active--
	if s.drained && s.active == 0 && j.err == nil && j.ctx.Err() == nil {
		j.end(s)
	}
	j.wake.Broadcast()
}

// begin makes a stage runnable.
func (j *job) begin(s *stage) {
	s.begun = time.Now()
	s.source = j.open(s)
	slog.DebugContext(j.ctx, "local runner: stage begins", "stage", s.Index, "name", s.Name)
}

// end ends a stage, and begins the stages that waited for it. The job is locked, except while the DoFns are torn down.
func (j *job) end(s *stage) {
	j.mu.Unlock()
	j.guard(func() error { return j.settle(s) })
	j.mu.Lock()
	j.pending--
	for _, o := range j.stages {
		if o.After[s.Stage] {
			if o.waits--; o.waits == 0 {
				j.begin(o)
			}
		}
	}
	j.wake.Broadcast()
}

// settle tears down a stage's DoFns and passes on its collections.
func (j *job) settle(s *stage) error {
	err := j.down(s)
	if s.Input != nil {
		err = errors.Join(err, j.data[s.Input].read())
	}
	seen := map[*plan.Collection]bool{}
	for _, c := range s.Sides {
		if !seen[c] {
			seen[c] = true
			err = errors.Join(err, j.data[c].read())
		}
	}
	j.summarise(s)
	return err
}

// guard runs a part of the job. Its error or panic becomes the job's error.
func (j *job) guard(part func() error) {
	defer func() {
		if r := recover(); r != nil {
			j.fail(fmt.Errorf("local runner: internal error; please report it: %v\n%s", r, debug.Stack()))
		}
	}()
	if err := part(); err != nil {
		j.fail(err)
	}
}

// fail ends the job. Only the first error counts, since it causes the later ones.
func (j *job) fail(err error) {
	j.mu.Lock()
	if j.err == nil && j.ctx.Err() == nil {
		j.err = err
	}
	j.wake.Broadcast()
	j.mu.Unlock()
	j.cancel()
}

// close tears down what is still up after an error, and removes all files.
func (j *job) close() error {
	var err error
	for _, s := range j.stages {
		err = errors.Join(err, j.down(s))
	}
	for _, c := range j.data {
		err = errors.Join(err, c.Close())
	}
	return errors.Join(err, j.dir.Close())
}
