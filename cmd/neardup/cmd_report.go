package main

import (
	"context"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type reportCmd struct {
	Dir       string `arg:"" name:"dir" help:"Finished output of dedup."`
	Output    string `short:"o" placeholder:"FILE" help:"File for the page; must be new (default: standard output)."`
	Overwrite bool   `help:"Replace the file."`
	NoText    bool   `help:"Leave out the texts of documents."`
}

// Run draws the page of a finished run again.
func (c *reportCmd) Run(ctx context.Context, s streams) error {
	if err := job.CheckPath("--output", c.Output); err != nil {
		return withHelp(err, "report")
	}
	if info, err := os.Stat(c.Output); err == nil && info.IsDir() {
		return job.Usage("--output %s is a folder; give a file", c.Output)
	}
	return dedup.Page(ctx, dedup.Paging{Output: c.Dir, File: c.Output, W: s.Out, Overwrite: c.Overwrite, NoText: c.NoText, Draw: drawPage})
}

// pageBeside returns what writes the page of a run. The page says how the run's parameters differ from unasked, the defaults.
func pageBeside(unasked records.Parameters) dedup.Draw {
	return func(ctx context.Context, w io.Writer, f *output.Finished, texts dedup.TextsOf) error {
		return report.Page(ctx, w, f, texts, unasked)
	}
}

// drawPage writes the page of a run for a command that does not have the flags of dedup.
func drawPage(ctx context.Context, w io.Writer, f *output.Finished, texts dedup.TextsOf) error {
	var unasked dedup.Config
	if err := kong.ApplyDefaults(&unasked, expanded(dedup.Vars())); err != nil {
		return err
	}
	return pageBeside(unasked.Parameters())(ctx, w, f, texts)
}
