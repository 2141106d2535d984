package dedup

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// estimateTolerance is how many times the estimated number of records there may be without a warning.
const estimateTolerance = 4

// account records the pipeline's results and checks that nothing is lost. It returns the files that were written.
func (r *run) account(ctx context.Context) (*records.Manifest, error) {
	if len(r.record.Steps) == 0 {
		r.warn("run.json does not list the counters of the steps, because the runner returned none")
	}
	if column := r.asked.Rank.Column(); column != "" && r.record.Steps["fetch/documents"] > 0 &&
		r.record.Steps["fetch/values"] == 0 {
		r.warn("--keep %s: no document that was compared has a number or a string in column %q, so input order decided "+
			"which documents to keep", strings.Join(r.config.Keep, ", --keep "), column)
	}
	if n := r.record.Steps["fetch/dates"]; n > 0 {
		r.warn("--keep %s: column %q has dates that begin with the day or the month, as in 9/3/2026, in %s; they are "+
			"sorted as text; write such a date as 2026-03-09",
			strings.Join(r.config.Keep, ", --keep "), r.asked.Rank.Column(), records.Plural(n, "document"))
	}
	facts, err := job.Ledger(ctx, storage.Join(r.temp, ledgerFile))
	if err != nil {
		return nil, err
	}
	r.record.Counts, r.record.NotCompared = totals(facts), notCompared(facts...)
	r.countReferences(facts)
	r.countValues(facts)
	if n, expected := r.record.Counts.Records, r.planned.Documents; n > estimateTolerance*expected {
		r.warn("read %s records, but the sample predicted %s; groups and memory use may have been larger than planned",
			records.Count(n), records.Count(expected))
	}
	for _, fact := range facts {
		if output.PartOf(fact.Name) == output.Documents {
			r.listed += fact.Counts[blocks.CountRows]
		}
		r.record.Input.Decoded += fact.Counts[blocks.CountDecoded]
		if fact.Kind == blocks.FactRead && r.from == nil {
			r.record.Input.Encodings = fact.Encodings // replaces those of the plan's sample
			records.SortEncodings(r.record.Input.Encodings)
		}
	}
	if err := r.countColumns(ctx); err != nil {
		return nil, err
	}
	if r.from != nil {
		r.settle()
	} else if r.asked.Method != job.Exact {
		r.record.Recall = estimatedRecall(facts)
		r.record.Recall.Exact = r.planned.Complete
		if !estimates(r.asked) {
			r.record.Recall.Estimated = nil
		}
	}
	if err := r.checkLoss(); err != nil {
		return nil, err
	}
	if err := r.checkCompared(facts); err != nil {
		return nil, err
	}
	if err := r.checkRemoved(ctx); err != nil {
		return nil, err
	}
	files := job.Manifest(facts)
	if r.config.MeasureRecall > 0 {
		return files, r.measureRecall(ctx, facts, files)
	}
	return files, nil
}

// countReferences records what was read of references.
func (r *run) countReferences(facts []blocks.Fact) {
	n := r.record.References
	if n == nil {
		return
	}
	n.Records, n.Unreadable, n.NotCompared, n.NoColumn, n.Removed = 0, 0, 0, 0, 0
	for _, f := range facts {
		if f.Kind == blocks.FactReference {
			n.Records += f.Counts[blocks.CountRecords]
			n.Unreadable += f.Counts[blocks.CountUnreadable]
			n.NotCompared += f.Counts[blocks.CountNotCompared]
			n.NoColumn += f.Counts[blocks.CountNoColumn]
		}
		n.Removed += f.Counts[blocks.CountForReference]
	}
	if r.index != nil && r.index.HasKeys() { // documents of the index are not read
		kept, removed := r.index.Rows()
		n.Records = kept + removed
	}
	n.PairsCompared = r.record.Steps["verify/references_compared"]
	if r.index != nil {
		n.Index = &records.IndexMissed{Compared: r.record.Steps["verify/settled_compared"],
			Missed: r.record.Steps["verify/index_missed"]}
	}
	if n.Unreadable > 0 {
		r.warn("--against: %s", records.OfAll(n.Unreadable, n.Records, "record", "unreadable"))
	}
	if n.NoColumn > 0 {
		r.warn("--against: %s, for lack of a text column; name the column with --against-text",
			records.OfAll(n.NoColumn, n.Records-n.Unreadable, "document", "not compared"))
	}
}

// countValues records the values that rules for numbers and dates cannot read.
func (r *run) countValues(facts []blocks.Fact) {
	byColumn := map[string]*records.UnreadValues{}
	for _, f := range facts {
		if f.Kind != blocks.FactValues {
			continue
		}
		_, column, _ := strings.Cut(f.Name, " ")
		of := byColumn[column]
		if of == nil {
			of = &records.UnreadValues{Column: column, First: f.Note} // facts are in document order
			byColumn[column] = of
		}
		of.Documents += f.Counts[blocks.CountValues]
	}
	r.record.UnreadValues = nil
	for _, rule := range r.asked.Texts.Rules {
		of := byColumn[rule.Column]
		if of == nil {
			continue
		}
		is := "not a number"
		if rule.Kind == match.Dates {
			is = "not a date"
		}
		r.record.UnreadValues = append(r.record.UnreadValues, *of)
		r.warn("--match %s: the value is %s in %s, and counts as missing; the first is %s", rule.Column, is,
			records.Plural(of.Documents, "document"), of.First)
	}
}

