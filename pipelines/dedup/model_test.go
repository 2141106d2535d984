package dedup_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// family returns texts that copy and edit one another, from few words: with chains, stars, copies of removed documents,
// permuted copies and short texts.
func family(r *rand.Rand, n int) (texts []string) {
	word := func() string { return fmt.Sprintf("w%d", r.IntN(40)) }
	for len(texts) < n {
		switch k := r.IntN(10); {
		case k == 0 || len(texts) == 0:
			var words []string
			for range 1 + r.IntN(60) {
				words = append(words, word())
			}
			texts = append(texts, strings.Join(words, " "))
		case k < 3: // a copy that differs only in what is ignored
			texts = append(texts, strings.ToUpper(texts[r.IntN(len(texts))])+"!")
		default:
			words := strings.Fields(strings.ToLower(texts[r.IntN(len(texts))]))
			for range r.IntN(4) {
				words[r.IntN(len(words))] = word()
			}
			texts = append(texts, strings.Join(words, " "))
		}
	}
	return texts
}

// values are the values of the column that documents may be ranked by, as JSON, in ascending order; those of one line
// are equal. In either direction, strings follow numbers, and everything else follows strings.
var values = struct{ numbers, strings, none [][]string }{
	numbers: [][]string{
		{"-1e3"}, {"-0.5", "-5e-1"}, {"0", "-0", "0.00"}, {"2"}, {"10", "1e1", "10.0"},
		{"9007199254740992"}, {"9007199254740993", "9007199254740993.0"}, {"123456789012345678901234567890"}, {"1e400"},
	},
	strings: [][]string{{`""`}, {`"10"`, `"\u0031\u0030"`}, {`"9"`}, {`"a"`}, {`"é"`}},
	none:    [][]string{{"null", "true", "[1]", `{"n":1}`}},
}

// placesOf returns the place of each value in the order of max or min.
func placesOf(largest bool) (all []string, places map[string]int) {
	places = map[string]int{}
	lines := slices.Concat(values.numbers, values.strings, values.none)
	if largest {
		lines = nil
		for _, kind := range [][][]string{values.numbers, values.strings, values.none} {
			kind = slices.Clone(kind)
			slices.Reverse(kind)
			lines = append(lines, kind...)
		}
	}
	for place, line := range lines {
		for _, value := range line {
			places[value] = place
			all = append(all, value)
		}
	}
	return all, places
}

// drawn is a family in files, with a column to rank by.
type drawn struct {
	texts, values, sources []string
}

func draw(r *rand.Rand) (d drawn) {
	all, _ := placesOf(false)
	d.texts = family(r, 20+r.IntN(120))
	for i := range d.texts {
		d.values = append(d.values, all[r.IntN(len(all))])
		d.sources = append(d.sources, []string{"a.jsonl", "b/b.jsonl", "b/c.jsonl"}[i*3/len(d.texts)])
	}
	return d
}

