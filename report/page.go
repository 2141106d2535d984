package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report/plot"
)

// Texts reads the texts of some documents of an output, each up to a limit. If some cannot be read, they are missing
// and the error says why.
type Texts = func(context.Context, []records.Place) (map[records.Place]string, error)

//go:embed page.html
var pageTemplate string

//go:embed page.js
var pageScript string

// Limits of what a page lists.
const (
	mostSources  = 50
	mostInCSV    = 500
	mostWarnings = 50
	mostAtOnce   = 5 // pairs shown at first
	// A source with at least wipedDocuments documents is nearly wiped out if wipedPercent of them are removed.
	wipedDocuments = 10
	wipedPercent   = 90
)

// Page writes report.html: the findings of a finished run on one page that needs no other file and no network.
func Page(ctx context.Context, w io.Writer, f *output.Finished, read Texts) error {
	if f.Run.Passages != nil {
		return passagesPage(ctx, w, f, read)
	}
	found, err := find(ctx, f)
	if err != nil {
		return err
	}
	p := &page{Run: &f.Run, found: found, Command: Command(&f.Run)}
	p.texts(ctx, read)
	p.Nearest = p.compare()
	for _, draw := range []func() error{p.drawSimilarities, p.drawSizes, p.drawCurve, p.drawStages} {
		if err := draw(); err != nil {
			return err
		}
	}
	return render(terminal.Text(w), pageTemplate, p)
}

//go:embed style.html
var styleTemplate string // of all pages

// render writes a page, whose template knows the style and the functions of all pages.
func render(w io.Writer, page string, data any) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"number":  func(n reflect.Value) string { return count(n.Int()) },
		"plural":  func(n reflect.Value, noun string) string { return plural(n.Int(), noun) },
		"percent": perCent, "smallPercent": smallPerCent, "whole": wholePerCent, "trimmed": trimmed,
		"size": bytesOf, "seconds": seconds, "short": short, "shown": terminal.Mask, "anchor": anchor,
	}).Parse(styleTemplate + page)
	if err != nil {
		return err
	}
	return t.Execute(w, data)
}

// longestName is the maximum length of a shown id or path, in characters.
const longestName = 120

// short shortens a name, keeping its ends.
func short(name string) string {
	if name == "." {
		return "(input folder)"
	}
	return terminal.Cut(strings.ToValidUTF8(name, "\uFFFD"), longestName)
}

// page is the data of the template.
type page struct {
	*records.Run
	found   *findings
	Command string

	Similarities, Sizes, Curve, Stage *drawing
	Nearest                           []nearPair // the pairs to check
	textOf                            map[records.Place]string
	TextNote                          string // why some texts are missing
}

// drawing is a plot with its values.
type drawing struct {
	Title  string
	Wide   template.HTML
	Narrow template.HTML // for small screens
	CSV    template.URL
	File   string
}

// Widths of drawings, which are scaled to their column.
const (
	wideWidth   = 880
	narrowWidth = 420
)

func draw(f plot.Figure, file string, table [][]string) (*drawing, error) {
	d := &drawing{Title: f.Title, CSV: dataURL(table), File: file}
	for width, picture := range map[float64]*template.HTML{wideWidth: &d.Wide, narrowWidth: &d.Narrow} {
		var svg bytes.Buffer
		f.Width = width
		if err := plot.SVG(&svg, f); err != nil {
			return nil, err
		}
		*picture = template.HTML(svg.String()) //nolint:gosec // plot escapes all texts
	}
	return d, nil
}

// cells formats values as the cells of a row.
func cells[T any](values ...T) (row []string) {
	for _, v := range values {
		if number, ok := any(v).(float64); ok {
			row = append(row, decimal(number))
		} else {
			row = append(row, fmt.Sprint(v))
		}
	}
	return row
}

// dataURL returns a table as CSV in a link.
func dataURL(table [][]string) template.URL {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	// a buffer never fails
	_ = w.WriteAll(table)
	return template.URL("data:text/csv;charset=utf-8;base64," +
		base64.StdEncoding.EncodeToString(text.Bytes())) //nolint:gosec // base64
}

