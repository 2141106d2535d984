package dedup_test

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/neardup/neardup/internal/corpusgen"
	"github.com/neardup/neardup/internal/nightly"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
)

// The forecast of a plan agrees with what the run measures, within 30 per cent: documents, edges, documents read again
// and the bytes of each collection that is sent; nightly, on more corpora.
func TestForecast(t *testing.T) {
	all := map[string]func(*testing.T) corpus{"kijiji": kijiji, "licenses": licenses, "sms": messages}
	if nightly.On() {
		maps.Copy(all, map[string]func(*testing.T) corpus{
			"reuters": reuters, "bbc": bbc, "tldr": allPages, "imdb": imdb, "thai": thai,
			"articles": func(t *testing.T) corpus { return articles(t, "2500") },
			"spamassassin": func(t *testing.T) corpus {
				return files(t, "spamassassin", unpacked(t, filepath.Join(found(t, "spamassassin"), "spamassassin_txt.tar.gz")))
			},
			"newsgroups": func(t *testing.T) corpus {
				path := filepath.Join(found(t, "newsgroups20"), "20_newsgroup.tar.gz")
				return corpus{config: ask(t, path, "--encoding=latin1")}
			},
			"ag_news": func(t *testing.T) corpus {
				return corpus{config: ask(t, filepath.Join(found(t, "ag_news_test"), "test.csv"), "--no-header", "--text=2", "--text=3", "--id=")}
			},
		})
	}
	for name, load := range all {
		t.Run(name, func(t *testing.T) {
			config := load(t).config
			config.MaxRejected = "100%"
			foresee(t, config)
		})
	}
}

// foresee plans and runs a job, and compares the two.
func foresee(t *testing.T, config dedup.Config) {
	t.Helper()
	f := forecast(t, config)
	if !f.Whole || f.Edges.Low != f.Edges.Expected || f.Edges.High != f.Edges.Expected {
		t.Errorf("not all is sampled: %+v", f)
	}
	measured := run(t, config).Run
	near(t, "documents", f.Documents, measured.Counts.Records-measured.Counts.Unreadable)
	near(t, "edges", f.Edges.Expected, measured.Steps["buckets/edges"])
	near(t, "documents read again", f.ReadAgain, measured.Steps["fetch/documents"])
	for _, name := range []string{"bands", "firsts", "edges", "sets", "profiles", "copies"} {
		near(t, "bytes of "+name, sent(f, name), measured.Steps["shuffled/"+name])
	}
}

func sent(f *records.Forecast, name string) int64 {
	if i := slices.IndexFunc(f.Shuffled, func(s records.Shuffled) bool { return s.Name == name }); i >= 0 {
		return f.Shuffled[i].Bytes
	}
	return 0
}

func forecast(t *testing.T, config dedup.Config) *records.Forecast {
	t.Helper()
	config.DryRun = true
	planned, err := runJob(t.Context(), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return planned.Forecast
}

// near checks that a figure is within 30 per cent.
func near(t *testing.T, what string, expected, measured int64) {
	t.Helper()
	t.Logf("%s: %d expected, %d measured (%+.1f %%)", what, expected, measured, 100*(float64(expected)/float64(measured)-1))
	if math.Abs(float64(expected-measured)) > .3*float64(measured) {
		t.Errorf("%s: %d expected, %d measured", what, expected, measured)
	}
}

// The forecast on an object store equals that for the same files on a disk.
func TestForecastOnAnObjectStore(t *testing.T) {
	storage.Register("objects://", &storagetest.Memory{})
	files, err := filepath.Glob("../../testdata/tldr/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		_, err := storage.WriteFile(t.Context(), "objects://planned/in/"+filepath.Base(file), func(w io.Writer) error {
			_, err := io.WriteString(w, read(t, file))
			return err
		})
		mustDo(t, err)
	}
	flags := []string{"--shingle=char:5", "--threshold=0.5"}
	want, got := forecast(t, ask(t, append(flags, "../../testdata/tldr")...)), forecast(t, ask(t, append(flags, "objects://planned/in")...))
	want.Seconds, got.Seconds = 0, 0
	if diff := cmp.Diff(want, got); diff != "" || want.Edges.Expected == 0 {
		t.Error(diff)
	}
}

