package dedup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/neardup/neardup/blocks"

	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// An example should be short enough to read and long enough to look like a document.
const (
	exampleShingles = 60
	exampleRows     = 100_000 // rows of a table to look at
)

// Example returns the pair of a run that best shows what a near-duplicate is, with texts from read: a near pair of
// about 60 shingles whose similarity is midway between the threshold and 1. It returns nil if no pair has both
// documents in the input and its references.
func Example(ctx context.Context, f *output.Finished, read TextsOf) (*records.Example, error) {
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
		if pair.Copy() || pair.InA != nil && *pair.InA == records.InIndex { // texts in an index are not read again
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
	a := records.Place{Source: example.Pair.SourceA, Position: example.Pair.PositionA}
	b := records.Place{Source: example.Pair.SourceB, Position: example.Pair.PositionB}
	texts, err := read(ctx, []records.Place{a, b})
	if err != nil {
		return nil, err
	}
	example.TextA, example.TextB = texts[a], texts[b]
	example.FateA, example.FateB, err = fates(ctx, f, a, b)
	return example, err
}

// fates says whether two documents were kept or removed, if the first rows of the table say so.
func fates(ctx context.Context, f *output.Finished, a, b records.Place) (fateA, fateB string, err error) {
	if !f.Run.Parameters.Wrote(string(output.Removed)) {
		return "", "", nil
	}
	fateA, fateB = "kept", "kept"
	looked := 0
	for row, err := range output.Rows[records.Removed](ctx, f, output.Removed) {
		if err != nil {
			return "", "", err
		}
		if looked++; looked > exampleRows {
			return "", "", nil
		}
		switch (records.Place{Source: row.Source, Position: row.Position}) {
		case a:
			fateA = "removed"
		case b:
			fateB = "removed"
		}
	}
	return fateA, fateB, nil
}

// Text returns the text of one document of a finished run, read again in the same way.
func Text(ctx context.Context, f *output.Finished, from string, position int64) (string, error) {
	options, err := Reading(f)
	if err != nil {
		return "", err
	}
	listing, err := only(ctx, f, from, options)
	if err != nil {
		return "", err
	}
	return source.Text(ctx, listing.Inputs, blocks.NewKey(0, position), options)
}

// only lists the one file that is a source of a finished run.
func only(ctx context.Context, f *output.Finished, from string, options source.Options) (*source.Listing, error) {
	path, reference := f.Input(from)
	if reference {
		options.References = []string{path}
		return source.Plan(ctx, nil, options)
	}
	return source.Plan(ctx, []string{path}, options)
}

// mostText is the maximum of a text that is returned, in bytes.
const mostText = 64 << 10

// Texts returns a function that reads the texts of documents again in the way the run did, up to 64 KiB each. Documents
// that cannot be read are missing; the error is that of the first file that failed.
func Texts(f *output.Finished) TextsOf {
	return func(ctx context.Context, of []records.Place) (map[records.Place]string, error) {
		if slices.Contains(f.Run.Parameters.Inputs, "-") {
			return nil, errors.New("standard input cannot be read again")
		}
		texts := map[records.Place]string{}
		var failed error
		options, err := Reading(f)
		if err != nil {
			return nil, err
		}
		bySource := map[string][]records.Place{}
		for _, place := range of {
			bySource[place.Source] = append(bySource[place.Source], place)
		}
		for _, from := range slices.Sorted(maps.Keys(bySource)) {
			listing, err := only(ctx, f, from, options)
			if err == nil {
				err = lookup(ctx, listing.Inputs, map[string]int{from: 0}, bySource[from], options, texts)
			}
			failed = cmp.Or(failed, err)
		}
		return texts, failed
	}
}

// stagedTexts is Texts for a run that still has its inputs: decompressed files, and standard input.
func (r *run) stagedTexts(ctx context.Context, of []records.Place) (map[records.Place]string, error) {
	in, err := source.Shared(ctx, job.Inputs(r.temp)) // Finish has no plan
	if err != nil {
		return nil, err
	}
	files := map[string]int{}
	for _, place := range of {
		files[place.Source] = -1
	}
	for file, name := range in.Names() {
		if _, ok := files[name]; ok {
			files[name] = file
		}
	}
	texts := map[records.Place]string{}
	return texts, lookup(ctx, in, files, of, r.asked.Shown(), texts)
}

// lookup adds the texts of documents to texts. files maps sources to file numbers, or −1.
func lookup(
	ctx context.Context, in *source.Inputs, files map[string]int, of []records.Place, options source.Options,
	texts map[records.Place]string,
) error {
	places := map[blocks.Key]records.Place{}
	for _, place := range of {
		if file := files[place.Source]; file >= 0 { // else the document is in an index
			places[blocks.NewKey(file, place.Position)] = place
		}
	}
	return source.Lookup(ctx, in, slices.Collect(maps.Keys(places)), options, func(doc blocks.Document) {
		texts[places[doc.Key]] = string(doc.Text[:min(len(doc.Text), mostText)])
	})
}

// Reading returns how the run read its input.
func Reading(f *output.Finished) (source.Options, error) {
	spec := records.Default() // another command's output may have another method
	spec.Input, spec.Shingles = f.Run.Parameters.Input, f.Run.Parameters.Shingles
	if len(spec.Text) == 0 {
		spec.Text = job.ColumnsOf(f.Run.Parameters.Match)
	}
	asked, err := job.Compile(spec)
	if err != nil {
		return source.Options{}, fmt.Errorf("%s: %w", output.RunFile, err)
	}
	return asked.Decoding(), nil
}
