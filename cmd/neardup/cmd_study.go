package main

import (
	"context"
	"io"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/pipelines/study"
	"github.com/neardup/neardup/report"
)

type studyCmd struct {
	study.Config
	Job  configfile.Flag `name:"config" placeholder:"FILE" help:"TOML file with values for flags, by their names; the command line wins." group:"Run"`
	JSON bool            `name:"json" help:"Print the result for machines instead of as a table." group:"Study"`
}

// Run studies the documents, prints what was found and draws it.
func (c *studyCmd) Run(ctx context.Context, s streams) error {
	c.Stdin = s.In
	task, err := study.New(c.Config)
	if err != nil {
		return withHelp(err, "study")
	}
	launch, err := here(c.Running, s.Err)
	if err != nil {
		return err
	}
	found, err := task.Run(ctx, launch)
	if err != nil {
		return err
	}
	warn(found.Warnings)
	for _, d := range report.StudyDrawings(found) {
		if err := task.Write(ctx, d.Name, d.Write); err != nil {
			return err
		}
	}
	if err := task.Write(ctx, study.StudyFile, func(w io.Writer) error { return printJSON(w, found) }); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.Out, found)
	}
	return report.Study(s.Out, found)
}
