package dedup_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// tables returns the files of an output below some folders.
func tables(files map[string]string, folders ...string) map[string]string {
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(path, _ string) bool {
		for _, folder := range folders {
			if strings.HasPrefix(path, folder+"/") {
				return false
			}
		}
		return true
	})
	return files
}

// Not all pairs of a crowd are listed, but the same documents are removed for the same kept ones.
func TestCrowd(t *testing.T) {
	spec := mixture
	spec.Seed, spec.Crowd, spec.CrowdEdits = 3, 200, 0.01
	c := generate(t, spec).corpus(t)
	for _, flags := range [][]string{
		{}, {"--keep=longest"}, {"--cluster=components"}, {"--cluster=components", "--keep=longest"},
	} {
		name := fmt.Sprint(flags)
		config := ask(t, append(flags, c.config.Inputs...)...)
		config.PairBudget = math.MaxInt
		whole := run(t, config)
		config = ask(t, append(flags, c.config.Inputs...)...)
		config.PairBudget = 500
		part := run(t, config)
		if a, b := whole.Run.Counts.PairsPartial, part.Run.Counts.PairsPartial; a != 0 || b != 1 {
			t.Errorf("%s: pairs_partial is %d and %d, want 0 and 1", name, a, b)
		}
		all, some := whole.Run.Counts.NearPairs, part.Run.Counts.NearPairs
		if some >= all || some == 0 {
			t.Errorf("%s: %d near pairs with the budget, %d without", name, some, all)
		}
		sameClusters(t, name, whole, part)
		folders := []string{"removed", "corpus"}
		want := tables(promised(t, whole), folders...)
		if len(want) < len(folders) {
			t.Errorf("%s: files %v", name, want)
		}
		sameOutput(t, name, want, tables(promised(t, part), folders...))
		// The listed pairs are true.
		pairs := outcomeOf(t, whole).Pairs
		for pair, n := range outcomeOf(t, part).Pairs {
			if pairs[pair] != n {
				t.Errorf("%s: pair %v has %v, without the budget %v", name, pair, n, pairs[pair])
			}
		}
	}
}

// If no document is kept, one that names itself has its highest similarity in all pairs, also if not all are listed.
func TestCrowdOfWhichNoneIsKept(t *testing.T) {
	spec := mixture
	spec.Seed, spec.Crowd, spec.CrowdEdits = 3, 200, 0.01
	c := generate(t, spec).corpus(t)
	for _, cluster := range []string{job.Star, job.Components} {
		ends := func(budget int) *output.Finished {
			flags := []string{"--keep=none", "--cluster=" + cluster, fmt.Sprint("--pair-budget=", budget), allParts}
			return finished(t, append(flags, c.config.Inputs...)...)
		}
		whole, part := ends(math.MaxInt), ends(500)
		sameClusters(t, cluster, whole, part)
		highest, reason := map[string]float64{}, map[string]string{}
		for _, p := range rows[records.Pair](t, whole, output.Pairs) {
			for _, id := range []string{p.IDA, p.IDB} {
				highest[id] = max(highest[id], p.Similarity)
				if reason[id] = cmp.Or(reason[id], records.ReasonNear); p.Copy() {
					reason[id] = records.ReasonSameSet
				}
			}
		}
		removed, partial := rows[records.Removed](t, whole, output.Removed), map[int64]bool{}
		if some := rows[records.Removed](t, part, output.Removed); !reflect.DeepEqual(removed, some) {
			t.Errorf("%s: other rows of %d and %d removed documents", cluster, len(removed), len(some))
		}
		for _, row := range rows[records.Clustered](t, part, output.Clusters) {
			partial[row.Cluster] = row.Partial != nil
		}
		near := 0 // in the crowd
		for _, row := range removed {
			if row.ID != row.KeptID {
				continue
			}
			if row.Similarity == nil || *row.Similarity != highest[row.ID] || row.Reason != reason[row.ID] {
				t.Errorf("%s: %+v, want similarity %v, %s", cluster, row, highest[row.ID], reason[row.ID])
			}
			if partial[row.Cluster] && row.Reason == records.ReasonNear {
				near++
			}
		}
		if near == 0 {
			t.Errorf("%s: no document of the crowd is near to the document that it names", cluster)
		}
	}
}

// sameClusters checks that the clusters of two runs are the same, except that some of the second are marked as partial.
func sameClusters(t *testing.T, name string, whole, part *output.Finished) {
	t.Helper()
	all, some := rows[records.Clustered](t, whole, "clusters"), rows[records.Clustered](t, part, "clusters")
	partial := map[int64]bool{}
	for i := range some {
		if some[i].Partial != nil && *some[i].Partial {
			partial[some[i].Cluster], some[i].Partial = true, nil
		}
	}
	if len(partial) == 0 || !reflect.DeepEqual(all, some) {
		t.Errorf("%s: other clusters, or none is partial of %d", name, len(some))
	}
	if n := part.Run.Counts.PairsPartial; n != int64(len(partial)) {
		t.Errorf("%s: pairs_partial is %d, and %d clusters are partial", name, n, len(partial))
	}
}

