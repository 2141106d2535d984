package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// The bytes are the same on every runner and for all splits, whatever the signature.
func TestSameBytesOfSignatures(t *testing.T) {
	inputs := []string{"../../testdata/tldr/osx.jsonl", "../../testdata/tldr/windows.jsonl", "../../testdata/tldr/linux.jsonl"}
	for i, family := range []string{"classic", "salted"} {
		flags := append([]string{"--signature=" + family, "--bands=8", "--rows=5", "--min-words=40"}, inputs...)
		want := run(t, ask(t, flags...))
		if want.Run.Counts.NearPairs == 0 || want.Run.Counts.NotCompared == 0 {
			t.Fatalf("%s: counts %v", family, want.Run.Counts)
		}
		first := promised(t, want)
		for j, split := range []int64{0, 100_001} {
			if i != j && !nightly.On() {
				continue
			}
			for _, runner := range []job.Runner{job.Local, job.Prism, job.Direct} {
				config := ask(t, flags...)
				config.SplitBytes, config.Runner = split, runner
				sameOutput(t, fmt.Sprintf("%s, %s, splits of %d", family, runner, split), first, promised(t, run(t, config)))
			}
		}
		config := ask(t, append(flags, "--memory=256MB", "--workers=3")...)
		sameOutput(t, family+", 3 workers", first, promised(t, run(t, config)))
	}
}

