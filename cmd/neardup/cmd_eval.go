package main

import (
	"context"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/pipelines/eval"
	"github.com/neardup/neardup/report"
)

type evalCmd struct {
	eval.Config
	JSON bool `name:"json" help:"Print the result for machines instead of as a table." group:"Evaluation"`
}

// Help is an example.
func (evalCmd) Help() string {
	return example("neardup eval out --truth pairs.csv", "neardup eval out --truth labels.jsonl --list 100")
}

// Run measures the output and prints how it agrees.
func (c *evalCmd) Run(ctx context.Context, s streams) error {
	c.Content = s.In
	if c.Truth != "-" {
		c.Content = &lateFile{ctx: ctx, flag: "--truth", path: c.Truth}
	}
	found, err := eval.Evaluate(ctx, c.Config)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.Out, found)
	}
	return report.Evaluation(s.Out, terminal.Width(s.Out), found)
}
