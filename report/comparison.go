package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report/plot"
)

// Comparison prints how well several methods of finding pairs agree, and what each of them used.
func Comparison(w io.Writer, c *records.Comparison) error {
	out := &printer{w: w, width: terminal.Width(w)}
	out.text("pairs of documents with a similarity of at least %v%s", c.Threshold, signatures(c))
	out.printf("\n")
	found := table{}
	alone := len(c.Methods) == 1 && c.Methods[0].Truth == nil && c.Methods[0].Buckets != nil // nothing to compare with
	for i, m := range c.Methods {
		if i == 0 || m.Measure != c.Methods[i-1].Measure {
			head := []string{"method, by " + brief(m.Measure), "time", "CPU", "memory", "candidates", "similar pairs"}
			if !alone {
				head = append(head, "common with "+m.Name, "recall", "precision")
			}
			found.head(head...)
		}
		memory, candidates := "-", "-"
		if m.Peak != nil {
			memory = bytesOf(*m.Peak)
		}
		if m.Candidates != nil {
			candidates = count(*m.Candidates)
		}
		row := []string{m.Name, seconds(m.Seconds), seconds(m.CPU), memory, candidates, count(int64(m.Pairs))}
		if !alone {
			row = append(row, count(int64(m.Common)), share(m.Recall), share(m.Precision))
		}
		found.row(row...)
	}
	found.print(out)
	byTruth(out, c.Methods)
	buckets(out, c.Methods)
	for i := range c.Examples {
		e := &c.Examples[i]
		out.printf("\n")
		out.text("example pair, similarity %s (%s):", share(e.Pair.Similarity), inCommon(e.Pair, c.Methods[0].Measure))
		columns(out, e)
	}
	return out.err
}

// byTruth prints how the methods' pairs agree with known pairs, if there are any.
func byTruth(out *printer, methods []records.Method) {
	if methods[0].Truth == nil {
		return
	}
	out.printf("\n")
	known := table{}
	known.head("method (95 % confidence intervals)",
		"found of "+plural(int(methods[0].Truth.True), "true pair"), "recall", "precision", "F1", "adjusted Rand")
	for _, m := range methods {
		cell := func(s records.EvaluatedShare) string {
			if s.Low == nil || s.High == nil {
				return "-"
			}
			return fmt.Sprintf("%s (%.4f to %.4f)", index(s.Value), down(*s.Low), up(*s.High))
		}
		known.row(m.Name+", by "+brief(m.Measure), count(int64(m.Truth.Both)),
			cell(m.Truth.Recall), cell(m.Truth.Precision), cell(m.Truth.F1), cell(m.Truth.Rand))
	}
	known.print(out)
}

// Measures, as tables name them.
const (
	jaccard = "jaccard"
	overlap = "simhash-overlap"
)

// signatures describes the signatures and how they are cut, in words that follow others.
func signatures(c *records.Comparison) (words string) {
	if c.Methods[0].Measure == jaccard {
		words = fmt.Sprintf("; %s signatures in %s of %s", c.Signature, plural(c.Bands, "band"), plural(c.Rows, "row"))
	}
	if c.Bits > 0 {
		words += fmt.Sprintf("; SimHash signatures of %s", plural(c.Bits, "bit"))
	}
	if c.Pieces > 0 {
		words += fmt.Sprintf(" in %s", plural(c.Pieces, "piece"))
	}
	return words
}

// brief returns the name that --compare has for a measure.
func brief(measure string) string { return strings.TrimPrefix(measure, "simhash-") }

// ComparisonPlot draws the comparison as SVG.
func ComparisonPlot(w io.Writer, c *records.Comparison) error {
	var methods, truths []string // truths has the first method of each measure
	several := c.Methods[0].Measure != c.Methods[len(c.Methods)-1].Measure
	for i, m := range c.Methods {
		name := m.Name
		if several {
			name += " (" + brief(m.Measure) + ")"
		}
		methods = append(methods, name)
		if i == 0 || m.Measure != c.Methods[i-1].Measure {
			truths = append(truths, name)
		}
	}
	series := func(name string, value func(m records.Method) float64) plot.Series {
		s := plot.Series{Name: name}
		for _, m := range c.Methods {
			s.Values = append(s.Values, value(m))
		}
		return s
	}
	known := func(n *int64) float64 {
		if n == nil {
			return math.NaN()
		}
		return float64(*n)
	}
	const mb = 1e6
	charts := []plot.Bars{
		{Title: "Recall and precision", Y: plot.Axis{Label: "share", To: 1}, Series: []plot.Series{
			series("recall", func(m records.Method) float64 { return m.Recall }),
			series("precision", func(m records.Method) float64 { return m.Precision }),
		}},
		{Title: "Time", Y: plot.Axis{Label: "seconds"}, Series: []plot.Series{
			series("elapsed", func(m records.Method) float64 { return m.Seconds }),
			series("CPU", func(m records.Method) float64 { return m.CPU }),
		}},
		{Title: "Candidates and pairs", Y: plot.Axis{Label: "pairs of documents", Log: true}, Series: []plot.Series{
			series("candidates", func(m records.Method) float64 { return known(m.Candidates) }),
			series("pairs found", func(m records.Method) float64 { return float64(m.Pairs) }),
		}},
		{Title: "Peak memory", Y: plot.Axis{Label: "MB"}, Series: []plot.Series{
			series("", func(m records.Method) float64 { return known(m.Peak) / mb }),
		}},
	}
	f := plot.Figure{
		Title: fmt.Sprintf("Pairs of documents with a similarity of at least %v, found by %d methods", c.Threshold,
			len(methods)),
		Description: fmt.Sprintf("Bar charts of the methods %s: their recall and precision, measured against %s, and "+
			"the time, memory and candidates of each. Pairs have a similarity of at least %v%s.",
			strings.Join(methods, ", "), strings.Join(truths, " and "), c.Threshold, signatures(c)),
	}
	for _, chart := range charts {
		chart.Groups = methods
		f.Charts = append(f.Charts, chart)
	}
	return plot.SVG(w, f)
}

// buckets prints what happened to the pairs in buckets, and the CPU time of each step, for methods that list them.
func buckets(out *printer, methods []records.Method) {
	methods = slices.DeleteFunc(slices.Clone(methods), func(m records.Method) bool { return m.Buckets == nil })
	if len(methods) == 0 {
		return
	}
	out.printf("\n")
	pairs := table{}
	pairs.head("method", "pairs in buckets", "distinct", "compared", "true", "false", "shuffled")
	for _, m := range methods {
		b, verified := m.Buckets, "-"
		if b.True != nil {
			verified = count(*b.True)
		}
		pairs.row(m.Name, count(b.Pairs), count(b.Distinct), count(b.Compared), verified, count(b.Refuted),
			bytesOf(b.ShuffledBytes))
	}
	pairs.print(out)
	if methods[0].Buckets.CPU == nil {
		return
	}
	out.printf("\n")
	times := table{}
	times.head("CPU time", "shingling", "signing", "keys", "grouping", "verifying")
	for _, m := range methods {
		cpu := m.Buckets.CPU
		times.row(m.Name, seconds(cpu.Shingling), seconds(cpu.Signing), seconds(cpu.Keys), seconds(cpu.Grouping),
			seconds(cpu.Verifying))
	}
	times.print(out)
}
