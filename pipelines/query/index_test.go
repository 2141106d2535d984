package query_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// TestIndexFindsWhatBandsPromise: a search of an index finds as many similar documents as the bands promise, and each
// document that the bands miss with a probability below 1e-6. A loop over all documents, with sets of strings, computes
// the similarities.
func TestIndexFindsWhatBandsPromise(t *testing.T) {
	for _, tt := range []struct {
		threshold, least float64
		bands, rows, k   int
		flags            []string
	}{
		{threshold: .8, least: .8, bands: 18, rows: 5, k: 5},
		{threshold: .5, least: .5, bands: 108, rows: 4, k: 2},
		{threshold: .5, least: .2, bands: 108, rows: 4, k: 1, flags: []string{"--min-similarity=0.2"}},
	} {
		t.Run(fmt.Sprintf("%v, word:%d", tt.least, tt.k), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(tt.bands), uint64(tt.k)))
			of := records.Default()
			of.Threshold, of.Bands, of.Rows, of.Shingle = tt.threshold, tt.bands, tt.rows, fmt.Sprint("word:", tt.k)
			docs := texts(r, 16)
			dir, all := indexOf(t, of, docs)
			for i := range all {
				all[i].set = setOf(docs[i], tt.k)
			}
			text := filepath.Join(t.TempDir(), "text")
			found, promised, variance := 0, 0., 0.
			for i, doc := range docs {
				for _, edits := range []int{0, 1, 2, 4, 8, 16, 24} {
					words := edited(r, doc, edits)
					writeFile(t, text, strings.Join(words, " "))
					answer, err := run(t, append(tt.flags, "--against="+dir, "--file="+text, "-n1000")...)
					if err != nil {
						t.Fatal(err)
					}
					own := setOf(words, tt.k)
					want := similar(own, all, tt.least)
					falling := func(a, b records.Neighbour) int { return cmp.Compare(b.Similarity, a.Similarity) }
					if int(answer.Size) != len(own) || int(answer.Candidates) != len(answer.Neighbours) ||
						!slices.IsSortedFunc(answer.Neighbours, falling) {
						t.Errorf("%d edits of %d, %d shingles: %+v", edits, i, len(own), answer)
					}
					for _, n := range want {
						miss := math.Pow(1-math.Pow(n.Similarity, float64(tt.rows)), float64(tt.bands))
						promised, variance = promised+1-miss, variance+miss*(1-miss)
						is := func(of records.Neighbour) bool { return of.ID == n.ID }
						if miss < 1e-6 && !slices.ContainsFunc(answer.Neighbours, is) {
							t.Errorf("%d edits of %d: %+v is missed", edits, i, n)
						}
					}
					for _, n := range answer.Neighbours {
						found++
						if diff := gocmp.Diff(want[n.ID], n, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
							t.Errorf("%d edits of %d: %s", edits, i, diff)
						}
					}
				}
			}
			if deviation := math.Sqrt(variance); math.Abs(float64(found)-promised) > 4*deviation+.5 {
				t.Errorf("%d were found, and bands promise %.1f ± %.1f", found, promised, deviation)
			}
		})
	}
}

// TestIndexRefusesWrongFlags: what is refused for an input is refused for an index.
func TestIndexRefusesWrongFlags(t *testing.T) {
	dir, _ := indexOf(t, records.Default(), nil)
	for _, flag := range []string{"--nearest=0", "--min-similarity=0", "--min-similarity=1.5", "--of=x"} {
		if _, err := run(t, "--against="+dir, "--file="+pages, flag); !errors.As(err, new(*job.UsageError)) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// texts returns n texts of 60 words, in which some words repeat.
func texts(r *rand.Rand, n int) (all [][]string) {
	for i := range n {
		words := make([]string, 60)
		for at := range words {
			words[at] = fmt.Sprintf("w%dx%d", i, r.IntN(50))
		}
		all = append(all, words)
	}
	return all
}

// edited replaces some words of a text and, if these are two or more, moves the last word to the front.
func edited(r *rand.Rand, words []string, edits int) []string {
	words = slices.Clone(words)
	for n, at := range r.Perm(len(words))[:edits] {
		words[at] = fmt.Sprint("new", n)
	}
	if last := len(words) - 1; edits > 1 {
		words = slices.Concat(words[last:], words[:last])
	}
	return words
}

// setOf returns the shingles of k words.
func setOf(words []string, k int) map[string]bool {
	set := map[string]bool{}
	for i := range len(words) - k + 1 {
		set[strings.Join(words[i:i+k], " ")] = true
	}
	return set
}

// kept is a document of an index.
type kept struct {
	set    map[string]bool
	id     string
	source string
	at     int64
}

// similar returns the documents whose similarity to a set is at least least, by id.
func similar(own map[string]bool, all []kept, least float64) map[string]records.Neighbour {
	found := map[string]records.Neighbour{}
	for _, d := range all {
		n := records.Neighbour{ID: d.id, Source: d.source, Position: d.at, Size: int32(len(d.set))}
		for s := range d.set {
			if own[s] {
				n.Shared++
			}
		}
		if n.Similarity = float64(n.Shared) / float64(len(own)+len(d.set)-int(n.Shared)); n.Similarity >= least {
			found[n.ID] = n
		}
	}
	return found
}

// indexOf makes an index of documents in two nights. The ids are the numbers of the documents.
func indexOf(t *testing.T, of records.Spec, docs [][]string) (dir string, all []kept) {
	t.Helper()
	folder := t.TempDir()
	dir = filepath.Join(folder, "index")
	if _, err := dedup.CreateIndex(t.Context(), dir, of, 1000); err != nil {
		t.Fatal(err)
	}
	for night := range slices.Chunk(docs, max(1, len(docs)/2)) {
		path := filepath.Join(folder, fmt.Sprint(len(all), ".jsonl"))
		var lines []byte
		for _, words := range night {
			of := kept{id: fmt.Sprint(len(all)), source: path, at: int64(len(lines))}
			line, err := json.Marshal(map[string]string{"id": of.id, "text": strings.Join(words, " ")})
			if err != nil {
				t.Fatal(err)
			}
			lines, all = append(append(lines, line...), '\n'), append(all, of)
		}
		writeFile(t, path, string(lines))
		appendTo(t, dir, path)
	}
	return dir, all
}

// appendTo deduplicates a file against an index, and adds it.
func appendTo(t *testing.T, dir, path string) {
	t.Helper()
	var config dedup.Config
	parser, err := kong.New(&config, kong.Vars(job.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{path, "--against=" + dir, "--append", "--output=" + t.TempDir() + "/out"}); err != nil {
		t.Fatal(err)
	}
	task, err := dedup.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := task.Run(t.Context(), beamtest.Launch("local", local.Options{})); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}
