package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// tables are the tables of an output.
type tables struct {
	pairs    []records.Pair
	clusters []records.Clustered
	removed  []records.Removed
	rejected []records.Rejected
	corpus   map[string]int64 // records by source
}

// Each scope in which a pipeline begins a stage has a name for users, also if Beam numbers it.
func TestStepsHaveNames(t *testing.T) {
	scope := regexp.MustCompile(`Scope(?:\(| *= )"([a-z][\w.]*)`)
	for _, folder := range []string{"io", "pipelines", "transforms"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, found := range scope.FindAllStringSubmatch(string(source), -1) {
				plain, numbered := StepOf(found[1]+"/x"), StepOf(found[1]+"'1/x")
				if plain == found[1] || numbered != plain {
					t.Errorf("%s: %s is shown as %q, and %q", path, found[1], plain, numbered)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// finished writes an output with the tables and returns it.
func finished(t rapid.TB, dir string, run records.Run, of tables) *output.Finished {
	t.Helper()
	run.Formats.Tables = records.Tables
	f := &output.Finished{Folder: output.Folder{Dir: dir}, Run: run}
	if f.Run.Parameters.Write == nil {
		for _, part := range output.Parts() {
			f.Run.Parameters.Write = append(f.Run.Parameters.Write, string(part))
		}
	}
	writeTable(t, f, output.Pairs, of.pairs)
	writeTable(t, f, output.Clusters, of.clusters)
	writeTable(t, f, output.Removed, of.removed)
	writeTable(t, f, output.Rejected, of.rejected)
	for source, rows := range of.corpus {
		f.Manifest.Files = append(f.Manifest.Files, records.ManifestFile{Path: output.CorpusFile(source), Rows: rows})
	}
	return f
}

func writeTable[T any](t rapid.TB, f *output.Finished, part output.Part, rows []T) {
	t.Helper()
	name := output.TableFile(part, 0, 1)
	path := f.Path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), parquet.WriteFile(path, rows)); err != nil {
		t.Fatal(err)
	}
	f.Manifest.Files = append(f.Manifest.Files, records.ManifestFile{Path: name, Rows: int64(len(rows))})
}

// textsBy returns texts for any place.
func textsBy(text func(records.Place) string) Texts {
	return func(_ context.Context, of []records.Place) (map[records.Place]string, error) {
		texts := map[records.Place]string{}
		for _, place := range of {
			texts[place] = text(place)
		}
		return texts, nil
	}
}

func drawn(t rapid.TB, f *output.Finished, texts Texts) (page string, root *html.Node) {
	t.Helper()
	var out bytes.Buffer
	if err := Page(context.Background(), &out, f, texts); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), root
}

func all(root *html.Node, want func(*html.Node) bool) (found []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && want(n) {
			found = append(found, n)
		}
	}
	return found
}

