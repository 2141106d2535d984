package main

import (
	"context"
	"slices"

	"github.com/alecthomas/kong"
)

// planCmd is dedup --dry-run: it takes the flags of dedup, so that a command line or a job file can be planned as it is.
type planCmd struct{ dedupCmd }

// Help is an example.
func (planCmd) Help() string {
	return example("neardup plan news/", "neardup plan 'crawl/*.jsonl.gz' --text body --threshold 0.7")
}

// Run plans the job and prints what is to be expected of it.
func (c *planCmd) Run(ctx context.Context, s streams) error {
	c.DryRun = true
	return c.dedupCmd.Run(ctx, s)
}

// planFlags hides those flags of plan that say what becomes of a job or of its results.
func planFlags(k *kong.Kong) error {
	idle := []string{"output", "write", "no-text", "dry-run", "overwrite", "weak-overwrite", "wait-lock", "force-unlock", "metrics-file", "lineage-file", "detach", "cancel-on-interrupt"}
	for _, command := range k.Model.Children {
		if command.Name != "plan" {
			continue
		}
		for _, flag := range command.Flags {
			flag.Hidden = flag.Hidden || slices.Contains(idle, flag.Name)
		}
	}
	return nil
}
