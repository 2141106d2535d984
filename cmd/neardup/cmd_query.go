package main

import (
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/query"
	"github.com/neardup/neardup/report"
)

type queryCmd struct {
	query.Config
	Job  configfile.Flag `name:"config" placeholder:"FILE" help:"Job file: TOML that sets flags by name; the command line wins." group:"Running"`
	JSON bool            `name:"json" help:"Print the result as JSON, not as a table." group:"Query"`
}

// AfterApply records which flags are given.
func (c *queryCmd) AfterApply(command *kong.Context) error {
	c.Given = given(command)
	return nil
}

// Run looks for the nearest documents and prints them.
func (c *queryCmd) Run(ctx context.Context, s streams) error {
	if c.Against == "" {
		if err := readFrom(ctx, &c.Input, &c.Running, s); err != nil {
			return withHelp(err, "query")
		}
	}
	c.Content, c.Planned = s.In, s.Progress.plan
	if c.File != "-" {
		c.Content = &lateFile{ctx: ctx, flag: "--file", path: c.File}
	}
	task, err := query.New(ctx, c.Config)
	if err != nil {
		return withHelp(err, "query")
	}
	launch, err := inProcess(c.Running, s.Progress)
	if err != nil {
		return err
	}
	answer, err := task.Run(ctx, launch)
	if err != nil {
		return err
	}
	warn(answer.Warnings)
	if c.JSON {
		return output.JSON(s.Out, answer)
	}
	return report.Neighbours(s.Out, answer)
}

// lateFile is a file, or a pipe, that is opened when it is first read. Only the end of the process closes it: until
// then an abandoned read may still wait for a pipe.
type lateFile struct {
	ctx  context.Context //nolint:containedctx // of the one read
	flag string          // the flag that names the file
	path string
	file io.Reader
}

func (f *lateFile) Read(p []byte) (n int, err error) {
	if f.file == nil {
		file, err := open(f.ctx, f.flag, f.path)
		if err != nil {
			return 0, err
		}
		f.file = file
	}
	n, err = f.file.Read(p)
	if errors.Is(err, syscall.EISDIR) {
		return n, job.Usage("%s %s is a folder; give a file", f.flag, f.path)
	}
	return n, err
}
