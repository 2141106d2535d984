package report

import (
	"cmp"
	_ "embed" // the page
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report/plot"
)

// Study prints how similar documents are under each setting, and which documents belong together.
func Study(w io.Writer, s *records.Study) error {
	out := &printer{w: w}
	out.printf("%s, %s\n\n", plural(len(s.Documents), "document"), plural(s.Pairs, "pair"))
	similarity := table{right: true}
	out.printf("similarity as a percentage:\n")
	similarity.head("setting", "mean", "median", "99th percentile", "maximum", "tokens removed, %")
	for _, setting := range s.Settings {
		similarity.row(setting.Name, perCent(setting.Mean), perCent(setting.Median),
			perCent(setting.Percentile), perCent(setting.Largest), perCent(setting.Removed))
	}
	similarity.print(out)
	if len(s.Errors) > 0 {
		out.printf("\n")
		deviation := table{right: true}
		deviation.head("values of a signature ("+s.Signature+")", "RMS error", "expected", "mean error")
		for _, e := range s.Errors {
			deviation.row(fmt.Sprint(e.Values), fmt.Sprintf("%.4f", e.RMS), fmt.Sprintf("%.4f", e.Expected),
				fmt.Sprintf("%+.4f", e.Bias))
		}
		deviation.print(out)
	}
	listed(out, s)
	together(out, "copies", s, s.Copies)
	together(out, fmt.Sprintf("at least %s %% similar", trimmed(s.Threshold)), s, s.Groups)
	printMatrices(out, studyMatrices(s))
	return out.err
}

// printed is how many pairs, how many groups, and how many documents of a group are printed.
const printed = 10

// listed prints the most similar pairs, with their similarity for each size of shingles.
func listed(out *printer, s *records.Study) {
	if len(s.Listed) == 0 {
		return
	}
	plain := plainSettings(s)
	by := s.Settings[0].Name
	for i, at := range plain[1:] {
		if i+2 < len(plain) {
			by += ", " + s.Settings[at].Name
		} else {
			by += " and " + s.Settings[at].Name
		}
	}
	out.printf("\n")
	out.text("most similar pairs by %s (similarity as a percentage)", by)
	for _, pair := range mostSimilar(s.Listed)[:min(printed, len(s.Listed))] {
		for _, at := range plain {
			out.printf("%7s", perCent(pair.Similarities[at]))
		}
		out.printf("  %s\n", out.names(7*len(plain)+gap, s.Documents[pair.A].ID, s.Documents[pair.B].ID))
	}
}

func mostSimilar(pairs []records.StudiedPair) []records.StudiedPair {
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(a, b records.StudiedPair) int {
		return cmp.Compare(b.Similarities[0], a.Similarities[0])
	})
	return pairs
}

// together prints groups of documents.
func together(out *printer, what string, s *records.Study, groups [][]int) {
	if len(groups) == 0 {
		return
	}
	out.printf("\n%s: %s\n", what, plural(len(groups), "group"))
	for _, group := range groups[:min(printed, len(groups))] {
		line := ""
		add := func(word string) {
			if line != "" && utf8.RuneCountInString(line+word)+gap > out.limit() {
				out.printf("%s\n", line)
				line = "  "
			}
			line += "  " + word
		}
		for _, i := range group[:min(printed, len(group))] {
			add(out.names(2*gap, s.Documents[i].ID))
		}
		if more := len(group) - printed; more > 0 {
			add(fmt.Sprintf("and %d more", more))
		}
		out.printf("%s\n", line)
	}
	if more := len(groups) - printed; more > 0 {
		out.printf("  and %s\n", plural(more, "more group"))
	}
}

func perCent(share float64) string { return fmt.Sprintf("%.2f", 100*share) }

// smallPerCent is like perCent, but distinguishes a small share from none.
func smallPerCent(share float64) string {
	if text := perCent(share); text != "0.00" || share == 0 {
		return text
	}
	return "< 0.01"
}

// trimmed is like perCent, for a share that somebody chose, such as a threshold: 80, or 82.5.
func trimmed(share float64) string { return fmt.Sprintf("%g", math.Round(share*1e8)/1e6) }

// Drawing is a file of a study.
type Drawing struct {
	Name  string
	Write func(io.Writer) error
}

