package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/show"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

type showCmd struct {
	show.Config
	JSON bool `name:"json" help:"Print the result as JSON, not as a table." group:"Show"`
}

// Run reads the output and prints the cluster, or the passages.
func (c *showCmd) Run(ctx context.Context, s streams) error {
	if c.Document == "" {
		return c.index(ctx, s)
	}
	if _, err := dedup.OpenIndex(ctx, c.Output); err == nil {
		return withHelp(fmt.Errorf("%s is an index; leave out the id to show what it contains", c.Output), "show")
	}
	if of, err := show.Passages(ctx, c.Config); of != nil || err != nil {
		return c.passages(s, of, err)
	}
	found, err := show.Cluster(ctx, c.Config)
	if err != nil {
		return err
	}
	warn(found.Warnings)
	if c.JSON {
		for i := range found.Examples {
			report.Differing(&found.Examples[i])
		}
		return output.JSON(s.Out, found)
	}
	return report.Cluster(s.Out, terminal.Width(s.Out), found)
}

// index prints what an index contains.
func (c *showCmd) index(ctx context.Context, s streams) error {
	if _, err := output.Open(ctx, c.Output); err == nil {
		return withHelp(fmt.Errorf("the id of a document is missing; give it, as in neardup show %s ID", c.Output), "show")
	}
	x, err := dedup.OpenIndex(ctx, c.Output)
	if gone := (*output.NoFolderError)(nil); errors.As(err, &gone) {
		return withHelp(&output.NoFolderError{Dir: gone.Dir, Next: "name an output and a document, or an index"}, "show")
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return output.JSON(s.Out, x.Generation)
	}
	asked := func(name string) string {
		return strings.ReplaceAll(strings.Trim(string(x.Asked[name]), `[]"`), `","`, " ")
	}
	kept, removed := x.Rows()
	var text strings.Builder
	fmt.Fprintf(&text, "index       generation %d, %s: %s kept, %s removed\n", x.Number,
		x.Made.Format(time.DateOnly), records.Plural(kept, "document"), records.Count(removed))
	fmt.Fprintf(&text, "compares    column %s by %s, normalisation %s, threshold %s, %s\n",
		asked("text"), asked("shingle"), asked("normalize"), asked("threshold"), asked("method"))
	if x.HasKeys() {
		fmt.Fprintf(&text, "bands       %s bands × %s rows, sized for %s\n", asked("bands"), asked("rows"),
			records.Plural(x.Expect, "document"))
	}
	for of := range x.Added() {
		fmt.Fprintf(&text, "%s %8d kept %8d removed  %s\n", of.Run, of.Kept, of.Removed, of.Output)
	}
	_, err = io.WriteString(s.Out, text.String())
	return err
}

// passages prints the passages of a document.
func (c *showCmd) passages(s streams, of *records.PassagesOf, err error) error {
	if err != nil {
		return err
	}
	warn(of.Warnings)
	if c.JSON {
		return output.JSON(s.Out, of)
	}
	return report.PassagesOf(s.Out, terminal.Width(s.Out), of)
}
