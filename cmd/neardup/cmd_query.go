package main

import (
	"context"
	"errors"
	"os"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/query"
	"github.com/neardup/neardup/report"
)

type queryCmd struct {
	query.Config
	Job  configfile.Flag `name:"config" placeholder:"FILE" help:"TOML file with values for flags, by their names; the command line wins." group:"Run"`
	JSON bool            `name:"json" help:"Print the result for machines instead of as a table." group:"Query"`
}

// Run looks for the nearest documents and prints them.
func (c *queryCmd) Run(ctx context.Context, s streams) error {
	c.Stdin = s.In
	switch c.File {
	case "":
	case "-":
		c.Content = s.In
	default: // a pipe, too
		file, err := os.Open(c.File)
		if err != nil {
			return &job.UsageError{Err: err}
		}
		defer file.Close()
		c.Content = file
	}
	task, err := query.New(c.Config)
	if err != nil {
		return err
	}
	launch, err := here(c.Running, s.Err)
	if err != nil {
		return err
	}
	answer, err := task.Run(ctx, launch)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	if err != nil {
		return err
	}
	warn(answer.Warnings)
	if c.JSON {
		return printJSON(s.Out, answer)
	}
	return report.Neighbours(s.Out, answer)
}
