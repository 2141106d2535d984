package dedup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// A sample of the whole corpus measures what the oracle knows, and no sample depends on the splits and the runner.
func TestMeasuredRecall(t *testing.T) {
	texts := family(rand.New(rand.NewPCG(1, 2)), 400)
	folder := t.TempDir()
	writeJSONL(t, filepath.Join(folder, "a.jsonl"), texts[:150])
	writeJSONL(t, filepath.Join(folder, "b.jsonl"), texts[150:])
	o := newOracle(texts, func(text string) map[string]bool { return wordShingles(text, 5) }, 0.5)
	distinct := int64(0)
	for i, first := range o.copyOf {
		if first == i {
			distinct++
		}
	}
	const threshold = 0.5
	measured := func(sample int, flags ...string) records.MeasuredRecall {
		config := ask(t, append(flags, folder)...)
		config.Threshold, config.Bands, config.Rows, config.MeasureRecall = threshold, 3, 4, sample
		config.SplitBytes = int64(1000 * len(flags))
		r := run(t, config)
		found := int64(0)
		for _, row := range rows[records.Pair](t, r, "pairs") {
			if !row.Copy() {
				found++
			}
		}
		got := *r.Run.Recall.Measured
		if int64(sample) >= distinct {
			want := records.MeasuredRecall{Sample: distinct, True: int64(len(o.near(threshold))), Found: found}
			recall := float64(want.Found) / float64(want.True)
			want.RecallInterval = &records.RecallInterval{Recall: recall, Interval: &records.Interval{Low: got.Low, High: got.High}}
			if diff := cmp.Diff(want, got); diff != "" || !(0 < got.Low && got.Low < recall && recall < got.High && got.High < 1) {
				t.Errorf("%v: of all documents: %v to %v\n%s", flags, got.Low, got.High, diff)
			}
			if want.Found == want.True || want.Found == 0 {
				t.Errorf("%d of %d were found, which tests little", want.Found, want.True)
			}
		}
		return got
	}
	if cmp.Equal(measured(40), measured(40, "--seed=2")) {
		t.Error("another seed draws the same sample")
	}
	for _, sample := range []int{len(texts), 40} {
		want := measured(sample)
		for _, runner := range []string{"local", "prism", "direct"} {
			if diff := cmp.Diff(want, measured(sample, "--runner="+runner)); diff != "" {
				t.Errorf("%s, sample of %d: %s", runner, sample, diff)
			}
		}
	}
}

// Documents of crowds are left out, and without documents there are no true pairs.
func TestMeasuredRecallWithoutSample(t *testing.T) {
	var crowd []string
	r := rand.New(rand.NewPCG(3, 4))
	template := make([]string, 200)
	for range 60 {
		text := ""
		for i := range template {
			word := fmt.Sprint("w", i)
			if r.IntN(100) == 0 {
				word = "other"
			}
			text += word + " "
		}
		crowd = append(crowd, text)
	}
	for _, c := range []struct {
		texts []string
		want  records.MeasuredRecall
	}{
		{crowd, records.MeasuredRecall{Crowded: 20}},
		{[]string{"", "!"}, records.MeasuredRecall{}},
		{[]string{"a word", "another word"}, records.MeasuredRecall{Sample: 2}},
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		writeJSONL(t, path, c.texts)
		config := ask(t, path)
		config.AllowEmpty = true
		config.PairBudget, config.MeasureRecall, config.Threshold, config.Bands, config.Rows = 100, 20, 0.5, 64, 2
		want := &records.Recall{Crowds: min(c.want.Crowded, 1), Estimated: &records.EstimatedRecall{}, Measured: &c.want}
		if diff := cmp.Diff(want, run(t, config).Run.Recall); diff != "" {
			t.Errorf("%d texts:\n%s", len(c.texts), diff)
		}
	}
}

// Pairs of a single family have a recall but no interval.
func TestMeasuredRecallOfOneFamily(t *testing.T) {
	variants := func(word string) (texts []string) {
		for i := range 4 {
			texts = append(texts, fmt.Sprint(strings.Repeat(word+"a "+word+"b "+word+"c ", i+2), i))
		}
		return texts
	}
	for _, c := range []struct {
		texts []string
		want  bool
	}{{variants("one"), true}, {append(variants("one"), variants("two")...), false}} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		writeJSONL(t, path, append(c.texts, "of no family"))
		config := ask(t, path)
		config.MeasureRecall, config.Threshold, config.Shingle = 100, 0.5, "word:2"
		m := run(t, config).Run.Recall.Measured
		if m.True == 0 || m.OneFamily != c.want || m.RecallInterval == nil || (m.Interval == nil) != c.want {
			t.Errorf("%d texts: %+v", len(c.texts), m)
		}
	}
}