func elementsOf(root *html.Node, name string) []*html.Node {
	return all(root, func(n *html.Node) bool { return n.Data == name })
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textIn(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func squeezed(n *html.Node) string { return strings.Join(strings.Fields(textIn(n)), " ") }

// sampled returns a run of ten documents from three sources, and its tables.
func sampled() (records.Run, tables) {
	row := func(position int64, cluster int64, members int32, kept bool) records.Clustered {
		return records.Clustered{Cluster: cluster, ID: fmt.Sprint("id", position), Source: "dt=1/a", Position: position, Members: members, Kept: kept}
	}
	half := .5
	run := records.Run{
		Status: "done", Version: "v1", Parameters: records.Spec{Similarity: records.Similarity{Threshold: .5}, Input: records.Input{Inputs: []string{"in dir"}}, Comparing: records.Comparing{Compare: "jaccard"}},
		Counts:      records.Counts{Records: 26, Unreadable: 1, NotCompared: 2, Pairs: 3, NearPairs: 2, Copies: 1, Clusters: 2, Removed: 12, Identical: 1, Near: 11},
		NotCompared: map[string]int64{records.ReasonNoToken: 2},
		Input:       records.RunInput{Files: 2},
		Chosen:      records.Chosen{Bands: 20, Rows: 5, ExpectedRecall: .5},
		Recall:      &records.Recall{Measured: &records.MeasuredRecall{Sample: 5, True: 4, Found: 3, RecallInterval: &records.RecallInterval{Recall: .75, Interval: &records.Interval{Low: .25, High: 1}}}},
		Stages:      []records.Stage{{Name: "source.Read/x", CPU: 2, Seconds: 1, Bytes: 1000}},
		Warnings:    []string{"a <warning>"},
	}
	var removed []records.Removed
	for i := range 11 {
		removed = append(removed, records.Removed{Source: "dt=1/a", Position: int64(i), Similarity: &half, Reason: records.ReasonNear})
	}
	return run, tables{
		pairs: []records.Pair{
			{IDA: "id1", IDB: "id2", SourceA: "dt=1/a", SourceB: "dt=1/a", PositionA: 1, PositionB: 2, Similarity: .5},
			{IDA: "id1", IDB: "id3", SourceA: "dt=1/a", SourceB: "dt=1/a", PositionA: 1, PositionB: 3, Similarity: .75},
			{IDA: "id4", IDB: "id5", SourceA: "dt=1/a", SourceB: "dt=2/b", PositionA: 4, PositionB: 5, Similarity: 1, Same: new(records.ReasonIdentical)},
		},
		clusters: []records.Clustered{row(1, 1, 3, true), row(2, 1, 3, false), row(3, 1, 3, false), row(4, 4, 2, true), row(5, 4, 2, false)},
		removed:  append(removed, records.Removed{Source: "dt=2/b", Position: 5, Reason: records.ReasonIdentical}),
		rejected: []records.Rejected{{Reason: records.ReasonNoToken}, {Reason: "broken <record>", Raw: new([]byte("x"))}},
		corpus:   map[string]int64{"dt=1/a": 1, "dt=2/b": 12},
	}
}

// The page shows what the tables and run.json contain, each thing in its place.
func TestPage(t *testing.T) {
	run, of := sampled()
	texts := map[int64]string{1: "one two three", 2: "one 2 three", 3: "one two 3"}
	page, root := drawn(t, finished(t, t.TempDir(), run, of), textsBy(func(p records.Place) string { return texts[p.Position] }))
	if title := squeezed(elementsOf(root, "title")[0]); title != "neardup: 12 of 25 documents removed" {
		t.Errorf("title %q", title)
	}
	var rows []string
	for _, tr := range elementsOf(root, "tr") {
		var cells []string
		for _, cell := range all(tr, func(n *html.Node) bool { return n.Data == "th" || n.Data == "td" }) {
			cells = append(cells, squeezed(cell))
		}
		rows = append(rows, strings.Join(cells, " | "))
	}
	for _, want := range []string{
		"kept | 11 | 42.31", "removed as near-duplicates | 11 | 42.31", "removed as copies | 1 | 3.85", "of these, identical: the same text, byte for byte | 1 | 3.85",
		"not compared, kept in the corpus | 2 | 7.69", "of these, without tokens | 2 | 7.69", "unreadable, not in the corpus | 1 | 3.85", "of these, broken <record> | 1 | 3.85",
		"dt=1/a | 11 | 0 | 1 | 91.67", "dt=2/b | 0 | 1 | 12 | 7.69", "dt=1 | 11 | 0 | 1 | 91.67",
		"0.5000 | 3 | 2 | 5 | 3", "0.7500 | 2 | 2 | 4 | 2", "0.7750 | 1 | 1 | 2 | 1", "1.0000 | 1 | 1 | 2 | 1",
		"id1one two threePair 1 Pair 2 | 3 | 1 | id1 (kept), id2, id3", "read and signsource.Read/x | 0 | 0 | 1.0 kB | 0 B | 2 s | 1 s", "--threshold | 0.5",
	} {
		if !slices.Contains(rows, want) {
			t.Errorf("no row %q in\n%s", want, strings.Join(rows, "\n"))
		}
	}
	warning := all(root, func(n *html.Node) bool { return attribute(n, "class") == "warning" })
	if len(warning) != 1 || !strings.Contains(squeezed(warning[0]), "dt=1/a: 11 of 12 removed") || strings.Contains(squeezed(warning[0]), "dt=2") {
		t.Error("the warning is not that of the one source of which hardly a document is left")
	}
	var marked, heads []string
	for _, mark := range elementsOf(root, "mark") {
		marked = append(marked, textIn(mark))
	}
	for _, head := range elementsOf(root, "h3")[1:3] {
		heads = append(heads, squeezed(head))
	}
	// Both pairs contain document 1, so the second one is among those that only fill up the list.
	if !slices.Equal(marked, []string{"two", "2", "two", "2", "three", "3", "three", "3"}) || !slices.Equal(heads, []string{"Pair 1: 50 % similar", "Pair 2: 75 % similar"}) {
		t.Errorf("marked %q under %q", marked, heads)
	}
	if plots := all(root, func(n *html.Node) bool { return attribute(n, "class") == "plot" }); len(plots) != 8 {
		t.Errorf("%d plots, want similarities, sizes, recall and steps, each for two widths", len(plots))
	}
	for _, want := range []string{"measured 0.7500, 95 % confidence interval 0.2500 to 1.0000", "a &lt;warning&gt;", " --threshold=0.5 ", "&#39;in dir&#39;"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	closed(t, root)
}

// closed fails the test if the page would load anything.
func closed(t rapid.TB, root *html.Node) {
	t.Helper()
	for _, n := range all(root, func(*html.Node) bool { return true }) {
		for _, a := range n.Attr {
			switch a.Key {
			case "src", "srcset", "action", "data", "poster", "background", "ping", "formaction":
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			case "href":
				u, err := url.Parse(a.Val)
				if err != nil || u.Host != "" || u.Scheme != "" && u.Scheme != "data" || u.Scheme == "data" && n.Data != "a" || u.Scheme == "" && !strings.HasPrefix(a.Val, "#") {
					t.Errorf("<%s href=%q>", n.Data, a.Val)
				}
			case "style":
				if strings.Contains(a.Val, "url") {
					t.Errorf("style %q", a.Val)
				}
			}
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
}

// Whatever ids, paths, texts and warnings contain, the page has the same elements as with harmless ones.
func TestPageOfHostileTexts(t *testing.T) {
	dir := t.TempDir()
	run, of := sampled()
	elements := func(root *html.Node) (names []string) {
		for _, n := range all(root, func(n *html.Node) bool { return n.Data != "mark" }) {
			names = append(names, n.Data)
		}
		return names
	}
	_, harmless := drawn(t, finished(t, dir, run, of), textsBy(func(p records.Place) string { return fmt.Sprint("x ", p.Position) }))
	want := elements(harmless)
	hostile := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"<script>alert(1)</script>", "</script><script>", `"><img src=http://example.com/x onerror=alert(1)>`, "</style>", "<!--", "]]>", "javascript:alert(1)", "{{.}}", "`${1}`",
		"\u202e\u2066abc", "\x00\x1b[31m", "\xff\xfe", "日本語の文書", "ข้อความ", "مستند", "&lt;", "a\r\nb\u2028c", "'\"", "</details></main></body>",
	}))
	rapid.Check(t, func(t *rapid.T) {
		some := func(what string) string { return "x" + hostile.Draw(t, what) + hostile.Draw(t, what) }
		run, of := run, of
		of.pairs, of.clusters, of.removed = slices.Clone(of.pairs), slices.Clone(of.clusters), slices.Clone(of.removed)
		id, source := some("id"), strings.ReplaceAll(some("source"), "/", "")
		for i := range of.pairs {
			of.pairs[i].IDA, of.pairs[i].IDB, of.pairs[i].SourceA = id, some("id"), "dt=1/"+source
		}
		for i := range of.clusters {
			of.clusters[i].ID, of.clusters[i].Source = id, "dt=1/"+source
		}
		for i := range of.removed[:11] {
			of.removed[i].Source = "dt=1/" + source
		}
		of.corpus = map[string]int64{"dt=1/" + source: 1, "dt=2/b": 12}
		of.rejected = []records.Rejected{{Reason: "x" + some("reason"), Raw: new([]byte("x"))}}
		run.Warnings, run.Version, run.Parameters.Inputs = []string{some("warning")}, some("version"), []string{some("input")}
		text := some("text")
		page, root := drawn(t, finished(t, dir, run, of), textsBy(func(p records.Place) string { return fmt.Sprint(text, " ", p.Position) }))
		if got := elements(root); !slices.Equal(got, want) {
			t.Fatalf("elements\n%v\nwant\n%v\n%s", got, want, page)
		}
		if i := strings.IndexFunc(page, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\f\r", r) }); i >= 0 {
			t.Fatalf("a control character in %q", page[max(0, i-50):i+1])
		}
		closed(t, root)
	})
}

// Without documents, or without a table, the page says so.
func TestPageOfNothing(t *testing.T) {
	none := func(context.Context, []records.Place) (map[records.Place]string, error) {
		t.Error("texts are read, and there is none")
		return nil, nil
	}
	run := records.Run{Parameters: records.Spec{Similarity: records.Similarity{Threshold: .8}}}
	_, root := drawn(t, finished(t, t.TempDir(), run, tables{}), none)
	body := squeezed(root)
	for _, want := range []string{"0 of 0 documents removed", "No document was removed.", "There is no near pair", "There is no cluster.", "No limit took effect."} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	closed(t, root)
	run.Parameters.Write = []string{string(output.Corpus)}
	_, root = drawn(t, finished(t, t.TempDir(), run, tables{}), none)
	body = squeezed(root)
	for _, want := range []string{"The run did not write the pairs table.", "The run did not write the clusters table.", "The run did not write the removed table."} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
}

// The page leaves out whatever the pairs, threshold or method of a run cannot provide, or says that it is missing. It
// also says how reliable the method of the run is.
func TestPageOfMethods(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*records.Run, *tables)
		says, lacks []string
	}{
		"threshold 1": {func(run *records.Run, of *tables) {
			run.Parameters.Threshold = 1
			of.pairs = of.pairs[2:]
		}, []string{"There is no near pair with a similarity below 1.", "at least 100 % similar", "--bands20 ", "--rows5 "}, []string{"A higher threshold", "Pairs to check: ", "--limit", "--pieces"}},
		"no near pair": {func(run *records.Run, of *tables) {
			run.Counts.NearPairs, run.Counts.Near, run.Counts.Removed = 0, 0, 1
			of.pairs = of.pairs[2:]
		}, []string{"There is no near pair with a similarity below 1.", "1 of 25 documents: 1 copy and 0 near-duplicates of other documents.", "A higher threshold would leave fewer pairs. "}, []string{"Pairs to check: "}},
		"nothing removed": {func(run *records.Run, of *tables) {
			run.Counts, run.Warnings, run.NotCompared = records.Counts{Records: 5}, nil, nil
			*of = tables{}
		}, []string{"What was removedNothing.", "What to checkNothing stands out."}, nil},
		"exact": {func(run *records.Run, of *tables) {
			run.Parameters.Same, run.Chosen, run.Recall = "tokens", records.Chosen{}, nil
			of.pairs = of.pairs[2:]
		}, []string{"Copies are documents with the same words in the same order.", "Certain: copies are"}, []string{"near pairs", "Recall", "A higher threshold"}},
		"complete": {func(run *records.Run, _ *tables) {
			run.Parameters.Compare, run.Chosen, run.Recall = "cosine", records.Chosen{}, &records.Recall{Exact: true}
		}, []string{"Every near pair was verified with the full vectors of both", "expected 1.0000: all documents that may be near-duplicates were compared with each other"}, []string{"The curve shows"}},
		"simhash": {func(run *records.Run, _ *tables) {
			run.Parameters.Compare, run.Chosen = "overlap", records.Chosen{Pieces: 3, Signature: 8, ExpectedRecall: .5}
		}, []string{"is that of two SimHash signatures, which estimate", "The curve shows", "--pieces3 "}, []string{"Every near pair was verified", "--bands", "--rows"}},
		"chains": {func(run *records.Run, _ *tables) { run.Counts.Chained = 2 },
			[]string{"2 near-duplicates may be unlike the document that is kept"}, nil},
		"a crowd": {func(run *records.Run, _ *tables) { run.Counts.PairsPartial, run.Parameters.PairBudget = 1, 5 },
			[]string{"The clusters are approximate, because pairs may not list all pairs of large groups.", "only some pairs of 1 cluster, in groups that exceed --pair-budget (5 pairs, each"}, nil},
		"more documents than fit": {func(run *records.Run, _ *tables) { run.InForce.Memory = documentMemory },
			[]string{"There are too many documents in pairs to count the clusters here.", "pairs, including copies"}, []string{"documents in clusters"}},
		"containment": {func(run *records.Run, _ *tables) {
			run.Parameters.Compare, run.Parameters.Cluster, run.Parameters.Keep = "containment", "star", []string{"first"}
		}, []string{"0.7500224 0.7750112 ", "Only a run with --threshold can tell how many documents it would remove."}, []string{"documents in clusters documents removed", "--from"}},
		"none kept": {func(run *records.Run, _ *tables) {
			run.Parameters.Cluster, run.Parameters.Keep = "star", []string{"none"}
		}, []string{"0.50003255 ", "0.77501122 "}, []string{"a kept document"}},
	} {
		t.Run(name, func(t *testing.T) {
			run, of := sampled()
			c.change(&run, &of)
			_, root := drawn(t, finished(t, t.TempDir(), run, of), textsBy(func(p records.Place) string { return fmt.Sprint("one ", p.Position) }))
			body := squeezed(elementsOf(root, "main")[0])
			for _, want := range c.says {
				if !strings.Contains(body, want) {
					t.Errorf("no %q in\n%s", want, body)
				}
			}
			for _, unwanted := range append(c.lacks, "NaN", "Inf") {
				if strings.Contains(body, unwanted) {
					t.Errorf("%q in\n%s", unwanted, body)
				}
			}
			closed(t, root)
		})
	}
}

