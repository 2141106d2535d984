package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

type indexCmd struct {
	Create indexCreateCmd `cmd:"" help:"Make an index; dedup --against INDEX --append adds to it the documents that a run keeps or removes."`
	Check  indexCheckCmd  `cmd:"" help:"Read every file of an index and verify its SHA-256."`
	Drop   indexDropCmd   `cmd:"" help:"Delete from an index the documents that one run added, and forget those that other runs removed because of them. This does not restore any document."`
	Prune  indexPruneCmd  `cmd:"" help:"Merge small segments, and remove older generations and the files that only they need."`
}

type indexCreateCmd struct {
	Index string   `arg:"" help:"Folder of the index."`
	Text  []string `default:"${d_text}" sep:"none" placeholder:"COLUMN" help:"Text column of all inputs (default: ${default})." group:"Text"`
	records.Similarity
	Method string `default:"${d_method}" placeholder:"METHOD" help:"Way to find near-duplicates, as for dedup: minhash, complete or exact (default: ${default})." group:"Similarity"`
	Same   string `placeholder:"WHAT" help:"Definition of a copy for --method exact: bytes, tokens or set (default: bytes)." group:"Similarity"`
	records.Search
	MinWords int    `placeholder:"N" help:"Do not compare documents with fewer than N words after normalising." group:"Text"`
	Expect   int64  `default:"1000000" placeholder:"N" help:"Expected number of documents in the index; neardup chooses the bands for this number, and they do not change (default: ${default})." group:"Index"`
	From     string `placeholder:"INDEX" help:"Begin with the documents that another index lists as kept, not those removed. Flags that you leave out keep the values of that index; neardup chooses the bands again." group:"Index"`

	Given   []string    `kong:"-"`
	Running job.Running `kong:"-"`
}

// KeepTo sets the memory limit.
func (c *indexCreateCmd) KeepTo(usual memory.Budget) (memory.Budget, job.Runner) {
	c.Running.Runner = job.Local
	return c.Running.KeepTo(usual)
}

// AfterApply records which flags are given.
func (c *indexCreateCmd) AfterApply(command *kong.Context) error {
	c.Given = given(command)
	return nil
}

// Run makes the index.
func (c *indexCreateCmd) Run(ctx context.Context, s streams) error {
	spec := records.Default()
	spec.Text, spec.Similarity, spec.Method, spec.Same, spec.Search, spec.MinWords = c.Text, c.Similarity, c.Method,
		c.Same, c.Search, c.MinWords
	launch, err := inProcess(c.Running, s.Progress)
	switch {
	case err != nil:
	case c.From != "":
		_, err = dedup.RebuildIndex(ctx, c.Index, c.From, spec, c.Expect, c.Given, c.Running, launch)
	default:
		_, err = dedup.CreateIndex(ctx, c.Index, spec, c.Expect, c.Given...)
	}
	if usage := (*job.UsageError)(nil); errors.As(err, &usage) {
		return withHelp(err, "index create")
	}
	if err != nil {
		return err
	}
	if s.Quiet {
		return nil
	}
	x, err := dedup.OpenIndex(ctx, c.Index)
	if err != nil {
		return err
	}
	bands := ""
	if x.Expect > 0 {
		bands = fmt.Sprintf(" (%s bands × %s rows, sized for %s)", x.Asked["bands"], x.Asked["rows"],
			records.Plural(x.Expect, "document"))
	}
	from := ""
	if c.From != "" {
		kept, _ := x.Rows()
		from = fmt.Sprintf(" with %s from %s", records.Plural(kept, "document"), c.From)
	}
	_, err = fmt.Fprintf(s.Out, "created     %s%s%s\nto add      neardup dedup BATCH --against %s --append -o OUT\n",
		c.Index, from, bands, c.Index)
	return err
}

type indexCheckCmd struct {
	Index string `arg:"" help:"Folder of the index."`
}

// Run checks the index.
func (c *indexCheckCmd) Run(ctx context.Context, s streams) error {
	x, err := dedup.OpenIndex(ctx, c.Index)
	if err != nil {
		return err
	}
	files, err := x.Check(ctx)
	if err == nil {
		err = dedup.CheckAdded(ctx, x)
	}
	if err != nil || s.Quiet {
		return err
	}
	kept, removed := x.Rows()
	_, err = fmt.Fprintf(s.Out, "%s is intact: generation %d, %s, %s, %s kept, %s removed\n", c.Index, x.Number,
		records.Plural(len(x.Segments), "segment"), records.Plural(files, "file"), records.Plural(kept, "document"),
		records.Count(removed))
	return err
}

type indexDropCmd struct {
	Index string `arg:"" help:"Folder of the index."`
	Of    string `name:"run" required:"" placeholder:"RUN" help:"Run that added the documents, as neardup show INDEX lists it." group:"Index"`
}

// Run removes what a run added.
func (c *indexDropCmd) Run(ctx context.Context, s streams) error {
	dropped, err := dedup.DropFromIndex(ctx, c.Index, c.Of)
	if err != nil || s.Quiet {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "dropped run %s: the index forgets %s that the run kept, and %s similar to these that "+
		"later runs removed; no corpus is changed\n", c.Of, records.Plural(dropped.Kept, "document"),
		records.Plural(dropped.Fallen, "document"))
	return err
}

type indexPruneCmd struct {
	Index string        `arg:"" help:"Folder of the index."`
	Keep  time.Duration `default:"168h" placeholder:"DURATION" help:"Keep generations younger than this for runs that read them; the three latest always stay (default: ${default})." group:"Index"`
}

// Run merges segments, and removes what only older generations need.
func (c *indexPruneCmd) Run(ctx context.Context, s streams) error {
	pruned, err := dedup.PruneIndex(ctx, c.Index, c.Keep)
	if err != nil || s.Quiet {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "merged %s; removed %s and %s\n", records.Plural(pruned.Merged, "segment"),
		records.Plural(pruned.Segments, "segment"), records.Plural(pruned.Generations, "generation"))
	return err
}
