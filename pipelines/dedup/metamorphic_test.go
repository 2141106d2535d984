package dedup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// generated holds the texts of a corpus with known duplicates.
type generated []struct{ ID, Kind, Of, Text string }

func generate(t *testing.T, spec corpusgen.Spec) (docs generated) {
	t.Helper()
	var lines bytes.Buffer
	if err := corpusgen.Write(&lines, spec); err != nil {
		t.Fatal(err)
	}
	docs = make(generated, spec.Documents)
	decoder := json.NewDecoder(&lines)
	for i := range docs {
		if err := decoder.Decode(&docs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return docs
}

func (g generated) corpus(t *testing.T) corpus {
	t.Helper()
	c := corpus{name: "generated"}
	for _, d := range g {
		c.ids, c.texts = append(c.ids, d.ID), append(c.texts, d.Text)
	}
	return asJSON(t, c)
}

// mixture has copies, edited copies and a crowd. With this seed its template is long, so few variants are copies of one
// another.
var mixture = corpusgen.Spec{Documents: 1500, Seed: 10, Copies: 0.1, Near: 0.3, Edits: 0.02, Crowd: 60, CrowdEdits: 0.005}

// so sets fixed parameters, which otherwise depend on the input.
func so(config dedup.Config) dedup.Config {
	config.Bands, config.Rows = 20, 5
	return config
}

// outcome is the content of the tables, by ids.
type outcome struct {
	Pairs    map[[2]string][3]int32 // shared, size a, size b
	Removed  map[string][2]string   // kept id, reason
	Clusters map[string]string      // the cluster's first id
}

func outcomeOf(t *testing.T, r *output.Finished) outcome {
	t.Helper()
	o := outcome{map[[2]string][3]int32{}, map[string][2]string{}, map[string]string{}}
	for _, p := range rows[records.Pair](t, r, "pairs") {
		o.Pairs[[2]string{p.IDA, p.IDB}] = [3]int32{p.Shared, p.SizeA, p.SizeB}
	}
	for _, d := range rows[records.Removed](t, r, "removed") {
		o.Removed[d.ID] = [2]string{d.KeptID, d.Reason}
	}
	first := map[int64]string{}
	for _, d := range rows[records.Clustered](t, r, "clusters") {
		if _, ok := first[d.Cluster]; !ok {
			first[d.Cluster] = d.ID
		}
		o.Clusters[d.ID] = first[d.Cluster]
	}
	return o
}

func sameOutcome(t *testing.T, name string, want, got outcome) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", name, diff)
	}
	if len(want.Pairs) == 0 || len(want.Removed) == 0 {
		t.Errorf("%s: no pair or none removed", name)
	}
}

// Documents unlike any other, before, between and after the rest, change nothing.
func TestNoiseChangesNothing(t *testing.T) {
	c := generate(t, mixture).corpus(t)
	r := rand.New(rand.NewPCG(1, 1))
	noisy := corpus{name: "noisy"}
	for i := range c.ids {
		for j := range r.IntN(3) {
			var text []string
			for range r.IntN(40) { // also 0: then it is not compared
				text = append(text, fmt.Sprintf("n%x", r.Uint64()))
			}
			noisy.ids, noisy.texts = append(noisy.ids, fmt.Sprintf("noise %d %d", i, j)), append(noisy.texts, strings.Join(text, " "))
		}
		noisy.ids, noisy.texts = append(noisy.ids, c.ids[i]), append(noisy.texts, c.texts[i])
	}
	noisy = asJSON(t, noisy)
	for _, cluster := range []string{job.Star, job.Components} {
		c.config.Cluster, noisy.config.Cluster = cluster, cluster
		c.config.Overwrite, noisy.config.Overwrite = true, true
		sameOutcome(t, string(cluster), outcomeOf(t, run(t, so(c.config))), outcomeOf(t, run(t, so(noisy.config))))
	}
}