// Beside each document of a pair, the page says what became of it, if that is known.
func TestFatesOfPairs(t *testing.T) {
	run, of := sampled()
	of.removed = []records.Removed{
		{Source: "dt=1/a", Position: 2, Similarity: new(float64), Reason: records.ReasonNear, KeptID: "id1"},
		{Source: "dt=2/b", Position: 3, Similarity: new(float64), Reason: records.ReasonNear}, // in another source
	}
	of.pairs[0].IDB = of.pairs[0].SourceB // the source is named once
	heads := func() (texts []string) {
		_, root := drawn(t, finished(t, t.TempDir(), run, of), textsBy(func(records.Place) string { return "text" }))
		for _, article := range elementsOf(root, "article") {
			for _, p := range all(article, func(n *html.Node) bool { return n.Data == "p" && attribute(n, "class") == "soft" }) {
				texts = append(texts, squeezed(p))
			}
		}
		return texts
	}
	same := "The parts shown here do not differ."
	if got, want := heads(), []string{"id1, in dt=1/a: kept", "dt=1/a: removed", same, "id1, in dt=1/a: kept", "id3, in dt=1/a: kept", same}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	of.removed[0].KeptID = "id9"
	if got := heads(); got[1] != "dt=1/a: removed (kept: id9)" {
		t.Errorf("%q", got[1])
	}
	run.Parameters.Write = []string{string(output.Pairs)}
	if got, want := heads(), []string{"id1, in dt=1/a", "dt=1/a", same, "id1, in dt=1/a", "id3, in dt=1/a", same}; !slices.Equal(got, want) {
		t.Errorf("without removed: %q, want %q", got, want)
	}
}