// TestRecallCovered compares the recall that runs report with the oracle, over corpora with most pairs near the
// threshold: 95 % of the measured intervals cover the truth, and the estimates are right on average.
func TestRecallCovered(t *testing.T) {
	seeds := 6
	if nightly.On() {
		seeds = 200
	}
	const (
		threshold = 0.7
		sure      = 1 - 1e-6 // confidence that a failure is not chance
		atLeast   = 0.94     // accepted as a coverage of about 95 %
		wide      = 0.2
		off       = 0.03 // some four standard errors of the estimate over 6 seeds
	)
	covered, estimated, runs := 0, 0, 0
	for k, target := range []float64{0.6, 0.8, 0.9} {
		here, within, width, wideEstimate, error, square := 0, 0, 0., 0., 0., 0.
		for seed := range seeds {
			number := uint64(3*seed + k)
			path, near := nearThreshold(t, number, threshold)
			config := ask(t, path, "--write=pairs")
			config.Threshold, config.Recall, config.Seed, config.MeasureRecall = threshold, target, number, 250
			config.CellBytes = []int{0, 1 << 10}[seed%2] // also with large components
			if _, err := runJob(context.Background(), config, launch(config)); err != nil {
				t.Fatal(err)
			}
			r, err := output.Open(context.Background(), config.Output)
			if err != nil {
				t.Fatal(err)
			}
			found := r.Run.Counts.NearPairs
			truth, recall := float64(found)/float64(near), r.Run.Recall
			if m := recall.Measured; m.Low <= truth && truth <= m.High {
				here++
			}
			if e := recall.Estimated; e.Found != found {
				t.Errorf("target %v, seed %d: the estimate is of %d pairs found, not of %d", target, number, e.Found, found)
			}
			if e := recall.Estimated; e.Low <= truth && truth <= e.High {
				within++
			}
			wideEstimate += recall.Estimated.High - recall.Estimated.Low
			width += recall.Measured.High - recall.Measured.Low
			error += recall.Estimated.Recall - truth
			square += (recall.Estimated.Recall - truth) * (recall.Estimated.Recall - truth)
		}
		n := float64(seeds)
		t.Logf("target %v: %d of %d intervals cover the truth, %.3f wide on average; the estimate is off by %+.4f on average, by %.4f usually; %d of its intervals cover, %.3f wide", target, here, seeds, width/n, error/n, math.Sqrt(square/n), within, wideEstimate/n)
		if width/n > wide {
			t.Errorf("target %v: intervals are %.3f wide on average, which says little", target, width/n)
		}
		if math.Abs(error/n) > off {
			t.Errorf("target %v: the estimates are off by %+.4f on average", target, error/n)
		}
		covered, estimated, runs = covered+here, estimated+within, runs+seeds
	}
	for name, covered := range map[string]int{"measured": covered, "estimated": estimated} {
		if upperBound(covered, runs, sure) < atLeast {
			t.Errorf("%s: %d of %d intervals cover the truth, fewer than 95 %% of them allow", name, covered, runs)
		}
	}
}

// upperBound returns the one-sided bound of Clopper and Pearson: the largest rate of misses at which so few of them in
// total trials have a probability of at least 1 − confidence.
func upperBound(misses, total int, confidence float64) float64 {
	low, high := 0., 1.
	for range 60 {
		rate := (low + high) / 2
		term, tail := float64(total)*math.Log1p(-rate), 0.
		for i := range misses + 1 {
			tail += math.Exp(term)
			term += math.Log(float64(total-i)/float64(i+1)) + math.Log(rate) - math.Log1p(-rate)
		}
		if tail > 1-confidence {
			low = rate
		} else {
			high = rate
		}
	}
	return high
}

// nearThreshold writes a corpus of small families and returns its number of near pairs.
func nearThreshold(t *testing.T, seed uint64, threshold float64) (path string, near int) {
	t.Helper()
	var lines bytes.Buffer
	if err := corpusgen.Write(&lines, corpusgen.Spec{Documents: 3000, Words: 60, Near: 0.4, Edits: 0.035, Copies: 0.05, Seed: seed}); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for d := json.NewDecoder(bytes.NewReader(lines.Bytes())); d.More(); {
		var doc struct{ Text string }
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, doc.Text)
	}
	path = filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	o := newOracle(texts, func(text string) map[string]bool { return wordShingles(text, 5) }, threshold)
	return path, len(o.near(threshold))
}
