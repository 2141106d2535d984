package main

import (
	"context"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/eval"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type evalCmd struct {
	eval.Config
	JSON bool `name:"json" help:"Print the result as JSON, not as a table." group:"Evaluation"`
}

// Run compares the output with the truth and prints how they agree.
func (c *evalCmd) Run(ctx context.Context, s streams) error {
	c.Content = s.In
	if c.Truth != "-" {
		c.Content = &lateFile{ctx: ctx, flag: "--truth", path: c.Truth}
	}
	c.Planned = s.Progress.plan
	if c.Memory != 0 && c.Memory < memory.Least {
		return withHelp(job.Usage("--memory %v: must be at least 256MB", c.Memory), "eval")
	}
	launch, err := inProcess(c.Running, s.Progress)
	if err != nil {
		return err
	}
	found, err := eval.Evaluate(ctx, c.Config, launch)
	if err != nil {
		return err
	}
	warn(found.Warnings)
	if c.JSON {
		for _, texts := range [][]records.Example{found.MissedTexts, found.FalseTexts} {
			for i := range texts {
				report.Differing(&texts[i])
			}
		}
		return output.JSON(s.Out, found)
	}
	return report.Evaluation(s.Out, terminal.Width(s.Out), found)
}