// Removed documents that differ from the kept one in numbers come first, each once, even if no near pair is listed.
func TestNumbersFirst(t *testing.T) {
	run, of := sampled()
	run.Counts.Numbers = 3
	numbers := func(position int64, similarity float64) records.Removed {
		return records.Removed{
			ID: fmt.Sprint("id", position), Source: "dt=1/a", Position: position, KeptID: "id1", KeptSource: "dt=1/a", KeptPosition: 1,
			Cluster: 1, Similarity: &similarity, Reason: records.ReasonNear, Differs: []string{"numbers"},
		}
	}
	of.removed = []records.Removed{numbers(3, .75), numbers(9, 1), numbers(10, .6)}
	of.removed[2].Differs = []string{"symbols"}
	heads := func() (texts []string) {
		_, root := drawn(t, finished(t, t.TempDir(), run, of), textsBy(func(records.Place) string { return "text" }))
		for _, article := range elementsOf(root, "article") {
			texts = append(texts, squeezed(elementsOf(article, "h3")[0])+", "+squeezed(elementsOf(article, "p")[1]))
		}
		return append(texts, squeezed(elementsOf(root, "li")[len(elementsOf(elementsOf(root, "nav")[0], "li"))]))
	}
	first := []string{"Pair 1: 100 % similar, numbers differ, id9, in dt=1/a: removed", "Pair 2: 75 % similar, numbers differ, id3, in dt=1/a: removed"}
	check := "Pairs to check: 3 of 12 removed documents contain different numbers from the documents kept in their place (as in issue 12 and issue 13); --match-numbers would keep them."
	if got, want := heads(), append(slices.Clone(first), "Pair 3: 50 % similar, id2, in dt=1/a: kept", check); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	run.Parameters.Same = "tokens"
	of.pairs = nil
	if got, want := heads(), append(first, check); !slices.Equal(got, want) {
		t.Errorf("of copies: %q, want %q", got, want)
	}
}

