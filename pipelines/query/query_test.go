package query_test

import (
	"bufio"
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
	parser, err := kong.New(&config, kong.Vars(job.Vars()))
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
	task, err := query.New(config)
	if err != nil {
		return nil, err
	}
	return task.Run(context.Background(), beamtest.Launch(string(config.Runner), local.Options{}))
}

const pages = "../../testdata/tldr/osx.jsonl"

// The answer is that of a plain loop over the documents, and the same on every runner.
func TestAnswerEqualsPlainSearch(t *testing.T) {
	normalize, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	shingler := shingle.New(shingle.Config{Kind: shingle.Word, K: 1}, normalize)
	signer := fss.New(64, 7)
	type document struct {
		ID, Text string
		set      []uint64
		sig      []uint64
	}
	f, err := os.Open(pages)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var docs []document
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var d document
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		d.set = shingle.Set(shingler.Shingles(nil, []byte(d.Text)))
		d.sig = signer.Sign(nil, d.set)
		docs = append(docs, d)
	}
	for _, at := range []int{3, 100, 250} {
		own := docs[at]
		var want []records.Neighbour
		candidates := int64(0)
		for _, d := range docs {
			a, b := lsh.Keys(nil, own.sig, 20, 2), lsh.Keys(nil, d.sig, 20, 2)
			shares := false
			for i := range a {
				shares = shares || a[i] == b[i]
			}
			if !shares || d.ID == own.ID {
				continue
			}
			candidates++
			shared := setsim.Overlap(own.set, d.set)
			want = append(want, records.Neighbour{
				ID: d.ID, Source: "osx.jsonl", Estimate: fss.Estimate(own.sig, d.sig),
				Similarity: setsim.Similarity(shared, len(own.set), len(d.set)), Shared: int32(shared), Size: int32(len(d.set)),
			})
		}
		slices.SortStableFunc(want, func(a, b records.Neighbour) int { return cmp.Compare(b.Estimate, a.Estimate) })
		if want = want[:min(len(want), 5)]; len(want) == 0 {
			t.Fatalf("nothing shares a bucket with %s", own.ID)
		}
		for _, runner := range []string{"local", "direct", "prism"} {
			got, err := run(t, pages, "--of="+own.ID, "-n5", "--shingle=word:1", "--bands=20", "--rows=2", "--seed=7", "--runner="+runner)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Neighbours {
				got.Neighbours[i].Position = 0
			}
			if got.Candidates != candidates {
				t.Errorf("%s of %s: %d candidates, want %d", runner, own.ID, got.Candidates, candidates)
			}
			if diff := gocmp.Diff(want, got.Neighbours); diff != "" {
				t.Errorf("%s of %s: %s", runner, own.ID, diff)
			}
		}
	}
}

// An id and its document's text have the same neighbours, with every kind of signature, but that
// the text has the document, too.
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
	for _, family := range []string{"fss", "classic", "salted"} {
		flags := []string{"../../testdata/tldr", "--shingle=word:1", "--bands=30", "--rows=1", "-n4", "--signature=" + family}
		byID, err := run(t, append(flags, "--of=osx/as")...)
		if err != nil {
			t.Fatal(err)
		}
		byText, err := run(t, append(flags, "--file="+path)...)
		if err != nil {
			t.Fatal(err)
		}
		if len(byID.Neighbours) != 4 || byText.Candidates != byID.Candidates+1 || byText.Neighbours[0].ID != "osx/as" || byText.Neighbours[0].Similarity != 1 {
			t.Fatalf("%s: by id %+v, by text %+v", family, byID, byText)
		}
		if diff := gocmp.Diff(byID.Neighbours[:3], byText.Neighbours[1:]); diff != "" {
			t.Errorf("%s: %s", family, diff)
		}
		if byID.Neighbours[0].ID != "linux/as" {
			t.Errorf("%s: the nearest of osx/as is %s, want linux/as", family, byID.Neighbours[0].ID)
		}
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
	answer, err := run(t, pages, "--of=osx/as", "--shingle=word:1", "--bands=20", "--rows=1", "-o", path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.ReadFile[records.Neighbour](path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(answer.Neighbours, rows); diff != "" || len(rows) == 0 {
		t.Errorf("%d rows: %s", len(rows), diff)
	}
	_, err = run(t, pages, "--of=osx/as", "-o", path)
	if exists := (*job.OutputExistsError)(nil); !errors.As(err, &exists) {
		t.Errorf("a second time: %v", err)
	}
}

var (
	oldID      = regexp.MustCompile(`OLDID="([0-9]+)"`)
	body       = regexp.MustCompile(`(?s)<BODY>(.*?)</BODY>`)
	notLetters = regexp.MustCompile(`[^\pL\pM]+`)
)

// reutersSets are the sets of three words of the articles in a file, by OLDID.
func reutersSets(t *testing.T, path string) map[string]map[string]bool {
	t.Helper()
	var text strings.Builder
	for _, b := range []byte(readFile(t, path)) { // Latin-1
		text.WriteRune(rune(b))
	}
	decode := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&") // others have no letters
	sets := map[string]map[string]bool{}
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
		sets[id[1]] = set
	}
	return sets
}

// Reuters: neighbours of an article by its OLDID, textbook style. Sizes, what is shared and
// similarities are those of sets made here of the files, and neighbours come by estimate.
func TestReuters(t *testing.T) {
	folder := "../../../shared/data/reuters21578"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the corpus is not there: %v", err)
	}
	flags := []string{
		filepath.Join(folder, "reut2-000.sgm"), filepath.Join(folder, "reut2-001.sgm"), "--format=reuters", "--normalize=lower,letters-only,collapse-space",
		"--shingle=word:3", "--min-words=8", "--signature=classic", "--bands=20", "--rows=1", "-n5",
	}
	sets := map[string]map[string]map[string]bool{}
	for _, name := range []string{"reut2-000.sgm", "reut2-001.sgm"} {
		sets[name] = reutersSets(t, filepath.Join(folder, name))
	}
	// The first has one neighbour, the second more than are asked for.
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
			// Functions are permutations, so who has an equal value has a shingle of the article.
			if int(n.Size) != len(set) || int(n.Shared) != shared || shared == 0 || n.Similarity != similarity {
				t.Errorf("neighbour %d of %s: %+v; %d of %d shingles are shared, similarity %v", i, id, n, shared, len(set), similarity)
			}
			if i > 0 && n.Estimate > answer.Neighbours[i-1].Estimate || n.Estimate < 1./20 {
				t.Errorf("neighbour %d of %s: %+v", i, id, n)
			}
		}
	}
	_, err := run(t, append(flags, "--of=55444444")...)
	if err == nil || !strings.Contains(fmt.Sprint(err), "no document has this id") {
		t.Errorf("an unknown id: %v", err)
	}
}
