package main

import (
	"context"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/pipelines/show"
	"github.com/neardup/neardup/report"
)

type showCmd struct {
	show.Config
	JSON bool `name:"json" help:"Print the result for machines instead of as a table." group:"Show"`
}

// Help is an example.
func (showCmd) Help() string {
	return example("neardup show out a2", "neardup show out news/2024.jsonl@1734")
}

// Run reads the output and prints the cluster.
func (c *showCmd) Run(ctx context.Context, s streams) error {
	found, err := show.Cluster(ctx, c.Config)
	if err != nil {
		return err
	}
	warn(found.Warnings)
	if c.JSON {
		for i := range found.Examples {
			report.Differing(&found.Examples[i])
		}
		return printJSON(s.Out, found)
	}
	return report.Cluster(s.Out, terminal.Width(s.Out), found)
}
