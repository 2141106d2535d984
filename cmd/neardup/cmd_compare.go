package main

import (
	"context"
	"errors"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/report"
)

type compareCmd struct {
	compare.Config
	Plot picture         `placeholder:"FILE" help:"SVG file for the result as a picture; must be new." group:"Comparison"`
	Job  configfile.Flag `name:"config" placeholder:"FILE" help:"Job file: TOML that sets flags by name; the command line wins." group:"Running"`
	JSON bool            `name:"json" help:"Print the result as JSON, not as a table." group:"Comparison"`
}

// Run finds the pairs by each method and prints how they agree.
func (c *compareCmd) Run(ctx context.Context, s streams) error {
	if err := readFrom(ctx, &c.Input, &c.Running, s); err != nil {
		return withHelp(err, "compare")
	}
	c.Content, c.Planned = s.In, s.Progress.plan
	if c.Truth != "-" {
		c.Content = &lateFile{ctx: ctx, flag: "--truth", path: c.Truth}
	}
	task, err := compare.New(c.Config)
	if err != nil {
		return withHelp(err, "compare")
	}
	if err := c.Plot.check("--plot", "compare"); err != nil {
		return err
	}
	launch, err := launched(ctx, false, c.Running, c.Remote, jobName(c.Inputs), s)
	if err != nil {
		return err
	}
	comparison, err := task.Run(ctx, launch)
	if err != nil {
		return err
	}
	warn(comparison.Warnings)
	if c.JSON {
		err = output.JSON(s.Out, comparison)
	} else {
		err = report.Comparison(s.Out, comparison)
	}
	return errors.Join(err, draws(c.Plot, "--plot", comparison, report.ComparisonPlot))
}
