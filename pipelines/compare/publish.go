package compare

import (
	"context"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// Run compares, and publishes the tables and the comparison, if there is an output, once all of it is complete.
func (r *Job) Run(ctx context.Context, launch job.Launch) (comparison *records.Comparison, err error) {
	if err := job.CheckTempNotInInput(ctx, r.config.Inputs, r.config.TempDir); err != nil {
		return nil, err
	}
	r.launch = launch
	record := &records.Run{Version: dedup.Version(), Parameters: r.parameters(),
		Formats: job.Formats(r.asked.Texts, r.config.family())}
	to := job.Publishing{Dir: r.config.Output, Inputs: r.config.Inputs, Running: r.config.Running,
		Replacing: r.config.Replacing}
	warnings, err := to.Publish(ctx, record, func(temp string, staged output.Folder) (*records.Manifest, error) {
		r.temp, r.staged = temp, staged
		if comparison, err = r.do(ctx); err != nil || r.config.Output == "" {
			return nil, err
		}
		var all []blocks.Fact
		for _, ledger := range r.ledgers {
			facts, err := job.Ledger(ctx, ledger)
			if err != nil {
				return nil, err
			}
			all = append(all, facts...)
		}
		record.Comparison, record.Warnings = comparison, comparison.Warnings
		record.Input, record.Chosen = r.plan.Input(), r.plan.Chosen()
		return job.Manifest(all), nil
	})
	if err != nil {
		return nil, err
	}
	comparison.Warnings = append(comparison.Warnings, warnings...)
	return comparison, nil
}

// parameters returns the settings as a Spec of dedup.
func (r *Job) parameters() records.Spec {
	asked := r.asked.Spec
	asked.Comparing, asked.MaxRejected = r.config.Comparing, "100%"
	asked.Compare, asked.Method = job.Names(r.config.measures()...), job.Names(r.config.Methods...)
	asked.Write, asked.PairBudget = job.Strings(r.config.Write...), maxPairs+1
	return asked
}