// texts reads the texts of the pairs and clusters that are shown.
func (p *page) texts(ctx context.Context, read Texts) {
	if p.Parameters.NoText {
		p.TextNote = "Texts are left out because of --no-text."
		return
	}
	var wanted []records.Place
	for _, pair := range p.found.nearest {
		a, b := places(pair)
		wanted = append(wanted, a, b)
	}
	for _, c := range p.found.largest {
		first := c.First[0]
		wanted = append(wanted, records.Place{Source: first.Source, Position: first.Position})
	}
	if len(wanted) == 0 {
		return
	}
	var err error
	if p.textOf, err = read(ctx, wanted); err != nil {
		p.TextNote = "Some texts are missing: " + err.Error() + "."
	}
}

// RemovedShare returns the share of the documents that were removed.
func (p *page) RemovedShare() float64 {
	return float64(p.Counts.Removed) / math.Max(1, float64(p.Documents()))
}

// Documents returns how many documents were read.
func (p *page) Documents() int64 { return p.Counts.Records - p.Counts.Unreadable }

// Kept returns how many documents are kept, in the corpus if it is written.
func (p *page) Kept() int64 {
	kept := p.Documents() - p.Counts.Removed
	if p.Parameters.DropNotCompared {
		kept -= p.Counts.NotCompared
	}
	return kept
}

// Removals says how many documents were removed.
func (p *page) Removals() string {
	n := p.Counts
	if n.Removed == 0 {
		return "Nothing."
	}
	text := fmt.Sprintf("%s of %s", count(n.Removed), plural(p.Documents(), "document"))
	if p.Near() {
		text += fmt.Sprintf(": %s and %s of other documents", several(n.Removed-n.Near, "copy", "copies"),
			plural(n.Near, "near-duplicate"))
	}
	if keptNone(p.Run) {
		return text + "."
	}
	if n.Removed == 1 {
		return text + ". It has a kept document in its cluster."
	}
	return text + ". Each of them has a kept document in its cluster."
}

// several is plural for a noun with an irregular plural.
func several(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + more
}

// afterColon joins a line about the recall to other words that end in a colon.
var afterColon = strings.NewReplacer(": found", "; found", ": all", ", because all", ": no near",
	", because there is no near")

// Certainty says how reliable the removals are.
func (p *page) Certainty() (texts []string) {
	switch {
	case !p.Near():
		return []string{"Certain: copies are documents with the same " + p.Copied() +
			". The run did not look for documents that are only similar."}
	case p.Parameters.Compare == "overlap":
		texts = append(texts, "The similarity of a pair is that of two SimHash signatures, which estimate the cosine of "+
			"the texts.")
	default:
		whole := "shingle sets"
		if p.Parameters.Compare == "cosine" {
			whole = "vectors"
		}
		texts = append(texts, "Every near pair was verified with the full "+whole+" of both documents.")
	}
	if lines := p.RecallLines(); len(lines) > 0 { // the others are in their own section
		texts = append(texts, "Recall (the share of near pairs found): "+afterColon.Replace(lines[0])+".")
	}
	if p.Counts.Chained > 0 {
		texts = append(texts, plural(p.Counts.Chained, "near-duplicate")+
			" may be unlike the document that is kept: only a chain of others connects the two.")
	}
	return texts
}

// A check is something that a person should look at next.
type check struct{ Section, Name, Why string }

// Checks returns what a person should look at next, the most urgent first.
func (p *page) Checks() (checks []check) {
	n := p.Counts
	if wiped := len(p.Wiped()); wiped > 0 {
		checks = append(checks, check{"sources", "Sources",
			"almost nothing is left of " + several(int64(wiped), "source or partition", "sources or partitions") + "."})
	}
	if p.found.numbered > 0 {
		checks = append(checks, check{"nearest", "Pairs to check", differInNumbers(p.Run) + "."})
	}
	if shown := len(p.found.nearest) - p.found.numbered; shown > 0 {
		checks = append(checks, check{"nearest", "Pairs to check",
			fmt.Sprintf("those nearest to the threshold are the most doubtful; %s shown.", several(int64(shown), "is", "are"))})
	}
	if n.Clusters > 0 {
		checks = append(checks, check{"clusters", "Clusters",
			"the largest may consist of pages made from one template, which you may want to keep."})
	}
	if n.Unreadable > 0 {
		checks = append(checks, check{"fates", "Documents",
			several(n.Unreadable, "record is", "records are") + " unreadable, and not in the corpus."})
	}
	if n.NotCompared > 0 {
		checks = append(checks, check{"fates", "Documents",
			several(n.NotCompared, "document was", "documents were") + " not compared with the others."})
	}
	if stated := len(p.Warnings) + len(p.Capped()); stated > 0 {
		checks = append(checks, check{"capped", "Limits and warnings",
			several(int64(stated), "limit or warning", "limits or warnings") + " to read."})
	}
	return checks
}

