package dedup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

// ask returns the config of a command line with these inputs, and an output of its own.
func ask(t *testing.T, inputs ...string) (config dedup.Config) {
	t.Helper()
	parser, err := kong.New(&config, kong.Vars(job.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append(inputs, "--output", filepath.Join(t.TempDir(), "out"))); err != nil {
		t.Fatal(err)
	}
	return config
}

// launch returns a launch on the runner that config names.
func launch(config dedup.Config) job.Launch {
	return beamtest.Launch(string(config.Runner), local.Options{Workers: config.Workers, Memory: int64(config.Memory)})
}

// runJob runs the job.
func runJob(ctx context.Context, config dedup.Config, launch job.Launch) (*records.Run, error) {
	task, err := dedup.New(ctx, config)
	if err != nil {
		return nil, err
	}
	return task.Run(ctx, launch)
}

// planOf plans the job.
func planOf(t *testing.T, config dedup.Config) (*dedup.Plan, error) {
	t.Helper()
	asked, err := job.Compile(config.Spec)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := job.NewPlan(t.Context(), job.Request{Asked: asked, Running: config.Running}, t.TempDir())
	return &dedup.Plan{Plan: plan, Config: config}, err
}

// run runs the job and checks its promises.
func run(t *testing.T, config dedup.Config) *output.Finished {
	t.Helper()
	if _, err := runJob(context.Background(), config, launch(config)); err != nil {
		t.Fatal(err)
	}
	r, err := output.Open(context.Background(), config.Output)
	if err != nil {
		t.Fatal(err)
	}
	checkPromises(t, r, config.Threshold)
	return r
}

// rows returns all rows of a table.
func rows[T any](t *testing.T, r *output.Finished, table output.Part) (all []T) {
	t.Helper()
	for row, err := range output.Rows[T](context.Background(), r, table) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// document identifies a document as all tables do.
type document struct {
	source   string
	position int64
}

// protected reports whether a document is in a file that --protect names directly or by its folder.
func protected(r *output.Finished, d document) bool {
	return slices.ContainsFunc(r.Run.Parameters.Protect, func(glob string) bool {
		ok, err := filepath.Match(glob, d.source)
		return glob == "**" || ok && err == nil || strings.HasPrefix(d.source, glob+"/")
	})
}

// checkPromises checks what is true of every output: the tables agree with one another, nothing is lost, no protected
// document is removed, no pair and no two copies of others are both kept, and each removed document has a pair with the
// kept one in its row, of the same similarity; or, with --cluster components, is in a cluster of which only that one is
// kept.
func checkPromises(t *testing.T, r *output.Finished, threshold float64) {
	t.Helper()
	counts := r.Run.Counts
	if got := counts.Corpus + counts.Removed + counts.Unreadable; got != counts.Records {
		t.Errorf("%d records were read, %d are in corpus, removed or unreadable", counts.Records, got)
	}
	similar := map[[2]document]float64{}
	representative := map[document]document{}
	common := map[[2]document]string{} // what a copy and its representative have in common
	for _, p := range rows[records.Pair](t, r, "pairs") {
		a, b := document{p.SourceA, p.PositionA}, document{p.SourceB, p.PositionB}
		if p.Similarity < threshold || p.Similarity > 1 {
			t.Errorf("pair %v %v: similarity %v, threshold %v", a, b, p.Similarity, threshold)
		}
		want := float64(p.Shared) / float64(p.SizeA+p.SizeB-p.Shared)
		switch asked := r.Run.Parameters; {
		case p.SizeA+p.SizeB == 0: // the same bytes, without a token
			want = 1
		case asked.Compare == string(job.Overlap):
			want = float64(p.Shared) / float64(p.SizeA)
		case asked.Compare == string(job.Cosine) && asked.Weights == "1":
			want = float64(p.Shared) / math.Sqrt(float64(p.SizeA)*float64(p.SizeB))
		case asked.Compare == string(job.Cosine):
			want = p.Similarity
		}
		if p.Similarity != want {
			t.Errorf("pair %v %v: similarity %v, its counts say %v", a, b, p.Similarity, want)
		}
		if _, twice := similar[[2]document{a, b}]; twice {
			t.Errorf("pair %v %v twice", a, b)
		}
		similar[[2]document{a, b}], similar[[2]document{b, a}] = p.Similarity, p.Similarity
		if !p.Copy() {
			continue
		}
		representative[b] = a
		common[[2]document{a, b}], common[[2]document{b, a}] = *p.Same, *p.Same
		if kinds := []string{records.ReasonIdentical, records.ReasonEqual, records.ReasonSameSet}; !slices.Contains(kinds, *p.Same) || p.Similarity != 1 {
			t.Errorf("pair %v %v: similarity %v, and the same is %q", a, b, p.Similarity, *p.Same)
		}
	}
	if copies := int64(len(representative)); copies != counts.Copies || int64(len(similar)/2)-copies != counts.NearPairs {
		t.Errorf("%d pairs, of which %d are copies; run.json says %d near and %d", len(similar)/2, copies, counts.NearPairs, counts.Copies)
	}
	original := func(d document) document {
		if r, ok := representative[d]; ok {
			return r
		}
		return d
	}
	removed := map[document]records.Removed{}
	for _, row := range rows[records.Removed](t, r, "removed") {
		removed[document{row.Source, row.Position}] = row
	}
	if int64(len(removed)) != counts.Removed {
		t.Errorf("%d distinct removed documents, run.json says %d", len(removed), counts.Removed)
	}
	for pair := range similar {
		_, a := removed[pair[0]]
		_, b := removed[pair[1]]
		if !a && !b && (!protected(r, pair[0]) || !protected(r, pair[1])) {
			t.Errorf("pair %v %v: both are kept", pair[0], pair[1])
		}
	}
	components := r.Run.Parameters.Cluster == string(job.Components)
	chained := int64(0)
	for d, row := range removed {
		if protected(r, d) {
			t.Errorf("%v was removed, and its file is protected", d)
		}
		kept := document{row.KeptSource, row.KeptPosition}
		if _, ok := removed[kept]; ok {
			t.Errorf("%v was removed for %v, which was removed too", d, kept)
		}
		want := 1.
		if original(d) != original(kept) {
			want = similar[[2]document{original(d), original(kept)}]
		}
		switch {
		case row.Similarity == nil && components && want == 0:
			chained++
		case row.Similarity == nil || *row.Similarity != want || want < threshold:
			t.Errorf("%v was removed for %v, similarity %v, pairs say %v", d, kept, row.Similarity, want)
		}
		if copied := original(d) == original(kept); (row.Reason == records.ReasonNear) == copied {
			t.Errorf("%v was removed for %v as %s; that pairs say they are copies: %v", d, kept, row.Reason, copied)
		}
		if same, ok := common[[2]document{d, kept}]; ok && same != row.Reason {
			t.Errorf("%v was removed for %v as %s, pairs say %s", d, kept, row.Reason, same)
		}
	}
	if chained != counts.Chained {
		t.Errorf("%d were removed that are no pair with the kept one, run.json says %d", chained, counts.Chained)
	}
	// By cluster: the documents, those kept without need, and whether others must be kept.
	members, kept, guarded := map[int64]int{}, map[int64]int{}, map[int64]bool{}
	keptCopies := map[document]int{}
	clusterOf := map[document]int64{}
	for _, row := range rows[records.Clustered](t, r, "clusters") {
		d := document{row.Source, row.Position}
		if _, gone := removed[d]; gone == row.Kept {
			t.Errorf("%v: kept is %v in clusters, removed says otherwise", d, row.Kept)
		}
		members[row.Cluster]++
		guarded[row.Cluster] = guarded[row.Cluster] || protected(r, d)
		clusterOf[d] = row.Cluster
		if row.Kept && !protected(r, d) {
			kept[row.Cluster]++
			keptCopies[original(d)]++
		}
		defer func() {
			if members[row.Cluster] != int(row.Members) {
				t.Errorf("cluster %d has %d rows, members says %d", row.Cluster, members[row.Cluster], row.Members)
			}
		}()
	}
	for cluster := range members {
		if n := kept[cluster]; n < 1 && !guarded[cluster] || components && n > 0 && guarded[cluster] || components && n > 1 {
			t.Errorf("of cluster %d %d documents are kept", cluster, n)
		}
	}
	for d, n := range keptCopies {
		if n > 1 {
			t.Errorf("%d copies of %v are kept", n, d)
		}
	}
	for pair := range similar {
		if c, ok := clusterOf[pair[0]]; !ok || c != clusterOf[pair[1]] {
			t.Errorf("pair %v %v is not in one cluster", pair[0], pair[1])
		}
	}
	for d, row := range removed {
		if clusterOf[d] != row.Cluster {
			t.Errorf("%v is in cluster %d, removed says %d", d, clusterOf[d], row.Cluster)
		}
	}
	if int64(len(members)) != counts.Clusters {
		t.Errorf("%d clusters, run.json says %d", len(members), counts.Clusters)
	}
	checkManifest(t, r)
}

// checkManifest compares the manifest with the existing files.
func checkManifest(t *testing.T, r *output.Finished) {
	t.Helper()
	listed := map[string]bool{"run.json": true, "manifest.json": true, "_SUCCESS": true}
	for _, f := range r.Manifest.Files {
		listed[f.Path] = true
	}
	err := filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.Dir, path)
		if !listed[name] {
			t.Errorf("%s is in the output and not in the manifest", name)
		}
		delete(listed, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range listed {
		t.Errorf("%s is missing from the output", name)
	}
}

// TestTruth compares the results of the job with the oracle. Its table answers "how many does it find, and is it ever
// wrong"; docs/truth.md has the latest:
//
//	NEARDUP_NIGHTLY=1 go test ./pipelines/dedup -run 'TestTruth$' -v -timeout 6h
//
// NEARDUP_SEEDS is how often each row is run. Without NEARDUP_NIGHTLY each is run once, on three corpora.
func TestTruth(t *testing.T) {
	const recall = 0.999
	corpora := []func(*testing.T) corpus{kijiji, messages, licenses}
	seeds := 1
	if nightly.On() {
		seeds = 20
		corpora = append(corpora, reuters, bbc, thai, tldr, imdb)
		for _, size := range []string{"100", "1000", "2500"} {
			corpora = append(corpora, func(t *testing.T) corpus { return articles(t, size) })
		}
	}
	if n, err := strconv.Atoi(os.Getenv("NEARDUP_SEEDS")); err == nil {
		seeds = max(n, 1)
	}
	shingles := []struct {
		name string
		of   func(string) map[string]bool
	}{
		{"word:5", func(text string) map[string]bool { return wordShingles(text, 5) }},
		{"char:9", func(text string) map[string]bool { return charShingles(text, 9) }},
	}
	thresholds := []float64{0.5, 0.7, 0.8, 0.9}

	fmt.Fprintf(t.Output(), "| corpus | shingle | t | documents | copies | near pairs | found, %d × | missed | wrong | bands × rows |\n|---|---|---|---|---|---|---|---|---|---|\n", seeds)
	var all comparison
	for _, load := range corpora {
		c := load(t)
		for _, shingle := range shingles {
			o := newOracle(c.texts, shingle.of, thresholds[0])
			for _, threshold := range thresholds {
				var sum comparison
				var chosen records.Chosen
				for seed := range uint64(seeds) {
					config := c.config
					config.Output = filepath.Join(t.TempDir(), "out")
					config.Threshold, config.Recall, config.Shingle, config.Seed = threshold, recall, string(shingle.name), seed+1
					config.PairBudget = math.MaxInt // a crowd would not list all pairs
					r := run(t, config)
					chosen = r.Run.Chosen
					sum.add(compare(t, c, o, r, threshold))
					if err := os.RemoveAll(config.Output); err != nil {
						t.Fatal(err)
					}
				}
				all.add(sum)
				fmt.Fprintf(t.Output(), "| %s | %s | %v | %d | %d | %d | %d | %d | %d | %d × %d |\n", c.name, shingle.name, threshold, len(c.texts),
					sum.copies/seeds, len(o.near(threshold)), sum.found, sum.missed, sum.wrong, chosen.Bands, chosen.Rows)
			}
		}
	}
	total := all.found + all.missed
	bound := upperBound(all.missed, total, 0.95)
	fmt.Fprintf(t.Output(), "\n%d of %d near pairs missed: the miss rate is at most %.6f with 95 %% confidence, %.3f is allowed.\n", all.missed, total, bound, 1-recall)
	if bound > 1-recall {
		t.Errorf("missed %d of %d near pairs: the miss rate may be %.5f, more than %.5f", all.missed, total, bound, 1-recall)
	}
}

type comparison struct{ copies, found, missed, wrong int }

func (c *comparison) add(o comparison) {
	c.copies += o.copies
	c.found += o.found
	c.missed += o.missed
	c.wrong += o.wrong
}

// compare compares the tables with the oracle: copies and similarities must agree exactly.
func compare(t *testing.T, c corpus, o *oracle, r *output.Finished, threshold float64) (got comparison) {
	t.Helper()
	index := map[string]int{}
	for i, id := range c.ids {
		index[id] = i
	}
	if len(index) != len(c.ids) {
		t.Fatalf("%s: ids are not unique", c.name)
	}
	truth := o.near(threshold)
	left := map[[2]int]bool{}
	for pair := range truth {
		left[pair] = true
	}
	copies := map[int]int{}
	for _, p := range rows[records.Pair](t, r, "pairs") {
		a, okA := index[p.IDA]
		b, okB := index[p.IDB]
		if !okA || !okB {
			t.Fatalf("%s: unknown id in pair %q %q", c.name, p.IDA, p.IDB)
		}
		if p.Copy() {
			copies[b] = a
			continue
		}
		want, ok := truth[[2]int{a, b}]
		switch {
		case !ok:
			got.wrong++
			t.Errorf("%s at %v: %s and %s are reported %v similar, the oracle has no such pair", c.name, threshold, p.IDA, p.IDB, p.Similarity)
		case p.Similarity != want || int(p.Shared) != o.shared[[2]int{a, b}] || int(p.SizeA) != o.sizes[a] || int(p.SizeB) != o.sizes[b]:
			t.Errorf("%s at %v: pair %+v, the oracle has similarity %v, sizes %d and %d", c.name, threshold, p, want, o.sizes[a], o.sizes[b])
			fallthrough
		default:
			got.found++
			delete(left, [2]int{a, b})
		}
	}
	got.missed = len(left)
	for j, i := range o.copyOf {
		if i != j {
			got.copies++
			if copies[j] != i {
				t.Errorf("%s: %s is a copy of %s, pairs say of %s", c.name, c.ids[j], c.ids[i], c.ids[copies[j]])
			}
			delete(copies, j)
		}
	}
	for j, i := range copies {
		t.Errorf("%s: %s is reported as a copy of %s", c.name, c.ids[j], c.ids[i])
	}
	removed := map[string]bool{}
	clusterOf := map[string]int64{}
	for _, row := range rows[records.Clustered](t, r, "clusters") {
		clusterOf[row.ID] = row.Cluster
		removed[row.ID] = !row.Kept
	}
	for _, p := range c.planted {
		if clusterOf[p[0]] == 0 && clusterOf[p[1]] == 0 || clusterOf[p[0]] != clusterOf[p[1]] || removed[p[0]] == removed[p[1]] {
			t.Errorf("%s at %v: the planted pair %v was not found", c.name, threshold, p)
		}
	}
	notCompared := map[string]bool{}
	for _, row := range rows[records.Rejected](t, r, "rejected") {
		if row.ID != nil && row.Raw == nil {
			notCompared[*row.ID] = true
		}
	}
	for i, size := range o.sizes {
		if (size == 0) != notCompared[c.ids[i]] {
			t.Errorf("%s: document %s: %d shingles, in rejected: %v", c.name, c.ids[i], size, notCompared[c.ids[i]])
		}
	}
	return got
}

// promised reads every file whose bytes are promised to be the same in every run.
func promised(t *testing.T, r *output.Finished) map[string]string {
	t.Helper()
	files := map[string]string{"manifest.json": read(t, filepath.Join(r.Dir, "manifest.json"))}
	for _, f := range r.Manifest.Files {
		files[f.Path] = read(t, filepath.Join(r.Dir, f.Path))
	}
	return files
}

// writeJSONL writes documents of texts. The id of each is its index.
func writeJSONL(t *testing.T, path string, texts []string) {
	t.Helper()
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for i, text := range texts {
		if err := encoder.Encode(map[string]any{"id": fmt.Sprint(i), "text": text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
