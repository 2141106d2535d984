package dedup_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// pages are the bundled help pages.
func pages(t *testing.T) corpus {
	c := corpus{name: "tldr", config: ask(t, "../../testdata/tldr")}
	files, err := filepath.Glob("../../testdata/tldr/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		for line := range strings.Lines(read(t, file)) {
			var page struct{ ID, Text string }
			if err := json.Unmarshal([]byte(line), &page); err != nil {
				t.Fatal(err)
			}
			c.ids, c.texts = append(c.ids, page.ID), append(c.texts, page.Text)
		}
	}
	return c
}

// TestTruthOfBytes compares the job with the oracle without normalisation and with shingles of 13 bytes: a definition
// that leaves no room for interpretation.
func TestTruthOfBytes(t *testing.T) {
	for _, load := range []func(*testing.T) corpus{pages, messages, licenses} {
		c := load(t)
		o := newOracle(c.texts, func(text string) map[string]bool { return byteShingles(text, 13) }, 0.6)
		for _, threshold := range []float64{0.6, 0.8, 0.95} {
			config := c.config
			config.Output = filepath.Join(t.TempDir(), "out")
			config.Threshold, config.Shingle, config.Normalize = threshold, "byte:13", "none"
			r := run(t, config)
			got := compare(t, c, o, r, threshold)
			t.Logf("%s at %v: %d documents, %d copies, %d near pairs, %d missed, %d wrong; %d × %d",
				c.name, threshold, len(c.texts), got.copies, got.found+got.missed, got.missed, got.wrong, r.Run.Chosen.Bands, r.Run.Chosen.Rows)
			// A pair is missed with a probability of at most 0.001: missing more than one in a hundred of this many by chance is
			// practically impossible, and of a few pairs all are found.
			if got.missed*100 > got.found {
				t.Errorf("%s at %v: %d of %d pairs missed", c.name, threshold, got.missed, got.found+got.missed)
			}
		}
	}
}
