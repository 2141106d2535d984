package dedup_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// digests returns texts made of parts of others, of all sizes.
func digests(r *rand.Rand, n int) (texts []string) {
	for _, text := range family(r, n) {
		words := strings.Fields(text)
		if r.IntN(2) == 0 {
			words = words[:1+r.IntN(len(words))]
		}
		for len(texts) > 0 && r.IntN(3) == 0 { // quoted in a longer one
			words = append(words, strings.Fields(texts[r.IntN(len(texts))])...)
		}
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		texts = append(texts, strings.Join(words[:min(len(words), 200)], " "))
	}
	return texts
}

// fall is the document that another is removed for, with the similarity.
type fall struct {
	By         int
	Similarity float64
}

func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.Fields(strings.ToLower(strings.ReplaceAll(text, "!", ""))) {
		words[word] = true
	}
	return words
}

// contained decides by definition, for texts of which some tenths of the words must be contained: references, the first
// texts, are kept; the others are visited from the largest on, and removed if a kept one contains them. Copies, which
// have the same words, are removed for the first of them, or with it.
func contained(texts []string, references, tenths int) (falls map[int]fall, pairs map[[2]int]float64) {
	sets := make([]map[string]bool, len(texts))
	first, firstOf := map[string]int{}, make([]int, len(texts))
	var order []int
	for i, text := range texts {
		sets[i] = wordsOf(text)
		name := strings.Join(slices.Sorted(maps.Keys(sets[i])), " ")
		if _, ok := first[name]; !ok {
			first[name] = i
			order = append(order, i)
		}
		firstOf[i] = first[name]
	}
	isReference := func(i int) bool { return i < references }
	standing := map[bool]int{true: -1}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(standing[isReference(i)], standing[isReference(j)]), cmp.Compare(len(sets[j]), len(sets[i])))
	})
	share := func(i, j int) float64 {
		shared := 0
		for word := range sets[i] {
			if sets[j][word] {
				shared++
			}
		}
		smaller := min(len(sets[i]), len(sets[j]))
		if shared*10 < tenths*smaller {
			return 0
		}
		return float64(shared) / float64(smaller)
	}
	falls, pairs = map[int]fall{}, map[[2]int]float64{}
	var kept []int
	for at, j := range order {
		best := fall{By: j}
		for _, i := range order[:at] {
			if s := share(i, j); s > 0 && (!isReference(i) || !isReference(j)) {
				pairs[[2]int{min(i, j), max(i, j)}] = s
			}
		}
		for _, i := range kept {
			s := share(i, j)
			if isReference(j) || len(sets[i]) < len(sets[j]) || s <= best.Similarity || best.By != j && isReference(best.By) && !isReference(i) {
				continue
			}
			best = fall{i, s}
		}
		if best.By == j {
			kept = append(kept, j)
		} else {
			falls[j] = best
		}
	}
	for j, i := range firstOf {
		if by, goes := falls[i]; j != i && !isReference(j) {
			if falls[j] = (fall{i, 1}); goes {
				falls[j] = by
			}
		}
	}
	return falls, pairs
}

// Documents are removed, each for the right document and with the right share, as the definition says: in one group and
// in small cells, in crowds, and against references, whichever of two documents is larger.
func TestContained(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 12))
		texts := digests(r, 20+r.IntN(80))
		s := split{texts: texts}
		if seed%2 == 1 {
			var sets []map[string]bool // any of several references with the same words may be named
			texts = slices.DeleteFunc(texts, func(text string) bool {
				words := wordsOf(text)
				known := slices.ContainsFunc(sets, func(other map[string]bool) bool { return maps.Equal(words, other) })
				sets = append(sets, words)
				return known
			})
			s = splitAtRandom(r, texts, .3)
		} else {
			for range texts {
				s.files = append(s.files, filepath.Join("in", "a.jsonl"))
			}
		}
		folder := t.TempDir()
		s.write(t, folder)
		flags := []string{filepath.Join(folder, "in"), "--compare=containment", "--shingle=word:1", "--threshold=.7"}
		if s.references > 0 {
			flags = append(flags, "--against="+filepath.Join(folder, "lake"))
		}
		config := ask(t, flags...)
		switch seed / 2 % 3 {
		case 1:
			config.CellBytes, config.SplitBytes, config.ConnectDocuments = 600, 300, 10
		case 2:
			config.PairBudget = 1
		}
		config.AllowEmpty = true
		got := runOnly(t, config)
		want, pairs := contained(s.texts, s.references, 7)
		falls := map[int]fall{}
		for _, row := range rows[records.Removed](t, got, output.Removed) {
			f := fall{number(t, row.KeptID), 1}
			if row.Similarity != nil {
				f.Similarity = *row.Similarity
			}
			falls[number(t, row.ID)] = f
		}
		if diff := gocmp.Diff(want, falls, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
			t.Fatalf("seed %d, %d of %d are references:\n%s", seed, s.references, len(texts), diff)
		}
		listed := 0
		for _, row := range rows[records.Pair](t, got, "pairs") {
			if row.Copy() {
				continue
			}
			listed++
			a, b := number(t, row.IDA), number(t, row.IDB)
			if want := pairs[[2]int{a, b}]; math.Abs(row.Similarity-want) > 1e-12 {
				t.Errorf("seed %d: %d and %d are %v similar, want %v", seed, a, b, row.Similarity, want)
			}
		}
		if got.Run.Counts.PairsPartial == 0 && listed != len(pairs) {
			t.Errorf("seed %d: %d pairs, want %d", seed, listed, len(pairs))
		}
	}
}

// The bytes do not depend on workers, memory, splits, runner and phases.
func TestSameBytesContained(t *testing.T) {
	folder := t.TempDir()
	var lines []byte
	for i, text := range digests(rand.New(rand.NewPCG(5, 5)), 400) {
		lines = fmt.Appendf(lines, `{"id":"%d","text":%q}`+"\n", i, text)
	}
	if err := os.WriteFile(filepath.Join(folder, "in.jsonl"), lines, 0o666); err != nil {
		t.Fatal(err)
	}
	flags := []string{folder, "--compare=containment", "--shingle=word:1", "--threshold=.9", "--write=pairs,clusters,removed,rejected,corpus,documents"}
	usual := beamtest.Launch("local", local.Options{})
	want := phasedRun(t, ask(t, flags...), usual)
	for name, set := range map[string]func(*dedup.Config){
		"1 worker": func(c *dedup.Config) { c.Workers = 1 }, "8 workers": func(c *dedup.Config) { c.Workers = 8 },
		"small cells": func(c *dedup.Config) { c.CellBytes, c.SplitBytes = 3000, 8000 },
	} {
		config := ask(t, append(flags, "--memory=256MB")...)
		set(&config)
		sameOutput(t, name, want, phasedRun(t, config, launch(config)))
	}
	for name, more := range map[string][]string{
		"together": {"--runner=flink"}, "phased": {"--resume=always"}, "phased, together": {"--resume=always", "--runner=flink"},
	} {
		config := ask(t, append(flags, more...)...)
		config.SplitBytes, config.GroupBytes = 30_000, 20_000
		sameOutput(t, name, want, phasedRun(t, config, usual))
	}
}
