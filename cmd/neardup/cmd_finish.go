package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
	"github.com/neardup/neardup/runners/dataflow"
)

type finishCmd struct {
	Output string `arg:"" help:"Output of a run of dedup that left its job running: with --detach (see docs/dataflow.md), or when interrupted."`

	CancelOnInterrupt bool   `help:"Cancel the job on Dataflow when this process is interrupted (default: ask on Ctrl-C at a terminal; otherwise the job continues, and neardup finish DIR publishes its output)." group:"Cluster"`
	DataflowEndpoint  string `placeholder:"URL" help:"Address of Dataflow's API." group:"Cluster"`

	WaitLock time.Duration `default:"0s" placeholder:"DURATION" help:"Time to wait for another process that is finishing the run (default: ${default})." group:"Running"`
	JSON     bool          `name:"json" help:"Print run.json instead of the summary." group:"Output"`
}

// Run waits for the job, and publishes its output.
func (c *finishCmd) Run(ctx context.Context, s streams) error {
	run, err := dedup.Finish(ctx, dedup.Finishing{
		Output: c.Output, WaitLock: c.WaitLock, Ended: jobEnded(c.DataflowEndpoint), Draw: report.Page,
		Follow: func(state string) job.Launch { return c.follow(state, s) },
	})
	if run != nil {
		warn(run.Warnings)
	}
	if err != nil {
		if left := (*job.LeftError)(nil); errors.As(err, &left) {
			err = fmt.Errorf("%w; publish its output when it has ended:\n  neardup finish %s", err, c.Output)
		}
		return &runError{err, run}
	}
	if c.JSON {
		err = output.JSON(s.Out, run)
	} else {
		err = report.Summary(s.Out, terminal.Width(s.Out), run, c.Output, nil)
	}
	if err != nil { // the run is committed nevertheless
		slog.Warn(fmt.Sprintf("%v; the run is complete", err))
	}
	return nil
}

// follow returns a Launch that follows a job which another process submitted.
func (c *finishCmd) follow(state string, s streams) job.Launch {
	return func(ctx context.Context, _ *beam.Pipeline, _ string) (beam.PipelineResult, []records.Stage, error) {
		j, err := dataflow.ParseJob(state)
		if err != nil {
			return nil, nil, err
		}
		options := dataflow.Options{Cancel: c.CancelOnInterrupt}
		follow(&options, s)
		if c.DataflowEndpoint != "" {
			j.Endpoint = c.DataflowEndpoint
		}
		result, err := dataflow.Follow(ctx, j, options)
		if err != nil {
			return nil, nil, left(err)
		}
		return result, nil, nil
	}
}
