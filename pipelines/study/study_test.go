package study_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/study"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func run(t *testing.T, args ...string) *records.Study {
	t.Helper()
	found, err := try(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func try(t *testing.T, args ...string) (*records.Study, error) {
	t.Helper()
	return runOf(t, parsed(t, args...))
}

func runOf(t *testing.T, config study.Config) (*records.Study, error) {
	t.Helper()
	task, err := study.New(config)
	if err != nil {
		return nil, err
	}
	return task.Run(t.Context(), beamtest.Launch(string(config.Runner), local.Options{}))
}

func parsed(t *testing.T, args ...string) (config study.Config) {
	t.Helper()
	parser, err := kong.New(&config, kong.Vars(study.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return config
}

// files writes texts, one per file, and returns their folder.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The result of each step on these texts is written by hand.
var texts = map[string]string{
	"a.txt": "The connections, of THE networks",
	"b.txt": "a connection and a network",
	"c.txt": "The connections of the NETWORKS.",
	"d.txt": "quite another thing",
}

var made = map[string][4]string{
	"":                                {"the connections of the networks", "a connection and a network", "the connections of the networks", "quite another thing"},
	"_no_space":                       {"theconnectionsofthenetworks", "aconnectionandanetwork", "theconnectionsofthenetworks", "quiteanotherthing"},
	"_no_stop_words":                  {"connections networks", "connection network", "connections networks", "quite another thing"},
	"_no_space_no_stop_words":         {"connectionsnetworks", "connectionnetwork", "connectionsnetworks", "quiteanotherthing"},
	"_stem":                           {"the connect of the network", "a connect and a network", "the connect of the network", "quit anoth thing"},
	"_no_space_stem":                  {"theconnectofthenetwork", "aconnectandanetwork", "theconnectofthenetwork", "quitanoththing"},
	"_no_stop_words_stem":             {"connect network", "connect network", "connect network", "quit anoth thing"},
	"_no_space_no_stop_words_stem":    {"connectnetwork", "connectnetwork", "connectnetwork", "quitanoththing"},
	"_case":                           {"The connections of THE networks", "a connection and a network", "The connections of the NETWORKS", "quite another thing"},
	"_punctuation":                    {"the connections, of the networks", "a connection and a network", "the connections of the networks.", "quite another thing"},
	"_no_stop_words_case_punctuation": {"connections, networks", "connection network", "connections NETWORKS.", "quite another thing"},
}

// characters counts the shingles of k characters.
func characters(text string, k int) map[string]int {
	counts := map[string]int{}
	runes := []rune(text)
	for i := 0; i == 0 || i+k <= len(runes); i++ {
		counts[string(runes[i:min(i+k, len(runes))])]++
	}
	return counts
}

// similarity returns the similarity by definition: for multisets Σ min / Σ max.
func similarity(a, b map[string]int, replicas bool) float64 {
	least, most := 0, 0
	add := func(x, y int) {
		if !replicas {
			x, y = min(x, 1), min(y, 1)
		}
		least += min(x, y)
		most += max(x, y)
	}
	for s, n := range a {
		add(n, b[s])
	}
	for s, n := range b {
		if a[s] == 0 {
			add(0, n)
		}
	}
	return float64(least) / float64(most)
}

func TestStudyEqualsDefinition(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	s := run(t, files(t, texts), "--format=files", "--k=2,5", "--vary=case,punctuation,replicas", "-o", out, "-t", "0.9")
	if len(s.Settings) != 2*64 || len(s.Documents) != 4 || s.Pairs != 6 || len(s.Listed) != 6 {
		t.Fatalf("%d settings, %d documents, %d pairs", len(s.Settings), len(s.Documents), s.Pairs)
	}
	tested := 0
	for at, setting := range s.Settings {
		prefix := fmt.Sprintf("char%d", setting.K)
		steps, isReplicas := strings.CutSuffix(strings.TrimPrefix(setting.Name, prefix), "_replicas")
		texts, ok := made[steps]
		if !ok {
			continue
		}
		tested++
		if setting.Spaces == strings.Contains(steps, "no_space") || setting.StopWords == strings.Contains(steps, "no_stop") || setting.Stemmed != strings.Contains(steps, "stem") ||
			setting.Case != strings.Contains(steps, "case") || setting.Punctuation != strings.Contains(steps, "punct") || setting.Replicas != isReplicas {
			t.Errorf("%+v", setting)
		}
		sum, tokens, largest := 0., 0, 0.
		for _, text := range texts {
			tokens += len([]rune(text))
		}
		for _, pair := range s.Listed {
			want := similarity(characters(texts[pair.A], setting.K), characters(texts[pair.B], setting.K), isReplicas)
			if got := pair.Similarities[at]; math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: %q and %q are %v similar, want %v", setting.Name, texts[pair.A], texts[pair.B], got, want)
			}
			sum += want
			largest = max(largest, want)
		}
		all := 0
		for _, text := range made[""] {
			all += len(text)
		}
		if removed := 1 - float64(tokens)/float64(all); setting.Tokens != int64(tokens) || math.Abs(setting.Removed-removed) > 1e-12 {
			t.Errorf("%s: %d tokens, %v removed; want %d, %v", setting.Name, setting.Tokens, setting.Removed, tokens, removed)
		}
		if math.Abs(setting.Mean-sum/6) > 1e-12 || setting.Largest != largest || setting.Quartile1 > setting.Median || setting.Median > setting.Quartile3 || setting.Percentile < largest-.0001 {
			t.Errorf("%+v; the mean is %v", setting, sum/6)
		}
	}
	if tested != 2*2*len(made) {
		t.Errorf("%d settings are tested", tested)
	}
	if want := [][]int{{0, 2}}; !slices.EqualFunc(s.Copies, want, slices.Equal) || !slices.EqualFunc(s.Groups, want, slices.Equal) {
		t.Errorf("copies %v, groups %v, want %v", s.Copies, s.Groups, want)
	}
	sameTables(t, out, s)
}

// sameTables compares both tables with the pairs of a study that lists all.
func sameTables(t *testing.T, out string, s *records.Study) {
	t.Helper()
	f, err := os.Open(filepath.Join(out, study.CSVFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"id_a", "id_b", "source_a", "source_b"}
	for _, setting := range s.Settings {
		want = append(want, setting.Name)
	}
	if !slices.Equal(lines[0], want) || len(lines) != 1+len(s.Listed) {
		t.Fatalf("%d lines, columns %q, want %q", len(lines), lines[0], want)
	}
	rows, err := parquet.ReadFile[any](filepath.Join(out, study.ParquetFile))
	if err != nil || len(rows) != len(s.Listed) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, pair := range s.Listed {
		a, b := s.Documents[pair.A], s.Documents[pair.B]
		want := []string{a.ID, b.ID, a.Source, b.Source}
		row := rows[i].(map[string]any)
		for c, column := range lines[0][:4] {
			if fmt.Sprintf("%s", row[column]) != want[c] {
				t.Errorf("row %d: %s is %v, want %s", i, column, row[column], want[c])
			}
		}
		for j, similarity := range pair.Similarities {
			want = append(want, strconv.FormatFloat(100*similarity, 'f', 4, 64))
			if got := row[lines[0][4+j]]; got != 100*similarity {
				t.Errorf("row %d: %s is %v, want %v", i, lines[0][4+j], got, 100*similarity)
			}
		}
		if !slices.Equal(lines[1+i], want) {
			t.Errorf("line %q, want %q", lines[1+i], want)
		}
	}
}

// With words there are no spaces to remove, and sizes of shingles are counted in words.
func TestWords(t *testing.T) {
	s := run(t, files(t, texts), "--format=files", "--unit=word", "--k=1")
	if len(s.Settings) != 4 {
		t.Fatalf("%d settings", len(s.Settings))
	}
	// {the, connections, of, networks}, {a, connection, and, network}; {connect, network} twice.
	for at, want := range []float64{0, 0, 1. / 3, 1} {
		if got := s.Listed[0].Similarities[at]; got != want {
			t.Errorf("%s: %v, want %v", s.Settings[at].Name, got, want)
		}
	}
}

// Without copies, their pairs and their tokens are missing; documents without a word are not copies.
func TestDropCopies(t *testing.T) {
	more := map[string]string{"e.txt": "!", "f.txt": "?", "g.txt": "QUITE another thing"}
	for name, text := range texts {
		more[name] = text
	}
	input := files(t, more)
	all, without := run(t, input, "--format=files"), run(t, input, "--format=files", "--drop-copies")
	if want := [][]int{{0, 2}, {3, 6}}; !slices.EqualFunc(all.Copies, want, slices.Equal) || !slices.EqualFunc(without.Copies, want, slices.Equal) {
		t.Errorf("copies %v and %v, want %v", all.Copies, without.Copies, want)
	}
	var kept []records.StudiedPair
	for _, pair := range all.Listed {
		if pair.A != 2 && pair.B != 2 && pair.B != 6 {
			kept = append(kept, pair)
		}
	}
	if diff := cmp.Diff(kept, without.Listed); diff != "" || without.Pairs != 10 || all.Pairs != 21 {
		t.Errorf("%d and %d pairs: %s", all.Pairs, without.Pairs, diff)
	}
	if all.Dropped || !without.Dropped || len(without.Groups) > 0 || without.Settings[0].Tokens != int64(len(made[""][0]+made[""][1]+made[""][3])) {
		t.Errorf("%+v", without)
	}
}

// Of many pairs the most similar are listed, the most similar first and the earlier of equals.
func TestListed(t *testing.T) {
	many := map[string]string{}
	for i := range 30 {
		many[fmt.Sprintf("%02d.txt", i)] = strings.Repeat("word ", i%3) + fmt.Sprintf("common words of number %d", i)
	}
	out := filepath.Join(t.TempDir(), "out")
	s := run(t, files(t, many), "--format=files", "-o", out)
	f, err := os.Open(filepath.Join(out, study.CSVFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) != 1+30*29/2 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	slices.SortStableFunc(lines[1:], func(a, b []string) int {
		x, _ := strconv.ParseFloat(a[4], 64)
		y, _ := strconv.ParseFloat(b[4], 64)
		return int(math.Round(1e4 * (y - x)))
	})
	for i, pair := range s.Listed {
		if a, b := s.Documents[pair.A].ID, s.Documents[pair.B].ID; a != lines[1+i][0] || b != lines[1+i][1] {
			t.Fatalf("pair %d is %s, %s; want %q", i, a, b, lines[1+i][:5])
		}
	}
	if len(s.Listed) != 100 {
		t.Errorf("%d pairs are listed", len(s.Listed))
	}
}

// The root mean square error of signatures is that of as many independent functions. From 1,024 values there are 64 and
// 16 estimates for each pair; seeds are fixed.
func TestSignatures(t *testing.T) {
	for _, family := range []string{"classic", "salted"} {
		s := run(t, "../../testdata/tldr/osx.jsonl", "--limit=40", "--signatures=16,64,1024", "--signature="+family)
		if len(s.Errors) != 3 || s.Signature != family || s.Pairs != 780 {
			t.Fatalf("%+v", s.Errors)
		}
		for _, e := range s.Errors[:2] {
			if ratio := e.RMS / e.Expected; math.Abs(ratio-1) > .1 || math.Abs(e.Bias) > .01 {
				t.Errorf("%s: %+v, ratio %v", family, e, ratio)
			}
		}
		// With 4 and 64 times as many values, errors are a half and an eighth.
		if a, b, c := s.Errors[0].Expected, s.Errors[1].Expected, s.Errors[2].Expected; math.Abs(a/b-2) > 1e-9 || math.Abs(a/c-8) > 1e-9 {
			t.Errorf("expected %v, %v, %v", a, b, c)
		}
		// All similarities of three documents are known.
		few := run(t, "../../testdata/tldr/osx.jsonl", "--limit=3", "--signatures=16", "--signature="+family)
		variance := 0.
		for _, pair := range few.Listed {
			variance += pair.Similarities[0] * (1 - pair.Similarities[0]) / 16 / 3
		}
		if got := few.Errors[0].Expected; math.Abs(got-math.Sqrt(variance)) > 1e-12 || got == 0 {
			t.Errorf("%s: expected %v, want %v", family, got, math.Sqrt(variance))
		}
	}
}

// More than a million pairs are refused, with advice: 1,415 documents have 1,000,405.
func TestTooMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.jsonl")
	for n, limit := range map[int]string{1415: "--limit=0", 6000: "--limit=0", 1416: "--limit=1414"} {
		if err := os.WriteFile(path, []byte(strings.Repeat(`{"text": "a few words"}`+"\n", n)), 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := try(t, path, limit, "--k=5", "--unit=word")
		if limit == "--limit=1414" {
			if err != nil || s.Pairs != 998_991 {
				t.Errorf("%+v, %v", s, err)
			}
			continue
		}
		if usage := (*job.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "study takes at most 1,000,000; name fewer files, or use --limit 1414") {
			t.Errorf("%d documents: %v", n, err)
		}
	}
}

// Results do not depend on how widely the work is spread.
func TestWorkers(t *testing.T) {
	one := run(t, "../../testdata/tldr/osx.jsonl", "--limit=100", "--workers=1")
	many := run(t, "../../testdata/tldr/osx.jsonl", "--limit=100", "--workers=7")
	if diff := cmp.Diff(one, many); diff != "" {
		t.Error(diff)
	}
	if data, err := json.Marshal(one); err != nil || len(data) == 0 {
		t.Error(err)
	}
}

func TestUsage(t *testing.T) {
	input := files(t, texts)
	there := files(t, texts)
	for want, args := range map[string][]string{
		"name a shingle size":                  {"--k="},
		"--k 0: must be between 1 and 1000":    {"--k=0"},
		"give each value once":                 {"--k=5,5"},
		"use da, de, en":                       {"--language=xx"},
		"--signatures 2048: must be between":   {"--signatures=2048"},
		"was not written by neardup":           {"-o", there},
		"there is no folder to write to":       {"--overwrite"},
		"inside the input":                     {"-o", filepath.Join(input, "out")},
		"runs only on the local machine":       {"--runner=flink"},
		"standard input can be read only once": {"-", "--signatures=16"},
		"--k and --vary: give each value once": slices.Repeat([]string{"--vary=case,punctuation,replicas"}, 30),
		"settings are too many (maximum: 512)": {"--k=1,2,3,4,5,6,7,8,9", "--vary=case,punctuation,replicas"},
	} {
		if args[0] != "-" {
			args = append([]string{input}, args...)
		}
		if _, err := try(t, append(args, "--format=files")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}
