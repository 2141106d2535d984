package dedup_test

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/records"
)

// tables are the files of an output below a folder.
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

// Of a crowd not all pairs are listed; what is removed, and for what, is the same.
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
		folders := []string{"clusters", "removed", "corpus"}
		want := tables(promised(t, whole), folders...)
		if len(want) < len(folders) {
			t.Errorf("%s: files %v", name, want)
		}
		sameOutput(t, name, want, tables(promised(t, part), folders...))
		// What is listed is true.
		pairs := outcomeOf(t, whole).Pairs
		for pair, n := range outcomeOf(t, part).Pairs {
			if pairs[pair] != n {
				t.Errorf("%s: pair %v has %v, without the budget %v", name, pair, n, pairs[pair])
			}
		}
	}
}

// The bytes do not depend on how large components are cut.
func TestSameBytesOfCells(t *testing.T) {
	c := generate(t, mixture).corpus(t)
	for _, budget := range []int{100, 1 << 18} {
		var first map[string]string
		for _, cell := range []int{1 << 20, 1, 2000} {
			for _, flags := range [][]string{{}, {"--memory=256MB"}, {"--runner=prism"}} {
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
