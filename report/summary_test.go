package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

func TestSummary(t *testing.T) {
	run := &records.Run{
		Input:   records.RunInput{Files: 2, Bytes: 1_234_567},
		Seconds: 61.234, CPU: 100.5, Peak: 2_500_000_000,
		Parameters: records.Parameters{Write: []string{"pairs", "corpus"}},
		Counts: records.Counts{
			Records: 1_000_010, Unreadable: 10, NotCompared: 3,
			Pairs: 50, PairsPartial: 2, NearPairs: 20, Clusters: 25,
			Removed: 40, Copies: 30, Near: 10,
		},
	}
	var got strings.Builder
	if err := report.Summary(&got, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	want := `read        1,000,000 documents in 2 files, 1.2 MB
unreadable  10 records
left alone  3 documents not compared (too few words in them, or too large), kept in the corpus
copies      30 documents with the same shingle set as an earlier one
near pairs  20, each verified exactly
crowds      2 components with more pairs than --pair-budget, of which only some with kept documents are listed
clusters    25
removed     40 documents: 30 as copies of the kept one, 10 as near-duplicates of it
kept        999,960 documents
took        1m1.23s, 1m40.5s CPU, peak memory 2.5 GB

results in out: pairs/ (Parquet), corpus/, run.json
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

// A removed document need not resemble the kept one, and the summary says so.
func TestSummaryOfChains(t *testing.T) {
	run := &records.Run{Counts: records.Counts{
		Records: 10, Removed: 7, Copies: 1, Near: 6, Chained: 2,
	}}
	var got strings.Builder
	if err := report.Summary(&got, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	want := `removed     7 documents: 1 as copies of the kept one, 4 as near-duplicates of it, 2 by chains
chains      2 documents removed without resembling the kept one, only others between; --cluster star removes no such
kept        3 documents
`
	if !strings.Contains(got.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, got.String())
	}
}

func TestSummaryOfRecall(t *testing.T) {
	run := &records.Run{Recall: &records.Recall{
		Crowds:    2,
		Estimated: &records.EstimatedRecall{Found: 1900, True: 2000.4, RecallInterval: &records.RecallInterval{Recall: 0.94981, Low: 0.931352, High: 0.968988}},
		Measured:  &records.MeasuredRecall{Sample: 100, Crowded: 3, True: 50, Found: 45, RecallInterval: &records.RecallInterval{Recall: 0.9, Low: 0.786398, High: 0.956524}},
	}}
	var got strings.Builder
	if err := report.Summary(&got, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	want := `recall      between 0.9313 and 0.9690 by an estimate: found 1,900 of about 2,000 near pairs
recall      0.9000 measured, 95 % interval 0.7863 to 0.9566: found 45 of the 50 near pairs of 100 documents drawn and compared with all
            without the pairs of 2 crowds, of which not all are looked for
`
	if !strings.Contains(got.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, got.String())
	}
}

// Without pairs there is no number that could be taken for a recall.
func TestSummaryOfNoRecall(t *testing.T) {
	run := &records.Run{Recall: &records.Recall{Estimated: &records.EstimatedRecall{}, Measured: &records.MeasuredRecall{Sample: 100}}}
	var got strings.Builder
	if err := report.Summary(&got, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	want := "recall      not measured: no near pair in the comparison of 100 documents drawn with all; a larger --measure-recall may have some\n"
	if !strings.Contains(got.String(), want) || strings.Count(got.String(), "recall") != 2 {
		t.Errorf("no\n%s\nin\n%s", want, got.String())
	}
}

func TestExampleSideBySide(t *testing.T) {
	example := &records.Example{
		Pair:  records.Pair{IDA: "left", IDB: "right\x1b[31m", Similarity: 0.875, Shared: 7, SizeA: 8, SizeB: 7},
		TextA: "the committee met on Monday to discuss the budget",
		TextB: "the committee met on Tuesday to discuss a budget",
	}
	run := &records.Run{}
	var got strings.Builder
	if err := report.Summary(&got, run, "out", example); err != nil {
		t.Fatal(err)
	}
	want := `for example, 0.875 similar (7 of 8 shingles shared):

  left                                            right·[31m
  ──────────────────────────────────────────────  ──────────────────────────────────────────────
  the committee met on [Monday] to discuss [the]  the committee met on [Tuesday] to discuss [a]
  budget                                          budget
`
	if !strings.Contains(got.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, got.String())
	}
}