// A fate is something that happened to some records.
type fate struct {
	Name  string
	Count int64
	Share float64
	Class string // of its part of the bar; "": it has none
	Part  bool   // of the last fate before it that is not a part
}

// Fates returns the fates of all records read.
func (p *page) Fates() (fates []fate) {
	n := p.Counts
	add := func(class, name string, count int64, part bool) {
		if count > 0 || !part {
			fates = append(fates, fate{name, count, float64(count) / math.Max(1, float64(n.Records)), class, part})
		}
	}
	kept := p.Kept()
	where := ", kept in the corpus"
	if p.Parameters.DropNotCompared {
		where = ", left out of the corpus"
	} else {
		kept -= n.NotCompared
	}
	add("f0", "kept", kept, false)
	add("f1", "removed as near-duplicates", n.Near, false)
	add("", "linked to the kept one only through others (chains)", n.Chained, true)
	add("f2", "removed as copies", n.Identical+n.Equal+n.SameSet, false)
	add("", "identical: the same text, byte for byte", n.Identical, true)
	add("", "the same "+tokens(p.Run)+" in the same order", n.Equal, true)
	add("", "the same "+features(p.Run), n.SameSet, true)
	if n.NotCompared > 0 {
		add("f3", "not compared"+where, n.NotCompared, false)
		for _, reason := range slices.Sorted(maps.Keys(p.NotCompared)) {
			add("", cmp.Or(notCompared[reason], reason), p.NotCompared[reason], true)
		}
	}
	if n.Unreadable > 0 {
		add("f4", "unreadable, not in the corpus", n.Unreadable, false)
		for _, reason := range slices.Sorted(maps.Keys(p.found.unreadable)) {
			add("", reason, p.found.unreadable[reason], true)
		}
	}
	return fates
}

// A source is an input file, a folder of files that are documents, or a partition.
type source struct {
	Name string
	*tally
}

