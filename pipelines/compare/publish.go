package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/neardup/neardup/internal/usage"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// intoOutput compares, and makes the tables and the comparison the output, once all is whole.
func (r *run) intoOutput(ctx context.Context) (*records.Comparison, error) {
	dir, err := storage.Resolve(r.config.Output)
	if err != nil {
		return nil, err
	}
	if err := job.CheckOutputNotInInput(ctx, r.config.Inputs, dir); err != nil {
		return nil, err
	}
	record := &records.Run{
		Job: commit.NewRun(), Version: dedup.Version(), Started: time.Now().UTC(), Runner: string(r.config.Runner),
		Parameters: r.parameters(), Formats: job.Formats(r.config.Spec(), r.config.family()),
	}
	temp, err := storage.Abs(commit.TempFolder(storage.TempParent(r.config.TempDir), record.Job))
	if err != nil {
		return nil, err
	}
	var warnings []string
	output, err := commit.Begin(ctx, commit.Options{
		Dir: dir, Run: record.Job, Overwrite: r.config.Overwrite, Temp: temp, Private: true,
		Warn: func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) },
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, &job.UsageError{Err: err}
	}
	if err != nil {
		return nil, job.Refused(err)
	}
	r.temp, r.staged = output.Temporary(), output.Staged()
	comparison, err := r.fill(ctx, output, record)
	err = job.Refused(output.Close(context.WithoutCancel(ctx), job.Cause(ctx, err)))
	if err != nil {
		return nil, err
	}
	comparison.Warnings = append(comparison.Warnings, warnings...)
	return comparison, nil
}

// fill compares and publishes.
func (r *run) fill(ctx context.Context, output *commit.Commit, record *records.Run) (*records.Comparison, error) {
	// What an earlier run had all but published is there now, and no comparison is another's.
	if _, err := output.Recovered(record.Job); err != nil {
		return nil, err
	}
	comparison, err := r.do(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := job.Ledger(ctx, r.ledger())
	if err != nil {
		return nil, err
	}
	record.Status, record.Comparison, record.Warnings = "done", comparison, comparison.Warnings
	record.Input, record.Chosen = r.plan.Input(), r.plan.Chosen()
	record.Seconds = time.Since(record.Started).Seconds()
	record.CPU, _ = usage.Process()
	return comparison, output.Publish(ctx, record.Job, job.Manifest(facts), record)
}

// parameters are the flags in force, as far as dedup has them.
func (r *run) parameters() records.Parameters {
	c := r.config.dedup(MinHash, job.Jaccard, r.config.Output)
	c.Overwrite, c.Comparing = r.config.Overwrite, r.config.Comparing
	p := c.Parameters()
	p.Compare = job.Names(r.config.measures()...)
	p.Method, p.Write = job.Names(r.config.Methods...), nil
	for _, table := range r.config.Write {
		p.Write = append(p.Write, string(table))
	}
	return p
}

// ledger is the file of what the tables have come to.
func (r *run) ledger() string { return storage.Join(r.temp, "ledger.jsonl") }
