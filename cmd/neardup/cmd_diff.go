package main

import (
	"context"
	"io"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/diff"
	"github.com/neardup/neardup/report"
)

type diffCmd struct {
	diff.Config
	Job  configfile.Flag `name:"config" placeholder:"FILE" help:"Job file: TOML that sets flags by name; the command line wins." group:"Running"`
	JSON bool            `name:"json" help:"Print the result as JSON, not as a table." group:"Diff"`
}

// Run compares the documents and prints how they differ.
func (c *diffCmd) Run(ctx context.Context, s streams) error {
	if err := readFrom(ctx, &c.Input, &c.Running, s); err != nil {
		return withHelp(err, "diff")
	}
	c.Content = func(path string) io.Reader {
		if path == "-" {
			return s.In
		}
		return &lateFile{ctx: ctx, flag: "document", path: path}
	}
	c.Planned = s.Progress.plan
	launch, err := inProcess(c.Running, s.Progress)
	if err != nil {
		return err
	}
	found, err := diff.Run(ctx, c.Config, launch)
	if err != nil {
		return err
	}
	warn(found.Warnings)
	if c.JSON {
		report.Differing(&found.Example)
		found.OnlyA, found.OnlyB = found.Example.OnlyA, found.Example.OnlyB
		return output.JSON(s.Out, found)
	}
	return report.Difference(s.Out, terminal.Width(s.Out), found)
}