// The choice of tables to write changes neither the bytes of other tables nor the counts.
func TestWriteChangesNoCounts(t *testing.T) {
	c := generate(t, mixture).corpus(t)
	all := run(t, ask(t, c.config.Inputs...))
	files := promised(t, all)
	for _, table := range []string{"pairs", "clusters", "removed", "rejected"} {
		config := ask(t, append([]string{"--write=" + table}, c.config.Inputs...)...)
		if _, err := runJob(t.Context(), config, launch(config)); err != nil {
			t.Fatal(err)
		}
		one, err := output.Open(context.Background(), config.Output)
		if err != nil {
			t.Fatal(err)
		}
		want := all.Run.Counts
		want.Corpus = 0 // none is written
		if one.Run.Counts != want || want.Clusters == 0 {
			t.Errorf("--write %s: counts %+v, want %+v", table, one.Run.Counts, want)
		}
		sameOutput(t, table, tables(files, table), tables(promised(t, one), "pairs", "clusters", "removed", "rejected", "corpus"))
	}
}

// The kept documents have no pair that the same search would find, so deduplicating them removes nothing and gives the
// same bytes.
func TestTwiceIsOnce(t *testing.T) {
	c := generate(t, mixture).corpus(t)
	for _, input := range []string{"../../testdata/tldr", c.config.Inputs[0]} {
		for _, flags := range [][]string{
			{}, {"--keep=longest"}, {"--cluster=components"}, {"--threshold=0.5"}, {"--pair-budget=10"}, {"--pair-budget=10", "--cluster=components", "--keep=longest"},
		} {
			name := fmt.Sprint(input, flags)
			once := run(t, so(ask(t, append(flags, input)...)))
			if once.Run.Counts.Removed == 0 {
				t.Errorf("%s: nothing was removed", name)
			}
			twice := run(t, so(ask(t, append(flags, filepath.Join(once.Dir, "corpus"))...)))
			if n := twice.Run.Counts; n.Removed != 0 || n.Pairs != 0 {
				t.Errorf("%s: the second run has %d removed, %d pairs", name, n.Removed, n.Pairs)
			}
			files, err := filepath.Glob(filepath.Join(once.Dir, "corpus", "*"))
			if err != nil || len(files) == 0 {
				t.Fatal("no corpus", err)
			}
			for _, file := range files {
				if read(t, file) != read(t, filepath.Join(twice.Dir, "corpus", filepath.Base(file))) {
					t.Errorf("%s: the second run changed %s", name, filepath.Base(file))
				}
			}
		}
	}
}

// With the same search, a higher threshold finds the pairs that reach it.
func TestHigherThresholdGivesSubset(t *testing.T) {
	c := generate(t, mixture).corpus(t)
	for _, input := range []string{"../../testdata/tldr", c.config.Inputs[0]} {
		var want outcome
		most := 0
		for _, threshold := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1} {
			config := so(ask(t, input))
			config.Threshold, config.PairBudget = threshold, math.MaxInt
			got := outcomeOf(t, run(t, config))
			if want.Pairs == nil {
				want, most = got, len(got.Pairs)
			}
			maps.DeleteFunc(want.Pairs, func(_ [2]string, n [3]int32) bool {
				return float64(n[0])/float64(n[1]+n[2]-n[0]) < threshold
			})
			if diff := cmp.Diff(want.Pairs, got.Pairs); diff != "" {
				t.Errorf("%s at %v: (-want +got)\n%s", input, threshold, diff)
			}
		}
		if n := len(want.Pairs); n == 0 || n == most {
			t.Errorf("%s: %d pairs at the lowest threshold, %d at the highest: this shows nothing", input, most, n)
		}
	}
}

