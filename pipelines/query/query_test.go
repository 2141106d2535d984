package query_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/kernels/lsh"
	"github.com/neardup/neardup/kernels/minhash/fss"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/query"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func run(t *testing.T, args ...string) (*records.Answer, error) {
	t.Helper()
	var config query.Config
	parser, err := kong.New(&config, kong.Vars(query.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	config.Stdin = strings.NewReader("")
	if config.File != "" {
		content, err := os.ReadFile(config.File)
		if err != nil {
			t.Fatal(err)
		}
		config.Content = bytes.NewReader(content)
	}
	task, err := query.New(t.Context(), config)
	if err != nil {
		return nil, err
	}
	return task.Run(context.Background(), beamtest.Launch(string(config.Runner), local.Options{}))
}

const pages = "../../testdata/tldr/osx.jsonl"

type document struct {
	ID, Text string
	set, sig []uint64
}

// read returns the documents of a file, with sets of words and signatures of 64 values, with seed 7.
func read(t *testing.T, path string) (docs []document) {
	t.Helper()
	normalize, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	shingler := shingle.New(shingle.Config{Kind: shingle.Word, K: 1}, normalize)
	signer := fss.New(64, 7)
	for line := range strings.Lines(readFile(t, path)) {
		var d document
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		d.set = shingle.Set(shingler.Shingles(nil, []byte(d.Text)))
		d.sig = signer.Sign(nil, d.set)
		docs = append(docs, d)
	}
	return docs
}

// The answer is that of a plain loop over the documents, and the same on every runner.
func TestAnswerEqualsPlainSearch(t *testing.T) {
	docs := read(t, pages)
	inBucket := func(a, b *document) bool {
		x, y := lsh.Keys(nil, a.sig, 20, 2), lsh.Keys(nil, b.sig, 20, 2)
		for i := range x {
			if x[i] == y[i] {
				return true
			}
		}
		return false
	}
	bySimilarity := func(n *records.Neighbour) float64 { return n.Similarity }
	byEstimate := func(n *records.Neighbour) float64 { return *n.Estimate }
	buckets := []string{"--bands=20", "--rows=2", "--seed=7"}
	for _, tt := range []struct {
		flags []string
		min   float64
		rank  func(*records.Neighbour) float64
		in    bool // in a common bucket
		among func(a, b *document) bool
	}{
		{flags: nil, rank: bySimilarity},
		{flags: []string{"--min-similarity=0.25"}, min: 0.25, rank: bySimilarity},
		{flags: buckets, rank: bySimilarity, among: inBucket},
		{flags: append(buckets, "--min-similarity=0.25"), min: 0.25, rank: bySimilarity, among: inBucket},
		{flags: append(buckets, "--sort=estimate", "-t0.9"), rank: byEstimate, among: inBucket},
	} {
		for _, at := range []int{3, 100, 250} {
			own := &docs[at]
			var want []records.Neighbour
			for _, d := range docs {
				if d.ID == own.ID || tt.among != nil && !tt.among(own, &d) {
					continue
				}
				shared := setsim.Overlap(own.set, d.set)
				n := records.Neighbour{
					ID: d.ID, Source: "osx.jsonl", Similarity: float64(shared) / float64(len(own.set)+len(d.set)-shared),
					Shared: int32(shared), Size: int32(len(d.set)),
				}
				if tt.among != nil {
					estimate := float64(fss.Equal(own.sig, d.sig)) / float64(len(d.sig))
					n.Estimate = &estimate
					x, y := lsh.Keys(nil, own.sig, 20, 2), lsh.Keys(nil, d.sig, 20, 2)
					for band := range x {
						if x[band] == y[band] {
							n.Buckets = append(n.Buckets, records.Bucket{Band: int32(band), Bucket: fmt.Sprintf("%016x", x[band])})
						}
					}
				}
				if shared > 0 && n.Similarity >= tt.min {
					want = append(want, n)
				}
			}
			candidates := len(want)
			slices.SortStableFunc(want, func(a, b records.Neighbour) int { return cmp.Compare(tt.rank(&b), tt.rank(&a)) })
			if want = want[:min(len(want), 5)]; len(want) == 0 && tt.min == 0 {
				t.Fatalf("%v: nothing is near %s", tt.flags, own.ID)
			}
			for _, runner := range []string{"local", "direct", "prism"} {
				got, err := run(t, append(tt.flags, pages, "--of="+own.ID, "-n5", "--shingle=word:1", "--runner="+runner)...)
				if err != nil {
					t.Fatal(err)
				}
				for i := range got.Neighbours {
					got.Neighbours[i].Position = 0
				}
				if got.Candidates != int64(candidates) || got.Buckets != (tt.among != nil) || got.MinSimilarity != tt.min {
					t.Errorf("%v, %s of %s: %+v, want %d candidates", tt.flags, runner, own.ID, got, candidates)
				}
				if diff := gocmp.Diff(want, got.Neighbours, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%v, %s of %s: %s", tt.flags, runner, own.ID, diff)
				}
			}
		}
	}
}

// Known answers: for {a b c d}, {a b c} is nearest, two documents {a b} have the same similarity and are in input
// order, and {x y} is not listed.
func TestKnownAnswers(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "in.jsonl")
	lines := `{"id": "far", "text": "d e f g"}
{"id": "first", "text": "b a"}
{"id": "none", "text": "x y"}
{"id": "question", "text": "a b c d"}
{"id": "second", "text": "a b a"}
{"id": "nearest", "text": "a b c"}
`
	if err := os.WriteFile(path, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flags, want string
		candidates  int64
	}{
		{"", "nearest 3/4 of 3, first 2/4 of 2, second 2/4 of 2, far 1/7 of 4", 4},
		{"-n2", "nearest 3/4 of 3, first 2/4 of 2", 4},
		{"--min-similarity=0.5", "nearest 3/4 of 3, first 2/4 of 2, second 2/4 of 2", 3},
		{"--min-similarity=0.5 -n1", "nearest 3/4 of 3", 3},
		{"--min-similarity=0.500001", "nearest 3/4 of 3", 1},
		{"--min-similarity=0.76", "", 0},
	} {
		answer, err := run(t, append(strings.Fields(tt.flags), path, "--of=question", "--shingle=word:1")...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range answer.Neighbours {
			union := 4 + n.Size - n.Shared
			got = append(got, fmt.Sprintf("%s %d/%d of %d", n.ID, n.Shared, union, n.Size))
			if n.Similarity != float64(n.Shared)/float64(union) || n.Estimate != nil || n.Buckets != nil {
				t.Errorf("%q: %+v", tt.flags, n)
			}
		}
		if strings.Join(got, ", ") != tt.want || answer.Candidates != tt.candidates {
			t.Errorf("%q: %v of %d, want %s of %d", tt.flags, got, answer.Candidates, tt.want, tt.candidates)
		}
	}
}

// Flags of the search by buckets that are not given have the defaults of dedup.
func TestDefaultsOfBuckets(t *testing.T) {
	usual := records.Default()
	given := []string{
		fmt.Sprint("--threshold=", usual.Threshold), fmt.Sprint("--recall=", usual.Recall), fmt.Sprint("--seed=", usual.Seed), "--of=osx/as",
	}
	want, err := run(t, append(given, pages, "--signature="+usual.Signature)...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, pages, "--of=osx/as", "--signature=fss")
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
}

// Flags without effect are refused, and the message says what to give.
func TestRefusals(t *testing.T) {
	for flags, want := range map[string]string{
		"-t0.7":           "use --min-similarity 0.7",
		"--recall=0.9":    "use --signature fss",
		"--seed=0":        "use --signature fss",
		"--sort=estimate": "use --signature",
		"--rows=2":        "use both",
		"--bands=2":       "use both",
		"--signature=fss --sort=estimate --min-similarity=0.5": "use one",
	} {
		_, err := run(t, append(strings.Fields(flags), pages, "--of=osx/as")...)
		if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flags, err, want)
		}
	}
}

