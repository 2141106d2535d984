package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/results"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type dedupCmd struct {
	dedup.Config
	Job  kong.ConfigFlag `name:"config" placeholder:"FILE" help:"TOML file with values for flags, by their names; the command line wins." group:"Run"`
	JSON bool            `name:"json" help:"Print run.json instead of the summary." group:"Output"`
}

// Run runs the job and prints what it found.
func (c *dedupCmd) Run(ctx context.Context, s streams) error {
	run, err := dedup.Run(ctx, c.Config)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted; %s holds no finished output, run again to fill it", c.Output)
	}
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(run)
	case c.DryRun:
		return report.Plan(s.Out, run)
	}
	return report.Summary(s.Out, run, c.Output, c.example(run))
}

// example is a pair to show; a summary without one is better than none.
func (c *dedupCmd) example(run *records.Run) *records.Example {
	if run.Counts[records.CountNearPairs] == 0 {
		return nil
	}
	r, err := results.Open(c.Output)
	if err == nil {
		var example *records.Example
		if example, err = r.Example(); err == nil {
			return example
		}
	}
	slog.Warn("no example pair to show: " + err.Error())
	return nil
}