// countColumns records which sources have documents without a text column.
func (r *run) countColumns(ctx context.Context) error {
	if r.record.Counts.NoColumn == 0 || r.from != nil {
		return nil
	}
	in, err := source.Shared(ctx, job.Inputs(r.temp)) // Finish has no plan
	if err != nil {
		return err
	}
	var lacking source.Lacking
	ledger := storage.Join(r.temp, ledgerFile)
	if err := eachFact(ctx, ledger, func(fact blocks.Fact) error { return lacking.AddFact(in.Inputs, fact) }); err != nil {
		return err
	}
	r.record.NoColumn, _ = lacking.Sources(in.Inputs)
	r.warnOfColumns(r.record.NoColumn, "")
	return nil
}

// checkLoss returns an error if a record is missing from the output.
func (r *run) checkLoss() error {
	n := r.record.Counts
	dropped := n.Unreadable
	if r.asked.DropNotCompared {
		dropped += n.NotCompared
	}
	if r.asked.Writes(output.Documents) && r.listed != n.Records {
		return fmt.Errorf("lost records: %s were read, but the documents table has %s; this is an error in neardup; "+
			"please report it with run.json",
			records.Count(n.Records), records.Plural(r.listed, "row"))
	}
	if r.asked.Writes(output.Corpus) && n.Records != n.Corpus+n.Removed+dropped {
		return fmt.Errorf("lost records: %s were read, but %s are in corpus + %s removed + %s left out; this is an error "+
			"in neardup; please report it with run.json",
			records.Count(n.Records), records.Count(n.Corpus), records.Count(n.Removed), records.Count(dropped))
	}
	return nil
}

// checkCompared returns a *NothingComparedError if no document was compared, and counts the pairs of compared
// documents.
func (r *run) checkCompared(facts []blocks.Fact) error {
	n := &r.record.Counts
	compared := n.Records - n.Unreadable - n.NotCompared
	if compared == 0 && !r.asked.AllowEmpty {
		nothing := &NothingComparedError{NotCompared: r.record.NotCompared}
		for _, fact := range facts {
			if err := nothing.Add(fact); err != nil {
				return err
			}
		}
		return nothing
	}
	if joined := r.record.Steps["verify/compared"]; joined > 0 && !r.planned.Complete {
		n.AllPairs, n.ComparedPairs = compared*(compared-1)/2, joined
		if of := r.record.References; of != nil {
			n.AllPairs += compared * (of.Records - of.Unreadable - of.NotCompared)
		}
	}
	return nil
}

// mostSuffix ends the name of a distribution's maximum.
const mostSuffix = "_max"

// counters returns the runner's counters, summed over transforms, and the maximums of its distributions.
func counters(result beam.PipelineResult) map[string]int64 {
	steps := map[string]int64{}
	if result == nil {
		return steps
	}
	for _, c := range result.Metrics().AllMetrics().Counters() {
		steps[c.Key.Namespace+"/"+c.Key.Name] += c.Result()
	}
	for _, d := range result.Metrics().AllMetrics().Distributions() {
		name := d.Key.Namespace + "/" + d.Key.Name + mostSuffix
		steps[name] = max(steps[name], d.Result().Max)
	}
	return steps
}

// totals adds up the counts of facts.
func totals(facts []blocks.Fact) (n records.Counts) {
	for _, f := range facts {
		rows := f.Counts[blocks.CountRows]
		switch part := output.PartOf(f.Name); {
		case f.Kind == blocks.FactRead:
			n.Records += f.Counts[blocks.CountRecords]
			n.Unreadable += f.Counts[blocks.CountUnreadable]
			n.NoColumn += f.Counts[blocks.CountNoColumn]
		case f.Kind == blocks.FactCorpus:
			n.Corpus += rows
		case f.Kind == blocks.FactPartial:
			n.PairsPartial++
		case f.Kind == blocks.FactSymbols:
			n.Symbols += f.Counts[blocks.CountSymbols]
			n.Numbers += f.Counts[blocks.CountNumbers]
		case part == output.Rejected:
			for _, documents := range notCompared(f) {
				n.NotCompared += documents
			}
		case part == output.Pairs:
			n.Pairs += rows
			n.NearPairs += f.Counts[blocks.CountNear]
		case part == output.Clusters:
			n.Clusters += f.Counts[blocks.CountClusters]
		case part == output.Removed:
			n.Removed += rows
			n.Identical += f.Counts[blocks.CountIdentical]
			n.Equal += f.Counts[blocks.CountEqual]
			n.SameSet += f.Counts[blocks.CountSameSet]
			n.Near += f.Counts[blocks.CountNear] + f.Counts[blocks.CountChained]
			n.Chained += f.Counts[blocks.CountChained]
		}
	}
	n.Copies = n.Pairs - n.NearPairs
	return n
}

// notCompared returns the number of documents not compared, by reason.
func notCompared(facts ...blocks.Fact) map[string]int64 {
	documents := map[string]int64{}
	for _, f := range facts {
		for name, n := range f.Counts {
			if reason, ok := strings.CutPrefix(name, blocks.CountNotCompared); ok && reason != "" {
				documents[reason] += n
			}
		}
	}
	return documents
}
