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

	"github.com/neardup/neardup/report/plot"
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

// writePlot draws what each setting takes and finds.
func (t table) writePlot(w io.Writer) error {
	cost := plot.Bars{Title: "CPU, in the geometric mean of the corpora", Y: plot.Axis{Label: "× neardup's", Log: true}}
	hard := plot.Bars{Title: "Recall of pairs from .8 to .9", Y: plot.Axis{Label: "share", To: 1}}
	var costs, found []float64
	for _, s := range t.summaries() {
		if s.ran == 0 {
			continue
		}
		q := s.own
		if q.Near == 0 { // its words are not joined
			q = s.ours
		}
		sum := 0.0
		for _, ratio := range s.cpu {
			sum += math.Log(ratio)
		}
		costs = append(costs, math.Exp(sum/float64(len(s.cpu))))
		found = append(found, 1-missed(q.NearFound, q.Near))
		cost.Groups = append(cost.Groups, s.tool.Name)
	}
	hard.Groups = cost.Groups
	cost.Series, hard.Series = []plot.Series{{Values: costs}}, []plot.Series{{Values: found}}
	return plot.SVG(w, plot.Figure{Title: "neardup beside other tools",
		Description: "Bars of what each tool takes and finds.", Charts: []plot.Chart{cost, hard}})
}
