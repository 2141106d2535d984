package dedup

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

// Again plans to read the input of a finished run again and to compare its documents as the run did. No bands and rows are chosen. The error
// is a *job.UsageError if the input is not what the run read, as far as names and sizes tell.
func Again(ctx context.Context, f *output.Finished, running job.Running, temp string) (*job.Plan, error) {
	p := f.Run.Parameters
	if slices.Contains(p.Inputs, "-") {
		return nil, job.Usage("the run read standard input, which is gone")
	}
	request, err := again(p)
	if err != nil {
		return nil, err
	}
	request.Running = running
	plan, err := job.NewPlan(ctx, request, temp)
	if err != nil {
		return nil, err
	}
	if was, is := f.Run.Input, plan.Input(); was.Root != is.Root || was.Files != is.Files || was.Bytes != is.Bytes {
		said := func(in records.RunInput) string {
			return fmt.Sprintf("files: %d, bytes: %d, below %s", in.Files, in.Bytes, in.Root)
		}
		return nil, job.Usage("the input is not what the run read (%s), but %s; put it back, or run dedup again", said(was), said(is))
	}
	return plan, nil
}

// again is the request of the plan, but for how it is run.
func again(p records.Parameters) (r job.Request, err error) {
	r = job.Request{Config: job.Config{Input: job.Input{
		Inputs: p.Inputs, Include: p.Include, Exclude: p.Exclude, Format: job.Format(p.Format), Text: p.Text, ID: p.ID, Encoding: job.Encoding(p.Encoding),
		SkipUnknown: p.SkipUnknown, Delimiter: job.Delimiter(p.Delimiter), NoHeader: p.NoHeader, Limit: p.Limit, MaxDocBytes: job.Bytes(p.MaxDocBytes),
		MaxIDBytes: job.Bytes(p.MaxIDBytes), MaxWindow: job.Bytes(p.MaxWindow), InvalidUTF8: job.InvalidUTF8(p.InvalidUTF8), MinWords: p.MinWords,
	}}, Unsigned: true, AllowEmpty: p.AllowEmpty}
	r.Seed, r.Signature = p.Seed, signature.FSS
	r.Comparing = job.Comparing{Compare: job.Measure(p.Compare), Weights: vector.Weights(p.Weights), Bits: p.Bits, Vectors: job.Vectors(p.Vectors)}
	if r.Compare == job.Overlap {
		r.Signature = signature.SimHash
	}
	read := func(name string, into encoding.TextUnmarshaler, text string) {
		if failed := into.UnmarshalText([]byte(text)); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %s: %w", output.RunFile, name, failed))
		}
	}
	read("threshold", &r.Threshold, strconv.FormatFloat(p.Threshold, 'g', -1, 64))
	read("shingle", &r.Shingle, p.Shingle)
	read("normalize", &r.Normalize, p.Normalize)
	read("tokens", &r.Tokens, p.Tokens)
	if p.ModifiedBefore != "" {
		read("modified_before", &r.ModifiedBefore, p.ModifiedBefore)
	}
	return r, err
}