// StudyDrawings returns the plots, tables and page of a study.
func StudyDrawings(s *records.Study) []Drawing {
	figures := studyFigures(s)
	var drawings []Drawing
	for _, f := range figures {
		drawings = append(drawings, Drawing{f.name + ".svg", func(w io.Writer) error { return plot.SVG(w, f.figure) }})
	}
	for _, m := range studyMatrices(s) {
		drawings = append(drawings, Drawing{m.Name + ".csv", m.csv})
	}
	return append(drawings, Drawing{"report.html", func(w io.Writer) error { return studyPage(w, s, figures) }})
}

// named is a figure with the name of its file.
type named struct {
	name   string
	figure plot.Figure
}

func studyFigures(s *records.Study) []named {
	figures := []named{
		{"steps", plot.Figure{
			Title: "Mean similarity against shingle size",
			Description: "Bar charts of the mean similarity of all pairs for each shingle size, with and without each " +
				"step alone.",
			Charts: stepCharts(s),
		}},
		{"pairs", plot.Figure{
			Title:       "Similarity of each pair",
			Description: "A line for each shingle size: the similarity of pairs, the most similar first.",
			Charts:      []plot.Chart{pairChart(s)},
		}},
		{"tokens", plot.Figure{
			Title:       "What each step removes",
			Description: "Bar chart of the share of tokens removed by each step, and by all of them together.",
			Charts:      []plot.Chart{tokenChart(s)},
		}},
	}
	if len(s.Errors) > 0 {
		figures = append(figures, named{"signatures", plot.Figure{
			Title: "Error of the similarity that signatures estimate",
			Description: "Lines of the root mean squared error over all pairs against the number of values of a signature: " +
				"measured, and expected.",
			Charts: []plot.Chart{errorChart(s)},
		}})
	}
	return figures
}

// A contrast is a step that is taken or not.
type contrast struct {
	title, kept, taken string
	step               string // its name in a list of steps
	of                 func(*records.StudySetting) *bool
}

var contrasts = []contrast{
	{"Spaces", "kept", "removed", "no spaces", func(s *records.StudySetting) *bool { return &s.Spaces }},
	{"Stop words", "kept", "removed", "no stop words", func(s *records.StudySetting) *bool { return &s.StopWords }},
	{"Stemming", "words as they are", "stems", "stems", func(s *records.StudySetting) *bool { return &s.Stemmed }},
	{"Capitals", "lower case", "kept", "capitals", func(s *records.StudySetting) *bool { return &s.Case }},
	{"Punctuation", "left out", "kept", "punctuation", func(s *records.StudySetting) *bool { return &s.Punctuation }},
	{"Replicas", "each shingle once", "as often as it occurs", "repeated shingles",
		func(s *records.StudySetting) *bool { return &s.Replicas }},
}

// sized returns a number of words or characters.
func sized(s *records.Study, k int) string { return plural(k, strings.TrimSuffix(units[s.Unit], "s")) }

// inWords describes a setting in words.
func inWords(s *records.Study, of records.StudySetting) string {
	words := []string{sized(s, of.K)}
	for _, c := range contrasts {
		if *c.of(&of) != *c.of(&s.Settings[0]) {
			words = append(words, c.step)
		}
	}
	return strings.Join(words, ", ")
}

// follows says which single step changes the mean similarity most, and how.
func follows(s *records.Study) string {
	plain := s.Settings[plainSettings(s)[0]]
	step, mean := "", plain.Mean
	for _, c := range contrasts {
		if with := c.settings(s); len(with) > 0 {
			if m := s.Settings[with[0]].Mean; math.Abs(m-plain.Mean) > math.Abs(mean-plain.Mean) {
				step, mean = c.step, m
			}
		}
	}
	if step == "" {
		return ""
	}
	return fmt.Sprintf("With shingles of %s, the mean similarity is %s %%. The step \"%s\" alone "+
		"changes it most, to %s %%.",
		sized(s, plain.K), perCent(plain.Mean), step, perCent(mean))
}

// same returns the settings that equal like except for their size of shingles and their results, ordered by k.
func same(s *records.Study, like records.StudySetting) (found []int) {
	for i := range s.Settings {
		all := true
		for _, c := range contrasts {
			all = all && *c.of(&s.Settings[i]) == *c.of(&like)
		}
		if all {
			found = append(found, i)
		}
	}
	return found
}

// plainSettings returns the settings without any step, one per size of shingles.
func plainSettings(s *records.Study) []int { return same(s, s.Settings[0]) }

// settings returns the settings with only this step, ordered by k; none if the study does not have it.
func (c *contrast) settings(s *records.Study) []int {
	like := s.Settings[0]
	*c.of(&like) = !*c.of(&like)
	return same(s, like)
}

