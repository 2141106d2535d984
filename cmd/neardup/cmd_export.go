package main

import (
	"context"

	"github.com/neardup/neardup/pipelines/export"
)

type exportCmd struct {
	export.Config
}

// Run writes the tables.
func (c *exportCmd) Run(ctx context.Context, s streams) error {
	c.Stdout = s.Out
	warnings, err := export.Export(ctx, c.Config)
	warn(warnings)
	return err
}
