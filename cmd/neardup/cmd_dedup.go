package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"

	"github.com/neardup/neardup/internal/configfile"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type dedupCmd struct {
	dedup.Config
	Job      configfile.Flag `name:"config" placeholder:"FILE" help:"TOML file with values for flags, by their names; the command line wins." group:"Run"`
	JSON     bool            `name:"json" help:"Print run.json instead of the summary." group:"Output"`
	Profiles profiles        `embed:""`
	Floor    bool            `hidden:"" help:"Stop after the shingles: what is left is the least that reading costs."`
}

// Run runs the job and prints what it found.
func (c *dedupCmd) Run(ctx context.Context, s streams) error {
	return c.Profiles.record(func() error {
		if c.Floor {
			return c.floor(ctx, s.Out)
		}
		return c.run(ctx, s)
	})
}

func (c *dedupCmd) floor(ctx context.Context, w io.Writer) error {
	documents, shingles, err := dedup.Floor(ctx, c.Config, cmp.Or(c.Workers, runtime.GOMAXPROCS(0)))
	if err == nil {
		_, err = fmt.Fprintf(w, "%d documents, %d shingles\n", documents, shingles)
	}
	return err
}

func (c *dedupCmd) run(ctx context.Context, s streams) error {
	if err := c.Validate(); err != nil {
		return err
	}
	launch, err := c.launch(ctx, s.Err)
	if err != nil {
		return err
	}
	run, err := dedup.Run(ctx, c.Config, launch)
	if run != nil {
		warn(run.Warnings)
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted; %s holds no finished output, run again to fill it", c.Output)
	}
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return printJSON(s.Out, run)
	case c.DryRun:
		return report.Plan(s.Out, run)
	}
	example, err := c.example(ctx, run)
	if err != nil {
		slog.Warn(fmt.Sprintf("no example pair can be shown: %v", err))
	}
	return report.Summary(s.Out, run, c.Output, example)
}

// example is a pair to show, nil if there is none.
func (c *dedupCmd) example(ctx context.Context, run *records.Run) (*records.Example, error) {
	if run.Counts[records.CountNearPairs] == 0 || !slices.Contains(c.Write, "pairs") || slices.Contains(c.Inputs, "-") {
		return nil, nil // texts of standard input are gone
	}
	r, err := output.Open(c.Output)
	if err != nil {
		return nil, err
	}
	return r.Example(ctx)
}