// The bytes do not depend on how large components are cut.
func TestSameBytesOfCells(t *testing.T) {
	c := generate(t, mixture).corpus(t)
	for _, budget := range []int{100, 1 << 18} {
		var first map[string]string
		for i, cell := range []int{1 << 20, 1, 2000} {
			for j, flags := range [][]string{{}, {"--memory=256MB"}, {"--runner=prism"}} {
				if j > 0 && i != j && !nightly.On() {
					continue
				}
				config := ask(t, append(flags, c.config.Inputs...)...)
				config.CellBytes, config.PairBudget = cell, budget
				r := run(t, config)
				if n := r.Run.Counts.PairsPartial; n != 1 && budget == 100 || n != 0 && budget > 100 {
					t.Errorf("a budget of %d pairs: %d crowds", budget, n)
				}
				if first == nil {
					first = promised(t, r)
				}
				sameOutput(t, fmt.Sprintf("cells of %d, budget %d, %v", cell, budget, flags), first, promised(t, r))
			}
		}
	}
}

// Half of the documents are copies of one page.
func TestCopiesOfOnePage(t *testing.T) {
	docs := generate(t, corpusgen.Spec{Documents: 20_000, Seed: 1, Copies: 0.5, OnePage: true})
	copies := map[string]string{}
	for _, d := range docs {
		if d.Kind == "copy" {
			copies[d.ID] = d.Of
		}
	}
	for _, flags := range [][]string{{"--memory=256MB"}, {"--memory=256MB", "--cluster=components", "--pair-budget=1"}} {
		r := run(t, ask(t, append(flags, docs.corpus(t).config.Inputs...)...))
		n := int64(len(copies))
		want := records.Counts{
			Records: int64(len(docs)), Pairs: n, Clusters: 1, Removed: n, Copies: n, Identical: n, Corpus: int64(len(docs)) - n,
		}
		if got := r.Run.Counts; got != want {
			t.Errorf("%v: counts are %+v, want %+v", flags, got, want)
		}
		for id, kept := range outcomeOf(t, r).Removed {
			if kept != [2]string{copies[id], records.ReasonIdentical} {
				t.Errorf("%v: %s was removed for %v, it is a copy of %s", flags, id, kept, copies[id])
			}
		}
	}
}

// A cluster whose pairs have more bytes of ids than the budget lists only pairs of each document with the one kept in
// its place, so its rows do not grow with the number of pairs. Other clusters list all of theirs, the removed documents
// are the same, and the bytes do not depend on the runner.
func TestLongIDs(t *testing.T) {
	const long, budget = 100, 5000 // 4,950 pairs of about 10 MB, where 1.3 MB are listed
	r := rand.New(rand.NewPCG(5, 5))
	words := make([]string, 170)
	for i := range words {
		words[i] = fmt.Sprint("w", r.IntN(5000))
	}
	var lines bytes.Buffer
	input := 0
	for i := range 2 * long {
		text, id := slices.Clone(words), fmt.Sprint(i)
		text[r.IntN(len(text))] = fmt.Sprint("x", i)
		if i < long {
			id += strings.Repeat("é", 500)
		} else {
			slices.Reverse(text)
		}
		input += len(id)
		fmt.Fprintf(&lines, "{\"id\": %q, \"text\": %q}\n", id, strings.Join(text, " "))
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", "--keep=longest", "--cluster=components", "--method=complete"} {
		asked := func(budget int, how ...string) *output.Finished {
			config := ask(t, append(slices.Concat(strings.Fields(flags), how), path)...)
			config.PairBudget, config.Bands, config.Rows = budget, 60, 2
			if config.Method == job.Complete {
				config.Bands, config.Rows = 0, 0
			}
			return run(t, config)
		}
		whole, part := asked(1<<18), asked(budget)
		if a, b := whole.Run.Counts.PairsPartial, part.Run.Counts.PairsPartial; a != 0 || b != 1 {
			t.Errorf("%s: pairs_partial is %d and %d, want 0 and 1", flags, a, b)
		}
		if n := asked(1).Run.Counts.PairsPartial; n != 2 { // both clusters have too many pairs, and too many bytes of ids
			t.Errorf("%s: with a budget of 1, pairs_partial is %d, want 2", flags, n)
		}
		sameClusters(t, flags, whole, part)
		folders := []string{"removed", "corpus"}
		sameOutput(t, flags, tables(promised(t, whole), folders...), tables(promised(t, part), folders...))
		pairs, ids, short := outcomeOf(t, whole).Pairs, 0, 0
		for pair, n := range outcomeOf(t, part).Pairs {
			if pairs[pair] != n {
				t.Errorf("%s: pair %v has %v, without the budget %v", flags, pair, n, pairs[pair])
			}
		}
		for _, pair := range rows[records.Pair](t, part, output.Pairs) {
			if ids += len(pair.IDA) + len(pair.IDB); len(pair.IDA) < 10 {
				short++
			}
		}
		if all := long * (long - 1) / 2; ids > 2*input+8*all || short < all*9/10 {
			t.Errorf("%s: %d bytes of ids in the rows of pairs, %d in documents; %d of %d pairs of short ids", flags, ids, input, short, all)
		}
		for _, how := range []string{"--runner=prism", "--memory=256MB --workers=3"} {
			sameOutput(t, flags+how, promised(t, part), promised(t, asked(budget, strings.Fields(how)...)))
		}
	}
}