// An id and its document's text have the same neighbours, with every kind of signature, except that the text also has
// the document.
func TestTextAndID(t *testing.T) {
	var text string
	for line := range strings.Lines(readFile(t, pages)) {
		var d struct{ ID, Text string }
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if d.ID == "osx/as" {
			text = d.Text
		}
	}
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, search := range []string{"", "--bands=30 --rows=1", "--bands=30 --rows=1 --signature=classic", "--bands=30 --rows=1 --signature=salted"} {
		flags := append(strings.Fields(search), "../../testdata/tldr", "--shingle=word:1", "-n4")
		byID, err := run(t, append(flags, "--of=osx/as")...)
		if err != nil {
			t.Fatal(err)
		}
		byText, err := run(t, append(flags, "--file="+path)...)
		if err != nil {
			t.Fatal(err)
		}
		if len(byID.Neighbours) != 4 || byText.Candidates != byID.Candidates+1 || byText.Neighbours[0].ID != "osx/as" || byText.Neighbours[0].Similarity != 1 {
			t.Fatalf("%s: by id %+v, by text %+v", search, byID, byText)
		}
		if diff := gocmp.Diff(byID.Neighbours[:3], byText.Neighbours[1:]); diff != "" {
			t.Errorf("%s: %s", search, diff)
		}
		if byID.Neighbours[0].ID != "linux/as" {
			t.Errorf("%s: the nearest of osx/as is %s, want linux/as", search, byID.Neighbours[0].ID)
		}
	}
}

