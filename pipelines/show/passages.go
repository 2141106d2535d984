package show

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Passages reads from a finished output of passages those of a document. It returns nil for an output of another
// command.
func Passages(ctx context.Context, c Config) (*records.PassagesOf, error) {
	finished, err := job.OpenOutput(ctx, c.Output, "dedup", "passages")
	if err != nil || finished.Run.Passages == nil {
		return nil, err
	}
	if finished.Run.Passages.Items != nil {
		return nil, job.Usage("%s has no passages to show; see its contaminated table: "+
			"neardup export %[1]s --table contaminated --format csv --output -", c.Output)
	}
	s := &show{Config: c, f: finished}
	rows := output.Rows[records.Coverage](ctx, finished, output.Coverage)
	row, err := named(s, rows, func(row *records.Coverage) (string, place) {
		return row.ID, place{row.Source, row.Position}
	})
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, job.Usage("no document with passages that occur earlier has the id %q; "+
			"give an id, or a place SOURCE@POSITION, as listed in the coverage table", c.Document)
	}
	found := &records.PassagesOf{Coverage: *row}
	for p, err := range output.Rows[records.Passage](ctx, finished, output.Passages) {
		if err != nil {
			return nil, err
		}
		if p.Source == row.Source && p.Position == row.Position {
			found.Passages = append(found.Passages, p)
		}
	}
	if finished.Run.Passages.DropCovered > 0 {
		if found.DroppedFor, err = droppedFor(ctx, finished, row); err != nil {
			return nil, err
		}
	}
	if found.Text, err = s.text(ctx, place{row.Source, row.Position}); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// The input may have changed or been deleted.
		s.found.Warnings = append(s.found.Warnings, fmt.Sprintf("cannot show the text: %v", err))
	}
	found.Warnings = s.found.Warnings
	return found, finished.CheckUnchanged(ctx)
}

// droppedFor returns the id of the document kept in place of a dropped one, or "" if it was not dropped.
func droppedFor(ctx context.Context, f *output.Finished, row *records.Coverage) (string, error) {
	for r, err := range output.Rows[records.Removed](ctx, f, output.Removed) {
		if err != nil || r.Source == row.Source && r.Position == row.Position {
			return r.KeptID, err
		}
	}
	return "", nil
}
