package compare

import (
	"context"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// intoOutput compares, and makes the tables and the comparison the output, once all is whole.
func (r *run) intoOutput(ctx context.Context) (comparison *records.Comparison, err error) {
	record := &records.Run{
		Version: dedup.Version(), Runner: string(r.config.Runner), Parameters: r.parameters(), Formats: job.Formats(r.config.Spec(), r.config.family()),
	}
	to := job.Publishing{Dir: r.config.Output, Overwrite: r.config.Overwrite, Inputs: r.config.Inputs, TempDir: r.config.TempDir}
	warnings, err := to.Publish(ctx, record, func(temp string, staged output.Folder) (*records.Manifest, error) {
		r.temp, r.staged = temp, staged
		if comparison, err = r.do(ctx); err != nil {
			return nil, err
		}
		facts, err := job.Ledger(ctx, r.ledger())
		if err != nil {
			return nil, err
		}
		record.Comparison, record.Warnings = comparison, comparison.Warnings
		record.Input, record.Chosen = r.plan.Input(), r.plan.Chosen()
		return job.Manifest(facts), nil
	})
	if err != nil {
		return nil, err
	}
	comparison.Warnings = append(comparison.Warnings, warnings...)
	return comparison, nil
}

// parameters are the flags in force, as far as dedup has them.
func (r *run) parameters() records.Parameters {
	c := r.config.dedup(MinHash, job.Jaccard, r.config.Output)
	c.Overwrite, c.Comparing = r.config.Overwrite, r.config.Comparing
	p := c.Parameters()
	p.Compare = job.Names(r.config.measures()...)
	p.Method, p.Write = job.Names(r.config.Methods...), nil
	for _, table := range r.config.Write {
		p.Write = append(p.Write, string(table))
	}
	return p
}

// ledger is the file of what the tables have come to.
func (r *run) ledger() string { return storage.Join(r.temp, "ledger.jsonl") }