// A text of a single word in a single line, as long as texts may be read, is shown in part, with the differences
// marked.
func TestPageOfOneLongWord(t *testing.T) {
	run, of := sampled()
	long := strings.Repeat("a", 30_000)
	page, root := drawn(t, finished(t, t.TempDir(), run, of), textsBy(func(p records.Place) string { return long + fmt.Sprint(p.Position) + long }))
	var marked []string
	for _, mark := range elementsOf(root, "mark") {
		marked = append(marked, strings.Trim(textIn(mark), "a"))
	}
	if !slices.Equal(marked, []string{"1", "2", "1", "2", "1", "3", "1", "3"}) || len(page) > 200_000 {
		t.Errorf("marked %q on a page of %d bytes", marked, len(page))
	}
}

// Texts are left out on request, and the page says which could not be read.
func TestPageWithoutTexts(t *testing.T) {
	run, of := sampled()
	secret := textsBy(func(records.Place) string { return "secret" })
	failing := func(context.Context, []records.Place) (map[records.Place]string, error) {
		return nil, errors.New("no such file")
	}
	page, _ := drawn(t, finished(t, t.TempDir(), run, of), failing)
	if !strings.Contains(page, "Some texts are missing: no such file.") {
		t.Error("a failure is not told")
	}
	if page, _ = drawn(t, finished(t, t.TempDir(), run, of), secret); !strings.Contains(page, "secret") {
		t.Error("no text is shown")
	}
	run.Parameters.NoText = true
	if page, _ = drawn(t, finished(t, t.TempDir(), run, of), secret); strings.Contains(page, "secret") {
		t.Error("--no-text, and a text is shown")
	}
}

