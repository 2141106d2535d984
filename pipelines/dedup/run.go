package dedup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/usage"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Job is a Config that can be meant.
type Job struct{ config Config }

// New checks what is asked; the error is a *job.UsageError.
func New(c Config) (*Job, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Job{c}, nil
}

// Run does the whole job: plan, lock, build, run, check, commit. With DryRun it only plans. The
// record of the run is returned as far as it got, also beside an error.
func (j *Job) Run(ctx context.Context, launch job.Launch) (*records.Run, error) {
	r, err := newRun(j.config)
	if err != nil {
		return nil, err
	}
	if j.config.DryRun {
		return &r.record, r.dryRun(ctx)
	}
	if err := r.open(ctx); err != nil {
		return &r.record, err
	}
	err = r.do(ctx, launch)
	// What was begun is ended in good order, interrupted or not.
	return &r.record, r.close(context.WithoutCancel(ctx), err)
}

// TooManyUnreadableError ends a run whose input has more unreadable records than it accepts.
type TooManyUnreadableError struct {
	sink.ReadTotals
	Rejected string // the table that lists them; "" if it was not asked for
}

func (e *TooManyUnreadableError) Error() string {
	see := "write the table rejected to see them all"
	if e.Rejected != "" {
		see = "all are in " + e.Rejected
	}
	return fmt.Sprintf("%v; %s; mend them, or accept them with --max-rejected %d", e.ReadTotals, see, e.Unreadable)
}

// run is one run of the job, from the lock to _SUCCESS.
type run struct {
	config Config
	output string // absolute
	work   string // a folder in the output that only this run has
	temp   string
	lock   *storage.Lock
	begun  bool // the output is this run's own
	plan   *Plan
	record records.Run
}

func newRun(c Config) (*run, error) {
	dir, err := storage.Abs(c.Output)
	if err != nil {
		return nil, err
	}
	id := newID()
	work := storage.Join(dir, tempPrefix+id)
	temp := work
	// A runner in this process spills to a disk, whatever store the output is on.
	if c.TempDir != "" || !storage.IsLocal(dir) && !c.Runner.OnCluster() {
		if temp, err = storage.Abs(storage.Join(storage.TempParent(c.TempDir), "neardup-"+id)); err != nil {
			return nil, err
		}
	}
	return &run{config: c, output: dir, work: work, temp: temp, record: records.Run{
		Status: "running", Job: id, Version: Version(), Started: time.Now().UTC(),
		Runner: string(c.Runner), Parameters: c.parameters(), Formats: job.Formats(c.Signature),
	}}, nil
}

func newID() string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	return time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(random[:])
}

// Version is the version of the module this binary was built from.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// dryRun plans, with a temporary folder of the system's in place of the output's.
func (r *run) dryRun(ctx context.Context) (err error) {
	if r.config.Output != "" {
		if err := r.checkOutput(ctx); err != nil {
			return err
		}
	}
	r.record.Status = "planned"
	return job.InTempFolder(ctx, r.config.TempDir, func(temp string) error {
		r.temp = temp
		return r.makePlan(ctx)
	})
}

// open takes the output's lock. What an earlier run left there stays until claimOutput.
func (r *run) open(ctx context.Context) (err error) {
	if err := r.checkOutput(ctx); err != nil {
		return err
	}
	var former *storage.Owner
	r.lock, former, err = storage.Acquire(ctx, storage.Join(r.output, lockFile), r.record.Job, storage.LockOptions{Force: r.config.ForceUnlock})
	if locked := (*storage.LockedError)(nil); errors.As(err, &locked) {
		return &job.OutputExistsError{Reason: locked.Error()}
	}
	if err != nil {
		return err
	}
	if former != nil {
		r.warn("took over the lock of job %s (process %d on %s)", former.Job, former.PID, former.Host)
	}
	err = checkFolder(ctx, r.output, r.config.Overwrite) // another run may have finished meanwhile
	if err == nil {
		err = errors.Join(storage.Begin(ctx, r.temp, !r.config.Runner.OnCluster()), storage.Begin(ctx, r.stagingDir(), false))
	}
	if err != nil {
		return r.close(context.WithoutCancel(ctx), err)
	}
	return nil
}

func (r *run) warn(format string, args ...any) {
	r.record.Warnings = append(r.record.Warnings, fmt.Sprintf(format, args...))
}

func (r *run) writeRecord(ctx context.Context) error {
	return output.WriteJSON(ctx, storage.Join(r.output, output.RunFile), &r.record)
}

