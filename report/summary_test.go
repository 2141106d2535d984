package report_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

// wide is a screen width that no line exceeds.
const wide = 1000

func TestSummary(t *testing.T) {
	run := &records.Run{
		Input:   records.RunInput{Files: 2, Bytes: 1_234_567},
		Seconds: 61.234, CPU: 100.5, Peak: 2_500_000_000,
		Parameters: records.Spec{Writing: records.Writing{Write: []string{"pairs", "corpus"}}},
		Counts: records.Counts{
			Records: 1_000_010, Unreadable: 10, NotCompared: 3,
			Pairs: 50, PairsPartial: 2, NearPairs: 20, Copies: 30, AllPairs: 500_000_500_000, ComparedPairs: 5000, Clusters: 25,
			Removed: 45, Identical: 5, Equal: 20, SameSet: 10, Near: 10, Symbols: 4, Numbers: 5,
		},
		NotCompared: map[string]int64{"too large": 1, "no token": 2},
	}
	var got strings.Builder
	if err := report.Summary(&got, wide, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	want := `read          1,000,000 documents in 2 files, 1.2 MB
unreadable    10 records
not compared  3 documents (2 without tokens, 1 too large), kept in the corpus
copies        30 documents with the same shingle set as an earlier one
near pairs    20, each verified exactly
compared      5,000 pairs, of 500,000,500,000 in all
over budget   pairs/ may list only some pairs of 2 clusters, in groups with more pairs, or longer ids, than --pair-budget allows
clusters      25
removed       45 documents: 5 exact duplicates, 20 with the same words in the same order, 10 with the same shingle set, 10 near-duplicates
symbols       4 removed copies differ from the kept documents in symbols (as in a + b and a - b); --normalize keep-symbols compares symbols, and --method exact removes only exact duplicates (docs/choosing.md)
numbers       5 of 45 removed documents contain different numbers from the documents kept in their place (as in issue 12 and issue 13); --match-numbers would keep them (docs/choosing.md)
kept          999,955 documents, 3 of them not compared
took          1 min 1 s, 1 min 40 s CPU, peak memory 2.5 GB

results in out: pairs/ (Parquet), corpus/, run.json
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
	run.Page = true
	got.Reset()
	if err := report.Summary(&got, wide, run, "s3://lake/out", nil); err != nil || !strings.HasSuffix(got.String(), "run.json\nreport        s3://lake/out/report.html\n") {
		t.Errorf("%v; the page is not named in\n%s", err, got.String())
	}
}

// A removed document need not be similar to the kept one, and the summary says so.
func TestSummaryOfChains(t *testing.T) {
	run := &records.Run{Counts: records.Counts{
		Records: 10, Removed: 7, Equal: 1, Near: 6, Chained: 2,
	}}
	var got strings.Builder
	if err := report.Summary(&got, wide, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	want := `removed       7 documents: 1 with the same words in the same order, 4 near-duplicates, 2 removed through a chain
chains        2 documents removed only through a chain of similar documents; --cluster star does not follow chains
kept          3 documents
`
	if !strings.Contains(got.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, got.String())
	}
}

// Whatever is printed fits the screen. Ids are cut in the middle, and only the path of the output is never cut.
func TestWidth(t *testing.T) {
	long := strings.Repeat("a", 50) + strings.Repeat("z", 50)
	run := &records.Run{
		Input: records.RunInput{Files: 1_234_567, Bytes: 1 << 50, Root: "/data"},
		Chosen: records.Chosen{Bands: 100, Rows: 10, Signature: 1024, ExpectedRecall: 0.999, Documents: 1 << 40, Copies: 100, Symbols: 99,
			Reason: "the least cost of those that reach recall 0.999 at threshold 0.8 with at most 0.1 edges between unrelated documents each"},
		Parameters: records.Spec{Writing: records.Writing{Write: []string{"pairs", "clusters", "removed", "rejected", "corpus"}}},
		Counts: records.Counts{
			Records: 1 << 40, Unreadable: 1 << 30, NotCompared: 1 << 20, Pairs: 1 << 40, NearPairs: 1 << 39, Copies: 1 << 39, PairsPartial: 7,
			AllPairs: 1 << 62, ComparedPairs: 1 << 41, Clusters: 1 << 20, Removed: 1 << 39, Identical: 1 << 30, Equal: 1 << 30, SameSet: 1 << 30,
			Symbols: 1 << 30, Near: 1 << 38, Chained: 1 << 37,
		},
		NotCompared: map[string]int64{records.ReasonNoText: 1 << 20, records.ReasonNoToken: 1, records.ReasonLongID: 1},
		Recall: &records.Recall{
			Crowds: 2, Estimated: &records.EstimatedRecall{Found: 1 << 40, True: 1 << 40, RecallInterval: &records.RecallInterval{Recall: 1, Interval: &records.Interval{Low: 0.5, High: 1}}},
			Measured: &records.MeasuredRecall{Sample: 1000, True: 1000, Found: 999, RecallInterval: &records.RecallInterval{Recall: 0.999, Interval: &records.Interval{Low: 0.5, High: 1}}},
		},
	}
	example := &records.Example{Pair: records.Pair{IDA: long, IDB: "b"}, TextA: long + " word word word word", TextB: strings.Repeat("other ", 100), FateA: "kept", FateB: "removed"}
	for _, width := range []int{40, 60, 80} {
		var got strings.Builder
		if err := errors.Join(report.Plan(&got, width, run), report.Summary(&got, width, run, "out", example)); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(got.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
		cut := (width - 4) / 2 // width of a column
		if !strings.Contains(got.String(), long[:cut-1-(cut-1)/2]+"…"+long[100-(cut-1)/2:]) {
			t.Errorf("the id is not cut in the middle:\n%s", got.String())
		}
		if !strings.Contains(got.String(), "  kept"+strings.Repeat(" ", cut-len("kept")+2)+"removed\n") {
			t.Errorf("what became of the two is not told:\n%s", got.String())
		}
	}
}

// Characters that a terminal would act on are shown as dots.
func TestMasked(t *testing.T) {
	const evil = "a\x1b]52;c;eA==\a\r\n\u202eb"
	answer := &records.Answer{Of: evil, Neighbours: []records.Neighbour{{ID: evil, Source: evil}}}
	example := &records.Example{Pair: records.Pair{IDA: evil, IDB: evil}, TextA: evil, TextB: evil}
	var got strings.Builder
	if err := errors.Join(report.Neighbours(&got, answer), report.Summary(&got, wide, &records.Run{}, evil, example)); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(got.String(), "\x1b\a\r\u202e") || strings.Count(got.String(), "a·]52;c;eA==") != 8 {
		t.Errorf("%q", got.String())
	}
}

func TestSummaryOfRecall(t *testing.T) {
	run := &records.Run{Recall: &records.Recall{
		Crowds:    2,
		Estimated: &records.EstimatedRecall{Found: 1900, True: 2000.4, RecallInterval: &records.RecallInterval{Recall: 0.94981, Interval: &records.Interval{Low: 0.931352, High: 0.968988}}},
		Measured:  &records.MeasuredRecall{Sample: 100, Crowded: 3, True: 50, Found: 45, RecallInterval: &records.RecallInterval{Recall: 0.9, Interval: &records.Interval{Low: 0.786398, High: 0.956524}}},
	}}
	var got strings.Builder
	if err := report.Summary(&got, wide, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	want := `recall        estimated 0.9313 to 0.9690: found 1,900 of about 2,000 near pairs
recall        measured 0.9000, 95 % confidence interval 0.7863 to 0.9566: found 45 of 50 near pairs in a random sample of 100 documents, each compared with all others
              not counting the pairs of 2 groups above --pair-budget
`
	if !strings.Contains(got.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, got.String())
	}
}

// A recall may have no interval.
func TestSummaryOfRecallWithoutInterval(t *testing.T) {
	run := &records.Run{Recall: &records.Recall{
		Estimated: &records.EstimatedRecall{Found: 19, True: 20, RecallInterval: &records.RecallInterval{Recall: 0.95}},
		Measured:  &records.MeasuredRecall{Sample: 100, True: 50, Found: 45, OneFamily: true, RecallInterval: &records.RecallInterval{Recall: 0.9}},
	}}
	var got strings.Builder
	if err := report.Summary(&got, wide, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	want := `recall        estimated 0.9500: found 19 of about 20 near pairs
recall        measured 0.9000: found 45 of 50 near pairs in a random sample of 100 documents, each compared with all others; no confidence interval, which needs near pairs in two or more groups of documents
`
	if !strings.Contains(got.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, got.String())
	}
}

// Without pairs, no number is printed that could be taken for a recall.
func TestSummaryOfNoRecall(t *testing.T) {
	run := &records.Run{Recall: &records.Recall{Estimated: &records.EstimatedRecall{}, Measured: &records.MeasuredRecall{Sample: 100}}}
	var got strings.Builder
	if err := report.Summary(&got, wide, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	want := "recall        not measured: found no near pairs in a random sample of 100 documents; a larger --measure-recall may find some\n"
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
	if err := report.Summary(&got, 96, run, "out", example); err != nil {
		t.Fatal(err)
	}
	want := `example pair, similarity 0.8750 (7 of 8 shingles shared):

  left                                            right·[31m
  ──────────────────────────────────────────────  ──────────────────────────────────────────────
  the committee met on [Monday] to discuss [the]  the committee met on [Tuesday] to discuss [a]
  budget                                          budget
`
	if !strings.Contains(got.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, got.String())
	}
}

// What a pair has in common is described with the numbers that its similarity is computed from.
func TestInCommon(t *testing.T) {
	pair := records.Pair{Shared: 90, SizeA: 103, SizeB: 97}
	for measure, want := range map[string]string{
		"": "90 of 110 shingles shared", "containment": "90 of the 97 shingles of the smaller document",
		"cosine": "90 shared shingles; the documents have 103 and 97", "overlap": "90 of 103 bits equal",
	} {
		run := &records.Run{Parameters: records.Spec{Comparing: records.Comparing{Compare: measure}}}
		var got strings.Builder
		if err := report.Summary(&got, wide, run, "out", &records.Example{Pair: pair}); err != nil ||
			!regexp.MustCompile(`similarity [01]\.[0-9]{4} \(`+want+`\):`).MatchString(got.String()) {
			t.Errorf("%s: %v, no %s in\n%s", measure, err, want, got.String())
		}
	}
}

// Copies whose first document was removed in favour of another one are mentioned, unless a rule or --protect may have
// kept some of them.
func TestSummaryOfNearCopies(t *testing.T) {
	run := &records.Run{Counts: records.Counts{Records: 9, Copies: 5, Removed: 8, Identical: 1, SameSet: 1, Near: 6}}
	const want = "\n              3 copies count as near-duplicates: the documents they copy were removed too\n"
	for _, protect := range [][]string{nil, {"a"}} {
		run.Parameters.Protect = protect
		var got strings.Builder
		if err := report.Summary(&got, wide, run, "out", nil); err != nil || strings.Contains(got.String(), want) != (protect == nil) {
			t.Errorf("protected %q: %v\n%s", protect, err, got.String())
		}
	}
}

// With SimHash, the expected recall is mentioned, and what is compared is called by its name.
func TestSummaryOfSimHash(t *testing.T) {
	run := &records.Run{
		Parameters: records.Spec{Comparing: records.Comparing{Compare: "overlap"}}, Recall: &records.Recall{},
		Chosen: records.Chosen{Pieces: 37, Signature: 199, ExpectedRecall: 0.5, Reason: "why"},
		Counts: records.Counts{Pairs: 1, NearPairs: 1, Copies: 1, Removed: 1, SameSet: 1},
	}
	example := &records.Example{Pair: records.Pair{Similarity: 0.75, Shared: 150, SizeA: 200, SizeB: 200}}
	var summary, plan strings.Builder
	if err := errors.Join(report.Summary(&summary, wide, run, "out", example), report.Plan(&plan, wide, run)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"copies        1 document with the same SimHash signature as an earlier one\n", "removed       1 document: 1 with the same SimHash signature\n",
		"near pairs    1, each verified by comparing whole signatures, which estimate the similarity of texts\n",
		"recall        expected 0.50000 for pairs at the threshold; why\n", "example pair, similarity 0.7500 (150 of 200 bits equal):\n",
	} {
		if !strings.Contains(summary.String(), want) {
			t.Errorf("no %q in\n%s", want, summary.String())
		}
	}
	if want := "parameters    37 pieces of 199-bit signatures; a pair at the threshold is found with probability 0.50000\n              why\n"; !strings.Contains(plan.String(), want) {
		t.Errorf("no %q in\n%s", want, plan.String())
	}
}

// The description of what copies have in common depends on the request.
func TestSummaryOfCopies(t *testing.T) {
	for _, c := range []struct {
		same, shingle, copies string
		near                  bool
	}{
		{"", "word:5", "shingle set", true},
		{"set", "word:5", "shingle set", false},
		{"tokens", "stopword:3:it", "words in the same order", false},
		{"tokens", "char32:9", "characters in the same order", false},
		{"tokens", "byte:13", "bytes in the same order", false},
		{"bytes", "word:5", "text, byte for byte,", false},
	} {
		run := &records.Run{Parameters: records.Spec{Same: c.same, Similarity: records.Similarity{Shingles: records.Shingles{Shingle: c.shingle}}}, Counts: records.Counts{Pairs: 1, Copies: 1, Removed: 1, Equal: 1}}
		var got strings.Builder
		if err := report.Summary(&got, wide, run, "out", nil); err != nil {
			t.Fatal(err)
		}
		if want := "copies        1 document with the same " + c.copies + " as an earlier one\n"; !strings.Contains(got.String(), want) {
			t.Errorf("%+v: no %q in\n%s", c, want, got.String())
		}
		if strings.Contains(got.String(), "near pairs") != c.near {
			t.Errorf("%+v: %s", c, got.String())
		}
	}
}

// Copies that differ in symbols are mentioned if they are more than a tenth of all copies, and in a plan only if the sample
// has enough copies.
func TestSymbols(t *testing.T) {
	for _, c := range []struct {
		differ, copies  int64
		planned, summed bool
	}{{0, 0, false, false}, {1, 10, false, false}, {2, 19, true, true}, {9, 9, false, true}, {1, 9, false, true}, {0, 9, false, false}} {
		run := &records.Run{
			Chosen: records.Chosen{Copies: c.copies, Symbols: c.differ},
			Counts: records.Counts{Equal: c.copies / 2, SameSet: c.copies - c.copies/2, Symbols: c.differ},
		}
		var plan, summary strings.Builder
		if err := errors.Join(report.Plan(&plan, wide, run), report.Summary(&summary, wide, run, "out", nil)); err != nil {
			t.Fatal(err)
		}
		var compared strings.Builder
		for _, policy := range []string{"default,keep-symbols", "default,letters-only"} {
			run.Parameters.Normalize = policy
			if err := errors.Join(report.Plan(&compared, wide, run), report.Summary(&compared, wide, run, "out", nil)); err != nil {
				t.Fatal(err)
			}
		}
		for text, want := range map[string]bool{plan.String(): c.planned, summary.String(): c.summed, compared.String(): false} {
			if strings.Contains(text, "symbols       ") != want || strings.Contains(text, "docs/choosing.md") != want {
				t.Errorf("%d of %d: %s", c.differ, c.copies, text)
			}
		}
	}
}

// No similarity below 1 is printed as 1, and none is printed higher than it is.
func TestSharesAreRoundedDown(t *testing.T) {
	for share, want := range map[float64]string{
		1: "1.0000", 0.99996: "0.9999", 2147483645. / 2147483646: "0.9999", 0.9996: "0.9996",
		57. / 100: "0.5700", 0.79996: "0.7999", 0.29: "0.2900",
	} {
		answer := &records.Answer{Asked: 1, Neighbours: []records.Neighbour{{Similarity: share}}}
		compared := &records.Comparison{Methods: []records.Method{{Recall: share, Precision: share}}}
		example := &records.Example{Pair: records.Pair{Similarity: share}}
		var got strings.Builder
		if err := errors.Join(report.Neighbours(&got, answer), report.Comparison(&got, compared), report.Summary(&got, wide, &records.Run{}, "out", example)); err != nil {
			t.Fatal(err)
		}
		if strings.Count(got.String(), want) != 4 {
			t.Errorf("%v is not printed as %s:\n%s", share, want, got.String())
		}
	}
}

// The text about symbols is a sentence, whether for one document or for many.
func TestSymbolsAreASentence(t *testing.T) {
	run := &records.Run{Chosen: records.Chosen{Copies: 1200, Symbols: 1100}, Counts: records.Counts{Equal: 1, Symbols: 1}}
	var got strings.Builder
	if err := errors.Join(report.Plan(&got, wide, run), report.Summary(&got, wide, run, "out", nil)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"symbols       1,100 sampled copies differ from the documents they copy in symbols (as in a + b and a - b); ",
		"symbols       1 removed copy differs from the kept document in symbols (as in a + b and a - b); ",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no\n%s\nin\n%s", want, got.String())
		}
	}
}

// An interval whose ends look the same when printed is printed as one value.
func TestSummaryOfCertainRecall(t *testing.T) {
	for low, want := range map[float64]string{1: "recall        estimated 1.0000: found", 0.99999: "recall        estimated 0.9999 to 1.0000: found"} {
		run := &records.Run{Recall: &records.Recall{
			Estimated: &records.EstimatedRecall{Found: 100, True: 100, RecallInterval: &records.RecallInterval{Recall: 1, Interval: &records.Interval{Low: low, High: 1}}},
		}}
		var got strings.Builder
		if err := report.Summary(&got, wide, run, "out", nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.String(), want) {
			t.Errorf("no\n%s\nin\n%s", want, got.String())
		}
	}
}

// Each reason is described in words, and an unknown one is printed as it is.
func TestSummaryOfReasons(t *testing.T) {
	run := &records.Run{Counts: records.Counts{Records: 15, NotCompared: 15}, NotCompared: map[string]int64{
		records.ReasonNoText: 1, records.ReasonNoToken: 2, records.ReasonTooShort: 3, records.ReasonTooLarge: 4, "of tomorrow": 5,
	}}
	var got strings.Builder
	if err := report.Summary(&got, wide, run, "out", nil); err != nil {
		t.Fatal(err)
	}
	const want = "not compared  15 documents (1 without text, 2 without tokens, 5 of tomorrow, 3 with too few words, 4 too large), kept in the corpus\n"
	if !strings.Contains(got.String(), want) {
		t.Errorf("no\n%s\nin\n%s", want, got.String())
	}
}

// The text about neighbours fits the search method and their number.
func TestNeighboursInWords(t *testing.T) {
	for want, a := range map[string]records.Answer{
		"q, 7 shingles: no document shares a shingle with it":                                  {Asked: 1},
		"q, 7 shingles: no document shares a bucket with it":                                   {Asked: 1, Buckets: true},
		"q, 7 shingles: no document shares a piece with it":                                    {Asked: 1, Buckets: true, Parameters: map[string]string{"neardup.pieces": "8"}},
		"q, 7 shingles: no document with a similarity of at least 0.5":                         {Asked: 1, MinSimilarity: 0.5},
		"q, 7 shingles: no document with a similarity of at least 0.5 shares a bucket with it": {Asked: 1, MinSimilarity: 0.5, Buckets: true},
		"q, 7 shingles: found 1 document that shares a shingle with it (up to 2 requested)":    {Asked: 2, Candidates: 1, Neighbours: make([]records.Neighbour, 1)},
		"q, 7 shingles: the 2 nearest of the 1,234 documents that share a bucket with it":      {Asked: 2, Candidates: 1234, Neighbours: make([]records.Neighbour, 2), Buckets: true},
		"q, 7 shingles: the nearest of the 3 documents with a similarity of at least 0.25":     {Asked: 1, Candidates: 3, Neighbours: make([]records.Neighbour, 1), MinSimilarity: 0.25},
		"q, 7 shingles: found 2 documents with a similarity of at least 1 that share a bucket with it (up to 3 requested)": {
			Asked: 3, Candidates: 2, Neighbours: make([]records.Neighbour, 2), MinSimilarity: 1, Buckets: true,
		},
	} {
		a.Of, a.Size = "q", 7
		var got strings.Builder
		if err := report.Neighbours(&got, &a); err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(got.String(), "\n"); first != want {
			t.Errorf("%s, want %s", first, want)
		}
	}
}