// With 100,000 clusters with long ids, thousands of sources, and texts that become five times as long by escaping, the
// page stays below 2 MB.
func TestPageSize(t *testing.T) {
	const clusters = 100_000
	long := strings.Repeat(`"`, 300)
	run, of := sampled()
	run.Counts.Clusters, run.Input.Files = clusters, 3000
	of.corpus = map[string]int64{}
	of.pairs, of.clusters, of.removed = nil, nil, nil
	for i := range int64(clusters) {
		source := fmt.Sprint(long, i%3000)
		members := int32(2 + i%7)
		of.pairs = append(of.pairs, records.Pair{IDA: long, IDB: long, SourceA: source, SourceB: source, PositionA: 2 * i, PositionB: 2*i + 1, Similarity: .5 + float64(i)/(3*clusters)})
		for m := range int64(members) {
			of.clusters = append(of.clusters, records.Clustered{Cluster: i, ID: long, Source: source, Position: 10*i + m, Members: members, Kept: m == 0})
		}
		of.removed = append(of.removed, records.Removed{Source: source, Position: 2*i + 1, Reason: records.ReasonNear})
		of.corpus[source] = 1
	}
	for range 1000 {
		run.Warnings = append(run.Warnings, strings.Repeat(long, 10))
		run.Parameters.Inputs = append(run.Parameters.Inputs, long)
	}
	words := strings.Repeat(`"" `, 10_000)
	page, root := drawn(t, finished(t, t.TempDir(), run, of), textsBy(func(p records.Place) string { return fmt.Sprint(p.Position, words) }))
	if len(page) >= 2e6 {
		t.Errorf("%d bytes", len(page))
	}
	if n := len(elementsOf(root, "article")); n != mostNearest {
		t.Errorf("%d pairs", n)
	}
}

