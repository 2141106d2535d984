package report

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// mostListed is the maximum number of columns, encodings or scripts that a plan prints.
const mostListed = 12

// widestCurve is the maximum width of a curve in a plan.
const widestCurve = 80

// sampledTexts prints facts about the texts of the sample.
func sampledTexts(out *printer, f *records.Forecast) {
	if !f.Whole {
		out.item("sample", "%s with %s of text; the figures below are extrapolated from it",
			plural(f.Sampled, "document"), bytesOf(f.TextBytes))
	}
	firstOf(out, "columns", f.Columns,
		func(c records.Column) string { return terminal.Mask(c.Name) + " (" + c.Type + ")" })
	firstOf(out, "encodings", f.Encodings, percent)
	firstOf(out, "scripts", f.Scripts, percent)
	if len(f.Lengths) == 0 {
		return
	}
	row := func(label, documents, bytes, words string) {
		out.printf("%-*s%-8s%9s%9s\n", labelWidth, label, documents, bytes, words)
	}
	row("lengths", "quantile", "size", "words")
	for _, l := range f.Lengths {
		share := decimal(100*l.Quantile) + " %"
		switch l.Quantile {
		case 0:
			share = "shortest"
		case 1:
			share = "longest"
		case .5:
			share = "median"
		}
		words := count(l.Words)
		if l.Words >= 1e6 { // longer numbers would run into the size
			words = fmt.Sprintf("%.1f M", float64(l.Words)/1e6)
		}
		row("", share, bytesOf(l.Bytes), words)
	}
}

// firstOf prints the texts of the first mostListed values, if there are any, and how many more there are.
func firstOf[T any](out *printer, label string, all []T, text func(T) string) {
	var parts []string
	for _, v := range all[:min(len(all), mostListed)] {
		parts = append(parts, text(v))
	}
	if more := len(all) - mostListed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	if len(parts) > 0 {
		out.item(label, "%s", strings.Join(parts, ", "))
	}
}

func percent(s records.Share) string {
	text := fmt.Sprintf("%.1f", 100*s.Share)
	if text == "0.0" {
		text = "below 0.1"
	} else if text == "100.0" && s.Share < 1 {
		text = "above 99.9"
	}
	return s.Name + " " + text + " %"
}

// roughly formats an estimated time.
func roughly(s float64) string {
	if least := .01; s < least { // the shortest time that seconds prints
		return "below " + seconds(least)
	}
	return "about " + seconds(s)
}

// travels says what the collections of records.Shuffled hold, and why they are shuffled.
var travels = map[string]struct{ what, why string }{
	"bands":    {"bucket keys", "find candidates"},
	"firsts":   {"text hashes", "find copies"},
	"edges":    {"candidates", "group documents"},
	"sets":     {"shingle sets", "compare documents"},
	"profiles": {"profiles", "choose what to keep"},
	"copies":   {"copies", "list them"},
}

// forecast prints what a run is expected to do.
func forecast(out *printer, run *records.Run) {
	f := run.Forecast
	if f.Curve != nil {
		out.printf("\n")
		narrow := *out
		narrow.width = min(out.width, widestCurve)
		drawCurve(&narrow, f.Curve, 8, run.Parameters.Threshold)
		out.err = narrow.err
		out.printf("\n")
	}
	if e := f.Edges; e != nil {
		interval := ""
		if e.Low != e.High {
			interval = fmt.Sprintf(", between %s and %s", count(e.Low), count(e.High))
		}
		out.item("candidates", "%s%s; %s to read again", plural(e.Expected, "pair"),
			interval, plural(f.ReadAgain, "document"))
	}
	label := "shuffled"
	for _, s := range f.Shuffled {
		sent := travels[s.Name]
		line := fmt.Sprintf("%-*s%-12s %8s", labelWidth, label, cmp.Or(sent.what, s.Name), bytesOf(s.Bytes))
		if why := "  to " + sent.why; sent.why != "" && utf8.RuneCountInString(line+why) <= out.width {
			line += why
		}
		out.printf("%s\n", line)
		label = ""
	}
	if f.Memory > 0 {
		out.item("memory", "up to %s: the limit of %s (%s), plus %s of overhead; intermediate data takes up to %s at a "+
			"time, and goes to disk beyond half the limit", bytesOf(f.Memory), bytesOf(run.InForce.Memory), run.InForce.From,
			bytesOf(f.Memory-int64(run.InForce.Memory)), bytesOf(f.Flowing))
	}
	if f.Kept > 0 {
		const stays = "finished work stays, and the same command continues with it (--resume); it takes about %s of " +
			"disk in addition to the output"
		out.item("if it fails", stays, bytesOf(f.Kept))
	}
	if f.Appended > 0 {
		out.item("append", "up to %s go to %s, once the output is complete", bytesOf(f.Appended),
			terminal.Mask(run.Parameters.Against[0]))
	}
	out.item("cluster", "at least %s in one job (docs/flink.md)", plural(f.Workers, "worker"))
	out.item("time", "%s, estimated from the CPU time that the sample took", roughly(f.Seconds))
}
