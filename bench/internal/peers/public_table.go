package peers

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// public measures the tools on the corpora, and writes the table, the lines and the plot.
func (t table) public(o options, chosen []recipe) error {
	for _, recipe := range chosen {
		c, err := recipe.prepare(o.quick)
		if err != nil {
			return err
		}
		if c == nil {
			fmt.Fprintf(os.Stderr, "public: %s is left out: it needs %s\n", recipe.Name, recipe.needs)
			continue
		}
		cells, err := measure(o, *c, t.Tools)
		if err != nil {
			return err
		}
		t.Corpora = append(t.Corpora, measured{*c, cells})
		for k, cell := range cells {
			if strings.HasPrefix(cell.Failed, "stopped") {
				t.Tools[k].why = "not tried, " + cell.Failed + " on " + c.Name
			}
		}
		if err := t.writeAll(o.json); err != nil { // after each, since some take long
			return err
		}
	}
	return t.writePublic(os.Stdout)
}

func (t table) writeAll(path string) error {
	base := strings.TrimSuffix(path, filepath.Ext(path))
	for to, write := range map[string]func(io.Writer) error{
		path: t.writeLines, base + ".md": t.writePublic, base + ".svg": t.writePlot} {
		if err := writeFile(to, write); err != nil {
			return err
		}
	}
	return nil
}

// writeLines writes what was installed and each cell as a line of JSON.
func (t table) writeLines(w io.Writer) error {
	encoder := json.NewEncoder(w)
	if err := encoder.Encode(map[string]any{"Date": t.Date, "Machine": t.Machine, "Workers": t.Workers,
		"Rounds": t.Rounds}); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, tool := range t.Tools {
		if i := tool.installed; !seen[i.Peer] {
			seen[i.Peer] = true
			if err := encoder.Encode(map[string]any{"Installed": i}); err != nil {
				return err
			}
		}
	}
	for _, m := range t.Corpora {
		for _, c := range m.Cells {
			if err := encoder.Encode(struct {
				Corpus     string
				Documents  int
				TextBytes  int64
				Parameters string
				cell
			}{m.Name, m.Documents, m.TextBytes, c.tool.Parameters, c}); err != nil {
				return err
			}
		}
	}
	return nil
}

// summary is what a tool took and found on all corpora that it finished.
type summary struct {
	tool       tool
	cpu, wall  []float64 // as multiples of what neardup took for the same corpus
	peak, disk float64   // the largest, in bytes
	own, ours  quality
	ran        int
	failed     []string
}

func (t table) summaries() (all []summary) {
	for k, tool := range t.Tools {
		s := summary{tool: tool}
		for _, m := range t.Corpora {
			c, base := m.Cells[k], m.Cells[0]
			if c.Failed != "" {
				s.failed = append(s.failed, m.Name+": "+c.Failed)
				continue
			}
			s.ran++
			s.cpu = append(s.cpu, c.least(cpu)/base.least(cpu))
			s.wall = append(s.wall, c.least(wall)/base.least(wall))
			s.peak, s.disk = max(s.peak, c.least(peak)), max(s.disk, float64(c.Disk))
			s.own.add(c.Quality)
			s.ours.add(c.OnOurs)
		}
		all = append(all, s)
	}
	return all
}

func (q *quality) add(other *quality) {
	if other == nil {
		return
	}
	q.Pairs, q.PairsFound = q.Pairs+other.Pairs, q.PairsFound+other.PairsFound
	q.Near, q.NearFound = q.Near+other.Near, q.NearFound+other.NearFound
	q.Removed, q.RemovedRightly = q.Removed+other.Removed, q.RemovedRightly+other.RemovedRightly
}