// The largest clusters are the same as found by sorting, wherever their rows are, and each has all its kept documents.
func TestLargestAgainstSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int32Range(2, 9), 0, 60).Draw(t, "sizes")
		var rows []records.Clustered
		kept := map[int64]int{}
		for name, members := range sizes {
			for range members {
				row := records.Clustered{Cluster: int64(name), Members: members, Kept: rapid.Bool().Draw(t, "kept")}
				if row.Kept {
					kept[row.Cluster]++
				}
				rows = append(rows, row)
			}
		}
		rows = rapid.Permutation(rows).Draw(t, "rows")
		found := &findings{members: map[int32]int64{}}
		for _, row := range rows {
			found.clustered(row)
		}
		var want []int64
		for name := range sizes {
			want = append(want, int64(name))
		}
		slices.SortStableFunc(want, func(a, b int64) int { return int(sizes[b]) - int(sizes[a]) })
		want = want[:min(len(want), mostClusters)]
		if len(found.largest) != len(want) {
			t.Fatalf("%d clusters, want %d", len(found.largest), len(want))
		}
		for i, c := range found.largest {
			if c.Name != want[i] || c.Kept != kept[c.Name] {
				t.Fatalf("cluster %d is %d with %d kept, want %d with %d", i, c.Name, c.Kept, want[i], kept[want[i]])
			}
		}
	})
}