// Without a list of copies, copies stay in buckets, and each copy in another block has an edge in each band.
func TestForecastOfUnlistedCopies(t *testing.T) {
	config := generate(t, corpusgen.Spec{Documents: 3000, Seed: 3, Near: 0.2, Copies: 0.3, Edits: 0.02}).corpus(t).config
	config.ConnectDocuments = 1000 // fewer than the input has, so nothing is listed
	f, measured := forecast(t, config), run(t, config).Run
	near(t, "edges", f.Edges.Expected, measured.Steps["buckets/edges"])
	near(t, "documents read again", f.ReadAgain, measured.Steps["fetch/documents"])
	for _, name := range []string{"bands", "firsts", "sets", "profiles", "copies"} {
		near(t, "bytes of "+name, sent(f, name), measured.Steps["shuffled/"+name])
	}
}

// Forecasts also work for copies only, and for SimHash pieces. A part of the input is enough for what single documents
// send, and for an interval of edges.
func TestForecastOfMethods(t *testing.T) {
	documents := 10_000
	if nightly.On() {
		documents = 20_000
	}
	c := generate(t, corpusgen.Spec{Documents: documents, Seed: 4, Near: 0.2, Copies: 0.1, Edits: 0.02}).corpus(t)
	for _, flags := range [][]string{{"--method=exact"}, {"--method=exact", "--same=set"}, {"--method=simhash", "--pieces=16", "--bits=128"}, {"--signature=salted", "--min-words=1"}} {
		config := ask(t, append(flags, c.config.Inputs...)...)
		f, measured := forecast(t, config), run(t, config).Run
		t.Log(flags)
		near(t, "documents read again", f.ReadAgain, measured.Steps["fetch/documents"])
		for _, name := range []string{"bands", "firsts", "edges", "sets", "profiles", "copies"} {
			near(t, "bytes of "+name, sent(f, name), measured.Steps["shuffled/"+name])
		}
	}
	config := c.config
	whole := forecast(t, config)
	config.SurveyBytes = whole.Bytes / 4
	part := forecast(t, config)
	if part.Whole || part.Sampled*3 > whole.Sampled {
		t.Errorf("%d of %d documents are sampled", part.Sampled, whole.Sampled)
	}
	near(t, "documents", part.Documents, whole.Documents)
	near(t, "bytes of bands", sent(part, "bands"), sent(whole, "bands"))
	near(t, "bytes of firsts", sent(part, "firsts"), sent(whole, "firsts"))
	if e := whole.Edges.Expected; e < part.Edges.Low || e > part.Edges.High {
		t.Errorf("%d edges, not in %+v", e, *part.Edges)
	}
}

// However small and unusual a sample is, no forecast exceeds what all documents can send: each has at most one edge in
// each band, and sends its set, its profile and its copy record once.
func TestForecastIsPossible(t *testing.T) {
	c := generate(t, corpusgen.Spec{Documents: 20_000, Seed: 5, Near: 0.9, Copies: 0.05, Edits: 0.02}).corpus(t)
	config := c.config
	whole := forecast(t, config)
	for _, part := range []int64{10, 100, 1000} {
		config.SurveyBytes = whole.Bytes / part
		f := forecast(t, config)
		plan, err := planOf(t, config)
		mustDo(t, err)
		if most := int64(plan.Choice.Bands) * f.Documents; f.Edges.Low > f.Edges.Expected || f.Edges.Expected > f.Edges.High || f.Edges.High > most {
			t.Errorf("of a part of %d: edges %+v, at most %d are possible", part, *f.Edges, most)
		}
		// 30 per cent more, because sampled documents may be longer than others. Copies may not look like copies in the
		// sample.
		all := 1.3 * float64(whole.Documents) / float64(whole.ReadAgain)
		for name, again := range map[string]int64{"sets": sent(whole, "sets"), "profiles": sent(whole, "profiles") + sent(whole, "copies")} {
			if got, most := sent(f, name), all*float64(again); float64(got) > most {
				t.Errorf("of a part of %d: %d bytes of %s, at most %.0f are possible", part, got, name, most)
			}
		}
	}
}

// Where words are single characters, the warning speaks of a character, and suggests shingles of which few change with
// one.
func TestSuitedCharacters(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last rune
		characters  bool
	}{{"Khmer", 'ក', 'ឡ', true}, {"Han", '一', '龥', true}, {"Hiragana", 'ぁ', 'ゖ', true}, {"Tibetan", 'ཀ', 'ཧ', false}} {
		r := rand.New(rand.NewPCG(1, uint64(c.first)))
		var lines strings.Builder
		for range 100 {
			for range 20 {
				lines.WriteRune(c.first + rune(r.IntN(int(c.last-c.first))))
				if !c.characters {
					lines.WriteRune('་') // which separates words
				}
			}
			lines.WriteByte('\n')
		}
		path := filepath.Join(t.TempDir(), "in.txt")
		mustDo(t, os.WriteFile(path, []byte(lines.String()), 0o666))
		told := run(t, ask(t, path, "--format=lines")).Run.Warnings
		word := "changing one word brings"
		if c.characters {
			word = "changing one character brings"
		}
		if len(told) != 1 || !strings.Contains(told[0], word) || !strings.HasSuffix(told[0], "use --shingle word:2") {
			t.Errorf("%s: %q", c.name, told)
		}
	}
}