func (t table) writePublic(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Where neardup loses\n\n%s\n## All tools\n\nMeasured on %s. %s. Threads of each tool: %d. "+
		"Rounds: %d, the least of each.\n\n", items(t.publicLosses()), t.Date, t.Machine, t.Workers, t.Rounds)
	b.WriteString("| tool | setting | install | corpora | CPU | wall | peak MB | disk MB | recall | .8 to .9 | rightly " +
		"| on neardup's words: recall | .8 to .9 | rightly |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range t.summaries() {
		fmt.Fprintf(&b, "| %s | %s | %.0f MB, %.0f s | %d of %d |", s.tool.Name, s.tool.Parameters,
			float64(s.tool.installed.Bytes)/1e6, s.tool.installed.Seconds, s.ran, len(t.Corpora))
		if s.ran == 0 {
			b.WriteString(strings.Repeat(" |", 10) + "\n")
			continue
		}
		fmt.Fprintf(&b, " %s | %s | %.0f | %.0f | %s | %s |\n", span(s.cpu), span(s.wall), s.peak/1e6, s.disk/1e6,
			s.own.shares(), s.ours.shares())
	}
	b.WriteString("\nWhat did not run:\n\n")
	for _, s := range t.summaries() {
		for _, reason := range s.failed {
			fmt.Fprintf(&b, "- %s, %s\n", s.tool.Name, reason)
		}
	}
	for _, a := range absent {
		fmt.Fprintf(&b, "- %s: %s\n", a[0], a[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (q quality) shares() string {
	return share(q.PairsFound, q.Pairs) + " | " + share(q.NearFound, q.Near) + " | " + share(q.RemovedRightly, q.Removed)
}

// span is the least and the greatest of what a tool took, as multiples.
func span(of []float64) string {
	return fmt.Sprintf("%.2g to %.2g", slices.Min(of), slices.Max(of))
}

// publicLosses are losses of neardup's first row, and where installing takes less.
func (t table) publicLosses() []string {
	short := t
	short.Corpora = nil
	for _, m := range t.Corpora {
		cells := slices.Clone(m.Cells)
		short.Corpora = append(short.Corpora, measured{m.corpus, slices.Delete(cells, 1, 2)})
	}
	return short.losses()
}

// writePlot draws each setting by its CPU, as a multiple of neardup's, and its recall of the hard pairs.
func (t table) writePlot(w io.Writer) error {
	const width, height, left, bottom = 760, 420, 60, 380
	x := func(ratio float64) float64 {
		return left + math.Log10(max(ratio, .5)/.5)/math.Log10(10000)*(width-left-130)
	}
	y := func(recall float64) float64 { return bottom - recall*(bottom-20) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+
		"\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", width, height)
	for _, ratio := range []float64{1, 10, 100, 1000} {
		fmt.Fprintf(&b, "<path d=\"M%.0f 20V%d\" stroke=\"#ddd\"/><text x=\"%.0f\" y=\"%d\">%g×</text>\n", x(ratio), bottom,
			x(ratio), bottom+14, ratio)
	}
	for _, recall := range []float64{0, .25, .5, .75, 1} {
		fmt.Fprintf(&b, "<path d=\"M%d %.0fH%d\" stroke=\"#ddd\"/><text x=\"25\" y=\"%.0f\">%g</text>\n", left, y(recall),
			width-130, y(recall)+4, recall)
	}
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">CPU, as a multiple of neardup's</text>"+
		"<text x=\"%d\" y=\"12\">recall of pairs from .8 to .9, on the tool's own words</text>\n", left, height-8, left)
	for _, s := range t.summaries() {
		if s.ran == 0 || s.own.Near == 0 {
			continue
		}
		sum := 0.0
		for _, ratio := range s.cpu {
			sum += math.Log(ratio)
		}
		px, py := x(math.Exp(sum/float64(len(s.cpu)))), y(float64(s.own.NearFound)/float64(s.own.Near))
		color := "#888"
		if s.tool.ours {
			color = "#c00"
		}
		fmt.Fprintf(&b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/><text x=\"%.1f\" y=\"%.1f\">%s</text>\n", px,
			py, color, px+6, py+4, s.tool.Name)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
