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

// public measures the tools on the corpora, and writes the table, the lines of JSON and the plot.
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
		if err := t.writeAll(o.json); err != nil { // after each corpus, since some take long
			return err
		}
	}
	return writePublic(os.Stdout, []table{t})
}

func (t table) writeAll(path string) error {
	base := strings.TrimSuffix(path, filepath.Ext(path))
	for to, write := range map[string]func(io.Writer) error{
		path:          t.writeLines,
		base + ".md":  func(w io.Writer) error { return writePublic(w, []table{t}) },
		base + ".svg": func(w io.Writer) error { return writePlot(w, []table{t}) }} {
		if err := writeFile(to, write); err != nil {
			return err
		}
	}
	return nil
}

// writeLines writes the installations and all cells, one line of JSON each.
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

// summary is the cost and quality of a tool over all corpora that it finished.
type summary struct {
	tool       tool
	cpu, wall  []float64 // as multiples of neardup's, corpus by corpus
	peak, disk float64   // maximum, in bytes
	own, ours  quality
	ran        map[string]bool
	failed     []string
}

// summaries returns the summaries of all tools. Each cell is compared with neardup's in the same table.
func summaries(tables []table) (all []*summary) {
	for _, t := range tables {
		for k, tool := range t.Tools {
			i := slices.IndexFunc(all, func(s *summary) bool { return s.tool.Name == tool.Name })
			if i < 0 {
				i, all = len(all), append(all, &summary{tool: tool, ran: map[string]bool{}})
			}
			for _, m := range t.Corpora {
				all[i].take(m.Name, m.Cells[k], m.Cells[0])
			}
		}
	}
	return all
}

func (s *summary) take(corpus string, c, base cell) {
	if c.Failed != "" {
		s.failed = append(s.failed, corpus+": "+c.Failed)
		return
	}
	s.ran[corpus] = true
	s.cpu = append(s.cpu, c.least(cpu)/base.least(cpu))
	s.wall = append(s.wall, c.least(wall)/base.least(wall))
	s.peak, s.disk = max(s.peak, c.least(peak)), max(s.disk, float64(c.Disk))
	s.own.add(c.Quality)
	s.ours.add(c.OnOurs)
}

func (q *quality) add(other *quality) {
	if other == nil {
		return
	}
	q.Pairs, q.PairsFound = q.Pairs+other.Pairs, q.PairsFound+other.PairsFound
	q.Near, q.NearFound = q.Near+other.Near, q.NearFound+other.NearFound
	q.Removed, q.RemovedRightly = q.Removed+other.Removed, q.RemovedRightly+other.RemovedRightly
}

