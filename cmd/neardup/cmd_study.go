package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/study"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type studyCmd struct {
	study.Config
	GroupInto string          `placeholder:"DIR" help:"Folder in which each group of similar documents gets a folder with links to its files; must be new." group:"Study"`
	Job       configfile.Flag `name:"config" placeholder:"FILE" help:"Job file: TOML that sets flags by name; the command line wins." group:"Running"`
	JSON      bool            `name:"json" help:"Print the result as JSON, not as a table." group:"Study"`
}

// Run studies the documents, prints the results and draws them.
func (c *studyCmd) Run(ctx context.Context, s streams) error {
	c.Draw, c.Planned = draw, s.Progress.plan
	if err := readFrom(ctx, &c.Input, &c.Running, s); err != nil {
		return withHelp(err, "study")
	}
	task, err := study.New(c.Config)
	if err != nil {
		return withHelp(err, "study")
	}
	if err := checkNew(c.GroupInto, "--group-into", "study"); err != nil {
		return err
	}
	elsewhere := func(input string) bool { return input == "-" || !job.IsLocal(input) }
	if c.GroupInto != "" && slices.ContainsFunc(c.Inputs, elsewhere) {
		return withHelp(job.Usage("--group-into %s: links can point only to files on this machine; give such files "+
			"as input", c.GroupInto), "study")
	}
	launch, err := inProcess(c.Running, s.Progress)
	if err != nil {
		return err
	}
	found, err := task.Run(ctx, launch)
	if err != nil {
		return err
	}
	warn(found.Warnings)
	if c.GroupInto != "" {
		if err := linkGroups(c.GroupInto, found); err != nil {
			return err
		}
	}
	if c.JSON {
		return output.JSON(s.Out, found)
	}
	return report.Study(s.Out, found)
}

// draw writes the page of a study, its plots and its matrices.
func draw(found *records.Study, write func(name string, content func(io.Writer) error) error) error {
	for _, d := range report.StudyDrawings(found) {
		if err := write(d.Name, d.Write); err != nil {
			return err
		}
	}
	return nil
}

// linkGroups makes a folder for each group of documents, with a link to each file that has one of them, under its
// source.
func linkGroups(dir string, found *records.Study) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for i, group := range found.Groups {
		for _, d := range group {
			document := found.Documents[d]
			file, err := filepath.Abs(document.Path)
			if err != nil {
				return err
			}
			link := filepath.Join(dir, fmt.Sprintf("group-%03d", i+1), filepath.FromSlash(document.Source))
			if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
				return err
			}
			// A file with several documents is linked once.
			if err := os.Symlink(file, link); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}
