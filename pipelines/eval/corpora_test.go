package eval_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/deduptest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// corpora is the folder of the real corpora, beside the repository.
const corpora = "../../../shared/data"

// measured returns the recall that a run measured.
func measured(t *testing.T, dir string) *records.MeasuredRecall {
	t.Helper()
	f, err := output.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return f.Run.Recall.Measured
}

// A sample of eval measures the same recall as the run did with the same sample, to the last digit of its interval.
func TestSampleMeasuresRecall(t *testing.T) {
	for name, in := range map[string][]string{
		"tldr":    {"../../testdata/tldr"},
		"reuters": {filepath.Join(corpora, "reuters21578", "*.sgm"), "--format=reuters", "--limit=6000"},
	} {
		t.Run(name, func(t *testing.T) {
			if files, err := filepath.Glob(in[0]); err != nil || len(files) == 0 {
				t.Skip("the corpus is not there")
			}
			dir := deduptest.Finished(t, append(in, "--threshold=.5", "--bands=2", "--rows=5", "--measure-recall=1500", "--seed=7")...)
			want := measured(t, dir)
			if want.Found == want.True || want.Found == 0 {
				t.Fatalf("%d of %d were found, which tests little", want.Found, want.True)
			}
			got, err := evaluated(t, dir, "--sample=1500", "--seed=7")
			if err != nil {
				t.Fatal(err)
			}
			r := got.Listed.Recall
			found := &records.MeasuredRecall{
				Sample: got.Sample, True: int64(got.Listed.True), Found: int64(got.Listed.Both),
				RecallInterval: &records.RecallInterval{Recall: r.Value, Interval: &records.Interval{Low: *r.Low, High: *r.High}},
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Error(diff)
			}
			if got.Listed.Precision.Value != 1 {
				t.Errorf("the precision of verified pairs is %v", got.Listed.Precision)
			}
		})
	}
}

// All planted pairs of the articles are found, and no others.
func TestArticles(t *testing.T) {
	train, err := os.ReadFile(filepath.Join(corpora, "minhash_articles", "articles_1000.train"))
	if err != nil {
		t.Skip("the corpus is not there")
	}
	pairs, err := os.ReadFile(filepath.Join(corpora, "minhash_articles", "articles_1000.truth"))
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for line := range strings.Lines(string(train)) {
		id, text, _ := strings.Cut(line, " ")
		data, err := json.Marshal(map[string]string{"id": id, "text": text})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(data, '\n'))
	}
	in := filepath.Join(t.TempDir(), "in.jsonl")
	truth := filepath.Join(t.TempDir(), "truth.csv")
	if err := os.WriteFile(in, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(truth, []byte("id_a,id_b\n"+strings.ReplaceAll(string(pairs), " ", ",")), 0o666); err != nil {
		t.Fatal(err)
	}
	planted := float64(strings.Count(string(pairs), "\n"))
	dir := deduptest.Finished(t, in, "--threshold=.5")
	for _, flags := range [][]string{{"--truth=" + truth}, {"--sample=1000"}} {
		e, err := evaluated(t, append(flags, dir)...)
		if err != nil {
			t.Fatal(err)
		}
		if e.Found != planted || e.True != planted || e.Both != planted || e.F1.Value != 1 || e.Rand.Value != 1 || *e.F1.Low < .5 || *e.F1.High != 1 {
			t.Errorf("%v: %+v, want %v of each", flags, e.Agreement, planted)
		}
	}
}

// The texts are those of the listed pairs, in order, with their exact similarity, whether the documents are in a
// cluster or not.
func TestTexts(t *testing.T) {
	in := input(t, []string{"a b c d e", "a b c d e", "a b c d x", "q r s t u", "q r s t v"})
	dir := deduptest.Finished(t, in, "--threshold=.6", "--shingle=word:1")
	truth := filepath.Join(t.TempDir(), "truth.csv")
	if err := os.WriteFile(truth, []byte("id_a,id_b\n0,1\n3,0\n4,2\n1,nobody\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	e, err := evaluated(t, dir, "--truth="+truth, "--texts=2")
	if err != nil {
		t.Fatal(err)
	}
	told := func(all []records.Example) (texts []string) {
		for _, e := range all {
			texts = append(texts, fmt.Sprintf("%s|%s|%s|%s|%.6f", e.Pair.IDA, e.TextA, e.Pair.IDB, e.TextB, e.Pair.Similarity))
		}
		return texts
	}
	if diff := cmp.Diff([][2]string{{"0", "3"}, {"1", "nobody"}, {"2", "4"}}, e.Missed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"0|a b c d e|3|q r s t u|0.000000"}, told(e.MissedTexts)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"0|a b c d e|2|a b c d x|0.666667", "1|a b c d e|2|a b c d x|0.666667"}, told(e.FalseTexts)); diff != "" {
		t.Error(diff)
	}
	if len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], `cannot show the pair of "1" and "nobody"`) {
		t.Errorf("warnings %q", e.Warnings)
	}
	if err := os.Remove(in); err != nil {
		t.Fatal(err)
	}
	gone, err := evaluated(t, dir, "--truth="+truth, "--texts=2")
	if err != nil || len(gone.MissedTexts)+len(gone.FalseTexts) != 0 || len(gone.Warnings) != 1 || gone.Both != e.Both {
		t.Errorf("%v, %+v without the input", err, gone)
	}
}
