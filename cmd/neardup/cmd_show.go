package main

import (
	"context"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/show"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type showCmd struct {
	show.Config
	JSON bool `name:"json" help:"Print the result for machines instead of as a table." group:"Show"`
}

// Run reads the output and prints the cluster, or the passages.
func (c *showCmd) Run(ctx context.Context, s streams) error {
	if of, err := show.Passages(ctx, c.Config); of != nil || err != nil {
		return c.passages(s, of, err)
	}
	found, err := show.Cluster(ctx, c.Config)
	if err != nil {
		return err
	}
	warn(found.Warnings)
	if c.JSON {
		for i := range found.Examples {
			report.Differing(&found.Examples[i])
		}
		return output.JSON(s.Out, found)
	}
	return report.Cluster(s.Out, terminal.Width(s.Out), found)
}

// passages prints those of a document.
func (c *showCmd) passages(s streams, of *records.PassagesOf, err error) error {
	if err != nil {
		return err
	}
	warn(of.Warnings)
	if c.JSON {
		return output.JSON(s.Out, of)
	}
	return report.PassagesOf(s.Out, terminal.Width(s.Out), of)
}