// listed returns sources in descending order of their removed documents.
func (p *page) listed(tallies map[string]*tally) (all []source) {
	for name, t := range tallies {
		if t.Removed() > 0 || p.found.totals {
			all = append(all, source{name, t})
		}
	}
	slices.SortFunc(all, func(a, b source) int {
		return cmp.Or(cmp.Compare(b.Removed(), a.Removed()), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// A sourceTable is a table of sources.
type sourceTable struct {
	Kind   string // kind of its sources
	Rows   []source
	More   int
	Totals bool
	CSV    template.URL
}

// Tables returns the tables of sources and partitions.
func (p *page) Tables() (tables []sourceTable) {
	kind := "source"
	if p.Parameters.Format == "files" {
		kind = "folder"
	}
	for _, t := range []struct {
		kind    string
		tallies map[string]*tally
	}{{kind, p.found.sources}, {"partition", p.found.partitions}} {
		all := p.listed(t.tallies)
		if len(all) == 0 {
			continue
		}
		rows := [][]string{{t.kind, "removed_as_near", "removed_as_copies", "kept"}}
		for _, s := range all[:min(len(all), mostInCSV)] {
			var kept any = ""
			if p.found.totals {
				kept = s.Kept
			}
			rows = append(rows, cells[any](short(s.Name), s.Near, s.Exact, kept))
		}
		shown := min(len(all), mostSources)
		tables = append(tables, sourceTable{t.kind, all[:shown], len(all) - shown, p.found.totals, dataURL(rows)})
	}
	return tables
}

// Wiped returns the sources and partitions that are nearly wiped out.
func (p *page) Wiped() (wiped []source) {
	for _, tallies := range []map[string]*tally{p.found.sources, p.found.partitions} {
		for _, s := range p.listed(tallies) {
			if p.found.totals && s.Documents() >= wipedDocuments && s.Removed()*100 >= wipedPercent*s.Documents() {
				wiped = append(wiped, s)
			}
		}
	}
	return wiped
}

// First returns as many of the sources as a warning names.
func (p *page) First(sources []source) []source { return sources[:min(len(sources), 10)] }

// bins is the number of bars in the histogram of similarities.
const bins = 40

func (p *page) drawSimilarities() (err error) {
	counts := make([]float64, bins)
	for i, n := range p.found.below {
		counts[min(i*bins/steps, bins-1)] += float64(n)
	}
	t := p.Parameters.Threshold
	if slices.Max(counts) == 0 || t == 1 {
		return nil
	}
	edges := make([]float64, bins+1)
	for i := range edges {
		edges[i] = p.found.ladder.at[i*steps/bins]
	}
	rows := [][]string{{"from", "to", "near_pairs"}}
	for i, n := range counts {
		rows = append(rows, cells(edges[i], edges[i+1], n))
	}
	const pad = .05 // so that the mark is inside
	p.Similarities, err = draw(plot.Figure{
		Title: "Similarities of near pairs",
		Description: fmt.Sprintf("A histogram of the similarities of near pairs from the threshold %s to 1. Copies are "+
			"left out.", decimal(t)),
		Charts: []plot.Chart{plot.Histogram{
			X:     plot.Axis{Label: "similarity", From: t - pad*(1-t), To: 1},
			Y:     plot.Axis{Label: "near pairs", Log: differ(counts, 200)},
			Edges: edges, Counts: counts, Marks: []plot.Mark{{At: t, Name: "threshold " + decimal(t)}},
		}},
	}, "similarities.csv", rows)
	return err
}

// differ reports whether the largest count is more than a number of times the smallest one that is not 0.
func differ(counts []float64, times float64) bool {
	most := slices.Max(counts)
	return slices.ContainsFunc(counts, func(n float64) bool { return n > 0 && most > times*n })
}

// A slider shows the effect of higher thresholds.
type slider struct {
	Steps  []Step
	Tenths []Step // every tenth step
	CSV    template.URL
	// Exact says that the clusters at the first step are those of the run.
	Exact    bool
	Clusters bool // clusters are known
	Removed  bool // removed documents are known, too
}

// Slider returns nil if there is no pair or no higher threshold.
func (p *page) Slider() *slider {
	if p.Parameters.Same != "" || p.Parameters.Threshold == 1 || !wrote(p.Run, output.Pairs) || p.Counts.Pairs == 0 {
		return nil
	}
	s := &slider{Steps: p.found.ladder.counts(), Clusters: !p.found.ladder.overfull}
	s.Exact = s.Clusters && p.Counts.PairsPartial == 0
	s.Removed = s.Exact && len(p.Parameters.Protect)+len(p.Parameters.Against) == 0 &&
		p.Parameters.Compare != "containment" && // of a pair, the larger document stays
		(p.Parameters.Cluster != "star" || keptNone(p.Run) || slices.Equal(p.Parameters.Keep, []string{"first"}))
	rows := [][]string{{"threshold", "pairs", "clusters", "documents_in_clusters", "removed"}}
	for i, step := range s.Steps {
		row := cells[any](step.Threshold, step.Pairs, step.Clusters, step.Documents, step.Removed)
		if !s.Clusters {
			row[2], row[3] = "", ""
		}
		if !s.Removed {
			row[4] = ""
		}
		rows = append(rows, row)
		if i%10 == 0 {
			s.Tenths = append(s.Tenths, step)
		}
	}
	s.CSV = dataURL(rows)
	return s
}

func (p *page) drawSizes() (err error) {
	if len(p.found.members) == 0 {
		return nil
	}
	// The classes are 2, 3, 4, 5 to 8, 9 to 16 and so on.
	classes := map[int]int64{}
	rows := [][]string{{"documents", "clusters"}}
	last := 0
	for _, size := range slices.Sorted(maps.Keys(p.found.members)) {
		clusters := p.found.members[size] / int64(size)
		class := classOf(int(size))
		classes[class] += clusters
		last = max(last, class)
		if len(rows) <= mostInCSV {
			rows = append(rows, cells(int64(size), clusters))
		}
	}
	bars := plot.Bars{X: "documents in the cluster", Y: plot.Axis{Label: "clusters"}, Series: []plot.Series{{}}}
	for class := range last + 1 {
		bars.Groups = append(bars.Groups, nameOf(class))
		bars.Series[0].Values = append(bars.Series[0].Values, float64(classes[class]))
	}
	bars.Y.Log = differ(bars.Series[0].Values, 50)
	p.Sizes, err = draw(plot.Figure{
		Title: "Sizes of clusters", Description: "Bar chart of the number of clusters of each size.",
		Charts: []plot.Chart{bars},
	}, "clusters.csv", rows)
	return err
}

// classOf returns the class of a cluster's size.
func classOf(size int) int {
	if size <= 4 {
		return size - 2
	}
	return bits.Len(uint(size - 1))
}

func nameOf(class int) string {
	if class <= 2 {
		return strconv.Itoa(class + 2)
	}
	most := 1 << class
	return count(int64(most/2+1)) + "–" + count(int64(most))
}

// drawCurve draws the probability of finding a pair by its similarity.
func (p *page) drawCurve() (err error) {
	found := curve(p.Run)
	if found == nil {
		return nil
	}
	t := p.Parameters.Threshold
	line := plot.Line{Series: plot.Series{Name: "expected for a pair"}}
	rows := [][]string{{"similarity", "probability"}}
	const points = 100
	for i := range points + 1 {
		s := float64(i) / points
		line.X, line.Values = append(line.X, s), append(line.Values, found(s))
		rows = append(rows, []string{decimal(s), strconv.FormatFloat(found(s), 'f', 6, 64)})
	}
	lines := []plot.Line{line}
	add := func(name string, of *records.RecallInterval) {
		if of != nil {
			x := (t + 1) / 2
			level := plot.Series{Name: name, Values: []float64{of.Recall, of.Recall, of.Recall}}
			if of.Interval != nil {
				level.Low, level.High = []float64{math.NaN(), of.Low, math.NaN()}, []float64{math.NaN(), of.High, math.NaN()}
			}
			lines = append(lines, plot.Line{X: []float64{t, x, 1}, Series: level})
			rows = append(rows, []string{name, decimal(of.Recall)})
		}
	}
	if r := p.Recall; r != nil {
		if r.Estimated != nil {
			add("estimated for all near pairs", r.Estimated.RecallInterval)
		}
		if r.Measured != nil {
			add("measured for all near pairs", r.Measured.RecallInterval)
		}
	}
	p.Curve, err = draw(plot.Figure{
		Title: "How likely a pair is to be found",
		Description: fmt.Sprintf("A curve that rises from 0 to 1 with the similarity of a pair: the probability that it is "+
			"found, %.5f at the threshold %s. Horizontal lines show the recall of all near pairs.",
			p.Chosen.ExpectedRecall, decimal(t)),
		Charts: []plot.Chart{plot.Lines{
			X: plot.Axis{Label: "similarity", From: 0, To: 1}, Y: plot.Axis{Label: "probability", From: 0, To: 1}, Series: lines,
			Marks: []plot.Mark{{At: t, Name: "threshold " + decimal(t)}},
		}},
	}, "recall.csv", rows)
	return err
}

// curve returns the probability of finding a pair by its similarity, or nil if all pairs are found: 1−(1−s^r)^b for b
// bands of r rows, and 1−Π(1−a^l) for pieces of l bits of a SimHash signature whose bits agree with probability a.
func curve(run *records.Run) func(similarity float64) float64 {
	switch c := run.Chosen; {
	case c.Pieces > 0:
		return func(s float64) float64 {
			if run.Parameters.Compare == "cosine" {
				s = 1 - math.Acos(min(s, 1))/math.Pi
			}
			short, longer := c.Signature/c.Pieces, c.Signature%c.Pieces
			return 1 - math.Pow(1-math.Pow(s, float64(short)),
				float64(c.Pieces-longer))*math.Pow(1-math.Pow(s, float64(short+1)), float64(longer))
		}
	case c.Bands > 0 && c.Rows > 0:
		return func(s float64) float64 { return 1 - math.Pow(1-math.Pow(s, float64(c.Rows)), float64(c.Bands)) }
	}
	return nil
}

// stepNames says what a step does, by the beginning of a stage's name.
var stepNames = map[string]string{
	"source.Read": "read and sign", "source.Fetch": "read again", "candidates": "find candidates", "signature": "sign",
	"components": "connect", "sets": "make sets", "spool": "make sets", "verify": "verify", "crowds": "verify groups",
	"overlap": "verify", "decide": "decide", "recall": "measure recall",
	"frequencies": "count shingles", "replay": "read tables", "gather": "collect", "exchange": "regroup",
	"baseline.BruteForce": "compare all pairs", "baseline.Sets": "make sets", "baseline.ByDocument": "make sets",
	"baseline.Keys": "find candidates", "baseline.Group": "find candidates", "baseline.Verify": "verify",
	"baseline": "write tables", "compare": "sign",
	"nearest": "find the nearest", "nearest.Lookup": "find the document", "nearest.Text": "read the text",
	"passages": "find passages", "segment": "write the index",
	"sink.Corpus": "write corpus", "sink.Documents": "write documents", "sink": "write tables",
}

// StepOf returns what a stage does, judging by the first step in its name.
func StepOf(stage string) string {
	name, _, _ := strings.Cut(stage, "/")
	name, _, _ = strings.Cut(name, "'") // Beam numbers equal names
	of, _, _ := strings.Cut(name, ".")
	return cmp.Or(stepNames[name], stepNames[of], name)
}

// A step is a stage with a description of what it does.
type step struct {
	records.Stage
	Does string
}

// Steps returns the stages of the run.
func (p *page) Steps() (all []step) {
	for _, s := range p.Stages {
		all = append(all, step{s, StepOf(s.Name)})
	}
	return all
}

func (p *page) drawStages() (err error) {
	if len(p.Stages) == 0 {
		return nil
	}
	rows := [][]string{{"stage", "does", "cpu_seconds", "seconds", "elements", "bytes", "spilled_bytes"}}
	bars := plot.Bars{Y: plot.Axis{Label: "CPU seconds"}, Series: []plot.Series{{}}}
	cpu := map[string]float64{}
	for _, s := range p.Steps() {
		cpu[s.Does] += s.CPU
		rows = append(rows, cells[any](s.Name, s.Does, s.CPU, s.Seconds, s.Elements, s.Bytes, s.Spilled))
	}
	bars.Groups = slices.SortedFunc(maps.Keys(cpu), func(a, b string) int {
		return cmp.Or(cmp.Compare(cpu[b], cpu[a]), cmp.Compare(a, b))
	})
	for _, does := range bars.Groups {
		bars.Series[0].Values = append(bars.Series[0].Values, cpu[does])
	}
	p.Stage, err = draw(plot.Figure{
		Title: "CPU time by step", Description: "Bar chart of the CPU time of each step.",
		Charts: []plot.Chart{bars},
	}, "stages.csv", rows)
	return err
}

// A nearPair is a near pair, with its texts if they could be read.
type nearPair struct {
	records.Pair
	Number       int
	Numbers      bool // the documents differ in numbers
	Texts        bool
	Shown        difference
	FateA, FateB string   // "" if the table of removed documents is not written
	Cluster      *cluster // nil if it is not among the largest
}

// Numbered returns how many of the pairs to check, which come first, differ in numbers.
func (p *page) Numbered() int { return p.found.numbered }

// compare compares the texts of the pairs to check.
func (p *page) compare() (pairs []nearPair) {
	for i, pair := range p.found.nearest {
		shown := nearPair{Pair: pair, Number: i + 1, Numbers: i < p.found.numbered}
		a, b := places(pair)
		for _, c := range p.found.largest {
			if c.Name == p.found.endings[a].cluster {
				shown.Cluster, c.Pairs = c, append(c.Pairs, shown.Number)
			}
		}
		if p.Wrote(string(output.Removed)) {
			shown.FateA, shown.FateB = p.found.endings[a].fate(pair.IDB), p.found.endings[b].fate(pair.IDA)
		}
		textA, okA := p.textOf[a]
		textB, okB := p.textOf[b]
		if shown.Texts = okA && okB; shown.Texts {
			shown.Shown = differing(textA, textB)
		}
		pairs = append(pairs, shown)
	}
	return pairs
}

// Pairs returns the pairs that are shown at first, and the others.
func (p *page) Pairs() (pairs [2][]nearPair) {
	n := min(len(p.Nearest), mostAtOnce)
	return [2][]nearPair{p.Nearest[:n], p.Nearest[n:]}
}

// fate says what happened to a document of a pair; other is the id of the pair's other document.
func (e *ending) fate(other string) string {
	switch {
	case !e.removed:
		return "kept"
	case e.keptID == other:
		return "removed"
	default:
		return "removed (kept: " + short(e.keptID) + ")"
	}
}

// beginning returns the first most characters of a text.
func beginning(text string, most int) string {
	if runes := []rune(text[:min(len(text), utf8.UTFMax*(most+1))]); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return showable(text)
}

// mostBeginning is how much of a text is shown beside a cluster, in characters.
const mostBeginning = 160

// Largest returns the largest clusters.
func (p *page) Largest() []*cluster { return p.found.largest }

// Begins returns the beginning of a cluster's first document.
func (p *page) Begins(c *cluster) string {
	return beginning(p.textOf[records.Place{Source: c.First[0].Source, Position: c.First[0].Position}], mostBeginning)
}

// More returns how many documents of a cluster are not listed.
func (c *cluster) More() int { return int(c.Members) - len(c.First) }

// Capped says what was not searched for or not listed.
func (p *page) Capped() (all []string) {
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	n := p.Counts
	add(n.PairsPartial, "pairs/ may list only some pairs of %s, in groups that exceed --pair-budget (%s pairs, each "+
		"with up to 256 bytes of ids). Clusters and removals are not affected.",
		plural(n.PairsPartial, "cluster"), count(int64(p.Parameters.PairBudget)))
	add(p.Parameters.Limit, "Only the first %s were read (--limit).", plural(p.Parameters.Limit, "document"))
	add(p.NotCompared[records.ReasonTooLarge], "%s not compared: larger than %s (--max-doc-bytes).",
		plural(p.NotCompared[records.ReasonTooLarge], "document"), bytesOf(int64(p.Parameters.MaxDocBytes)))
	add(p.NotCompared[records.ReasonLongID], "%s not compared: the id is longer than 4 KiB.",
		plural(p.NotCompared[records.ReasonLongID], "document"))
	add(int64(p.Input.Skipped), "%s skipped in input folders: format differs.", plural(p.Input.Skipped, "file"))
	return all
}

// Warned returns the run's warnings, shortened.
func (p *page) Warned() (texts []string) {
	for _, text := range p.Warnings[:min(len(p.Warnings), mostWarnings)] {
		texts = append(texts, beginning(text, 500))
	}
	return texts
}

// RecallLines says what is known about the recall.
func (p *page) RecallLines() (lines []string) {
	if p.Recall == nil {
		return nil
	}
	var b strings.Builder
	recall(&printer{w: &b, width: math.MaxInt32}, p.Run)
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "recall")))
	}
	return lines
}

