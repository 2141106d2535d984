package dedup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// handover is the state that a run leaves for the process that finishes it.
type handover struct {
	Run         records.Run `json:"run"`
	Known       planFacts   `json:"known"`
	Fingerprint string      `json:"fingerprint"`
	Job         string      `json:"job"` // the State of a job.LeftError
}

// leave hands the output over to a job that continues without this process, if err says that there is one and another
// process can finish it; the error is then a *job.LeftError. Otherwise leave closes the run, in the context ending.
func (r *run) leave(ctx, ending context.Context, err error) error {
	of := (*job.LeftError)(nil)
	if !errors.As(err, &of) {
		return r.close(ending, job.Cause(ctx, err))
	}
	left := *of
	if left.Err != nil {
		left.Err = job.Cause(ctx, left.Err)
	}
	failed := errors.New("it was not the last job of the run")
	if r.last {
		failed = r.handOver(ctx, &left)
	}
	if failed == nil {
		return &left
	}
	r.warn("%s continues, but cannot be finished: %v; cancel it", left.Job, failed)
	return r.close(ending, cmp.Or(left.Err, errors.New(left.Error()))) // not a *job.LeftError, which says otherwise
}

// handOver passes the output to a job that continues.
func (r *run) handOver(ctx context.Context, left *job.LeftError) error {
	r.measure()
	r.record.Status = "submitted"
	r.record.Error = ""
	state := handover{Run: r.record, Known: r.planned, Fingerprint: r.fingerprint, Job: left.State}
	return r.commit.Leave(context.WithoutCancel(ctx), left.Job, state)
}

// Finishing holds the arguments of Finish.
type Finishing struct {
	Output   string
	WaitLock time.Duration // how long to wait for another process that finishes it
	// Ended reports whether the job to which an output's lock was handed over has ended.
	Ended func(ctx context.Context, job string) (bool, error)
	// Follow returns a Launch that follows the job that was left with this state.
	Follow func(state string) job.Launch
	// Draw writes the HTML report; nil writes none.
	Draw Draw
}

// Finish follows the job that a run left, checks what it wrote, and commits. If the run is finished already, it returns
// its record, with a warning.
func Finish(ctx context.Context, f Finishing) (*records.Run, error) {
	dir, err := job.OutputPath(f.Output)
	if err != nil {
		return nil, err
	}
	left, err := commit.FindLeft(ctx, dir)
	if err != nil {
		return nil, err
	}
	if left == nil {
		return finished(ctx, dir)
	}
	var h handover
	if err := json.Unmarshal(left.State, &h); err != nil {
		return nil, fmt.Errorf("%s: cannot read what run %s left: %w", dir, left.Run, err)
	}
	r := &run{output: dir, planned: h.Known, fingerprint: h.Fingerprint, record: h.Run, begun: true}
	if r.asked, err = job.Compile(h.Run.Parameters, h.Run.Given...); err != nil {
		return nil, err
	}
	r.asked.Led(h.Run.Chosen.Rule)
	if err := r.config.restore(h.Run); err != nil {
		return nil, err
	}
	r.config.WaitLock, r.config.Ended, r.config.Draw = f.WaitLock, f.Ended, f.Draw
	r.commit, err = commit.Resume(ctx, commit.Options{Dir: dir, Overwrite: r.config.Replaces(),
		Weak: r.config.WeakOverwrite, Lock: r.config.lock(), Warn: r.warn}, left)
	if err != nil {
		return nil, job.Refused(err)
	}
	r.temp = r.commit.Temporary()
	defer storage.Forget(job.Inputs(r.temp))
	ending, end := commit.Ending(ctx)
	defer end()
	r.launch = f.Follow(h.Job)
	done, err := r.recovered(ctx, r.fingerprint)
	if !done && err == nil {
		err = r.complete(ctx, nil)
	}
	return &r.record, r.leave(ctx, ending, job.Refused(err))
}

// restore sets the fields of the config that the end of a run needs.
func (c *Config) restore(run records.Run) error {
	var how struct {
		Output    string `json:"output"`
		Overwrite bool   `json:"overwrite"`
		Weak      bool   `json:"weak_overwrite"`
	}
	err := json.Unmarshal(run.Running, &how)
	c.Spec, c.Runner, c.Output = run.Parameters, job.Runner(run.Runner), how.Output
	c.Overwrite, c.WeakOverwrite = how.Overwrite, how.Weak
	return err
}

// finished returns the record of an output that needs no finishing.
func finished(ctx context.Context, dir string) (*records.Run, error) {
	there, err := job.OpenOutput(ctx, dir, "dedup")
	if err != nil {
		return nil, err
	}
	run := there.Run
	run.Warnings = append(slices.Clone(run.Warnings), "nothing to finish: the output is already complete")
	return &run, nil
}
