package passages_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/kernels/passage/passagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/passages"
	"github.com/neardup/neardup/records"
)

// Documents are dropped one after another, as the definition says, each for the earlier kept document that has most of
// its words; and no passage is from a dropped document. So the words of a passage are in a kept document.
func TestCoveredDocumentsAreDropped(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	gone, chained := 0, 0
	for round := range 25 {
		dir, docs := corpus(t, random, 30)
		length, share := 1+random.IntN(5), []float64{.2, .5, .8, 1}[round%4]
		var words [][]string
		var lines []string
		for i, d := range docs {
			words = append(words, d.words)
			if i == 0 || d.source != docs[i-1].source {
				lines = slices.AppendSeq(lines, strings.Lines(readFile(t, filepath.Join(dir, d.source))))
			}
		}
		dropped := passagetest.Dropped(words, length, share, func(doc int) int { return docs[doc].size() })
		flags := []string{dir, "--text=title", "--text=body", fmt.Sprint("--length=", length), fmt.Sprint("--drop-covered=", share)}
		config := ask(t, flags...)
		config.Workers, config.SplitBytes, config.GroupBytes = 1+round%3, []int64{0, 500}[round%2], []int64{0, 2000}[round%2]
		finished := run(t, config)

		want, _ := without(docs, length, dropped)
		if diff := cmp.Diff(want, rows[records.Passage](t, finished, output.Passages)); diff != "" {
			t.Fatalf("L = %d, share %v: %s", length, share, diff)
		}
		var removed []records.Removed
		var left []string
		for i, d := range docs {
			if !dropped[i] {
				left = append(left, lines[i])
				continue
			}
			of := mostOf(docs, want, d.id)
			removed = append(removed, records.Removed{
				ID: d.id, Source: d.source, Position: d.position, Reason: records.ReasonCovered,
				KeptID: of.FromID, KeptSource: of.FromSource, KeptPosition: of.FromPosition,
			})
		}
		if !slices.Equal(dropped, covered(words, docs, length, share)) {
			chained++
		}
		got := rows[records.Removed](t, finished, output.Removed)
		for i := range got {
			got[i].Cluster = 0 // the number of the kept document
		}
		if diff := cmp.Diff(removed, got); diff != "" {
			t.Fatalf("L = %d, share %v: removed: %s", length, share, diff)
		}
		if diff := cmp.Diff(left, corpusLines(t, finished)); diff != "" {
			t.Fatalf("L = %d, share %v: corpus: %s", length, share, diff)
		}
		if n := finished.Run.Passages.Dropped; n != int64(len(removed)) {
			t.Fatalf("%d are dropped, want %d", n, len(removed))
		}
		gone += len(removed)
	}
	if gone < 100 || chained < 5 {
		t.Errorf("only %d documents are dropped; in %d rounds it matters which of the others are", gone, chained)
	}
}

// covered returns the documents that would be dropped if dropped documents were first places, too.
func covered(words [][]string, docs []document, length int, share float64) (all []bool) {
	found, _ := passagetest.Passages(words, length)
	for d, passages := range found {
		n := 0
		for _, p := range passages {
			if p.From != int64(d) {
				n += p.End - p.Start
			}
		}
		all = append(all, n > 0 && float64(n)/float64(docs[d].size()) >= share)
	}
	return all
}

// mostOf returns a passage from the document that has most words of another, the first of several.
func mostOf(docs []document, all []records.Passage, id string) (most records.Passage) {
	words := int64(0)
	for _, of := range docs {
		n, last := int64(0), records.Passage{}
		for _, p := range all {
			if p.ID == id && p.FromID == of.id && of.id != id {
				n, last = n+p.Words, p
			}
		}
		if n > words {
			words, most = n, last
		}
	}
	return most
}

// The bytes do not depend on the runner, the splits and the groups.
func TestSameBytesOfCovered(t *testing.T) {
	flags := []string{"../../testdata/tldr", "--length=8", "--drop-covered=.5", "--cut=words"}
	first := files(t, run(t, ask(t, flags...)))
	for name, change := range map[string]func(*passages.Config){
		"direct": func(c *passages.Config) { c.Runner, c.SplitBytes = job.Direct, 100_001 },
		"prism":  func(c *passages.Config) { c.Runner = job.Prism },
		"flink":  func(c *passages.Config) { c.Runner = job.Flink },
		"groups": func(c *passages.Config) { c.GroupBytes, c.Workers, c.Memory = 2000, 8, 256_000_000 },
	} {
		config := ask(t, flags...)
		change(&config)
		if diff := cmp.Diff(first, files(t, run(t, config))); diff != "" {
			t.Errorf("%s: the files differ", name)
		}
	}
}

func TestCoveredAndWholeFlags(t *testing.T) {
	for _, flags := range [][]string{
		{"--drop-covered=1.5"}, {"--drop-covered=-1"}, {"--drop-covered=NaN"}, {"--drop-covered=.5", "--against=x"},
		{"--whole=lines", "--against=x"}, {"--whole=lines", "--length=5"},
	} {
		if _, err := passages.New(ask(t, append([]string{"in"}, flags...)...)); err == nil {
			t.Errorf("%q is accepted", flags)
		}
	}
}