// Pieces of large files are counted with their source, and files that only look like pieces by themselves.
func TestPieces(t *testing.T) {
	for files, want := range map[int]map[string]int64{
		2: {"big.jsonl.gz": 7, "a-00000-of-00001.csv": 5},
		3: {"big-00000-of-00002.jsonl.gz": 3, "big-00001-of-00002.jsonl.gz": 4, "a-00000-of-00001.csv": 5},
	} {
		run, _ := sampled()
		run.Input.Files = files
		f := finished(t, t.TempDir(), run, tables{
			corpus:  map[string]int64{"big-00000-of-00002.jsonl.gz": 3, "big-00001-of-00002.jsonl.gz": 4, "a-00000-of-00001.csv": 5},
			removed: []records.Removed{{Source: "a-00000-of-00001.csv"}},
		})
		found, err := find(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for source, tally := range found.sources {
			got[source] = tally.Kept
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d files: %v, want %v", files, got, want)
		}
	}
}

// What is left of a source is counted with it, even if another source has its name or that of a piece, and a third is
// in pieces.
func TestPiecesBesideSourcesOfSuchNames(t *testing.T) {
	run, _ := sampled()
	run.Input.Files = 5
	f := finished(t, t.TempDir(), run, tables{
		corpus: map[string]int64{
			"big-00000-of-00002.csv": 3, "big-00001-of-00002.csv": 4, // in pieces
			"part-00000-of-00002.csv": 5, "part-00001-of-00002.csv": 6,
			"all.csv": 7, "all-00000-of-00001.csv": 8,
		},
		removed: []records.Removed{{Source: "big.csv"}, {Source: "part-00001-of-00002.csv"}, {Source: "all.csv"}, {Source: "big-00007-of-00009.csv"}},
	})
	found, err := find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]tally{}
	for source, tally := range found.sources {
		got[source] = *tally
	}
	want := map[string]tally{
		"big.csv":                 {Kept: 7, Exact: 1},
		"part-00000-of-00002.csv": {Kept: 5}, "part-00001-of-00002.csv": {Kept: 6, Exact: 1},
		"big-00007-of-00009.csv": {Exact: 1}, // nothing of it is left
		"all.csv":                {Kept: 7, Exact: 1}, "all-00000-of-00001.csv": {Kept: 8},
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A source named like a piece of another source, of which nothing is left, is not counted with that source, even if
// documents of both were removed.
func TestSourceNamedLikePiece(t *testing.T) {
	run, _ := sampled()
	run.Input.Files = 2
	f := finished(t, t.TempDir(), run, tables{
		corpus:  map[string]int64{"a-00000-of-00001.csv": 5},
		removed: []records.Removed{{Source: "a.csv"}, {Source: "a-00000-of-00001.csv"}},
	})
	found, err := find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]tally{}
	for source, tally := range found.sources {
		got[source] = *tally
	}
	if want := (map[string]tally{"a.csv": {Exact: 1}, "a-00000-of-00001.csv": {Kept: 5, Exact: 1}}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A near pair with similarity 1 is still a near pair.
func TestNearOfSimilarityOne(t *testing.T) {
	found, err := find(t.Context(), finished(t, t.TempDir(), records.Run{Parameters: records.Spec{Similarity: records.Similarity{Threshold: .5}}}, tables{pairs: []records.Pair{
		{IDA: "of one direction", PositionB: 1, Similarity: 1},
		{IDA: "a copy", PositionB: 2, Similarity: 1, Same: new(records.ReasonSameSet)},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	if len(found.nearest) != 1 || found.nearest[0].IDA != "of one direction" || found.below[steps] != 1 {
		t.Errorf("near pairs %+v, by step %v", found.nearest, found.below)
	}
}

// The pairs kept are those nearest to the threshold, wherever their rows are.
func TestNearestAgainstSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := make([]records.Pair, rapid.IntRange(0, 3*mostChecked).Draw(t, "pairs"))
		values, random := rapid.IntRange(1, 10_000).Draw(t, "values"), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for i := range rows {
			rows[i] = records.Pair{PositionA: int64(i), Similarity: .5 + float64(random.IntN(values))/20_000}
		}
		found := &findings{ladder: newLadder(.5, false, false, 1<<20), below: make([]int64, steps+1)}
		for _, row := range rows {
			found.near(row)
		}
		slices.SortStableFunc(rows, func(a, b records.Pair) int { return cmp.Compare(a.Similarity, b.Similarity) })
		if want := rows[:min(len(rows), mostChecked)]; !slices.EqualFunc(found.nearest, want, func(a, b records.Pair) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("%d pairs, not the first %d of a sort", len(found.nearest), len(want))
		}
	})
}

// A cluster's class is the one whose name includes its size.
func TestClasses(t *testing.T) {
	for size, want := range map[int]string{2: "2", 3: "3", 4: "4", 5: "5–8", 8: "5–8", 9: "9–16", 16: "9–16", 17: "17–32", 1000: "513–1,024", 1025: "1,025–2,048"} {
		if got := nameOf(classOf(size)); got != want {
			t.Errorf("%d: %s, want %s", size, got, want)
		}
	}
}

// The curve is the probability that independent draws give: all rows of a band, or all bits of a piece, agree.
func TestCurve(t *testing.T) {
	simhash := records.Run{Chosen: records.Chosen{Pieces: 3, Signature: 8}}
	cosine := simhash
	cosine.Parameters.Compare = "cosine"
	for _, c := range []struct {
		run      records.Run
		at, want float64
	}{
		{records.Run{Chosen: records.Chosen{Bands: 2, Rows: 3}}, .5, 1 - 7./8*7./8},
		{simhash, .5, 1 - 3./4*7./8*7./8}, // pieces of 2, 3 and 3 bits
		{cosine, 0, 1 - 3./4*7./8*7./8},   // at a right angle half of the bits agree
		{cosine, 1, 1},
	} {
		if got := curve(&c.run)(c.at); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v at %v: %v, want %v", c.run.Chosen, c.at, got, c.want)
		}
	}
	if curve(&records.Run{}) != nil {
		t.Error("a curve of a run that compares everything")
	}
}
