package eval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/deduptest"
	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/quality"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/vector"
	"github.com/neardup/neardup/kernels/verifier"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/eval"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func launch(runner string) job.Launch {
	return beamtest.Launch(runner, local.Options{})
}

// evaluated returns the result of eval, and checks that it runs as many pipelines as it announced.
func evaluated(t *testing.T, args ...string) (*records.Evaluation, error) {
	t.Helper()
	var config eval.Config
	parser, err := kong.New(&config, kong.Vars(job.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	if config.Truth != "" {
		file, err := os.Open(config.Truth)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		config.Content = file
	}
	planned, begun, start := 0, 0, launch(string(config.Runner))
	config.Planned = func(pipelines [][]job.Read) { planned = len(pipelines) }
	found, err := eval.Evaluate(t.Context(), config, func(ctx context.Context, p *beam.Pipeline, temp string) (beam.PipelineResult, []records.Stage, error) {
		begun++
		return start(ctx, p, temp)
	})
	if err == nil && begun != planned {
		t.Errorf("%d pipelines ran, %d were planned", begun, planned)
	}
	return found, err
}

// made returns documents of single letters, many of them similar, some with repeated letters, and some copies.
func made(n int) (texts []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		letters := strings.Split("abcdefghijkl", "")
		for range r.IntN(6) {
			letters[r.IntN(len(letters))] = string(rune('a' + r.IntN(26)))
		}
		text := strings.Join(letters, " ")
		if i%7 == 0 {
			text += " " + text
		}
		texts = append(texts, text)
	}
	texts = append(texts, "x y x", "x y x y x", "x y x y x y x y x") // parallel, with one set
	return append(texts, texts[:n/10]...)
}

// input writes texts, with their numbers as ids.
func input(t *testing.T, texts []string) string {
	t.Helper()
	var lines strings.Builder
	for i, text := range texts {
		fmt.Fprintf(&lines, "{\"id\":\"%d\",\"text\":%q}\n", i, text)
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// counted returns the number of occurrences of each pair of words in a text.
func counted(text string) map[string]int {
	counts := map[string]int{}
	words := strings.Fields(text)
	for i := range words[1:] {
		counts[words[i]+" "+words[i+1]]++
	}
	return counts
}

func jaccard(a, b map[string]int) float64 {
	shared := 0
	for s := range a {
		if b[s] > 0 {
			shared++
		}
	}
	return float64(shared) / float64(len(a)+len(b)-shared)
}

func cosine(a, b map[string]int) float64 {
	dot, ofA, ofB := 0, 0, 0
	for s, n := range a {
		dot, ofA = dot+n*b[s], ofA+n*n
	}
	for _, n := range b {
		ofB += n * n
	}
	return float64(dot) / math.Sqrt(float64(ofA)*float64(ofB))
}

// exact returns an evaluation from a loop over all pairs of a drawn document and a distinct document.
func exact(t *testing.T, dir string, drawn map[int]bool, features []string, similar func(i, j int) bool) (e records.Evaluation) {
	t.Helper()
	f, err := output.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	number := func(id string) (i int) {
		fmt.Sscan(id, &i) //nolint:errcheck // the test would fail
		return i
	}
	cluster := map[int]int64{}
	for row, err := range output.Rows[records.Clustered](t.Context(), f, output.Clusters) {
		if err != nil {
			t.Fatal(err)
		}
		cluster[number(row.ID)] = row.Cluster
	}
	listed := map[[2]int]bool{}
	for row, err := range output.Rows[records.Pair](t.Context(), f, output.Pairs) {
		if err != nil {
			t.Fatal(err)
		}
		listed[[2]int{number(row.IDA), number(row.IDB)}] = true
	}
	e = records.Evaluation{Kind: records.TruthSample, Sample: int64(len(drawn)), Listed: &records.Agreement{}, Crowds: f.Run.Counts.PairsPartial}
	for j := range features {
		if slices.Index(features, features[j]) < j {
			continue // a copy
		}
		e.Documents++
		for i := range j {
			if slices.Index(features, features[i]) < i || !drawn[i] && !drawn[j] {
				continue
			}
			a, inA := cluster[i]
			b, inB := cluster[j]
			for found, of := range map[*records.Agreement]bool{&e.Agreement: inA && inB && a == b, e.Listed: listed[[2]int{i, j}]} {
				if of {
					found.Found++
				}
				if similar(i, j) {
					found.True++
				}
				if of && similar(i, j) {
					found.Both++
				}
			}
		}
	}
	return e
}

// bare returns an evaluation without what follows from its counts.
func bare(e *records.Evaluation) records.Evaluation {
	only := func(a records.Agreement) records.Agreement {
		return records.Agreement{Found: a.Found, True: a.True, Both: a.Both}
	}
	b := records.Evaluation{Kind: e.Kind, Documents: e.Documents, Sample: e.Sample, Crowds: e.Crowds, Agreement: only(e.Agreement)}
	if e.Listed != nil {
		listed := only(*e.Listed)
		b.Listed = &listed
	}
	return b
}

// A sample gives the counts of a loop over all pairs: for runs that find all and some pairs, that remove by chains, and
// of crowds; of all documents, and of those that a seed draws; on any runner.
func TestSample(t *testing.T) {
	texts := made(150)
	var sets []map[string]int
	var setNames, countNames []string
	for _, text := range texts {
		set := counted(text)
		sets = append(sets, set)
		names, err := json.Marshal(set) // sorted by key
		if err != nil {
			t.Fatal(err)
		}
		countNames = append(countNames, string(names))
		setNames = append(setNames, strings.Join(slices.Sorted(maps.Keys(set)), ","))
	}
	in := input(t, texts)
	spec := shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 2}}
	shingler := spec.New()
	drawn := func(n int, seed uint64, by verifier.Spec) map[int]bool {
		s := quality.NewSmallest[int64](n, seed)
		features := by.Features(nil)
		for i, text := range texts {
			s.Add(hash.Sequence(features(shingler.Shingles(nil, []byte(text)))), int64(i))
		}
		is := map[int]bool{}
		for _, set := range s.Sets() {
			is[int(set.First)] = true
		}
		return is
	}
	of := func(names []string) map[int]bool {
		is := map[int]bool{}
		for _, name := range names {
			is[slices.Index(names, name)] = true
		}
		return is
	}
	byJaccard := func(i, j int) bool { return jaccard(sets[i], sets[j]) >= .4 }
	byCosine := func(i, j int) bool { return cosine(sets[i], sets[j]) >= .65 }
	for name, c := range map[string]struct {
		flags   []string
		names   []string
		similar func(i, j int) bool
	}{
		"all":        {[]string{"--threshold=.4"}, setNames, byJaccard},
		"some":       {[]string{"--threshold=.4", "--bands=2", "--rows=5"}, setNames, byJaccard},
		"components": {[]string{"--threshold=.4", "--bands=2", "--rows=4", "--cluster=components"}, setNames, byJaccard},
		"crowds":     {[]string{"--threshold=.4", "--pair-budget=20"}, setNames, byJaccard},
		"complete":   {[]string{"--threshold=.4", "--method=complete"}, setNames, byJaccard},
		"cosine":     {[]string{"--threshold=.65", "--method=complete", "--compare=cosine", "--weights=tf"}, countNames, byCosine},
		"simhash":    {[]string{"--threshold=.65", "--method=simhash", "--compare=cosine", "--weights=tf", "--bits=64", "--pieces=4"}, countNames, byCosine},
	} {
		t.Run(name, func(t *testing.T) {
			dir := deduptest.Finished(t, append(c.flags, "--shingle=word:2", in)...)
			want := exact(t, dir, of(c.names), c.names, c.similar)
			if want.True == 0 || want.True == float64(want.Documents*(want.Documents-1)/2) {
				t.Fatalf("%v pairs are true, which tests little", want.True)
			}
			got, err := evaluated(t, dir, "--sample=1000", "--list=0")
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v found, %v true, %v both; listed %+v; %d crowds", want.Found, want.True, want.Both, *want.Listed, want.Crowds)
			if diff := cmp.Diff(want, bare(got)); diff != "" {
				t.Errorf("of all:\n%s", diff)
			}
			by := verifier.Spec{Measure: verifier.Jaccard}
			if !slices.Equal(c.names, setNames) {
				by = verifier.Spec{Measure: verifier.Cosine, Weights: vector.TF}
			}
			for seed, runner := range []string{"local", "direct", "local", "local"} {
				want := exact(t, dir, drawn(30, uint64(seed), by), c.names, c.similar)
				got, err := evaluated(t, dir, "--sample=30", fmt.Sprint("--seed=", seed), "--runner="+runner)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, bare(got)); diff != "" {
					t.Errorf("of 30 by seed %d:\n%s", seed, diff)
				}
			}
		})
	}
}

// The pairs held for a sample are limited: those listed and in clusters, and those that the join finds.
func TestSampleOfTooMany(t *testing.T) {
	in := input(t, made(150))
	for name, c := range map[string]struct {
		flags []string
		most  int
		says  string
	}{
		"documents": {[]string{"--cluster=components"}, 5, "have more than 5 documents"},
		"pairs":     {[]string{"--cluster=components"}, 200, "listed, or in one cluster"},
		"join":      {[]string{"--bands=1", "--rows=16"}, 200, "more than 200 similar pairs"},
	} {
		dir := deduptest.Finished(t, append(c.flags, "--threshold=.4", "--shingle=word:2", in)...)
		restore := eval.SetMostPairs(c.most)
		_, err := evaluated(t, dir, "--sample=1000")
		restore()
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "draw fewer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
