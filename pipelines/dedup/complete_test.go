package dedup_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// The method complete finds exactly what the oracle does, on corpora of which the sample is all, and on larger ones.
func TestCompleteEqualsOracle(t *testing.T) {
	thresholds := []float64{0.7, 0.8, 0.9}
	corpora := []func(*testing.T) corpus{
		kijiji, messages, licenses,
		func(t *testing.T) corpus { return articles(t, "2500") },
		func(t *testing.T) corpus {
			return generate(t, corpusgen.Spec{Documents: 9000, Seed: 4, Copies: 0.1, Near: 0.2, Edits: 0.02}).corpus(t)
		},
	}
	if nightly.On() {
		thresholds = append([]float64{0.5}, thresholds...)
		corpora = append(corpora, bbc, thai)
	}
	for _, load := range corpora {
		t.Run("", func(t *testing.T) {
			c := load(t)
			o := newOracle(c.texts, func(text string) map[string]bool { return wordShingles(text, 5) }, thresholds[0])
			for _, threshold := range thresholds {
				for _, cell := range []int{0, 50_000} {
					config := c.config
					config.Output = filepath.Join(t.TempDir(), "out")
					config.Method, config.Recall = job.Complete, 0.999
					config.Threshold, config.Shingle = threshold, "word:5"
					config.PairBudget, config.CellBytes = math.MaxInt, cell
					r := run(t, config)
					if got := compare(t, c, o, r, threshold); got.missed > 0 {
						t.Errorf("%s at %v, cells of %d: %d near pairs of %d missed", c.name, threshold, cell, got.missed, len(o.near(threshold)))
					}
					if recall := r.Run.Recall; recall == nil || !recall.Exact || recall.Estimated != nil || r.Run.Chosen.ExpectedRecall != 1 || r.Run.Chosen.JoinBytes == 0 {
						t.Errorf("%s: recall %+v, chosen %+v", c.name, recall, r.Run.Chosen)
					}
					if err := os.RemoveAll(config.Output); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// The bytes do not depend on memory, cells, splits and the runner, with or without a crowd.
func TestSameBytesOfComplete(t *testing.T) {
	spec := mixture
	spec.Documents, spec.Crowd = 6000, 200
	c := generate(t, spec).corpus(t)
	for _, budget := range []int{100, math.MaxInt} {
		var first map[string]string
		for _, flags := range [][]string{{}, {"--memory=256MB"}, {"--runner=prism"}} {
			for _, cell := range []int{0, 500_000} {
				config := ask(t, append(flags, "--method=complete", "--keep=longest", c.config.Inputs[0])...)
				config.CellBytes, config.PairBudget = cell, budget
				if cell > 0 {
					config.SplitBytes = 100_001
				}
				r := run(t, config)
				if crowds := r.Run.Counts.PairsPartial; crowds != 0 != (budget == 100) {
					t.Fatalf("a budget of %d pairs: %d crowds", budget, crowds)
				}
				if first == nil {
					first = promised(t, r)
					continue
				}
				sameOutput(t, fmt.Sprint(flags, cell, budget), first, promised(t, r))
			}
		}
	}
}

// If some components are crowds, the same documents are removed for the same kept ones, and the clusters are the same.
func TestCrowdsOfComplete(t *testing.T) {
	c := generate(t, mixture).corpus(t)
	for _, flags := range [][]string{{}, {"--keep=longest"}, {"--cluster=components", "--keep=longest"}} {
		config := ask(t, append(flags, "--method=complete", c.config.Inputs[0])...)
		config.PairBudget = math.MaxInt
		whole := run(t, config)
		config = ask(t, append(flags, "--method=complete", c.config.Inputs[0])...)
		config.PairBudget = 500
		part := run(t, config)
		if a, b := whole.Run.Counts, part.Run.Counts; a.PairsPartial != 0 || b.PairsPartial == 0 || a.NearPairs <= b.NearPairs {
			t.Errorf("%v: %d and %d crowds, %d and %d near pairs", flags, a.PairsPartial, b.PairsPartial, a.NearPairs, b.NearPairs)
		}
		sameClusters(t, fmt.Sprint(flags), whole, part)
		folders := []string{"removed", "corpus"}
		sameOutput(t, fmt.Sprint(flags), tables(promised(t, whole), folders...), tables(promised(t, part), folders...))
	}
}

// The budget applies to each component: all pairs of many small ones are listed, but not those of the one crowd beside
// them.
func TestBudgetOfComplete(t *testing.T) {
	var texts []string
	family := func(documents int) {
		var page strings.Builder
		for word := range 40 {
			fmt.Fprintf(&page, "w%dx%d ", len(texts), word)
		}
		for i := range documents {
			texts = append(texts, page.String()+fmt.Sprint("end", i))
		}
	}
	for range 60 {
		family(6)
	}
	family(20)
	path := filepath.Join(t.TempDir(), "in.jsonl")
	writeJSONL(t, path, texts)
	r := run(t, ask(t, "--method=complete", "--pair-budget=15", path))
	if n := r.Run.Counts; n.PairsPartial != 1 || n.NearPairs != 60*15+19 {
		t.Errorf("%d crowds, %d near pairs, want 1, %d", n.PairsPartial, n.NearPairs, 60*15+19)
	}
}

// Documents without a near pair are not read again.
func TestCompleteReadsFewAgain(t *testing.T) {
	c := generate(t, corpusgen.Spec{Documents: 6000, Seed: 2, Near: 0.01, Edits: 0.01}).corpus(t)
	r := run(t, ask(t, "--method=complete", c.config.Inputs[0]))
	paired := map[string]bool{}
	for _, p := range rows[records.Pair](t, r, "pairs") {
		paired[p.IDA], paired[p.IDB] = true, true
	}
	if n := r.Run.Steps["fetch/documents"]; len(paired) == 0 || n != int64(len(paired)) {
		t.Errorf("%d documents are read again, %d have a pair", n, len(paired))
	}
}

// Documents with equal sets are copies, even with different tokens.
func TestCompleteFindsEqualSets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	round := "one two three four five six "
	writeJSONL(t, path, []string{strings.Repeat(round, 3), "seven eight nine ten eleven twelve", strings.Repeat(round, 4), strings.Repeat(round, 3)})
	r := run(t, ask(t, "--method=complete", path))
	if n := r.Run.Counts; n.Copies != 3-1 || n.SameSet != 1 || n.Near != 0 {
		t.Errorf("%d copies, %d of the same set, %d near, want 2, 1, 0", n.Copies, n.SameSet, n.Near)
	}
}

// A document is found similar to all copies of another, wherever they are.
func TestCompleteFindsScatteredCopies(t *testing.T) {
	page := "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
	for copies := range 6 {
		for at := range copies + 2 {
			var texts []string
			for i := range copies + 2 {
				text := page
				if i == at {
					text += " nineteen"
				}
				texts = append(texts, text)
			}
			path := filepath.Join(t.TempDir(), "in.jsonl")
			writeJSONL(t, path, texts)
			config := ask(t, "--method=complete", "--threshold=0.8", path)
			config.SplitBytes = 100
			n := run(t, config).Run.Counts
			if n.NearPairs != 1 || n.Removed != int64(copies)+1 || n.Clusters != 1 {
				t.Errorf("%d copies, the other document at %d: %d near pairs, %d removed, %d clusters", copies, at, n.NearPairs, n.Removed, n.Clusters)
			}
		}
	}
}
