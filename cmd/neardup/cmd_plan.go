package main

import "context"

// planCmd is dedup --dry-run: it takes the flags of dedup, so that a command line or a job file can be planned as it is.
type planCmd struct{ dedupCmd }

// Run plans the job and prints what is to be expected of it.
func (c *planCmd) Run(ctx context.Context, s streams) error {
	c.DryRun = true
	return c.dedupCmd.Run(ctx, s)
}
