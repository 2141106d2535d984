package main

import (
	"context"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/pipelines/eval"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type evalCmd struct {
	eval.Config
	JSON bool `name:"json" help:"Print the result for machines instead of as a table." group:"Evaluation"`
}

// Help is an example.
func (evalCmd) Help() string {
	return example("neardup eval out --truth pairs.csv --texts 3", "neardup eval out --truth labels.jsonl --list 100", "neardup eval out --sample 1000")
}

// Run measures the output and prints how it agrees.
func (c *evalCmd) Run(ctx context.Context, s streams) error {
	c.Content = s.In
	if c.Truth != "-" {
		c.Content = &lateFile{ctx: ctx, flag: "--truth", path: c.Truth}
	}
	c.Planned = s.Progress.plan
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
		return printJSON(s.Out, found)
	}
	return report.Evaluation(s.Out, terminal.Width(s.Out), found)
}
