package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type dedupCmd struct {
	dedup.Config
	Job      configfile.Flag `name:"config" placeholder:"FILE" help:"TOML file with values for flags, by their names; the command line wins." group:"Run"`
	JSON     bool            `name:"json" help:"Print run.json instead of the summary." group:"Output"`
	Profiles profiles        `embed:""`
	Floor    bool            `hidden:"" help:"Stop after the shingles: what is left is the least that reading costs."`
}

// Run runs the job and prints what it found.
func (c *dedupCmd) Run(ctx context.Context, s streams) error {
	c.Stdin = s.In
	task, err := dedup.New(c.Config)
	if err != nil {
		return withHelp(err, "dedup")
	}
	return c.Profiles.record(func() error {
		if c.Floor {
			return c.floor(ctx, task, s.Out)
		}
		return c.run(ctx, task, s)
	})
}

func (c *dedupCmd) floor(ctx context.Context, task *dedup.Job, w io.Writer) error {
	documents, shingles, err := task.Floor(ctx, cmp.Or(c.Workers, runtime.GOMAXPROCS(0)))
	if err == nil {
		_, err = fmt.Fprintf(w, "%d documents, %d shingles\n", documents, shingles)
	}
	return err
}

func (c *dedupCmd) run(ctx context.Context, task *dedup.Job, s streams) error {
	launch, err := c.launch(ctx, s.Err)
	if err != nil {
		return err
	}
	run, err := task.Run(ctx, launch)
	if run != nil {
		warn(run.Warnings)
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted; %s holds no finished output, run again to fill it", c.Output)
	}
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return printJSON(s.Out, run)
	case c.DryRun:
		return report.Plan(s.Out, run)
	}
	example, err := c.example(ctx, run)
	if err != nil {
		slog.Warn(fmt.Sprintf("no example pair can be shown: %v", err))
	}
	return report.Summary(s.Out, run, c.Output, example)
}

// launch returns how the runner that was asked for is started. It fails if a cluster cannot be
// reached, before the run has touched anything.
func (c *dedupCmd) launch(ctx context.Context, progress io.Writer) (job.Launch, error) {
	if c.Runner.OnCluster() && !c.DryRun {
		return onCluster(ctx, c.Running, c.Remote, progress)
	}
	return here(c.Running, progress)
}

// example is a pair to show, nil if there is none.
func (c *dedupCmd) example(ctx context.Context, run *records.Run) (*records.Example, error) {
	if run.Counts.NearPairs == 0 || !slices.Contains(c.Write, output.Pairs) || slices.Contains(c.Inputs, "-") {
		return nil, nil // texts of standard input are gone
	}
	finished, err := output.Open(ctx, c.Output)
	if err != nil {
		return nil, err
	}
	return dedup.Example(ctx, finished)
}