// TestFileEncoding: the text in a file is decoded as documents are.
func TestFileEncoding(t *testing.T) {
	input, file := filepath.Join(t.TempDir(), "in.csv"), filepath.Join(t.TempDir(), "text")
	for path, content := range map[string]string{input: "id,text\n1,\xE9t\xE9 \xE0 la plage\n2,winter\n", file: "\xE9t\xE9 \xE0 la plage"} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{input, "--file=" + file, "--shingle=word:1", "--max-doc-bytes=20"}
	answer, err := run(t, append(args, "--encoding=latin1")...)
	if err != nil || len(answer.Neighbours) != 1 || answer.Neighbours[0].ID != "1" || answer.Neighbours[0].Similarity != 1 {
		t.Errorf("%+v, error %v", answer, err)
	}
	if _, err = run(t, append(args, "--encoding=latin1", "--max-doc-bytes=16")...); err == nil || !strings.Contains(err.Error(), "larger than --max-doc-bytes 16") {
		t.Errorf("a text that is decoded larger than its file: error %v", err)
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte("a "), 1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err = run(t, append(args, "--encoding=latin1")...); err == nil || !strings.Contains(err.Error(), "larger than --max-doc-bytes 20") {
		t.Errorf("a large file: error %v", err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The Parquet file has the rows of the answer.
func TestParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "near.parquet")
	buckets := filepath.Join(t.TempDir(), "buckets.parquet")
	for path, flags := range map[string][]string{path: nil, buckets: {"--bands=20", "--rows=1"}} {
		answer, err := run(t, append(flags, pages, "--of=osx/as", "--shingle=word:1", "-o", path)...)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := parquet.ReadFile[records.Neighbour](path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range answer.Neighbours {
			if by := answer.Neighbours[i].Buckets; (len(by) > 0) != answer.Buckets {
				t.Errorf("shared buckets %v", by)
			}
			answer.Neighbours[i].Buckets = nil // the table does not have them
		}
		if diff := gocmp.Diff(answer.Neighbours, rows); diff != "" || len(rows) == 0 {
			t.Errorf("%d rows: %s", len(rows), diff)
		}
	}
	_, err := run(t, pages, "--of=osx/as", "-o", path)
	if exists := (*job.OutputExistsError)(nil); !errors.As(err, &exists) {
		t.Errorf("a second time: %v", err)
	}
}

var (
	oldID      = regexp.MustCompile(`OLDID="([0-9]+)"`)
	body       = regexp.MustCompile(`(?s)<BODY>(.*?)</BODY>`)
	notLetters = regexp.MustCompile(`[^\pL\pM]+`)
)

// reutersSets returns the shingle sets, by three words, of the articles in a file, by OLDID.
func reutersSets(t *testing.T, path string) map[string]map[string]bool {
	t.Helper()
	_, sets := reutersInOrder(t, path)
	return sets
}

// reutersInOrder is reutersSets with the ids of the articles that have words, in their order. The set of one or two
// words is their text.
func reutersInOrder(t *testing.T, path string) (ids []string, sets map[string]map[string]bool) {
	t.Helper()
	var text strings.Builder
	for _, b := range []byte(readFile(t, path)) { // Latin-1
		text.WriteRune(rune(b))
	}
	decode := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&") // other references have no letters
	sets = map[string]map[string]bool{}
	for _, article := range strings.SplitAfter(text.String(), "</REUTERS>") {
		id, content := oldID.FindStringSubmatch(article), body.FindStringSubmatch(article)
		if id == nil || content == nil {
			continue
		}
		words := strings.Fields(notLetters.ReplaceAllString(strings.ToLower(decode.Replace(content[1])), " "))
		set := map[string]bool{}
		for i := range len(words) - 2 {
			set[strings.Join(words[i:i+3], " ")] = true
		}
		if len(words) == 1 || len(words) == 2 {
			set[strings.Join(words, " ")] = true
		}
		if len(set) > 0 {
			ids = append(ids, id[1])
		}
		sets[id[1]] = set
	}
	return ids, sets
}

// Reuters: neighbours of an article by its OLDID, textbook style. Sizes, shared shingles and similarities are those of
// sets that this test makes from the files, and neighbours are ranked by estimate.
func TestReuters(t *testing.T) {
	folder := "../../../shared/data/reuters21578"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the corpus is not there: %v", err)
	}
	flags := []string{
		filepath.Join(folder, "reut2-000.sgm"), filepath.Join(folder, "reut2-001.sgm"), "--format=reuters", "--normalize=lower,letters-only,collapse-space",
		"--shingle=word:3", "--min-words=8", "--signature=classic", "--bands=20", "--rows=1", "--sort=estimate", "-n5",
	}
	sets := map[string]map[string]map[string]bool{}
	for _, name := range []string{"reut2-000.sgm", "reut2-001.sgm"} {
		sets[name] = reutersSets(t, filepath.Join(folder, name))
	}
	// The first has one neighbour, the second more than requested.
	for id, neighbours := range map[string]int{"5544": 1, "12793": 5} {
		answer, err := run(t, append(flags, "--of="+id)...)
		if err != nil {
			t.Fatal(err)
		}
		own := sets[answer.Source][id]
		if len(own) == 0 || int(answer.Size) != len(own) || len(answer.Neighbours) != neighbours {
			t.Errorf("answer %+v, want %d shingles, %d neighbours", answer, len(own), neighbours)
		}
		for i, n := range answer.Neighbours {
			set, shared := sets[n.Source][n.ID], 0
			for words := range set {
				if own[words] {
					shared++
				}
			}
			similarity := float64(shared) / float64(len(own)+len(set)-shared)
			// Functions are permutations, so a document with an equal value has a shingle of the article.
			if int(n.Size) != len(set) || int(n.Shared) != shared || shared == 0 || n.Similarity != similarity {
				t.Errorf("neighbour %d of %s: %+v; %d of %d shingles are shared, similarity %v", i, id, n, shared, len(set), similarity)
			}
			if i > 0 && *n.Estimate > *answer.Neighbours[i-1].Estimate || *n.Estimate < 1./20 {
				t.Errorf("neighbour %d of %s: %+v", i, id, n)
			}
		}
	}
	_, err := run(t, append(flags, "--of=55444444")...)
	if err == nil || !strings.Contains(fmt.Sprint(err), "no document has this id") {
		t.Errorf("an unknown id: %v", err)
	}
}

// Reuters: the listed neighbours of an article are those that a loop over all articles finds, by sets made here.
func TestReutersEqualsBruteForce(t *testing.T) {
	path := "../../../shared/data/reuters21578/reut2-000.sgm"
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the corpus is not there: %v", err)
	}
	const asked, most = 100, 5
	ids, sets := reutersInOrder(t, path)
	if len(ids) < 900 {
		t.Fatalf("%d articles", len(ids))
	}
	for at := range asked {
		own := sets[ids[at*len(ids)/asked]]
		id := ids[at*len(ids)/asked]
		type near struct {
			id           string
			shared, size int
		}
		var all []near
		for _, other := range ids {
			n := near{id: other, size: len(sets[other])}
			for words := range sets[other] {
				if own[words] {
					n.shared++
				}
			}
			if n.shared > 0 && other != id {
				all = append(all, n)
			}
		}
		// s/(a+b−s) < s'/(a+b'−s') in integers.
		slices.SortStableFunc(all, func(x, y near) int { return y.shared*(len(own)+x.size) - x.shared*(len(own)+y.size) })
		var want []string
		for _, n := range all[:min(len(all), most)] {
			want = append(want, fmt.Sprintf("%s: %d of %d, %v", n.id, n.shared, n.size, float64(n.shared)/float64(len(own)+n.size-n.shared)))
		}
		answer, err := run(t, path, "--format=reuters", "--normalize=lower,letters-only,collapse-space", "--shingle=word:3", "--of="+id, fmt.Sprint("-n", most))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range answer.Neighbours {
			got = append(got, fmt.Sprintf("%s: %d of %d, %v", n.ID, n.Shared, n.Size, n.Similarity))
		}
		if !slices.Equal(got, want) || int(answer.Size) != len(own) || answer.Candidates != int64(len(all)) {
			t.Errorf("article %s, %d shingles: %q of %d, want %q of %d with %d", id, answer.Size, got, answer.Candidates, want, len(all), len(own))
		}
	}
}
