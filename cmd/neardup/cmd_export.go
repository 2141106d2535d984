package main

import (
	"context"

	"github.com/neardup/neardup/pipelines/export"
)

type exportCmd struct {
	export.Config
}

// Help is an example.
func (exportCmd) Help() string {
	return example("neardup export out --format csv --excel -o tables", "neardup export out --format jsonl --table removed -o - | head", "neardup export out --format sql -o views")
}

// Run writes the tables.
func (c *exportCmd) Run(ctx context.Context, s streams) error {
	c.Stdout = s.Out
	warnings, err := export.Export(ctx, c.Config)
	warn(warnings)
	return err
}
