package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/pipelines/compare"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type compareCmd struct {
	compare.Config
	Plot string          `placeholder:"FILE" help:"SVG file for the result as a picture; must be new." group:"Comparison"`
	Job  configfile.Flag `name:"config" placeholder:"FILE" help:"TOML file with values for flags, by their names; the command line wins." group:"Run"`
	JSON bool            `name:"json" help:"Print the result for machines instead of as a table." group:"Comparison"`
}

// Run finds the pairs in each way and prints how they agree.
func (c *compareCmd) Run(ctx context.Context, s streams) error {
	if err := readFrom(ctx, &c.Input, s); err != nil {
		return withHelp(err, "compare")
	}
	task, err := compare.New(c.Config)
	if err != nil {
		return withHelp(err, "compare")
	}
	if c.Plot != "" && !strings.EqualFold(filepath.Ext(c.Plot), ".svg") {
		return withHelp(job.Usage("--plot %s: the picture is SVG; give a name that ends in .svg", c.Plot), "compare")
	}
	if err := job.CheckPath("--plot", c.Plot); err != nil {
		return withHelp(err, "compare")
	}
	if _, err := os.Lstat(c.Plot); c.Plot != "" && !errors.Is(err, fs.ErrNotExist) {
		return &job.OutputExistsError{Reason: c.Plot + " is there already; give another --plot"}
	}
	launch, err := here(c.Running, s.Err)
	if err != nil {
		return err
	}
	comparison, err := task.Run(ctx, launch)
	if err != nil {
		return err
	}
	warn(comparison.Warnings)
	if c.JSON {
		err = printJSON(s.Out, comparison)
	} else {
		err = report.Comparison(s.Out, comparison)
	}
	return errors.Join(err, c.plot(comparison))
}

// plot writes the picture, if one is asked for.
func (c *compareCmd) plot(comparison *records.Comparison) error {
	if c.Plot == "" {
		return nil
	}
	var picture bytes.Buffer
	if err := report.ComparisonPlot(&picture, comparison); err != nil {
		return err
	}
	if err := os.WriteFile(c.Plot, picture.Bytes(), 0o666); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}
