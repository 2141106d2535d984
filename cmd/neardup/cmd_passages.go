package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/passages"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type passagesCmd struct {
	passages.Config
	Job  configfile.Flag `name:"config" placeholder:"FILE" help:"Job file: TOML that sets flags by name; the command line wins." group:"Running"`
	JSON bool            `name:"json" help:"Print run.json instead of the summary." group:"Output"`
}

// Run finds the passages and prints how many there are.
func (c *passagesCmd) Run(ctx context.Context, s streams) error {
	if err := readFrom(ctx, &c.Input, &c.Running, s); err != nil {
		return withHelp(err, "passages")
	}
	c.InForce, c.Draw, c.Planned = inForce(c.Running, c.Remote), report.Page, s.Progress.plan
	task, err := passages.New(c.Config)
	if err != nil {
		return withHelp(err, "passages")
	}
	launch, err := launched(ctx, c.DryRun, c.Running, c.Remote, jobName(c.Inputs), s)
	if err != nil {
		return err
	}
	run, err := task.Run(ctx, launch)
	warn(run.Warnings)
	switch {
	case err != nil:
		return &runError{interrupted(job.Cause(ctx, err), c.Output, c.DryRun), run}
	case c.JSON:
		return output.JSON(s.Out, run)
	case c.DryRun:
		return report.PassagesPlan(s.Out, terminal.Width(s.Out), run)
	case s.Quiet:
		return nil
	}
	var most []records.Repeat
	if run.Passages.Items == nil {
		if most, err = mostRepeated(ctx, c.Output); err != nil {
			slog.Warn(fmt.Sprintf("cannot show a passage: %v", err))
		}
	}
	return report.Passages(s.Out, terminal.Width(s.Out), run, c.Output, most)
}

// shownRepeats is how many passages the summary shows.
const shownRepeats = 3

// mostRepeated returns the most frequent passages.
func mostRepeated(ctx context.Context, dir string) (most []records.Repeat, err error) {
	finished, err := output.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return report.MostRepeated(ctx, finished, shownRepeats)
}
