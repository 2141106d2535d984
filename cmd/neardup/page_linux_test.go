//go:build !race

// The race detector takes memory, too.

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/report"
)

// largestFamily is the maximum number of documents of a family. They have the same words, of which each document lacks
// one more at the end.
const (
	largestFamily = 8
	familyWords   = 40
	shingleWords  = 5
)

// writeFamilies writes families of 2 to largestFamily documents: all first documents in one file, all second ones in
// another, and so on.
func writeFamilies(t *testing.T, folder string, families int) {
	t.Helper()
	for member := range largestFamily {
		f, err := os.Create(filepath.Join(folder, fmt.Sprintf("member-%d.jsonl", member)))
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriterSize(f, 1<<20)
		for family := range families {
			if member >= familySize(family) {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(family), 25))
			fmt.Fprintf(w, `{"id":"%d-%d","text":"`, family, member)
			for range familyWords - member {
				n := r.IntN(26 * 26 * 26)
				_, _ = w.Write([]byte{'a' + byte(n%26), 'a' + byte(n/26%26), 'a' + byte(n/26/26), ' '}) // Flush has the error
			}
			_, _ = w.WriteString("\"}\n")
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func familySize(family int) int { return 2 + family%(largestFamily-1) }

// familiesAt returns the counts of the families at a threshold: the shingles of a later document are among those of an
// earlier one.
func familiesAt(families int, threshold float64) report.Step {
	want := report.Step{Threshold: threshold}
	similar := func(a, b int) bool {
		const shingles = familyWords - shingleWords + 1
		return float64(shingles-b)/float64(shingles-a) >= threshold
	}
	for size := 2; size <= largestFamily; size++ {
		of := int64((families + largestFamily - size) / (largestFamily - 1)) // of that size
		linked := 0                                                          // to the previous one; others are less similar
		var kept []int
		for b := range size {
			if slices.ContainsFunc(kept, func(a int) bool { return similar(a, b) }) {
				want.Removed += of
			} else {
				kept = append(kept, b)
			}
			for a := range b {
				if similar(a, b) {
					want.Pairs += of
				}
			}
			if b == 0 || !similar(b-1, b) {
				linked = 0
				continue
			}
			if linked++; linked == 1 {
				want.Clusters, want.Documents = want.Clusters+of, want.Documents+of
			}
			want.Documents += of
		}
	}
	return want
}

// The page of a run with 10^6 clusters and 1.2·10^7 pairs: all numbers are those of the families, it is smaller than 2
// MB, and neither the run nor drawing the page again takes more than the run's memory limit and 100 MB. Except in
// nightly tests there are 2,000 clusters.
func TestPageOfMillionClusters(t *testing.T) {
	const memory, beyond = 512_000_000, 100_000_000
	families := 2000
	if nightly.On() {
		families = 1_000_000
	}
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	writeFamilies(t, in, families)
	again := filepath.Join(t.TempDir(), "again.html")
	for _, command := range []struct {
		page string
		args []string
	}{
		{filepath.Join(out, "report.html"), []string{"dedup", in, "--threshold=0.75", fmt.Sprintf("--memory=%d", memory), "--workers=2", "-o", out}},
		{again, []string{"report", out, "-o", again}},
	} {
		peak := peakOfCommand(t, command.args...)
		t.Logf("%s: %d MB", command.args[0], peak/1e6)
		if peak > memory+beyond {
			t.Errorf("%s: %d MB, at most %d are expected", command.args[0], peak/1e6, (memory+beyond)/1_000_000)
		}
		checkFamilies(t, command.page, families)
	}
}

func checkFamilies(t *testing.T, file string, families int) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(page) >= 2e6 {
		t.Errorf("%d bytes", len(page))
	}
	found := regexp.MustCompile(`<script id="steps" type="application/json">(.*?)</script>`).FindSubmatch(page)
	if found == nil {
		t.Fatal("no steps")
	}
	var steps []report.Step
	if err := json.Unmarshal(found[1], &steps); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if want := familiesAt(families, step.Threshold); step != want {
			t.Errorf("%+v, want %+v", step, want)
		}
	}
}
