package peers

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/neardup/neardup/bench/internal/process"
)

// table has all measurements.
type table struct {
	Date    string
	Machine string
	Workers int
	Rounds  int
	Tools   []tool
	Corpora []measured
}

// measured is a corpus and the measurements of the tools on it.
type measured struct {
	corpus
	Cells []cell
}

func (t table) writeJSON(path string) error {
	return writeFile(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(t)
	})
}

// writeHead writes the part above the corpora.
func (t table) writeHead(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Measured on %s\n\n%s. Threads of each tool: %d. Alternating rounds: %d, minimum and median.\n\n",
		t.Date, t.Machine, t.Workers, t.Rounds)
	b.WriteString("| tool | version | |\n|---|---|---|\n")
	for _, tool := range t.Tools {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", tool.Name, tool.Version, tool.Parameters)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTail writes the part below the corpora.
func (t table) writeTail(w io.Writer) error {
	losses := items(t.losses())
	if losses == "" {
		losses = "Nowhere in this run.\n"
	}
	_, err := fmt.Fprintf(w, "\n### Ratios\n\nEach ratio compares the minimum over the rounds.\n\n%s\n### Where neardup "+
		"loses\n\n%s", items(t.ratios()), losses)
	return err
}

func items(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("- " + line + "\n")
	}
	return b.String()
}