// A parameter is a flag and its value in force.
type parameter struct{ Name, Value string }

// Flags returns the parameters of the run.
func (p *page) Flags() (all []parameter) {
	values, defaults := inForce(p.Run), flags(records.Default())
	for name, chosen := range map[string]int{"bands": p.Chosen.Bands, "rows": p.Chosen.Rows, "pieces": p.Chosen.Pieces} {
		values[name] = json.Number(strconv.Itoa(chosen))
	}
	maps.DeleteFunc(values, func(name string, value any) bool { // 0 means none
		return value == json.Number("0") && defaults[name] == value
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := strings.Join(arguments(name, values[name]), " ")
		if values[name] == true {
			value = "true"
		}
		if value != "" {
			all = append(all, parameter{"--" + strings.ReplaceAll(name, "_", "-"), beginning(value, 300)})
		}
	}
	return all
}

// Began returns when the run was started.
func (p *page) Began() string { return p.Started.UTC().Format("2 January 2006, 15:04 UTC") }

// Wrote reports whether the run wrote a part of its output.
func (p *page) Wrote(part string) bool { return wrote(p.Run, output.Part(part)) }

// Near reports whether the run searched for near-duplicates.
func (p *page) Near() bool { return p.Parameters.Same == "" }

// Copied says what copies have in common.
func (p *page) Copied() string { return strings.TrimSuffix(copied(p.Run), ",") }

// Script returns the page's script; Policy allows the browser to run it and to load nothing else.
func (p *page) Script() template.JS { return template.JS(pageScript) } //nolint:gosec // ours

// Policy returns the page's Content-Security-Policy.
func (p *page) Policy() string {
	sum := sha256.Sum256([]byte(pageScript))
	return loadsNothing + "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// loadsNothing is the Content-Security-Policy of a page without a script.
const loadsNothing = "default-src 'none'; style-src 'unsafe-inline'"

// Data returns the steps as JSON for the script.
func (s *slider) Data() (template.JS, error) {
	data, err := json.Marshal(s.Steps)
	return template.JS(data), err //nolint:gosec // numbers
}