// makePlan plans and records what was chosen.
func (r *run) makePlan(ctx context.Context) error {
	plan, err := job.NewPlan(ctx, r.config.request(), r.temp)
	if err != nil {
		return err
	}
	r.plan = &Plan{Plan: plan, Config: r.config}
	if err := job.CheckInputNotInOutput(plan.Listing.Inputs.Files, r.output, r.temp); err != nil && r.config.Output != "" {
		return err
	}
	r.record.Input, r.record.Chosen = plan.Input(), plan.Chosen()
	r.record.Warnings = append(r.record.Warnings, plan.Warnings()...)
	for _, glob := range plan.Idle {
		r.warn("--keep %s: %s matches no input file; patterns are matched with paths below %s", r.config.Keep, glob, plan.Listing.Inputs.Root)
	}
	return nil
}

// do plans, runs the pipeline, checks its facts and commits.
func (r *run) do(ctx context.Context, launch job.Launch) error {
	if err := r.makePlan(ctx); err != nil {
		return err
	}
	if err := r.checkSpace(); err != nil {
		return err
	}
	if err := r.claimOutput(ctx); err != nil {
		return err
	}
	r.spoolCompressed()
	if err := r.plan.Share(ctx, r.temp); err != nil {
		return err
	}
	defer r.plan.Forget(r.temp)
	if r.plan.NeedsDictionary() {
		stages, err := r.plan.BuildDictionary(ctx, launch, r.temp)
		if err != nil {
			return r.cause(ctx, err)
		}
		r.record.Stages = stages
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	Build(scope, r.plan, r.stagingDir(), r.temp)
	ended, err := r.execute(ctx, launch, pipeline)
	if err != nil {
		return err
	}
	files, err := r.account(ctx, launch, ended)
	if err != nil {
		return err
	}
	return r.commit(ctx, files)
}

func (r *run) execute(ctx context.Context, launch job.Launch, pipeline *beam.Pipeline) (job.Outcome, error) {
	ended, err := r.config.Execute(ctx, launch, pipeline, r.temp)
	if err != nil {
		return job.Outcome{}, r.cause(ctx, err)
	}
	if id := ended.Result.JobID(); id != "" {
		r.record.Jobs = append(r.record.Jobs, id)
	}
	r.record.Stages = append(r.record.Stages, ended.Stages...)
	return ended, nil
}

// cause finds out why the pipeline failed.
func (r *run) cause(ctx context.Context, err error) error {
	data, readErr := storage.ReadFile(ctx, storage.Join(r.temp, exceededFile))
	if readErr != nil {
		return err
	}
	exceeded := &TooManyUnreadableError{}
	if r.config.writes(output.Rejected) {
		exceeded.Rejected = storage.Join(r.config.Output, string(output.Rejected))
	}
	if err := json.Unmarshal(data, &exceeded.ReadTotals); err != nil {
		return err
	}
	return exceeded
}

// commit brings tables and corpus to their place. The mark of success follows when the run is closed.
func (r *run) commit(ctx context.Context, files *records.Manifest) error {
	if err := publish(ctx, r.stagingDir(), r.output, output.Parts()...); err != nil {
		return err
	}
	slog.Info("files committed", "output", r.output, "files", len(files.Files))
	return output.WriteJSON(ctx, storage.Join(r.output, output.ManifestFile), files)
}

// close ends the run: the mark of success last, or what went wrong, and no temporary files.
func (r *run) close(ctx context.Context, err error) error {
	if !r.begun {
		err = errors.Join(err, r.removeTemporary(ctx), r.lock.Release())
		storage.RemoveEmpty(ctx, r.output) // it is then as it was
		return err
	}
	r.record.Seconds = time.Since(r.record.Started).Seconds()
	r.record.CPU, r.record.Peak = usage.Process()
	var exceeded *TooManyUnreadableError
	switch {
	case err == nil:
		r.record.Status = "done"
	case errors.As(err, &exceeded):
		err = errors.Join(err, publish(ctx, r.stagingDir(), r.output, output.Rejected))
		r.record.Status, r.record.Error = "failed", exceeded.Error()
		r.record.Counts = records.Counts{Records: exceeded.Records, Unreadable: exceeded.Unreadable}
	default:
		r.record.Status, r.record.Error = "failed", err.Error()
		if pipeline := (*job.PipelineError)(nil); errors.As(err, &pipeline) {
			r.record.Error = pipeline.Unwrap().Error()
		}
	}
	failed := err != nil
	err = errors.Join(err, r.removeTemporary(ctx), r.writeRecord(ctx))
	if !failed && err == nil {
		err = storage.WriteEmpty(ctx, storage.Join(r.output, output.SuccessFile))
	}
	return errors.Join(err, r.lock.Release())
}

func (r *run) removeTemporary(ctx context.Context) error {
	return errors.Join(storage.RemoveAll(ctx, r.temp), storage.RemoveAll(ctx, r.work))
}