// failures returns an error if a tool failed; being stopped is no failure.
func (t table) failures() error {
	var failed []string
	for _, m := range t.Corpora {
		for _, c := range m.Cells {
			if strings.HasPrefix(c.Failed, "failed") {
				failed = append(failed, c.Tool+" on "+m.Name)
			}
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("what failed is above: %s", strings.Join(failed, ", "))
	}
	return nil
}

func (m measured) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n%d documents, %.1f MB of text in a file of %.1f MB.", m.Name, m.Documents,
		float64(m.TextBytes)/1e6, float64(m.FileBytes)/1e6)
	b.WriteString("\n\n| tool | CPU s | median | per GB of text | wall s | median | peak MB | recall | of pairs below " +
		"0.9 | removed | rightly |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range m.Cells {
		if c.Failed != "" {
			fmt.Fprintf(&b, "| %s | %s | | | | | %.0f | | | | |\n", c.Tool, strings.ReplaceAll(c.Failed, "|", "\\|"),
				c.least(peak)/(1<<20))
			continue
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.1f | %.2f | %.2f | %.0f |", c.Tool, c.least(cpu), c.median(cpu),
			c.least(cpu)/float64(m.TextBytes)*1e9, c.least(wall), c.median(wall), c.least(peak)/(1<<20))
		if q := c.Quality; q != nil {
			fmt.Fprintf(&b, " %s of %d | %s of %d | %d | %s |\n", share(q.PairsFound, q.Pairs), q.Pairs,
				share(q.NearFound, q.Near), q.Near,
				q.Removed, share(q.RemovedRightly, q.Removed))
		} else {
			b.WriteString(" | | | |\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// share writes a fraction, rounded down, so that only 1 is written 1.0000.
func share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.4f", float64(part*10_000/whole)/10_000)
}

// sides returns the tools of a corpus that have an answer: ours, and the others.
func (m measured) sides() (ours, others []cell) {
	for _, c := range m.Cells {
		switch {
		case c.Failed != "" || c.Quality == nil:
		case c.tool.ours:
			ours = append(ours, c)
		default:
			others = append(others, c)
		}
	}
	return ours, others
}

// ratios returns neardup's costs as fractions of other tools' costs.
func (t table) ratios() (lines []string) {
	say := func(corpus, what string, a, b cell, of func(process.Taken) float64) {
		lines = append(lines, fmt.Sprintf("%s, %s: %s / %s = %.3f", corpus, what, a.Tool, b.Tool, a.least(of)/b.least(of)))
	}
	cells := map[string]map[string]cell{}
	for _, m := range t.Corpora {
		ours, others := m.sides()
		for _, we := range ours {
			if len(others) > 0 {
				say(m.Name, "CPU, the cheapest peer", we, fastest(others, cpu), cpu)
				say(m.Name, "wall, the fastest peer", we, fastest(others, wall), wall)
			}
			for _, c := range m.Cells {
				if c.tool.read == nil && c.Failed == "" {
					say(m.Name, "CPU", we, c, cpu)
				}
			}
		}
		cells[m.Name] = map[string]cell{}
		for _, c := range append(ours, others...) {
			cells[m.Name][c.Tool] = c
		}
	}
	for _, m := range t.Corpora {
		ours, _ := m.sides()
		for _, a := range ours {
			if b, ok := cells[m.Of][a.Tool]; ok {
				lines = append(lines, fmt.Sprintf("%s, CPU: %s / %s = %.2f", a.Tool, m.Name, m.Of, a.least(cpu)/b.least(cpu)))
			}
		}
	}
	for _, tool := range t.Tools {
		a, ok := cells[crowd][tool.Name]
		b, also := cells[unrelated][tool.Name]
		if ok && also {
			lines = append(lines, fmt.Sprintf("%s, CPU: %s / %s = %.2f", tool.Name, crowd, unrelated, a.least(cpu)/b.least(cpu)))
		}
	}
	return lines
}

func fastest(cells []cell, of func(process.Taken) float64) cell {
	best := cells[0]
	for _, c := range cells[1:] {
		if c.least(of) < best.least(of) {
			best = c
		}
	}
	return best
}

// losses returns the measurements in which a peer is better than neardup.
func (t table) losses() (lines []string) {
	figures := []struct {
		name string
		show string
		of   func(cell) float64 // smaller is better
	}{
		{"CPU s", "%.2f", func(c cell) float64 { return c.least(cpu) }},
		{"wall s", "%.2f", func(c cell) float64 { return c.least(wall) }},
		{"peak MB", "%.0f", func(c cell) float64 { return c.least(peak) / (1 << 20) }},
		{"share of pairs missed", "%.5f", func(c cell) float64 { return missed(c.Quality.PairsFound, c.Quality.Pairs) }},
		{"share of pairs below 0.9 missed", "%.5f",
			func(c cell) float64 { return missed(c.Quality.NearFound, c.Quality.Near) }},
		{"share of removed without a pair", "%.5f",
			func(c cell) float64 { return missed(c.Quality.RemovedRightly, c.Quality.Removed) }},
	}
	for _, m := range t.Corpora {
		ours, others := m.sides()
		for _, f := range figures {
			for _, we := range ours {
				var better []string
				for _, they := range others {
					if f.of(they) < f.of(we) {
						better = append(better, fmt.Sprintf("%s "+f.show, they.Tool, f.of(they)))
					}
				}
				if len(better) > 0 {
					lines = append(lines, fmt.Sprintf("%s, %s: %s "+f.show+"; %s", m.Name, f.name, we.Tool,
						f.of(we), strings.Join(better, ", ")))
				}
			}
		}
	}
	return lines
}

func missed(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(whole-part) / float64(whole)
}

// class names the instruction sets of a processor that the kernels use.
func class(flags []string) string {
	switch {
	case slices.Contains(flags, "avx512_vbmi2"):
		return "AVX-512"
	case slices.Contains(flags, "avx2"):
		return "AVX2, no AVX-512"
	default:
		return "no AVX2"
	}
}

// machine describes the machine and its load, as far as Linux reports them.
func machine() string {
	parts := []string{fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
	if model, ok := field("/proc/cpuinfo", "model name"); ok {
		parts = append(parts, model)
	}
	if flags, ok := field("/proc/cpuinfo", "flags"); ok {
		parts = append(parts, class(strings.Fields(flags)))
	}
	if memory, ok := field("/proc/meminfo", "MemTotal"); ok {
		parts = append(parts, memory+" of memory")
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		parts = append(parts, "load at the beginning "+strings.Fields(string(load))[0])
	}
	return strings.Join(parts, ", ")
}

func field(file, name string) (string, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}
