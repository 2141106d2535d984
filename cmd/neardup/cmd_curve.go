package main

import (
	"errors"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/report"
)

type curveCmd struct {
	dedup.CurveConfig
	SVG  picture `name:"svg" placeholder:"FILE" help:"SVG file for the curve as a picture; must be new." group:"Curve"`
	JSON bool    `name:"json" help:"Print the curve as JSON, not as a drawing." group:"Curve"`
}

// Run draws the curve.
func (c *curveCmd) Run(s streams) error {
	found, err := dedup.CurveOf(c.CurveConfig)
	if err != nil {
		return withHelp(err, "curve")
	}
	if err := c.SVG.check("--svg", "curve"); err != nil {
		return err
	}
	if c.JSON {
		err = output.JSON(s.Out, found)
	} else {
		err = report.Curve(s.Out, terminal.Width(s.Out), found)
	}
	return errors.Join(err, draws(c.SVG, "--svg", found, report.CurvePlot))
}