func writePublic(w io.Writer, tables []table) error {
	all := summaries(tables)
	lost, measured, known := []string{}, []string{}, map[string]bool{}
	for _, t := range tables {
		lost = append(lost, t.publicLosses()...)
		measured = append(measured, fmt.Sprintf("%s: %s. Threads of each tool: %d. Rounds: %d, minimum", t.Date,
			t.Machine, t.Workers, t.Rounds))
		for _, m := range t.Corpora {
			known[m.Name] = true
		}
	}
	slices.Sort(lost)
	var b strings.Builder
	fmt.Fprintf(&b, "## Where neardup loses\n\n%s\n## All tools\n\n%s\n", items(slices.Compact(lost)), items(measured))
	b.WriteString("| tool | setting | install | corpora | CPU | wall | peak MB | disk MB | recall | .8 to .9 | rightly " +
		"| on neardup's words: recall | .8 to .9 | rightly |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| %s | %s | %.0f MB, %.0f s | %d of %d |", s.tool.Name, s.tool.Parameters,
			float64(s.tool.installed.Bytes)/1e6, s.tool.installed.Seconds, len(s.ran), len(known))
		if len(s.ran) == 0 {
			b.WriteString(strings.Repeat(" |", 10) + "\n")
			continue
		}
		fmt.Fprintf(&b, " %s | %s | %.0f | %.0f | %s | %s |\n", span(s.cpu), span(s.wall), s.peak/1e6, s.disk/1e6,
			s.own.shares(), s.ours.shares())
	}
	b.WriteString("\nWhat did not run:\n\n")
	for _, s := range all {
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

// span writes the minimum and maximum of multiples.
func span(of []float64) string {
	return fmt.Sprintf("%.3g to %.3g", slices.Min(of), slices.Max(of))
}

// publicLosses returns the losses of neardup's first row, and the tools that take less space.
func (t table) publicLosses() []string {
	short := t
	short.Corpora = nil
	for _, m := range t.Corpora {
		short.Corpora = append(short.Corpora, measured{m.corpus, slices.Delete(slices.Clone(m.Cells), 1, 2)})
	}
	lines := short.losses()
	us, smaller := t.Tools[0].installed.Bytes, []string{}
	for _, tool := range t.Tools {
		if i := tool.installed; i.Failed == "" && i.Bytes < us {
			smaller = append(smaller, fmt.Sprintf("%s %.0f", i.Peer, float64(i.Bytes)/1e6))
		}
	}
	if len(smaller) > 0 {
		lines = append(lines, fmt.Sprintf("installed, MB: neardup %.0f; %s", float64(us)/1e6,
			strings.Join(slices.Compact(smaller), ", ")))
	}
	return lines
}

// line is a line of a file that writeLines wrote.
type line struct {
	Date, Machine      string
	Workers, Rounds    int
	Installed          *installed
	Corpus, Parameters string
	cell
}

// readLinesOf reads a file that writeLines wrote.
func readLinesOf(path string) (t table, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	had := map[string]installed{}
	for text := range strings.Lines(string(data)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return t, fmt.Errorf("%s: %w", path, err)
		}
		switch {
		case l.Machine != "":
			t = table{Date: l.Date, Machine: l.Machine, Workers: l.Workers, Rounds: l.Rounds}
			continue
		case l.Installed != nil:
			had[l.Installed.Peer] = *l.Installed
			continue
		}
		if len(t.Corpora) == 0 || t.Corpora[len(t.Corpora)-1].Name != l.Corpus {
			t.Corpora = append(t.Corpora, measured{corpus: corpus{Name: l.Corpus}})
		}
		source := "neardup"
		for _, p := range publicPeers {
			if p.Name == l.Tool {
				source = p.distribution
			}
		}
		l.tool = tool{Name: l.Tool, Parameters: l.Parameters, ours: source == "neardup", installed: had[source]}
		m := &t.Corpora[len(t.Corpora)-1]
		m.Cells = append(m.Cells, l.cell)
		if len(t.Corpora) == 1 {
			t.Tools = append(t.Tools, l.tool)
		}
	}
	return t, nil
}

// writeFrom writes the table and the plot from files of earlier runs.
func writeFrom(o options) error {
	var tables []table
	for _, path := range o.from {
		t, err := readLinesOf(path)
		if err != nil {
			return err
		}
		tables = append(tables, t)
	}
	base := strings.TrimSuffix(o.json, filepath.Ext(o.json))
	if err := writeFile(base+".svg", func(w io.Writer) error { return writePlot(w, tables) }); err != nil {
		return err
	}
	return writePublic(os.Stdout, tables)
}

// writePlot draws the cost and the recall of each setting.
func writePlot(w io.Writer, tables []table) error {
	all := summaries(tables)
	cost := plot.Bars{Title: "CPU, in the geometric mean of the corpora", Y: plot.Axis{Label: "× neardup's", Log: true}}
	hard := plot.Bars{Title: "Recall of pairs from .8 to .9", Y: plot.Axis{Label: "share", To: 1}}
	var costs, found []float64
	for _, s := range all {
		if len(s.ran) == 0 {
			continue
		}
		q := s.own
		if q.Near == 0 { // its own sets are not joined
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