// Signed documents, others and the bytes are counted in the same way, whatever the signature.
func TestCountersOfSignatures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	text := `{"text":"one two three four"}` + "\n" + `{"text":"five six seven eight"}` + "\n" + `{"text":"..."}` + "\n" + `{"text":"nine ten eleven twelve"}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, family := range []string{"fss", "classic", "salted"} {
		steps := run(t, ask(t, path, "--signature="+family, "--shingle=word:1", "--bands=2", "--rows=2")).Run.Steps
		// An entry is a document and a key of at least four bytes.
		if steps["sign/documents"] != 3 || steps["sign/no_token"] != 1 || steps["shuffled/bands"] < 3*2*5 {
			t.Errorf("%s: %v", family, steps)
		}
	}
}

// shortfall returns how many near pairs may be missed: as many as share no bucket, and five standard deviations. Pairs
// of families are not independent, so it is a rough bound.
func shortfall(o *oracle, t float64, bands, rows int) int {
	mean, variance := 0., 0.
	for _, similarity := range o.near(t) {
		p := lsh.SCurve(similarity, bands, rows)
		mean += 1 - p
		variance += p * (1 - p)
	}
	return int(mean + 5*math.Sqrt(variance) + 1)
}

var white = regexp.MustCompile(`[\s\v\x{85}\pZ]+`)

// Classified ads, with shingles of 10 characters and 50 functions of the salted family in 10 bands.
func TestClassifiedAds(t *testing.T) {
	c := kijiji(t)
	shingles := func(text string) map[string]bool {
		characters := []rune(white.ReplaceAllString(strings.ToLower(text), " "))
		if strings.TrimSpace(string(characters)) == "" {
			return nil
		}
		set := map[string]bool{}
		for i := 0; i == 0 || i+10 <= len(characters); i++ {
			set[string(characters[i:min(i+10, len(characters))])] = true
		}
		return set
	}
	const threshold, bands, rows = 0.8, 10, 5
	o := newOracle(c.texts, shingles, threshold)
	config := c.config
	config.Shingle, config.Normalize = "char:10", "lower,collapse-space"
	config.Signature, config.Bands, config.Rows, config.Seed = "salted", bands, rows, 0
	r := run(t, config)
	got := compare(t, c, o, r, threshold)
	t.Logf("%d of %d near pairs, %d copies; %d may be missed", got.found, len(o.near(threshold)), got.copies, shortfall(o, threshold, bands, rows))
	if got.found == 0 || got.missed > shortfall(o, threshold, bands, rows) {
		t.Errorf("%d of %d near pairs missed", got.missed, len(o.near(threshold)))
	}
	if r.Run.Chosen.Signature != 50 || r.Run.Formats.Signature != "salted-1" || r.Run.Recall.Estimated != nil {
		t.Errorf("chosen %+v, formats %+v, recall %+v", r.Run.Chosen, r.Run.Formats, r.Run.Recall)
	}
}

var notLetters = regexp.MustCompile(`[^\pL\pM]+`)

// Articles of Reuters, with shingles of 3 words and the classic family; short ones are not compared.
func TestReutersClassic(t *testing.T) {
	c := reutersFiles(t, "reut2-00[0-3].sgm")
	shingles := func(text string) map[string]bool {
		words := strings.Fields(notLetters.ReplaceAllString(strings.ToLower(text), " "))
		if len(words) < 8 {
			return nil
		}
		set := map[string]bool{}
		for i := 0; i+3 <= len(words); i++ {
			set[strings.Join(words[i:i+3], " ")] = true
		}
		return set
	}
	const threshold = 0.8
	o := newOracle(c.texts, shingles, threshold)
	config := c.config
	config.Shingle, config.Normalize, config.MinWords, config.Signature = "word:3", "lower,letters-only,collapse-space", 8, "classic"
	config.MeasureRecall = 2000
	r := run(t, config)
	got := compare(t, c, o, r, threshold)
	allowed := shortfall(o, threshold, r.Run.Chosen.Bands, r.Run.Chosen.Rows)
	t.Logf("%d of %d near pairs, %d copies; %d may be missed", got.found, len(o.near(threshold)), got.copies, allowed)
	if got.found == 0 || got.missed > allowed {
		t.Errorf("%d of %d near pairs missed", got.missed, len(o.near(threshold)))
	}
	reasons := map[string]int{}
	for _, row := range rows[records.Rejected](t, r, "rejected") {
		reasons[row.Reason]++
		if row.Reason == records.ReasonTooShort && !strings.HasSuffix(row.Detail, " words; --min-words is 8") {
			t.Errorf("%s: %s", row.Reason, row.Detail)
		}
	}
	if reasons[records.ReasonNoText] == 0 || len(reasons) != 2 || reasons[records.ReasonTooShort] == 0 {
		t.Errorf("reasons %v", reasons)
	}
	if r.Run.Recall.Estimated != nil || r.Run.Recall.Measured == nil || r.Run.Recall.Measured.True == 0 {
		t.Errorf("recall %+v", r.Run.Recall)
	}
}

// Different seeds find the same pairs by other signatures; the pairs that they miss differ.
func TestClassicSeeds(t *testing.T) {
	found := map[int64]bool{}
	for seed := range 6 {
		r := run(t, ask(t, "../../testdata/tldr", "--signature=classic", "--bands=3", "--rows=6", fmt.Sprintf("--seed=%d", seed)))
		found[r.Run.Counts.NearPairs] = true
	}
	if len(found) == 1 {
		t.Error("all seeds found as many pairs with 3 bands of 6 rows")
	}
}

// Fewer shingles than functions give an error with both numbers, and no output.
func TestTooFewShingles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "few.jsonl")
	writeJSONL(t, path, []string{"one two three four five six", "one two three four five seven", "..."})
	config := ask(t, path, "--signature=classic", "--bands=2", "--rows=2")
	_, err := runJob(context.Background(), config, launch(config))
	if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "3 distinct") || !strings.Contains(err.Error(), "4 hash functions") {
		t.Errorf("3 shingles and 4 functions: %v", err)
	}
	config = ask(t, path, "--signature=classic", "--bands=1", "--rows=3", "--threshold=0.3")
	if got := run(t, config).Run.Counts.NotCompared; got != 1 {
		t.Errorf("%d documents not compared, want 1", got)
	}
	writeJSONL(t, path, nil)
	config = ask(t, path, "--signature=classic", "--bands=1", "--rows=3")
	if _, err := runJob(context.Background(), config, launch(config)); err == nil || !strings.Contains(err.Error(), "0 distinct") {
		t.Errorf("no document: %v", err)
	}
}

// --min-words counts words, whatever the shingles, and each document with fewer is listed.
func TestMinWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	writeJSONL(t, path, []string{"one two three", "one two three", "one two three, four", "one two three -- four!", "!", ""})
	for _, shingle := range []string{"word:2", "char:4"} {
		r := run(t, ask(t, path, "--min-words=4", "--shingle="+shingle))
		var ids []string
		for _, row := range rows[records.Rejected](t, r, "rejected") {
			ids = append(ids, *row.ID+" "+row.Reason+" "+row.Detail)
		}
		want := []string{
			"0 too few words 3 words; --min-words is 4", "1 too few words 3 words; --min-words is 4",
			"4 too few words 0 words; --min-words is 4", "5 too few words 0 words; --min-words is 4",
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%s: rejected %q, want %q", shingle, ids, want)
		}
		if got := r.Run.Counts.Removed; shingle == "word:2" && got != 1 {
			t.Errorf("%s: %d removed, want 1", shingle, got)
		}
	}
}