// write writes the files. The id of each document is its index.
func (d *drawn) write(t *testing.T, folder string) {
	t.Helper()
	files := map[string][]byte{}
	for i, text := range d.texts {
		files[d.sources[i]] = fmt.Appendf(files[d.sources[i]], `{"id":"%d","text":%q,"meta":{"n":%s}}`+"\n", i, text, d.values[i])
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// order lists the documents in the order of a policy.
func (d *drawn) order(keep string) (order []int) {
	for i := range d.texts {
		order = append(order, i)
	}
	_, rising := placesOf(false)
	_, falling := placesOf(true)
	slices.SortStableFunc(order, map[string]func(i, j int) int{
		"first":         func(_, _ int) int { return 0 },
		"longest":       func(i, j int) int { return len(d.texts[j]) - len(d.texts[i]) },
		"min:meta.n":    func(i, j int) int { return rising[d.values[i]] - rising[d.values[j]] },
		"max:meta.n":    func(i, j int) int { return falling[d.values[i]] - falling[d.values[j]] },
		"prefer:b/c*,b": func(i, j int) int { return strings.Compare(d.sources[j], d.sources[i]) }, // c, b, a
	}[keep])
	return order
}

// fate is what the tables say about a document.
type fate struct {
	Cluster, Members int
	KeptBy           int
	Similarity       float64 // 0 for none
	Reason           string
}

// model decides only from the oracle, by the definitions: in the order of preference a document is kept unless an
// earlier kept one is t similar, and copies share the fate of the first of them; pairs connect the documents of a
// cluster. With components, the first document of each cluster is kept.
//
// Protected documents come first in the order, and are always kept; documents similar to one are removed for it.
func model(o *oracle, t float64, order []int, protected func(int) bool, components bool, reason func(copied, kept int) string) map[int]fate {
	n := len(o.sizes)
	near := o.near(t)
	similarity := func(i, j int) float64 {
		if i, j = o.copyOf[i], o.copyOf[j]; i == j {
			return 1
		}
		return near[[2]int{min(i, j), max(i, j)}]
	}
	cluster := make([]int, n)
	for i := range cluster {
		cluster[i] = i
	}
	for changed := true; changed; {
		changed = false
		for i := range n {
			for j := range n {
				if similarity(i, j) > 0 && cluster[j] < cluster[i] {
					cluster[i], changed = cluster[j], true
				}
			}
		}
	}
	members := map[int]int{}
	for _, c := range cluster {
		members[c]++
	}
	fates := map[int]fate{}
	kept := map[int]bool{}
	for _, j := range order {
		first := slices.IndexFunc(order, func(i int) bool { return o.copyOf[i] == o.copyOf[j] })
		f := fate{Cluster: cluster[j], Members: members[cluster[j]], KeptBy: order[first], Similarity: 1}
		switch {
		case protected(order[first]):
		case components:
			f.KeptBy = order[slices.IndexFunc(order, func(i int) bool { return cluster[i] == cluster[j] })]
			f.Similarity = similarity(f.KeptBy, j)
		default:
			highest := 0.
			for at, i := range order[:first] {
				if at > 0 && highest > 0 && protected(order[at-1]) && !protected(i) {
					break
				}
				if s := similarity(i, j); kept[i] && s > highest {
					f.KeptBy, f.Similarity, highest = i, s, s
				}
			}
		}
		if protected(j) {
			f.KeptBy, f.Similarity = j, 1
		}
		kept[j] = f.KeptBy == j
		if !kept[j] {
			f.Reason = records.ReasonNear
			if f.Similarity == 1 {
				f.Reason = reason(j, f.KeptBy)
			}
		}
		if f.Members > 1 {
			fates[j] = f
		}
	}
	return fates
}

// TestAgainstModel compares every table with a simple model, for each policy, on small families. The search has so many
// bands that it misses nothing at the threshold (probability below 2^-500 per pair).
func TestAgainstModel(t *testing.T) {
	for _, keep := range []string{"first", "longest", "max:meta.n", "min:meta.n", "prefer:b/c*,b"} {
		for _, cluster := range []string{"star", "components"} {
			for seed := range uint64(6) {
				againstModel(t, keep, cluster, seed, "--pair-budget=262144")
			}
		}
	}
}

// TestProtectedAgainstModel: documents of protected files are never removed, whatever the other settings, also in large
// components and in crowds.
func TestProtectedAgainstModel(t *testing.T) {
	for _, protect := range [][]string{{"b/c*"}, {"b"}, {"a.jsonl", "b/b.jsonl"}, {"**"}, {"none"}} {
		for seed := range uint64(4) {
			for _, budget := range []int{1 << 18, 400, 1} {
				againstModel(t, []string{"first", "longest", "prefer:b/c*,b"}[seed%3], []string{"star", "components"}[seed/2], seed, "--pair-budget="+fmt.Sprint(budget), protect...)
			}
		}
	}
}

func againstModel(t *testing.T, keep, cluster string, seed uint64, budget string, protect ...string) {
	name := fmt.Sprintf("%s, %s, seed %d, %s, protected %q", keep, cluster, seed, budget, protect)
	d := draw(rand.New(rand.NewPCG(seed, 1)))
	threshold := []float64{0.5, 0.6, 0.8}[seed%3]
	folder := t.TempDir()
	d.write(t, folder)
	config := ask(t, folder, "--keep="+keep, "--cluster="+cluster, budget)
	config.Protect = protect
	config.Threshold, config.Bands, config.Rows = threshold, 1024, 1
	sameAsModel(t, name, d, keep, config, threshold)
}

// Most documents are copies, by their tokens or their sets, within a block or across blocks, and of members of large
// components and crowds, which the model does not know. Copies by tokens are all settled before sets are made.
func TestCopiesAgainstModel(t *testing.T) {
	const threshold = 0.6
	for seed, way := range []struct {
		keep    string
		cluster string
		split   int64
		budget  int
	}{
		{"first", job.Star, 0, 1 << 18},
		{"longest", job.Star, 2000, 1 << 18},
		{"max:meta.n", job.Star, 200, 400}, // large components
		{"min:meta.n", job.Components, 2000, 400},
		{"prefer:b/c*,b", job.Star, 2000, 1}, // crowds
		{"max:meta.n", job.Star, 0, 1},
		{"longest", job.Components, 200, 1},
	} {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		d := draw(r)
		originals := d.texts
		d.texts = nil
		for i := range 4 * len(originals) {
			text := originals[r.IntN(len(originals))]
			switch r.IntN(8) {
			case 0:
				text = strings.ToUpper(text) + "?"
			case 1:
				text += " " + text
			case 2:
				text += " " + text + " " + text
			}
			d.texts = append(d.texts, text)
			if i >= len(d.values) {
				d.values = append(d.values, d.values[r.IntN(len(d.values))])
			}
		}
		d.sources = nil
		for i := range d.texts {
			d.sources = append(d.sources, []string{"a.jsonl", "b/b.jsonl", "b/c.jsonl"}[i*3/len(d.texts)])
		}
		folder := t.TempDir()
		d.write(t, folder)
		config := ask(t, folder, "--keep="+way.keep)
		config.Cluster, config.SplitBytes, config.PairBudget = way.cluster, way.split, way.budget
		config.Threshold, config.Bands, config.Rows = threshold, 1024, 1
		got := sameAsModel(t, fmt.Sprint(way), d, way.keep, config, threshold)

		distinct := map[string]bool{}
		for _, text := range d.texts {
			distinct[strings.Join(words(normalised(text)), " ")] = true
		}
		if n := got.Run.Steps["sets/copies"]; n != int64(len(d.texts)-len(distinct)) || int(n) < len(d.texts)/2 {
			t.Errorf("%v: %d copies are settled, want %d of %d documents", way, n, len(d.texts)-len(distinct), len(d.texts))
		}
		if crowds := got.Run.Counts.PairsPartial; (crowds > 0) != (way.budget == 1) {
			t.Errorf("%v: %d crowds", way, crowds)
		}
	}
}

// sameAsModel compares every table of a run with the model; of pairs of crowds, only those that are listed.
func sameAsModel(t *testing.T, name string, d drawn, keep string, config dedup.Config, threshold float64) *output.Finished {
	t.Helper()
	got := run(t, config)
	index, files := map[string]int{}, map[string]int{}
	for i := range d.texts {
		index[fmt.Sprint(i)] = i
		if _, ok := files[d.sources[i]]; !ok {
			files[d.sources[i]] = len(files)
		}
	}
	o := newOracle(d.texts, func(text string) map[string]bool { return wordShingles(text, 5) }, threshold)
	protected := func(i int) bool { return protected(got, document{source: d.sources[i]}) }
	order := d.order(keep)
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case protected(i) == protected(j):
			return 0
		case protected(i):
			return -1
		default:
			return 1
		}
	})
	want := model(o, threshold, order, protected, config.Cluster == job.Components, func(i, j int) string { return reasonOfCopies(d.texts[i], d.texts[j]) })
	fates := map[int]fate{}
	firstOf := map[int64]int{} // clusters are in input order
	for _, row := range rows[records.Clustered](t, got, "clusters") {
		i := index[row.ID]
		if _, ok := firstOf[row.Cluster]; !ok {
			firstOf[row.Cluster] = i
			if key := blocks.NewKey(files[row.Source], row.Position); row.Cluster != int64(key) {
				t.Errorf("%s: cluster %d is not named by its first document %v", name, row.Cluster, key)
			}
		}
		fates[i] = fate{Cluster: firstOf[row.Cluster], Members: int(row.Members), KeptBy: i, Similarity: 1}
	}
	chained := int64(0)
	for _, row := range rows[records.Removed](t, got, "removed") {
		f := fates[index[row.ID]]
		f.KeptBy, f.Similarity, f.Reason = index[row.KeptID], 0, row.Reason
		if row.Similarity != nil {
			f.Similarity = *row.Similarity
		} else {
			chained++
		}
		fates[index[row.ID]] = f
	}
	if diff := cmp.Diff(want, fates); diff != "" {
		t.Errorf("%s: %d texts, threshold %v: model and tables differ:\n%s", name, len(d.texts), threshold, diff)
	}
	if got := got.Run.Counts.Chained; got != chained {
		t.Errorf("%s: %d removed by chains, run.json says %d", name, chained, got)
	}
	type pair struct {
		similarity float64
		same       string
	}
	pairs := map[[2]int]pair{}
	for j, i := range o.copyOf {
		if i != j {
			pairs[[2]int{i, j}] = pair{1, reasonOfCopies(d.texts[j], d.texts[i])}
		}
	}
	for two, s := range o.near(threshold) {
		pairs[two] = pair{s, ""}
	}
	gotPairs := map[[2]int]pair{}
	last := blocks.Edge{A: -1}
	for _, row := range rows[records.Pair](t, got, "pairs") {
		is := pair{similarity: row.Similarity}
		if row.Copy() {
			is.same = *row.Same
		}
		gotPairs[[2]int{index[row.IDA], index[row.IDB]}] = is
		order := blocks.Edge{A: blocks.NewKey(files[row.SourceA], row.PositionA), B: blocks.NewKey(files[row.SourceB], row.PositionB)}
		if last.Compare(order) >= 0 || order.A >= order.B {
			t.Errorf("%s: pair %v after %v", name, order, last)
		}
		last = order
	}
	if got.Run.Counts.PairsPartial > 0 {
		maps.DeleteFunc(pairs, func(two [2]int, is pair) bool { return is.same == "" && gotPairs[two] == pair{} })
	}
	if diff := cmp.Diff(pairs, gotPairs, cmp.AllowUnexported(pair{})); diff != "" {
		t.Errorf("%s: pairs differ:\n%s", name, diff)
	}
	return got
}