func sizes(s *records.Study) (labels []string) {
	for _, at := range plainSettings(s) {
		labels = append(labels, fmt.Sprint(s.Settings[at].K))
	}
	return labels
}

func stepCharts(s *records.Study) (charts []plot.Chart) {
	series := func(name string, settings []int) plot.Series {
		values := plot.Series{Name: name}
		for _, at := range settings {
			values.Values = append(values.Values, 100*s.Settings[at].Mean)
		}
		return values
	}
	for _, c := range contrasts {
		if with := c.settings(s); len(with) > 0 {
			charts = append(charts, plot.Bars{
				Title: c.title, Groups: sizes(s), X: "shingle size, in " + units[s.Unit], Y: plot.Axis{Label: "similarity, %"},
				Series: []plot.Series{series(c.kept, plainSettings(s)), series(c.taken, with)},
			})
		}
	}
	return charts
}

var units = map[string]string{"char": "characters", "word": "words"}

func pairChart(s *records.Study) plot.Chart {
	pairs := mostSimilar(s.Listed)
	lines := plot.Lines{X: plot.Axis{Label: "pair, the most similar first", From: 1, To: float64(len(pairs))},
		Y: plot.Axis{Label: "similarity, %", To: 1}}
	for _, at := range plainSettings(s) {
		line := plot.Line{Series: plot.Series{Name: sized(s, s.Settings[at].K)}}
		for i, pair := range pairs {
			line.X, line.Values = append(line.X, float64(i+1)), append(line.Values, 100*pair.Similarities[at])
		}
		lines.Series = append(lines.Series, line)
	}
	return lines
}

func tokenChart(s *records.Study) plot.Chart {
	bars := plot.Bars{X: "step", Y: plot.Axis{Label: units[s.Unit] + " removed, %"}, Series: []plot.Series{{}}}
	add := func(name string, at int) {
		bars.Groups = append(bars.Groups, name)
		bars.Series[0].Values = append(bars.Series[0].Values, 100*s.Settings[at].Removed)
	}
	for _, c := range contrasts[:3] {
		if with := c.settings(s); len(with) > 0 {
			add(c.title+": "+c.taken, with[0])
		}
	}
	all := s.Settings[0]
	all.Spaces, all.StopWords, all.Stemmed = s.Unit == "word", false, true
	add("all of these", same(s, all)[0])
	return bars
}

func errorChart(s *records.Study) plot.Chart {
	measured, expected := plot.Line{Series: plot.Series{Name: "measured"}},
		plot.Line{Series: plot.Series{Name: "expected: √(J(1−J)/n)"}}
	for _, e := range s.Errors {
		measured.X, measured.Values = append(measured.X, float64(e.Values)), append(measured.Values, e.RMS)
		expected.X, expected.Values = append(expected.X, float64(e.Values)), append(expected.Values, e.Expected)
	}
	return plot.Lines{
		X: plot.Axis{Label: "values of a signature", Log: true}, Y: plot.Axis{Label: "RMS error", Log: true},
		Series: []plot.Line{measured, expected},
	}
}

//go:embed study.html
var studyTemplate string

// studyPage writes the page of a study, which needs no other file.
func studyPage(w io.Writer, s *records.Study, figures []named) error {
	var pictures, steps []*drawing
	for _, f := range figures {
		if f.name == "steps" {
			continue
		}
		d, err := draw(f.figure, "", nil)
		if err != nil {
			return err
		}
		pictures = append(pictures, d)
	}
	for _, chart := range stepCharts(s) {
		bars := chart.(plot.Bars) //nolint:forcetypeassert // they are
		f := plot.Figure{Title: bars.Title, Description: figures[0].figure.Description}
		bars.Title = ""
		f.Charts = []plot.Chart{bars}
		d, err := draw(f, "", nil)
		if err != nil {
			return err
		}
		steps = append(steps, d)
	}
	return render(terminal.Text(w), studyTemplate, &studyReport{s, loadsNothing, follows(s), steps, pictures,
		studyMatrices(s), units[s.Unit], s.Pairs == int64(len(s.Listed))})
}

// studyReport is the data of the template.
type studyReport struct {
	*records.Study
	Policy   string
	Follows  string
	Steps    []*drawing
	Pictures []*drawing
	Tables   []matrix
	Unit     string
	All      bool
}

// ID returns the id of a document.
func (s *studyReport) ID(document int) string { return s.Documents[document].ID }

// Words describes a setting.
func (s *studyReport) Words(of records.StudySetting) string { return inWords(s.Study, of) }
