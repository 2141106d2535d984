package dedup

import (
	"context"
	"fmt"
	"slices"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

// Again returns a plan that reads the input of a finished run again and compares its documents as the run did. It
// chooses no bands and rows. The error is a *job.UsageError if the input is not what the run read, as far as names and
// sizes show.
func Again(ctx context.Context, f *output.Finished, running job.Running, temp string) (*job.Plan, error) {
	p := f.Run.Parameters
	if slices.Contains(p.Inputs, "-") {
		return nil, job.Usage("the run read standard input, which cannot be read again; use --truth, or run dedup on a file")
	}
	if r := f.Run.References; r != nil && r.Index != nil {
		return nil, job.Usage("the run compared its input with an index, whose documents are not read again; use --truth")
	}
	asked, err := job.Compile(p, f.Run.Given...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", output.RunFile, err)
	}
	asked.Led(f.Run.Chosen.Rule)
	if asked.Family == signature.Classic { // documents are not signed, so no dictionary is needed
		asked.Family = signature.FSS
	}
	plan, err := job.NewPlan(ctx, job.Request{Asked: asked, Running: running, Unsigned: true}, temp)
	if err != nil {
		return nil, err
	}
	return plan, sameInput(f.Run.Input, plan.Input())
}

// sameInput returns a *job.UsageError if an input differs from what was read, as far as names and sizes show.
func sameInput(was, is records.RunInput) error {
	if was.Root == is.Root && was.Files == is.Files && was.Bytes == is.Bytes {
		return nil
	}
	said := func(in records.RunInput) string {
		return fmt.Sprintf("%s, %s, under %s", records.Plural(int64(in.Files), "file"),
			records.Plural(in.Bytes, "byte"), in.Root)
	}
	return job.Usage("the input has changed since the run (then: %s; now: %s); restore it, or run "+
		"dedup again", said(was), said(is))
}
