package main

import (
	"context"
	"os"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/report"
)

type reportCmd struct {
	Dir       string `arg:"" name:"dir" help:"Output of a finished run of dedup or passages."`
	Output    string `short:"o" placeholder:"FILE" help:"File for the page; must be new, unless you give --overwrite. - is standard output (default: standard output, if not a terminal)." group:"Output"`
	Overwrite bool   `help:"Replace the file." group:"Output"`
	NoText    bool   `help:"Leave out the texts of documents." group:"Output"`
}

// Run draws the HTML report of a finished run again.
func (c *reportCmd) Run(ctx context.Context, s streams) error {
	if c.Output == "-" {
		c.Output = ""
	}
	if err := job.CheckPath("--output", c.Output); err != nil {
		return withHelp(err, "report")
	}
	if info, err := os.Stat(c.Output); err == nil && info.IsDir() {
		return job.Usage("--output %s is a folder; give a file", c.Output)
	}
	if c.Output == "" && terminal.Watched(s.Out) {
		return job.Usage("the page is HTML, which a terminal cannot show; write it to a file with -o report.html")
	}
	if _, err := job.OpenOutput(ctx, c.Dir, "dedup", "passages"); err != nil { // with the path as the user wrote it
		return err
	}
	return dedup.Page(ctx, dedup.Paging{Output: c.Dir, File: c.Output, W: s.Out, Overwrite: c.Overwrite,
		NoText: c.NoText, Draw: report.Page})
}