// Ids are only names: ids of other lengths, or equal ids, give the same rows.
func TestIDsAreNames(t *testing.T) {
	c := generate(t, mixture).corpus(t)
	want := run(t, so(c.config))
	names := map[string]string{}
	renamed := corpus{name: "renamed", texts: c.texts}
	for i, id := range c.ids {
		names[id] = strings.Repeat("é", (i*7919)%50) + fmt.Sprint(len(c.ids)-i)
		renamed.ids = append(renamed.ids, names[id])
	}
	o := outcomeOf(t, want)
	renamedOutcome := outcome{map[[2]string][3]int32{}, map[string][2]string{}, map[string]string{}}
	for pair, n := range o.Pairs {
		renamedOutcome.Pairs[[2]string{names[pair[0]], names[pair[1]]}] = n
	}
	for id, kept := range o.Removed {
		renamedOutcome.Removed[names[id]] = [2]string{names[kept[0]], kept[1]}
	}
	for id, first := range o.Clusters {
		renamedOutcome.Clusters[names[id]] = names[first]
	}
	sameOutcome(t, "renamed", renamedOutcome, outcomeOf(t, run(t, so(asJSON(t, renamed).config))))

	equal := corpus{name: "equal", ids: slices.Repeat([]string{"same"}, len(c.ids)), texts: c.texts}
	got := run(t, so(asJSON(t, equal).config))
	gotPairs, wantPairs := rows[records.Pair](t, got, "pairs"), rows[records.Pair](t, want, "pairs")
	if len(gotPairs) != len(wantPairs) {
		t.Fatalf("equal ids: %d pairs, want %d", len(gotPairs), len(wantPairs))
	}
	for i, w := range wantPairs {
		if g := gotPairs[i]; g.IDA != "same" || g.IDB != "same" || g.Similarity != w.Similarity || g.Shared != w.Shared || g.SizeA != w.SizeA || g.SizeB != w.SizeB {
			t.Errorf("equal ids: pair %d is %+v, want the numbers of %+v", i, g, w)
		}
	}
	if diff := cmp.Diff(want.Run.Counts, got.Run.Counts); diff != "" {
		t.Errorf("equal ids: counts (-want +got)\n%s", diff)
	}
}

// A text appended to every text adds as many shingles to each set as it has words: those within it are common to all,
// those across its beginning only to texts with the same end. So the numbers of each pair follow from those before, and
// pairs appear or disappear only accordingly.
func TestAppendedTextShiftsTheNumbersAlone(t *testing.T) {
	const k, added, threshold = 5, 50, 0.8
	c := generate(t, mixture).corpus(t)
	var tail strings.Builder
	for i := range added {
		fmt.Fprintf(&tail, " tail%d", i)
	}
	longer := corpus{name: "longer", ids: c.ids}
	texts := map[string][]string{}
	for i, text := range c.texts {
		longer.texts = append(longer.texts, text+tail.String())
		texts[c.ids[i]] = strings.Fields(text)
		if len(texts[c.ids[i]]) < k {
			t.Fatalf("%q is too short for the rule", text)
		}
	}
	// So many bands that no pair of that similarity is missed: (1-0.8^4)^200 is below 10^-45.
	find := func(c corpus) outcome {
		c.config.Threshold, c.config.Bands, c.config.Rows = threshold, 200, 4
		return outcomeOf(t, run(t, c.config))
	}
	before, after := find(c), find(asJSON(t, longer))
	shift := func(pair [2]string) int32 { // change of the number of common shingles
		a, b := texts[pair[0]], texts[pair[1]]
		alike := 0
		for alike < k-1 && a[len(a)-1-alike] == b[len(b)-1-alike] {
			alike++
		}
		return int32(added - (k - 1) + alike)
	}
	similar := func(n [3]int32) bool { return float64(n[0])/float64(n[1]+n[2]-n[0]) >= threshold }
	for pair, n := range before.Pairs {
		want := [3]int32{n[0] + shift(pair), n[1] + added, n[2] + added}
		if got, ok := after.Pairs[pair]; ok != similar(want) || ok && got != want {
			t.Errorf("%v: shared and sizes are %v, were %v, want %v", pair, got, n, want)
		}
	}
	come := 0
	for pair, n := range after.Pairs {
		was := [3]int32{n[0] - shift(pair), n[1] - added, n[2] - added}
		if _, ok := before.Pairs[pair]; ok != similar(was) {
			t.Errorf("%v: shared and sizes are %v, so they were %v, reported: %v", pair, n, was, ok)
		} else if !ok {
			come++
		}
	}
	if come == 0 || len(before.Pairs) == 0 {
		t.Errorf("%d pairs before, %d more after: this shows nothing", len(before.Pairs), come)
	}
	copies := func(o outcome) map[string][2]string {
		maps.DeleteFunc(o.Removed, func(_ string, kept [2]string) bool { return kept[1] == records.ReasonNear })
		return o.Removed
	}
	if diff := cmp.Diff(copies(before), copies(after)); diff != "" || len(before.Removed) == 0 {
		t.Errorf("%d copies removed: (-before +after)\n%s", len(before.Removed), diff)
	}
}