// With the shingles that a warning of short documents suggests, there is no such warning.
func TestSuitedShingles(t *testing.T) {
	words := func(n, from int) string {
		var text []string
		for i := range n {
			text = append(text, fmt.Sprintf("w%d", from+i))
		}
		for range -n { // the same
			text = append(text, fmt.Sprintf("w%d", from))
		}
		return strings.Join(text, " ")
	}
	for _, c := range []struct {
		name        string
		few, many   int // numbers of words: of every sixth document, and of the others
		flag, suits string
	}{
		{"a tenth is very short", 6, 300, "--shingle=word:5", "word:2"},
		{"half are rather short", 30, 30, "--shingle=word:5", "word:3"},
		{"a tenth has hardly a word", 1, 300, "--shingle=word:3", ""},
		{"stop words", 12, 300, "--shingle=stopword:3", "char:9"},
		{"a word again and again", 0, -60, "--shingle=word:5", ""},
		{"half are very short", 1, 16, "--shingle=word:5", "word:2 --threshold 0.75"},
		{"half have seven pairs of words", 1, 8, "--shingle=word:5", "word:2 --threshold 0.55"}, // a changed word changes two: 5 of 9
		{"half are too short", 1, 6, "--shingle=word:5", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines strings.Builder
			for i := range 120 {
				n := c.many
				if i%6 == 0 {
					n = c.few
				}
				fmt.Fprintln(&lines, words(n, 1000*i))
			}
			path := filepath.Join(t.TempDir(), "in.txt")
			mustDo(t, os.WriteFile(path, []byte(lines.String()), 0o666))
			config := ask(t, path, "--format=lines", c.flag)
			f := forecast(t, config)
			// A run, whose sample is the whole of such a small input, gives the same warning.
			told := run(t, ask(t, path, "--format=lines", c.flag)).Run.Warnings
			if want := "in.txt: documents are too short for --threshold 0.8: "; len(told) != 1 || !strings.HasPrefix(told[0], want) || c.suits != "" && !strings.HasSuffix(told[0], "use --shingle "+c.suits) {
				t.Errorf("a run warns %q, want %q and %q", told, want, c.suits)
			}
			suits, threshold, half := strings.Cut(c.suits, " --threshold ")
			if len(f.Short) != 1 || f.Short[0].Shingle != suits || half != (fmt.Sprint(f.Short[0].Threshold) == threshold) {
				t.Fatalf("%+v, want %q", f.Short, c.suits)
			}
			if c.suits == "" || half {
				return
			}
			if f := forecast(t, ask(t, path, "--format=lines", "--shingle="+c.suits)); len(f.Short) > 0 {
				t.Errorf("%s is warned of: %+v", c.suits, f.Short)
			}
		})
	}
}

// What --append adds to an index is bounded, with keys and without, also if it is little.
func TestForecastOfAppending(t *testing.T) {
	small := filepath.Join(t.TempDir(), "small.jsonl")
	mustDo(t, os.WriteFile(small, []byte(`{"id":"a","text":"one two three"}`), 0o666))
	for _, method := range []string{"minhash", "complete"} {
		spec := records.Default()
		spec.Method = method
		index := indexOf(t, spec)
		for _, night := range []string{small, "../../testdata/tldr/linux.jsonl", "../../testdata/tldr/osx.jsonl"} {
			config := ask(t, night, "--against="+index)
			if f := forecast(t, config); f.Appended != 0 {
				t.Errorf("%s, %s: %d bytes without --append", method, night, f.Appended)
			}
			config.Append = true
			expected, before := forecast(t, config).Appended, bytesIn(t, index)
			run(t, config)
			if added := bytesIn(t, index) - before; added > expected || expected > 8*added {
				t.Errorf("%s, %s: at most %d bytes expected, %d added", method, night, expected, added)
			}
		}
	}
}

// bytesIn is the size of the files of a folder.
func bytesIn(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	mustDo(t, filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		bytes += info.Size()
		return err
	}))
	return bytes
}
