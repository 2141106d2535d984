package passages_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/kernels/passage/passagetest"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/pipelines/passages"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/local"
)

func TestMain(m *testing.M) { beamtest.Main(m) }

func ask(t *testing.T, args ...string) passages.Config {
	t.Helper()
	var config passages.Config
	parser, err := kong.New(&config, kong.Vars(job.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	config.Stdin = strings.NewReader("")
	if config.Output == "" {
		config.Output = filepath.Join(t.TempDir(), "out")
	}
	return config
}

func run(t *testing.T, config passages.Config) *output.Finished {
	t.Helper()
	runner := string(config.Runner)
	if config.Runner == job.Flink { // the local runner runs its pipeline
		runner = string(job.Local)
		config.TempDir = t.TempDir()
	}
	task, err := passages.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := task.Run(t.Context(), beamtest.Launch(runner, local.Options{Workers: config.Workers})); err != nil {
		t.Fatal(err)
	}
	finished, err := output.Open(t.Context(), config.Output)
	if err != nil {
		t.Fatal(err)
	}
	return finished
}

func rows[T any](t *testing.T, f *output.Finished, table output.Part) (all []T) {
	t.Helper()
	for row, err := range output.Rows[T](context.Background(), f, table) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// spellings lists the spellings of each word.
var spellings = [][]string{
	{"fine", "FINE", "ﬁne", "f\u00adine"},
	{"café", "Cafe\u0301", "CAFÉ"},
	{"2", "２"},
	{"中"},
	{"a\"b"}, // two words
	{"ha"},
}

var separators = []string{" ", "\r\n", ", ", " — ", "\t", "  ", "\u3000", "\\ ", "\n \t\n", "\r"}

// document has two columns, which are joined by a space.
type document struct {
	id, source string
	position   int64
	columns    [2]string
	words      []string        // including a unique one between the columns
	spans      []textnorm.Span // of the words
	copyOf     int             // -1 if it is not a copy
}

func (d *document) size() int { return len(d.words) - 1 }

// corpus writes a random corpus to files of a folder.
func corpus(t *testing.T, random *rand.Rand, documents int) (dir string, docs []document) {
	t.Helper()
	dir = t.TempDir()
	known := 1 + random.IntN(len(spellings))
	var file bytes.Buffer
	for i := range documents {
		d := document{id: fmt.Sprint("d", i), source: fmt.Sprintf("%d.jsonl", i*3/documents), position: int64(file.Len()), copyOf: -1}
		if random.IntN(8) == 0 && i > 0 {
			d.columns = docs[random.IntN(i)].columns
		} else {
			for c := range d.columns {
				for range random.IntN(12) {
					spelling := spellings[random.IntN(known)]
					d.columns[c] += spelling[random.IntN(len(spelling))] + separators[random.IntN(len(separators))]
				}
				if i > 0 && random.IntN(2) == 0 {
					other := docs[random.IntN(i)].columns[c]
					d.columns[c] += other[strings.LastIndexAny(other[:random.IntN(len(other)+1)], " \t\n")+1:]
				}
			}
		}
		d.copyOf = slices.IndexFunc(docs, func(o document) bool { return o.columns == d.columns })
		at := 0
		for c, text := range d.columns {
			if c > 0 {
				d.words, d.spans = append(d.words, fmt.Sprint("border ", i)), append(d.spans, textnorm.Span{})
			}
			d.add(text, at)
			at += len(text) + 1
		}
		line, err := json.Marshal(map[string]string{"id": d.id, "title": d.columns[0], "body": d.columns[1]})
		if err != nil {
			t.Fatal(err)
		}
		file.Write(append(line, '\n'))
		docs = append(docs, d)
		if i+1 == documents || (i+1)*3/documents != i*3/documents {
			if err := os.WriteFile(filepath.Join(dir, d.source), file.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			file.Reset()
		}
	}
	return dir, docs
}

// add adds the words of a text that begins at base.
func (d *document) add(text string, base int) {
	for at := 0; at < len(text); {
		word, spelled := -1, ""
		for w, spelling := range spellings {
			for _, s := range spelling {
				if strings.HasPrefix(text[at:], s) && len(s) > len(spelled) {
					word, spelled = w, s
				}
			}
		}
		switch {
		case word < 0:
			at++
			continue
		case word == 4:
			d.words = append(d.words, "a", "b")
			d.spans = append(d.spans, textnorm.Span{Start: base + at, End: base + at + 1}, textnorm.Span{Start: base + at + 2, End: base + at + 3})
		default:
			d.words, d.spans = append(d.words, spellings[word][0]), append(d.spans, textnorm.Span{Start: base + at, End: base + at + len(spelled)})
		}
		at += len(spelled)
	}
}

// expected returns the rows of passages by definition, in order.
func expected(docs []document, length int) ([]records.Passage, int64) {
	return without(docs, length, nil)
}

// without returns the rows of which none is from a dropped document; then copies are documents like any other.
func without(docs []document, length int, dropped []bool) (all []records.Passage, broken int64) {
	var words [][]string
	var of []int // the documents that are no copies
	for i, d := range docs {
		if d.copyOf < 0 || dropped != nil {
			words, of = append(words, d.words), append(of, i)
		}
	}
	found, broken := passagetest.Without(words, length, dropped)
	row := func(d, from *document, start, end, fromStart, fromEnd int) {
		n := int64(end - start)
		all = append(all, records.Passage{
			ID: d.id, Source: d.source, Position: d.position, Start: int64(d.spans[start].Start), End: int64(d.spans[end-1].End), Words: n,
			FromID: from.id, FromSource: from.source, FromPosition: from.position, FromStart: int64(from.spans[fromStart].Start), FromEnd: int64(from.spans[fromEnd-1].End),
		})
	}
	for i := range docs {
		d := &docs[i]
		if d.copyOf >= 0 && dropped == nil {
			border := slices.IndexFunc(d.words, func(w string) bool { return strings.HasPrefix(w, "border") })
			for _, column := range [][2]int{{0, border}, {border + 1, len(d.words)}} {
				if d.size() >= length && column[0] < column[1] {
					row(d, &docs[d.copyOf], column[0], column[1], column[0], column[1])
				}
			}
			continue
		}
		own, _ := slices.BinarySearch(of, i)
		for _, p := range found[own] {
			row(d, &docs[of[p.From]], p.Start, p.End, p.FromStart, p.FromEnd)
		}
	}
	return all, broken
}

// The rows are those of the definition, which compares words, and spans are where the words were put: in texts with
// escapes, line ends of two bytes, composed and invisible characters, and words with several spellings.
func TestRowsAreThoseOfTheDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all, brokens, copied int64
	for range 25 {
		dir, docs := corpus(t, random, 30)
		length := 1 + random.IntN(6)
		finished := run(t, ask(t, dir, "--text=title", "--text=body", fmt.Sprint("--length=", length)))
		got := rows[records.Passage](t, finished, output.Passages)
		want, broken := expected(docs, length)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("L = %d: %s", length, diff)
		}
		var coverage []records.Coverage
		counts := records.PassagesFound{Length: length, Passages: int64(len(want)), Broken: broken}
		for _, d := range docs {
			c := records.Coverage{ID: d.id, Source: d.source, Position: d.position, Words: int64(d.size())}
			for _, p := range want {
				if p.ID == d.id {
					c.Repeated += p.Words
				}
			}
			counts.Words += c.Words
			if counts.Repeated += c.Repeated; c.Repeated > 0 {
				c.Share = float64(c.Repeated) / float64(c.Words)
				coverage = append(coverage, c)
			}
			switch {
			case d.size() > 0 && d.size() < length:
				counts.Short++
			case d.size() >= length && d.copyOf >= 0:
				counts.Copies++
			}
		}
		if diff := cmp.Diff(coverage, rows[records.Coverage](t, finished, output.Coverage)); diff != "" {
			t.Fatalf("L = %d: coverage: %s", length, diff)
		}
		counts.Documents = int64(len(coverage))
		found := *finished.Run.Passages
		found.PlannedBytes, found.MostBytes, found.Cut = 0, 0, ""
		slices.SortFunc(found.Sources, func(a, b records.SourceRepeated) int { return strings.Compare(a.Source, b.Source) })
		counts.Sources = sources(docs, want)
		if diff := cmp.Diff(counts, found); diff != "" {
			t.Fatalf("L = %d: %s", length, diff)
		}
		checkRepeats(t, docs, length, want, rows[records.Repeat](t, finished, output.Repeats))
		all, brokens, copied = all+counts.Passages, brokens+broken, copied+counts.Copies
	}
	if all < 100 || brokens < 100 || copied < 20 {
		t.Errorf("only %d passages, %d broken runs, %d copies", all, brokens, copied)
	}
}

// sources returns the sources that have passages.
func sources(docs []document, passages []records.Passage) (all []records.SourceRepeated) {
	for i, d := range docs {
		if i == 0 || d.source != docs[i-1].source {
			all = append(all, records.SourceRepeated{Source: d.source})
		}
		all[len(all)-1].Words += int64(d.size())
	}
	for _, p := range passages {
		i := slices.IndexFunc(all, func(s records.SourceRepeated) bool { return s.Source == p.Source })
		all[i].Repeated += p.Words
	}
	return slices.DeleteFunc(all, func(s records.SourceRepeated) bool { return s.Repeated == 0 })
}

// checkRepeats compares the most frequent passages with the rows, by first place.
func checkRepeats(t *testing.T, docs []document, length int, passages []records.Passage, got []records.Repeat) {
	t.Helper()
	type origin struct {
		id         string
		start, end int64
	}
	counts, documents := map[origin]int64{}, map[origin]map[string]bool{}
	for _, p := range passages {
		of := origin{p.FromID, p.FromStart, p.FromEnd}
		if fromWords(docs, p) < length {
			continue
		}
		if counts[of]++; documents[of] == nil {
			documents[of] = map[string]bool{p.FromID: true}
		}
		documents[of][p.ID] = true
	}
	if len(got) != len(counts) {
		t.Fatalf("%d repeats, want %d", len(got), len(counts))
	}
	for i, r := range got {
		of := origin{r.ID, r.Start, r.End}
		if r.Occurrences != counts[of]+1 || r.Documents != int64(len(documents[of])) || int64(len(r.Text)) != r.End-r.Start {
			t.Fatalf("%+v, want %d occurrences in %d documents", r, counts[of]+1, len(documents[of]))
		}
		if i > 0 && r.Occurrences > got[i-1].Occurrences {
			t.Fatalf("%d occurrences after %d", r.Occurrences, got[i-1].Occurrences)
		}
	}
}

// fromWords returns the number of words at the first place of a passage.
func fromWords(docs []document, p records.Passage) (n int) {
	for _, d := range docs {
		for _, s := range d.spans {
			if d.id == p.FromID && s.Start >= int(p.FromStart) && s.End <= int(p.FromEnd) && s.Start < s.End {
				n++
			}
		}
	}
	return n
}

// files returns the files of an output that the manifest lists, and the manifest.
func files(t *testing.T, f *output.Finished) map[string]string {
	t.Helper()
	all := map[string]string{}
	names := []string{output.ManifestFile}
	for _, file := range f.Manifest.Files {
		names = append(names, file.Path)
	}
	for _, name := range names {
		data, err := os.ReadFile(f.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(data)
	}
	return all
}

// The bytes do not depend on the run, the runner, the workers, the memory, the splits and the groups.
func TestSameBytes(t *testing.T) {
	flags := []string{"../../testdata/tldr", "--length=12"}
	first := files(t, run(t, ask(t, flags...)))
	same := func(name string, change func(*passages.Config)) {
		t.Helper()
		config := ask(t, flags...)
		change(&config)
		if diff := cmp.Diff(first, files(t, run(t, config))); diff != "" {
			t.Errorf("%s: the files differ", name)
		}
	}
	for _, split := range []int64{0, 100_001} {
		for _, runner := range []job.Runner{job.Local, job.Prism, job.Direct, job.Flink} {
			same(fmt.Sprint(runner, ", splits of ", split), func(c *passages.Config) { c.SplitBytes, c.Runner = split, runner })
		}
	}
	for _, workers := range []int{1, 2, 8} {
		same(fmt.Sprint(workers, " workers"), func(c *passages.Config) { c.Workers, c.Memory, c.SplitBytes = workers, 256_000_000, 100_001 })
	}
	flags = append(flags, "--cut=words")
	first = files(t, run(t, ask(t, flags...)))
	same("cut, small splits", func(c *passages.Config) { c.SplitBytes, c.Runner = 100_001, job.Direct })
	same("cut, small groups", func(c *passages.Config) { c.GroupBytes, c.Workers = 2000, 8 })
	same("small groups", func(c *passages.Config) { c.GroupBytes, c.SliceRows = 2000, 50 })
}

// left returns the words of each column of a document that are in no passage.
func left(d *document, passages []records.Passage) (columns [2][]string) {
	column := 0
	for i, span := range d.spans {
		if strings.HasPrefix(d.words[i], "border") {
			column++
			continue
		}
		in := slices.ContainsFunc(passages, func(p records.Passage) bool {
			return p.ID == d.id && int(p.Start) <= span.Start && span.End <= int(p.End)
		})
		if !in {
			columns[column] = append(columns[column], d.words[i])
		}
	}
	return columns
}

// The corpus has every record. Records without a passage are unchanged, byte for byte, and the others keep the words
// that are in no passage, in files of every compression.
func TestCutLeavesTheOtherWords(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	cut := 0
	for round := range 12 {
		dir, docs := corpus(t, random, 30)
		length := 1 + random.IntN(6)
		lines := map[string]string{} // lines of the input by id
		for _, d := range docs {
			for line := range strings.Lines(readFile(t, filepath.Join(dir, d.source))) {
				if strings.Contains(line, fmt.Sprintf("%q:%q", "id", d.id)) {
					lines[d.id] = line
				}
			}
		}
		if round%3 > 0 {
			pack(t, dir, round%3 == 1)
		}
		finished := run(t, ask(t, dir, "--text=title", "--text=body", fmt.Sprint("--length=", length), "--cut=words"))
		passages := rows[records.Passage](t, finished, output.Passages)
		got := corpusLines(t, finished)
		if len(got) != len(docs) {
			t.Fatalf("%d records, want %d", len(got), len(docs))
		}
		for i := range docs {
			d := &docs[i]
			if !slices.ContainsFunc(passages, func(p records.Passage) bool { return p.ID == d.id }) {
				if got[i] != lines[d.id] {
					t.Fatalf("a record without a passage: %q, was %q", got[i], lines[d.id])
				}
				continue
			}
			var record struct{ ID, Title, Body string }
			if err := json.Unmarshal([]byte(got[i]), &record); err != nil {
				t.Fatalf("%q: %v", got[i], err)
			}
			want := left(d, passages)
			for c, text := range []string{record.Title, record.Body} {
				var words document
				words.add(text, 0)
				if !slices.Equal(words.words, want[c]) || record.ID != d.id {
					t.Fatalf("L = %d: %q has left %q of %q, want %q", length, record.ID, words.words, d.columns[c], want[c])
				}
			}
			cut++
		}
	}
	if cut < 50 {
		t.Errorf("only %d records are cut", cut)
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

// pack compresses the files of a folder.
func pack(t *testing.T, dir string, gz bool) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var packed bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&packed)
		ending := ".gz"
		if !gz {
			ending = ".zst"
			if w, err = zstd.NewWriter(&packed); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.WriteString(w, readFile(t, name)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), os.WriteFile(name+ending, packed.Bytes(), 0o666), os.Remove(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// corpusLines returns the lines of a corpus.
func corpusLines(t *testing.T, f *output.Finished) (lines []string) {
	t.Helper()
	for _, file := range f.Manifest.Files {
		if output.PartOf(file.Path) != output.Corpus {
			continue
		}
		var r io.Reader = strings.NewReader(readFile(t, f.Path(file.Path)))
		var err error
		switch filepath.Ext(file.Path) {
		case ".gz":
			r, err = gzip.NewReader(r)
		case ".zst":
			r, err = zstd.NewReader(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = slices.AppendSeq(lines, strings.Lines(string(data)))
	}
	return lines
}

// A sentence is cut if all its words are in passages, and is unchanged otherwise, in every format that can be
// rewritten.
func TestCutSentencesAndFormats(t *testing.T) {
	const notice = "All rights are reserved by us. Ask before you copy."
	for name, files := range map[string][2]string{
		"jsonl": {
			`{"id":"a","text":"` + notice + `"}` + "\n" + `{"x" : 1, "text": "One \u00e9 two. ` + notice + ` All rights are kept.", "id":"b"}` + "\n",
			`{"id":"a","text":"` + notice + `"}` + "\n" + `{"x" : 1, "text": "One é two. All rights are kept.", "id":"b"}` + "\n",
		},
		"json": {
			`[{"text":"` + notice + `"}, {"text": "News. ` + notice + `"}]`,
			`[{"text":"` + notice + `"}, {"text": "News."}]`,
		},
		"csv": {
			"id,text,x\r\n1,\"" + notice + "\",\"a \"\"b\"\"\"\r\n2,\"A \"\"quote\"\", first. " + notice + "\",plain\r\n",
			"id,text,x\r\n1,\"" + notice + "\",\"a \"\"b\"\"\"\r\n2,\"A \"\"quote\"\", first.\",plain\r\n",
		},
		"tsv":   {"id\ttext\n1\t" + notice + "\n2\tMore. " + notice + "\n", "id\ttext\n1\t" + notice + "\n2\tMore.\n"},
		"lines": {notice + "\r\nMore. " + notice + "\r\n", notice + "\r\nMore.\r\n"},
		"files": {notice + "\r\n\r\nMore. " + notice + "\r\nThe end.\r\n", notice + "\r\n\r\nMore.\r\nThe end.\r\n"},
	} {
		path := filepath.Join(t.TempDir(), "in."+name)
		if err := os.WriteFile(path, []byte(files[0]), 0o666); err != nil {
			t.Fatal(err)
		}
		finished := run(t, ask(t, path, "--format="+name, "--length=4", "--cut=sentences"))
		got := strings.Join(corpusLines(t, finished), "")
		if want := files[1]; got != want {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
	}
}

// Spans of pages, with tags between words and references in them, contain the words of their passage.
func TestPlacesOfMarkup(t *testing.T) {
	pages := []string{
		"<h1>News</h1>\r\n<p>All&nbsp;<b>rights</b> are r&eacute;serv&#233;s <i>by</i>\r\n<a href='us>'>us</a>.</p>",
		"<title>&lt;b&gt;</title><div>ALL</div><script>rights</script> rights <!-- not --> are<br>réservés by u<b>s</b></p>, say we",
	}
	var lines bytes.Buffer
	for i, page := range pages {
		if err := json.NewEncoder(&lines).Encode(map[string]any{"id": i, "text": page}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	found := rows[records.Passage](t, run(t, ask(t, path, "--length=6", "--normalize=strip-markup,default")), output.Passages)
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	p := found[0]
	got := [2]string{pages[1][p.Start:p.End], pages[0][p.FromStart:p.FromEnd]}
	want := [2]string{
		"ALL</div><script>rights</script> rights <!-- not --> are<br>réservés by u<b>s",
		"All&nbsp;<b>rights</b> are r&eacute;serv&#233;s <i>by</i>\r\n<a href='us>'>us",
	}
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Formats and encodings that cannot be rewritten are refused, with advice; UTF-8 may have any of its names.
func TestCutRefusesFormats(t *testing.T) {
	for name, want := range map[string]string{
		"page.html --encoding=utf-8":  "texts in the html format cannot be rewritten; convert the file to JSON Lines, or drop --cut",
		"in.lines --encoding=latin1":  "in UTF-8 only; convert the files (iconv -t UTF-8) and drop --encoding latin1, or drop --cut",
		"in.lines --encoding=detect":  "drop --encoding detect",
		"in.lines --encoding=UTF8":    "",
		"in.files --encoding=unicode": "drop --encoding unicode",
	} {
		file, encoding, _ := strings.Cut(name, " ")
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, []byte("<p>text</p>"), 0o666); err != nil {
			t.Fatal(err)
		}
		task, err := passages.New(ask(t, path, encoding, "--format="+strings.TrimPrefix(filepath.Ext(file), "."), "--cut=words"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = task.Run(t.Context(), beamtest.Launch("local", local.Options{}))
		if want == "" && err != nil || want != "" && (job.Status(err) != 2 || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// The same words are cut from Parquet as from JSON Lines, whatever the order of its columns and their pages, and
// everything else stays.
func TestCutParquet(t *testing.T) {
	type row struct {
		Body  *string `parquet:"body,optional,dict"`
		ID    string  `parquet:"id"`
		Title string  `parquet:"title,zstd"`
		Year  int32   `parquet:"year"`
	}
	random := rand.New(rand.NewPCG(5, 6))
	cut := 0
	for range 12 {
		_, docs := corpus(t, random, 40)
		var all []row
		var lines bytes.Buffer
		for i, d := range docs {
			r := row{ID: d.id, Title: d.columns[0], Year: int32(i)}
			if i%5 > 0 {
				r.Body = &d.columns[1]
			}
			all = append(all, r)
			if err := json.NewEncoder(&lines).Encode(map[string]any{"id": r.ID, "title": r.Title, "body": r.Body}); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		asParquet, asLines := filepath.Join(dir, "in.parquet"), filepath.Join(dir, "in.jsonl")
		group := parquet.MaxRowsPerRowGroup(int64(1 + random.IntN(40)))
		if err := parquet.WriteFile(asParquet, all, group, parquet.PageBufferSize(1+random.IntN(500))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(asLines, lines.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		flags := []string{"--text=title", "--text=body", fmt.Sprint("--length=", 1+random.IntN(6)), "--cut=words"}
		want := run(t, ask(t, append(flags, asLines)...))
		got := run(t, ask(t, append(flags, asParquet)...))
		if g, w := got.Run.Passages, want.Run.Passages; g.Seams != w.Seams || g.Repeated != w.Repeated || g.Uncut != 0 {
			t.Fatalf("%+v, want %+v", g, w)
		}
		var rows []row
		for _, file := range got.Manifest.Files {
			if output.PartOf(file.Path) == output.Corpus {
				some, err := parquet.ReadFile[row](got.Path(file.Path))
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, some...)
			}
		}
		kept := corpusLines(t, want)
		if len(rows) != len(all) || len(kept) != len(all) {
			t.Fatalf("%d rows and %d lines of %d", len(rows), len(kept), len(all))
		}
		for i, r := range rows {
			w := row{ID: all[i].ID, Year: all[i].Year}
			if err := json.Unmarshal([]byte(kept[i]), &w); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(r, w) {
				t.Fatalf("row %d: %+v, want %+v", i, r, w)
			}
			if !reflect.DeepEqual(r, all[i]) {
				cut++
			}
		}
	}
	if cut < 50 {
		t.Errorf("only %d rows are cut", cut)
	}
}
