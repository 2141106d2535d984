package dedup_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

// split is a list of documents in files, of which the first are references. The id of a document is its number.
type split struct {
	texts      []string
	references int // number of references among the documents
	files      []string
}

// splitAtRandom makes about a share of texts references.
func splitAtRandom(r *rand.Rand, texts []string, share float64) (s split) {
	var inputs []string
	for _, text := range texts {
		if r.Float64() < share {
			s.texts = append(s.texts, text)
		} else {
			inputs = append(inputs, text)
		}
	}
	s.references = len(s.texts)
	s.texts = append(s.texts, inputs...)
	for i := range s.texts {
		of, n, at := "lake", s.references, i
		if i >= s.references {
			of, n, at = "in", len(inputs), i-s.references
		}
		s.files = append(s.files, filepath.Join(of, fmt.Sprintf("%c.jsonl", 'a'+3*at/n)))
	}
	return s
}

// write writes the files below a folder.
func (s *split) write(t *testing.T, folder string) {
	t.Helper()
	files := map[string][]byte{}
	for i, text := range s.texts {
		files[s.files[i]] = fmt.Appendf(files[s.files[i]], `{"id":"%d","text":%q}`+"\n", i, text)
	}
	for _, of := range []string{"lake", "in"} {
		if err := os.MkdirAll(filepath.Join(folder, of), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// similar holds the pairs that a run over all documents found: by their numbers, the lower first, with their similarity
// and, for copies, what they have in common.
type similar map[[2]int]found2

type found2 struct {
	similarity float64
	same       string
}

func similarIn(t *testing.T, r *output.Finished) similar {
	all := similar{}
	for _, row := range rows[records.Pair](t, r, "pairs") {
		f := found2{similarity: row.Similarity}
		if row.Same != nil {
			f.same = *row.Same
		}
		all[[2]int{number(t, row.IDA), number(t, row.IDB)}] = f
	}
	return all
}

func number(t *testing.T, id string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(id, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// decided is the fate of a document in a cluster; it names itself if it is kept.
type decided struct {
	Cluster, Members, KeptBy int
	Similarity               float64 // 0 for none
	Near                     bool
}

// against decides by the definitions, from the pairs of a run over all documents. References are kept. A reference that
// is a copy of an earlier one is ignored, and two references are not a pair. In the order of preference, references
// first, a document is removed for the most similar reference, or else for the most similar kept document; copies of
// each other are visited at the first of them. With components, only the first document of each cluster is kept, and
// all references.
func (s *split) against(pairs similar, order []int, components bool) (map[int]decided, similar) {
	n := len(s.texts)
	isReference := func(i int) bool { return i < s.references }
	copyOf, gone := make([]int, n), make([]bool, n)
	for i := range n {
		copyOf[i] = i
	}
	for two, f := range pairs {
		if f.same != "" {
			copyOf[two[1]] = two[0]
			gone[two[1]] = isReference(two[1])
		}
	}
	listed := similar{}
	for two, f := range pairs {
		if !isReference(two[1]) {
			listed[two] = f
		}
	}
	similarity := func(i, j int) float64 {
		if i, j = copyOf[i], copyOf[j]; i == j {
			return 1
		}
		return listed[[2]int{min(i, j), max(i, j)}].similarity
	}
	cluster := slices.Clone(copyOf)
	for changed := true; changed; {
		changed = false
		for two := range listed {
			a, b := copyOf[two[0]], copyOf[two[1]]
			if least := min(cluster[a], cluster[b]); cluster[a] != least || cluster[b] != least {
				cluster[a], cluster[b], changed = least, least, true
			}
		}
	}
	members := map[int]int{}
	for i := range n {
		if !gone[i] {
			members[cluster[copyOf[i]]]++
		}
	}
	order = slices.DeleteFunc(slices.Clone(order), func(i int) bool { return gone[i] })
	fates, kept := map[int]decided{}, map[int]bool{}
	for _, j := range order {
		group := order[slices.IndexFunc(order, func(i int) bool { return copyOf[i] == copyOf[j] })]
		f := decided{Cluster: cluster[copyOf[j]], Members: members[cluster[copyOf[j]]], KeptBy: group, Similarity: 1}
		switch {
		case isReference(group):
		case components:
			f.KeptBy = order[slices.IndexFunc(order, func(i int) bool { return cluster[copyOf[i]] == f.Cluster })]
			f.Similarity = similarity(f.KeptBy, j)
		default:
			best := 0.
			for _, i := range order {
				if i == group || best > 0 && isReference(f.KeptBy) && !isReference(i) {
					break
				}
				if s := similarity(i, j); kept[i] && s > best {
					f.KeptBy, f.Similarity, best = i, s, s
				}
			}
		}
		kept[j] = f.KeptBy == j
		f.Near = copyOf[f.KeptBy] != copyOf[j]
		if f.Members > 1 {
			fates[j] = f
		}
	}
	return fates, listed
}

// order lists documents in the order of a policy, references first.
func (s *split) order(keep string) (order []int) {
	for i := range s.texts {
		order = append(order, i)
	}
	slices.SortStableFunc(order[s.references:], func(i, j int) int {
		switch keep {
		case "longest":
			return len(s.texts[j]) - len(s.texts[i])
		case "prefer:c*,b*":
			return strings.Compare(s.files[j], s.files[i])
		default:
			return 0
		}
	})
	return order
}

// sameAsSplit compares the tables of a run against references with the definitions.
func sameAsSplit(t *testing.T, name string, s *split, folder string, got *output.Finished, pairs similar, keep string, components bool) {
	t.Helper()
	want, listed := s.against(pairs, s.order(keep), components)
	in := func(i int) string {
		if i < s.references {
			return "reference"
		}
		return "input"
	}
	source := func(i int) string {
		if i < s.references {
			return filepath.Join(folder, s.files[i])
		}
		return filepath.Base(s.files[i])
	}
	text := func(s *string) string {
		if s == nil {
			return "null"
		}
		return *s
	}
	fates := map[int]decided{}
	first := map[int64]int{}
	for _, row := range rows[records.Clustered](t, got, "clusters") {
		i := number(t, row.ID)
		if f, ok := first[row.Cluster]; !ok || i < f {
			first[row.Cluster] = i
		}
		if text(row.In) != in(i) || row.Source != source(i) {
			t.Errorf("%s: document %d is in %s, %s", name, i, text(row.In), row.Source)
		}
	}
	for _, row := range rows[records.Clustered](t, got, "clusters") {
		i := number(t, row.ID)
		fates[i] = decided{Cluster: first[row.Cluster], Members: int(row.Members), KeptBy: i, Similarity: 1}
		if !row.Kept {
			fates[i] = decided{Cluster: first[row.Cluster], Members: int(row.Members), KeptBy: -1}
		}
	}
	forReferences := int64(0)
	for _, row := range rows[records.Removed](t, got, "removed") {
		i, by := number(t, row.ID), number(t, row.KeptID)
		f := fates[i]
		if f.KeptBy >= 0 || i < s.references {
			t.Errorf("%s: document %d is removed, and kept", name, i)
		}
		f.KeptBy, f.Near = by, row.Reason == records.ReasonNear
		if row.Similarity != nil {
			f.Similarity = *row.Similarity
		}
		fates[i] = f
		if text(row.KeptIn) != in(by) || row.KeptSource != source(by) || row.Source != source(i) {
			t.Errorf("%s: document %d is removed for %d in %s, %s", name, i, by, text(row.KeptIn), row.KeptSource)
		}
		if by < s.references {
			forReferences++
		}
		if want := reasonOfCopies(s.texts[i], s.texts[by]); !f.Near && row.Reason != want && got.Run.Parameters.Compare == job.Jaccard {
			t.Errorf("%s: document %d is %s, want %s", name, i, row.Reason, want)
		}
	}
	if diff := gocmp.Diff(want, fates); diff != "" {
		t.Errorf("%s: %d of %d texts are references: model and tables differ:\n%s", name, s.references, len(s.texts), diff)
	}
	found := similarIn(t, got)
	if got.Run.Counts.PairsPartial > 0 {
		for two := range listed {
			if _, ok := found[two]; !ok && listed[two].same == "" {
				delete(listed, two)
			}
		}
	}
	if diff := gocmp.Diff(listed, found, gocmp.AllowUnexported(found2{})); diff != "" {
		t.Errorf("%s: pairs differ:\n%s", name, diff)
	}
	last := [2]int{-1, -1}
	for _, row := range rows[records.Pair](t, got, "pairs") {
		a, b := number(t, row.IDA), number(t, row.IDB)
		if text(row.InA) != in(a) {
			t.Errorf("%s: document %d is in %s", name, a, text(row.InA))
		}
		place := [2]int{a, b} // at the first input
		if a < s.references {
			place = [2]int{b, a}
		}
		if slices.Compare(last[:], place[:]) >= 0 {
			t.Errorf("%s: pair %v after %v", name, place, last)
		}
		last = place
	}
	of := got.Run.References
	if s.references == 0 {
		if of != nil {
			t.Errorf("%s: references %+v", name, of)
		}
		return
	}
	if of.Records != int64(s.references) || of.Unreadable+of.NotCompared+of.PairsCompared != 0 || of.Removed != forReferences {
		t.Errorf("%s: references %+v, %d removed for one", name, of, forReferences)
	}
	if n := got.Run.Counts; n.Records != int64(len(s.texts)-s.references) || n.Corpus != n.Records-n.Removed {
		t.Errorf("%s: counts %+v", name, n)
	}
}

// againstSplit runs over a whole split, and over its inputs against its references, and compares the results by the
// model.
func againstSplit(t *testing.T, name string, s split, keep, cluster string, set func(*dedup.Config)) *output.Finished {
	t.Helper()
	folder := t.TempDir()
	s.write(t, folder)
	whole := ask(t, filepath.Join(folder, "lake"), filepath.Join(folder, "in"))
	set(&whole)
	whole.PairBudget = 1 << 30
	pairs := similarIn(t, run(t, whole))
	config := ask(t, filepath.Join(folder, "in"), "--against="+filepath.Join(folder, "lake"), "--keep="+keep, "--cluster="+cluster)
	set(&config)
	config.AllowEmpty = true
	got := runOnly(t, config)
	sameAsSplit(t, name, &s, folder, got, pairs, keep, cluster == job.Components)
	return got
}

// runOnly runs the job.
func runOnly(t *testing.T, config dedup.Config) *output.Finished {
	t.Helper()
	if _, err := runJob(t.Context(), config, launch(config)); err != nil {
		t.Fatal(err)
	}
	r, err := output.Open(t.Context(), config.Output)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// For every method, measure, policy and kind of cluster, a run of inputs against references decides what the pairs of a
// run over both imply, also in large components and crowds. The searches use so many keys that they miss nothing.
func TestAgainst(t *testing.T) {
	minhash := func(c *dedup.Config) { c.Threshold, c.Bands, c.Rows = .6, 1024, 1 }
	complete := func(compare, weights string) func(*dedup.Config) {
		return func(c *dedup.Config) {
			c.Method, c.Compare, c.Weights, c.Threshold = job.Complete, compare, cmp.Or(weights, "1"), .7
		}
	}
	exact := func(same string) func(*dedup.Config) {
		return func(c *dedup.Config) { c.Method, c.Same = job.Exact, same }
	}
	budget := func(n int, set func(*dedup.Config)) func(*dedup.Config) {
		return func(c *dedup.Config) { set(c); c.PairBudget = n }
	}
	small := func(set func(*dedup.Config)) func(*dedup.Config) {
		return func(c *dedup.Config) { set(c); c.CellBytes, c.SplitBytes, c.ConnectDocuments = 600, 300, 10 }
	}
	ways := map[string]func(*dedup.Config){
		"minhash": minhash, "minhash, large components": small(budget(400, minhash)), "minhash, crowds": budget(1, minhash),
		"minhash, crowds in chunks": small(budget(1, minhash)),
		"complete":                  complete(job.Jaccard, ""), "complete, small cells": small(complete(job.Jaccard, "")),
		"cosine": complete(job.Cosine, ""), "cosine tf": small(complete(job.Cosine, "tf")), "tf-idf": complete(job.Cosine, "tf-idf"),
		"overlap": small(complete(job.Overlap, "")), "overlap, crowds": budget(1, complete(job.Overlap, "")),
		"bytes": exact("bytes"), "tokens": exact("tokens"), "set": small(exact("set")),
		"simhash": func(c *dedup.Config) {
			c.Method, c.Compare, c.Bits, c.Pieces, c.Threshold = job.SimHash, job.Cosine, 64, 64, .7
		},
		"classic": func(c *dedup.Config) { minhash(c); c.Bands, c.Signature = 60, "classic" },
	}
	seed := uint64(0)
	for _, name := range slices.Sorted(maps.Keys(ways)) {
		for i, keep := range []string{"first", "longest", "prefer:c*,b*"} {
			for _, cluster := range []string{job.Star, job.Components} {
				seed++
				r := rand.New(rand.NewPCG(seed, 9))
				share := []float64{.2, .5, .9}[(i+int(seed))%3]
				texts := family(r, 20+r.IntN(100))
				againstSplit(t, fmt.Sprintf("%s, %s, %s, seed %d", name, keep, cluster, seed),
					splitAtRandom(r, texts, share), keep, cluster, ways[name])
			}
		}
	}
}

// With --keep none, every input that is similar to a reference or to another input is removed, and no reference.
func TestNoneAgainst(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 11))
		s := splitAtRandom(r, family(r, 60), .3)
		folder := t.TempDir()
		s.write(t, folder)
		exactly := func(c *dedup.Config) { c.Method, c.Threshold = job.Complete, .7 }
		whole := ask(t, filepath.Join(folder, "lake"), filepath.Join(folder, "in"))
		exactly(&whole)
		cluster := []string{job.Star, job.Components}[seed%2]
		config := ask(t, filepath.Join(folder, "in"), "--against="+filepath.Join(folder, "lake"), "--keep=none", "--cluster="+cluster)
		exactly(&config)
		config.AllowEmpty = true
		pairs, got := similarIn(t, run(t, whole)), runOnly(t, config)

		_, listed := s.against(pairs, s.order("first"), false)
		want := map[int]bool{}
		for two := range listed {
			for _, i := range two {
				want[i] = want[i] || i >= s.references
			}
		}
		maps.DeleteFunc(want, func(_ int, goes bool) bool { return !goes })
		goes := map[int]bool{}
		for _, row := range rows[records.Removed](t, got, "removed") {
			goes[number(t, row.ID)] = true
		}
		if !maps.Equal(goes, want) || len(want) == 0 {
			t.Errorf("seed %d, %s: %v are removed, want %v", seed, cluster, slices.Sorted(maps.Keys(goes)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// A part of a real corpus against the rest, which is larger.
func TestCorporaAgainst(t *testing.T) {
	for name, texts := range map[string][]string{
		"tldr": textsOf(t, "../../testdata/tldr/*.jsonl"), "made": nil, "kijiji": kijiji(t).texts[:2000],
	} {
		if texts == nil {
			texts = family(rand.New(rand.NewPCG(1, 1)), 1000)
		}
		for seed, cluster := range []string{job.Star, job.Components} {
			r := rand.New(rand.NewPCG(uint64(seed), 2))
			got := againstSplit(t, name+", "+cluster, splitAtRandom(r, texts, .7), "first", cluster, func(c *dedup.Config) {
				c.Threshold, c.Method = .5, job.Complete
			})
			if of := got.Run.References; of.Removed == 0 || got.Run.Counts.Removed == of.Removed {
				t.Errorf("%s: %d removed, %d for references", name, got.Run.Counts.Removed, of.Removed)
			}
		}
	}
}

// textsOf returns the texts of JSON Lines files.
func textsOf(t *testing.T, pattern string) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, err)
	}
	for _, file := range files {
		for line := range strings.Lines(read(t, file)) {
			var doc struct{ Text string }
			if err := json.Unmarshal([]byte(line), &doc); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, doc.Text)
		}
	}
	return texts
}

// againstPages returns some of the bundled pages as inputs and others as references, with copies and unreadable records
// in both.
func againstPages(t *testing.T) (inputs, references string) {
	t.Helper()
	inputs, references = filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
	for folder, names := range map[string][]string{inputs: {"osx", "windows"}, references: {"freebsd", "linux", "netbsd"}} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data := read(t, "../../testdata/tldr/"+name+".jsonl")
			data += data[:strings.LastIndexByte(data[:len(data)/3], '\n')+1] + "{broken\n"
			if folder == inputs { // the beginning of a reference
				linux := read(t, "../../testdata/tldr/linux.jsonl")
				data += linux[:strings.LastIndexByte(linux[:30_000], '\n')+1]
			}
			if err := os.WriteFile(filepath.Join(folder, name+".jsonl"), []byte(data), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return inputs, references
}

// The bytes of a run against references do not depend on workers, memory, splits, runner and phases, nor on Flink's
// pipeline.
func TestSameBytesAgainst(t *testing.T) {
	inputs, references := againstPages(t)
	flags := []string{
		inputs, "--against=" + references, "--max-rejected=10", "--threshold=.5", "--shingle=char:5",
		"--write=pairs,clusters,removed,rejected,corpus,documents",
	}
	usual := beamtest.Launch("local", local.Options{})
	first := ask(t, flags...)
	want := phasedRun(t, first, usual)
	if of := opened(t, first.Output).Run; of.References.Unreadable != 3 || of.Counts.Unreadable != 2 || of.References.Removed == 0 {
		t.Fatalf("counts %+v, references %+v", of.Counts, of.References)
	}
	for _, documents := range documentsOf(t, opened(t, first.Output)) {
		forReferences := int64(0)
		for _, row := range documents {
			if row.KeptIn != nil && *row.KeptIn == records.InReference {
				forReferences++
			}
		}
		if forReferences == 0 {
			t.Errorf("of %d documents none resembles a reference", len(documents))
		}
	}
	for _, workers := range []int{1, 2, 8} {
		config := ask(t, append(flags, "--memory=256MB")...)
		config.Workers, config.SplitBytes = workers, 64<<10
		sameOutput(t, fmt.Sprint(workers, " workers"), want, phasedRun(t, config, launch(config)))
	}
	for name, more := range map[string][]string{
		"together": {"--runner=flink"}, "phased": {"--resume=always"}, "phased, together": {"--resume=always", "--runner=flink"},
	} {
		config := ask(t, append(flags, more...)...)
		config.SplitBytes, config.GroupBytes = 30_000, 20_000
		sameOutput(t, name, want, phasedRun(t, config, usual))
		one, other := opened(t, first.Output).Run, opened(t, config.Output).Run
		if one.Counts.ComparedPairs = other.Counts.ComparedPairs; one.Counts != other.Counts || *one.References != *other.References {
			t.Errorf("%s: counts %+v, %+v, and were %+v, %+v", name, other.Counts, other.References, one.Counts, one.References)
		}
	}
	config := ask(t, flags...)
	config.SliceRows = 10
	sameOutput(t, "few rows in a slice", want, phasedRun(t, config, usual))
}

// The first of several references with the same set stands for all, even if inputs have the words of a later one: in
// one job, in phases, and if all documents are compared.
func TestReferencesOfOneSet(t *testing.T) {
	lake, night := filepath.Join(t.TempDir(), "lake.txt"), filepath.Join(t.TempDir(), "night.txt")
	turned := "b c d e f g h i a b c d e f g h i a b c" // cyclic words, so their shingles are the same
	for path, lines := range map[string][]string{
		lake:  {"a b c d e f g h i a b c d e f g h i a b", turned, "nothing like the other lines in here"},
		night: {turned, turned + "!"},
	} {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	usual := beamtest.Launch("local", local.Options{})
	for _, flags := range [][]string{{"--resume=never"}, {"--resume=always"}, {"--method=complete"}} {
		config := ask(t, append(flags, night, "--against="+lake, "--format=lines", "--shingle=word:3", "--max-rejected=10")...)
		phasedRun(t, config, usual)
		kept := map[string]string{}
		for row, err := range output.Rows[records.Removed](t.Context(), opened(t, config.Output), output.Removed) {
			if err != nil {
				t.Fatal(err)
			}
			kept[row.ID] = fmt.Sprint(row.KeptPosition, " ", row.Reason)
		}
		want := map[string]string{"night.txt@0": "0 same-set", "night.txt@40": "0 same-set"}
		if !maps.Equal(kept, want) {
			t.Errorf("%v: %v, want %v", flags, kept, want)
		}
	}
}

// References without documents leave no trace in the output.
func TestAgainstNothing(t *testing.T) {
	inputs, _ := againstPages(t)
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "none.jsonl"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	usual := beamtest.Launch("local", local.Options{})
	want := phasedRun(t, ask(t, inputs, "--max-rejected=10"), usual)
	for _, path := range []string{t.TempDir(), empty, filepath.Join(empty, "none.jsonl"), filepath.Join(empty, "*.csv")} {
		config := ask(t, inputs, "--max-rejected=10", "--against="+path)
		sameOutput(t, path, want, phasedRun(t, config, usual))
		if run := opened(t, config.Output).Run; !slices.ContainsFunc(run.Warnings, func(w string) bool { return strings.Contains(w, "--against "+path) }) {
			t.Errorf("%s: warnings %q", path, run.Warnings)
		}
	}
}

// A reference is read again only if an input is similar to it, or shares a key with it.
func TestAgainstReadAgain(t *testing.T) {
	folder := t.TempDir()
	s := split{references: 1000}
	for i := range 1000 {
		var words []string
		for k := range 30 {
			words = append(words, fmt.Sprintf("w%dx%d", i/2, k)) // each reference has a near-duplicate
		}
		s.texts, s.files = append(s.texts, strings.Join(append(words, fmt.Sprint("z", i)), " ")), append(s.files, "lake/a.jsonl")
	}
	s.texts, s.files = append(s.texts, s.texts[500]+" more"), append(s.files, "in/a.jsonl")
	s.write(t, folder)
	config := ask(t, filepath.Join(folder, "in"), "--against="+filepath.Join(folder, "lake"), "--runner=local")
	got := runOnly(t, config)
	if n := got.Run.Steps["fetch/documents"]; n < 2 || n > 3 { // the input, and one or both of its references
		t.Errorf("%d documents are read again", n)
	}
	if got.Run.Counts.Removed != 1 || got.Run.References.Removed != 1 {
		t.Errorf("counts %+v, references %+v", got.Run.Counts, got.Run.References)
	}
}

// A file named both as input and as reference is input; a finished output stands for its corpus; an output must not be
// where references are.
func TestAgainstTheLakeItself(t *testing.T) {
	lake := t.TempDir()
	day := func(name string, texts ...string) {
		t.Helper()
		var data []byte
		for i, text := range texts {
			data = fmt.Appendf(data, `{"id":"%s-%d","text":%q}`+"\n", name, i, text)
		}
		if err := os.MkdirAll(filepath.Join(lake, name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(lake, name, "a.jsonl"), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const a, b, c = "one two three four five six", "seven eight nine ten eleven twelve", "a text that is not there yet at all"
	day("dt=1", a, a)
	day("dt=2", a, c, b, b)
	day("dt=0", b)
	today := filepath.Join(lake, "dt=2")
	config := ask(t, today, "--against="+lake, "--against="+lake)
	got := runOnly(t, config)
	if n := got.Run.Counts; n.Records != 4 || n.Removed != 3 || got.Run.References.Removed != 3 || got.Run.References.Files != 2 {
		t.Errorf("counts %+v, references %+v", n, got.Run.References)
	}
	if !slices.ContainsFunc(got.Run.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "--against also names 1 of 1 input file, which neardup reads only as input")
	}) {
		t.Errorf("warnings %q", got.Run.Warnings)
	}
	// Removed documents are in no corpus, so the output has nothing of dt=2 except c.
	next := ask(t, today, "--against="+config.Output)
	if again := runOnly(t, next); again.Run.Counts.Removed != 2 || again.Run.References.Records != 1 || again.Run.References.Removed != 1 {
		t.Errorf("counts %+v, references %+v", again.Run.Counts, again.Run.References)
	}
	for _, out := range []string{filepath.Join(lake, "out"), lake} {
		wrong := ask(t, today, "--against="+lake)
		wrong.Output = out
		if status := job.Status(failure(t, wrong)); status != 2 {
			t.Errorf("output %s: status %d", out, status)
		}
	}
	for _, path := range []string{filepath.Join(lake, "dt=3"), "-", ""} {
		wrong := ask(t, today, "--against="+path)
		_, err := runJob(t.Context(), wrong, launch(wrong))
		if job.Status(err) != 2 {
			t.Errorf("--against %q: %v", path, err)
		}
	}
}

// References can have other columns, formats and ids than inputs.
func TestAgainstOtherColumns(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"in.jsonl":  `{"id":"1","text":"one two three four five six"}` + "\n" + `{"id":"2","text":"nothing like it"}` + "\n",
		"lake.csv":  "key,body\nk,one two three four five six\n",
		"other.csv": "key,name\nk,one two three four five six\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	lake := filepath.Join(folder, "lake.csv")
	config := ask(t, filepath.Join(folder, "in.jsonl"), "--format=jsonl", "--against="+lake, "--against-text=body", "--against-id=key")
	removed := rows[records.Removed](t, runOnly(t, config), "removed")
	if len(removed) != 1 || removed[0].ID != "1" || removed[0].KeptID != "k" || removed[0].KeptSource != lake {
		t.Errorf("removed are %+v", removed)
	}
	for _, flags := range [][]string{
		{"--against=" + lake}, {"--against=" + lake, "--against-text=body", "--against-id=name"},
		{"--against=" + filepath.Join(folder, "other.csv"), "--against-text=body"}, {"--against-text=body"}, {"--against-id=key"},
	} {
		wrong := ask(t, append(flags, filepath.Join(folder, "in.jsonl"))...)
		_, err := runJob(t.Context(), wrong, launch(wrong))
		if job.Status(err) != 2 || !strings.Contains(fmt.Sprint(err), "--against-") {
			t.Errorf("%v: %v", flags, err)
		}
	}
}

// A run is continued only against the same references: if one has changed, it starts from the beginning.
func TestContinuedAgainst(t *testing.T) {
	inputs, references := againstPages(t)
	ask := func() dedup.Config {
		config := ask(t, inputs, "--against="+references, "--max-rejected=10", "--resume=always", "--threshold=.5")
		config.SplitBytes = 30_000
		return config
	}
	all := 0
	want := phasedRun(t, ask(), dying(0, false, &all))
	for _, changed := range []bool{false, true} {
		config := ask()
		if _, err := runJob(t.Context(), config, dying(all-1, false, new(int))); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		left := 2
		if changed {
			file := filepath.Join(references, "netbsd.jsonl")
			data := read(t, file)
			if err := os.WriteFile(file, []byte(data[strings.IndexByte(data, '\n')+1:]), 0o666); err != nil {
				t.Fatal(err)
			}
			all = 0
			want = phasedRun(t, ask(), dying(0, false, &all))
			left = all
		}
		launched := 0
		sameOutput(t, fmt.Sprint("changed: ", changed), want, phasedRun(t, config, dying(0, false, &launched)))
		if launched != left {
			t.Errorf("changed %v: %d of %d jobs were launched, %d are left", changed, launched, all, left)
		}
	}
}
