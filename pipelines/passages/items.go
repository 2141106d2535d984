package passages

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/blocks/flow"
	"github.com/neardup/neardup/io/sink"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/passage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	steps "github.com/neardup/neardup/transforms/passages"
)

const (
	// itemsShare is the divisor of the memory for items.
	itemsShare = 4
	usualItems = 1 << 30
	// namedItems is how many short items a warning names.
	namedItems = 5
)

// itemSplits returns the number of splits of items, which come first.
func (r *Job) itemSplits() int { return int(r.plan.Listing.Inputs.SplitsOfInputs().First) }

func (r *Job) itemParams(temp string) steps.ItemParams {
	most := int64(usualItems)
	if bytes := r.config.Budget().Bytes; bytes > 0 {
		most = bytes / itemsShare
	}
	return steps.ItemParams{
		Params: r.params(temp), Items: storage.Join(temp, itemsFile), MostBytes: most,
		Share: r.config.ItemShare, Drop: r.config.DropContaminated,
	}
}

// readItems reads the items in a pipeline of their own.
func (r *Job) readItems(ctx context.Context, temp string) error {
	params, ledger := r.itemParams(temp), storage.Join(temp, itemsLedger)
	pipeline, scope := beam.NewPipelineWithRoot()
	docs, compared, _ := r.plan.Read(scope, temp, blocks.Range{End: int64(r.itemSplits())})
	sink.Ledger(scope, ledger, docs.Facts, steps.Items(scope, compared, params))
	ended, err := r.config.Execute(ctx, r.launch, pipeline, temp)
	if err != nil {
		return err
	}
	r.record.Stages = ended.Stages
	facts, err := job.Ledger(ctx, ledger)
	if err != nil {
		return err
	}
	found := r.record.Passages.Items
	for _, f := range facts {
		switch f.Kind {
		case blocks.FactRead:
			r.record.References.Records += f.Counts[blocks.CountRecords]
			r.record.References.Unreadable += f.Counts[blocks.CountUnreadable]
		case blocks.FactPassages:
			found.Items += f.Counts[steps.CountItems]
			found.Words += f.Counts[steps.CountItemWords]
			found.Short += f.Counts[steps.CountShortItems]
		}
	}
	if most := params.MostWords(); found.Words > most {
		return job.Usage("--against: the items have %s, but there is room for only %s; raise --memory, or use fewer "+
			"items at a time", records.Plural(found.Words, "word"), records.Count(most))
	}
	return r.warnOfItems(ctx, params)
}

// warnOfItems warns of items that are too short to look for, and returns a *job.UsageError if all are.
func (r *Job) warnOfItems(ctx context.Context, params steps.ItemParams) error {
	found := r.record.Passages.Items
	if found.Items == found.Short {
		return job.Usage("--against: every item has fewer than %d words in every column, so there is nothing to look "+
			"for; use other columns with --against-text", min(passage.LeastItem, *r.config.Length))
	}
	if n := r.record.References.Unreadable; n > 0 {
		r.warn("--against: %s could not be read, so neardup looks only for the others", records.Plural(n, "record"))
	}
	if found.Short == 0 {
		return nil
	}
	ids, err := steps.ShortItems(ctx, params, namedItems)
	if err != nil {
		return err
	}
	names := strings.Join(ids, ", ")
	if int64(len(ids)) < found.Short {
		names += ", …"
	}
	r.warn("--against: neardup does not look for items with fewer than %d words in every column: %s of %s (%s)",
		min(passage.LeastItem, *r.config.Length), records.Count(found.Short), records.Count(found.Items), names)
	return nil
}

func (r *Job) warn(format string, args ...any) {
	r.record.Warnings = append(r.record.Warnings, fmt.Sprintf(format, args...))
}

// buildSearch builds the pipeline that looks for items.
func (r *Job) buildSearch(s beam.Scope, temp string, staged output.Folder) {
	p, params := r.plan, r.itemParams(temp)
	docs, compared, rejected := p.Read(s, temp, blocks.Range{First: int64(r.itemSplits()), End: blocks.End})
	found := steps.Search(s, compared, params)

	to := r.writing(staged, temp)
	rejects := r.reject(s, to, docs.Facts, append(rejected, found.Rejected)...)
	facts := []flow.Facts{
		docs.Facts, found.Facts, rejects,
		sink.Table(s, output.Contaminated, p.Slices(float64(p.Documents), 0), to, found.Rows),
	}
	facts = append(facts, r.corpus(s, to, found.Cuts, docs.Dropped, found.Dropped)...)
	sink.Ledger(s, storage.Join(temp, ledgerFile), facts...)
}
