package main

import "context"

// planCmd is dedup --dry-run: it accepts the flags of dedup, so that it can plan any command line or job file as it is.
type planCmd struct{ dedupCmd }

// Run plans the job and prints the forecast.
func (c *planCmd) Run(ctx context.Context, s streams) error {
	c.DryRun = true
	return c.dedupCmd.Run(ctx, s)
}
