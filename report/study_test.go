package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/neardup/neardup/records"
)

// studied returns a study of three documents, two shingle sizes and one step.
func studied() *records.Study {
	s := &records.Study{
		Unit: "char", Language: "en", Pairs: 3, Threshold: .5, Copies: [][]int{{0, 1}}, Groups: [][]int{{0, 1}},
		Documents: []records.StudiedDocument{{ID: "<a>&"}, {ID: "b"}, {ID: "c"}},
		Listed: []records.StudiedPair{
			{A: 0, B: 1, Similarities: []float64{.5, .25, .125, .0625, .1, .2}},
			{A: 0, B: 2, Similarities: []float64{.75, 0, 0, 0, 0, 0}},
			{A: 1, B: 2, Similarities: []float64{0, 0, 0, 0, 0, 0}},
		},
		Errors: []records.SignatureError{{Values: 16, RMS: .1, Expected: .11}, {Values: 64, RMS: .05, Expected: .055}}, Signature: "classic",
	}
	for _, step := range []string{"", "_no_space", "_no_space_no_stop_words_stem"} {
		for _, k := range []int{5, 7} {
			s.Settings = append(s.Settings, records.StudySetting{
				Name: "char" + string(rune('0'+k)) + step, K: k, Spaces: step == "", StopWords: !strings.Contains(step, "stop"), Stemmed: strings.Contains(step, "stem"),
				Mean: .1 * float64(len(s.Settings)), Removed: .01 * float64(len(s.Settings)),
			})
		}
	}
	return s
}

// The most similar pairs come first, whatever order they are listed in.
func TestStudy(t *testing.T) {
	var out bytes.Buffer
	if err := Study(&out, studied()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"3 documents, 3 pairs\n", "char7_no_space  30.00", "most similar pairs by char5 and char7 (similarity as a percentage)\n  75.00   0.00  <a>&  c\n  50.00  25.00  <a>&  b\n",
		"copies: 1 group\n  <a>&  b\n", "at least 50 % similar: 1 group\n", "16     0.1000    0.1100",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	hostile := studied()
	hostile.Documents[0].ID = "a\x1b[2J"
	out.Reset()
	if err := Study(&out, hostile); err != nil || strings.Contains(out.String(), "\x1b") || strings.Count(out.String(), "a·[2J") < 3 {
		t.Errorf("error %v, %q", err, out.String())
	}
	failing := writer(func([]byte) (int, error) { return 0, io.ErrShortWrite })
	if err := Study(failing, studied()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("%v of a writer that fails", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// Pictures are XML, and the page has all of them. Their texts cannot be mistaken for tags.
func TestStudyDrawings(t *testing.T) {
	s := studied()
	files := map[string]string{}
	for _, d := range StudyDrawings(s) {
		var out bytes.Buffer
		if err := d.Write(&out); err != nil {
			t.Fatal(err)
		}
		files[d.Name] = out.String()
	}
	page := files["report.html"]
	for _, name := range []string{"steps.svg", "pairs.svg", "tokens.svg", "signatures.svg"} {
		decoder := xml.NewDecoder(strings.NewReader(files[name]))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	for _, want := range []string{"&lt;a&gt;&amp;", `<th scope="row" title="char7_no_space">7 characters, no spaces</th><td>30.00</td>`, "Every pair",
		">Spaces</text>", ">Similarity of each pair</text>", ">What each step removes</text>", ">Error of the similarity that signatures estimate</text>",
		"The step &#34;no spaces&#34; alone changes it most, to "} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if !strings.Contains(page, `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;">`) {
		t.Error("the page may load something")
	}
	if root, err := html.Parse(strings.NewReader(page)); err != nil {
		t.Error(err)
	} else {
		closed(t, root)
	}
	if strings.Contains(page, "<a>&") {
		t.Error("an id is not escaped")
	}
	// A step that the study does not have gets no chart.
	if svg := files["steps.svg"]; !strings.Contains(svg, ">Spaces<") || strings.Contains(svg, ">Capitals<") || strings.Contains(svg, ">Stop words<") {
		t.Error("the charts are not those of the steps")
	}
	s.Pairs = 1000
	i := slices.IndexFunc(StudyDrawings(s), func(d Drawing) bool { return d.Name == "report.html" })
	var out bytes.Buffer
	if err := StudyDrawings(s)[i].Write(&out); err != nil || !strings.Contains(out.String(), "The 3 most similar pairs") {
		t.Errorf("%v: all pairs, though there are more", err)
	}
}

// Of a long matrix, only the first rows are shown, and the page says so; its file has all rows. Invisible characters
// are quoted.
func TestMatrices(t *testing.T) {
	s := studied()
	m := &records.StudyMatrices{
		Documents: []int{1, 2}, Rows: 1, Functions: []records.MatrixFunction{{A: 4, B: 5, C: 103}},
		Signatures: [][]uint64{{7}, nil}, Labels: [][]string{{"7"}, nil}, Buckets: [][]string{{"1d7e4b90"}, nil},
		Words: []records.MatrixWord{{Text: "a", Documents: 1, IDF: 1.5, TF: []int{2, 0}, TFIDF: []float64{3, 0}}},
	}
	for x := range 102 {
		m.Shingles = append(m.Shingles, records.MatrixShingle{Text: " <b>", Documents: 1, Occurrences: 3, In: []int{1, 0}})
		m.Functions[0].Values = append(m.Functions[0].Values, uint64((4*x+5)%103))
	}
	s.Matrices = m
	var out bytes.Buffer
	if err := Study(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		` 99 " <b>" 1 3 1 0 and 2 more rows; matrix-characteristic.csv in the output has all Functions`,
		" h a b c h1 4 5 103 Permutations", " h b c h1 7 – Labels", " band b c 1 1d7e4b90 – Documents", " word idf b c a 1.5000 3.0000 0.0000",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	files := map[string]string{}
	for _, d := range StudyDrawings(s) {
		var out bytes.Buffer
		if err := d.Write(&out); err != nil {
			t.Fatal(err)
		}
		files[d.Name] = out.String()
	}
	if table := files["matrix-characteristic.csv"]; strings.Count(table, "\n") != 103 || !strings.Contains(table, "\n101, <b>,1,3,1,0\n") && !strings.Contains(table, "\n101,\" <b>\",1,3,1,0\n") {
		t.Errorf("characteristic matrix\n%s", table)
	}
	if table := files["matrix-permutations.csv"]; !strings.HasPrefix(table, "x,h1\n0,5\n1,9\n") {
		t.Errorf("permutations\n%s", table)
	}
	for _, want := range []string{`<th scope="row">99</th><td>&#34; &lt;b&gt;&#34;</td>`, "2 more rows in <code>matrix-characteristic.csv</code>"} {
		if !strings.Contains(files["report.html"], want) {
			t.Errorf("no %q in the page", want)
		}
	}
}
