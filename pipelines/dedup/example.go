package dedup

import (
	"context"
	"math"
	"slices"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// An example should be short enough to be read and long enough to be a document.
const (
	exampleShingles = 60
	exampleRows     = 100_000 // of a table that are looked at
)

// Example returns the pair of a finished run that shows best what a near-duplicate is there, with its
// texts: a near pair of about 60 shingles whose similarity is midway between the threshold and 1. It
// returns nil if there is no near pair.
func Example(ctx context.Context, f *output.Finished) (*records.Example, error) {
	threshold := f.Run.Parameters.Threshold
	best := math.Inf(1)
	var example *records.Example
	looked := 0
	for pair, err := range output.Rows[records.Pair](ctx, f, output.Pairs) {
		if err != nil {
			return nil, err
		}
		if looked++; looked > exampleRows {
			break
		}
		if pair.Similarity == 1 {
			continue
		}
		off := math.Abs(math.Log(float64(pair.SizeA)/exampleShingles)) + 4*math.Abs(pair.Similarity-(threshold+1)/2)
		if off < best {
			best, example = off, &records.Example{Pair: pair}
		}
	}
	if example == nil {
		return nil, nil
	}
	var err error
	if example.TextA, err = Text(ctx, f, example.Pair.SourceA, example.Pair.PositionA); err != nil {
		return nil, err
	}
	if example.TextB, err = Text(ctx, f, example.Pair.SourceB, example.Pair.PositionB); err != nil {
		return nil, err
	}
	return example, tellFates(ctx, f, example)
}

// tellFates says which of an example's documents was removed, if the table says so among its first rows.
func tellFates(ctx context.Context, f *output.Finished, e *records.Example) error {
	if !slices.Contains(f.Run.Parameters.Write, string(output.Removed)) {
		return nil
	}
	fateA, fateB := "kept", "kept"
	looked := 0
	for row, err := range output.Rows[records.Removed](ctx, f, output.Removed) {
		if err != nil {
			return err
		}
		if looked++; looked > exampleRows {
			return nil
		}
		if row.Source == e.Pair.SourceA && row.Position == e.Pair.PositionA {
			fateA = "removed"
		}
		if row.Source == e.Pair.SourceB && row.Position == e.Pair.PositionB {
			fateB = "removed"
		}
	}
	e.FateA, e.FateB = fateA, fateB
	return nil
}

// Text reads the text of one document of a finished run again, as the run read it.
func Text(ctx context.Context, f *output.Finished, from string, position int64) (string, error) {
	options := Reading(f)
	listing, err := source.Plan(ctx, []string{storage.Join(f.Run.Input.Root, from)}, options)
	if err != nil {
		return "", err
	}
	return source.Text(ctx, listing.Inputs, blocks.NewKey(0, position), options)
}

// Reading says how the run read its input.
func Reading(f *output.Finished) source.Options {
	p := f.Run.Parameters
	return source.Options{
		Format: p.Format, Fields: codec.Fields{Text: p.Text, ID: p.ID, Delimiter: job.Delimiter(p.Delimiter).Byte(), NoHeader: p.NoHeader}, MaxDocument: p.MaxDocBytes,
		Encoding:    p.Encoding,
		MaxWindow:   p.MaxWindow,
		KeepInvalid: job.InvalidUTF8(p.InvalidUTF8) == job.KeepInvalid,
	}
}
