package report

import (
	"cmp"
	"io"
	"strings"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// PassagesPlan prints what a run of passages reads, in lines of at most width characters.
func PassagesPlan(w io.Writer, width int, run *records.Run) error {
	out := &printer{w: w, width: width}
	found := run.Passages
	out.item("input", "%s in %s, about %s, below %s", bytesOf(run.Input.Bytes), plural(run.Input.Files, "file"),
		plural(run.Chosen.Documents, "document"), cmp.Or(terminal.Mask(run.Input.Root), "-"))
	out.item("passages", "of at least %s; about %s of hashes are sent to find them",
		plural(found.Length, "word"), bytesOf(found.PlannedBytes))
	out.item("disk", "%s at most, if all that is read is repeated", bytesOf(found.MostBytes))
	return out.err
}

// Passages prints what a run of passages found and where it lies, in lines of at most width characters; most are the
// passages that stand most often.
func Passages(w io.Writer, width int, run *records.Run, dir string, most []records.Repeat) error {
	out := &printer{w: w, width: width, colors: terminal.Colours(w)}
	n, found := run.Counts, run.Passages
	documents := n.Records - n.Unreadable
	out.item("read", "%s in %s, %s", plural(documents, "document"), plural(run.Input.Files, "file"),
		bytesOf(run.Input.Bytes))
	if n.Unreadable > 0 {
		out.item("unreadable", "%s", plural(n.Unreadable, "record"))
	}
	if n.NotCompared > 0 {
		out.item("not compared", "%s; rejected/ says why", plural(n.NotCompared, "document"))
	}
	if found.Short > 0 {
		out.item("short", "%s of fewer than %s, where no passage is",
			plural(found.Short, "document"), plural(found.Length, "word"))
	}
	out.item("copies", "%s with the same text as an earlier one", plural(found.Copies, "document"))
	out.item("passages", "%s of at least %s, in %s",
		count(found.Passages), plural(found.Length, "word"), plural(found.Documents, "document"))
	share := 0.0
	if found.Words > 0 {
		share = 100 * float64(found.Repeated) / float64(found.Words)
	}
	out.item("repeated", "%s of %s words, %.2f %%", count(found.Repeated), count(found.Words), share)
	out.item("took", "%s, %s CPU, peak memory %s", seconds(run.Seconds), seconds(run.CPU), bytesOf(run.Peak))
	if len(most) > 0 {
		out.printf("\nthe passages that stand most often:\n")
	}
	for _, r := range most {
		out.printf("\n")
		out.item(count(r.Occurrences)+" times", "in %s, %s, first in %s",
			plural(r.Documents, "document"), plural(r.Words, "word"), terminal.Mask(r.ID))
		out.item("", "%s", terminal.Mask(excerpt(r.Text)))
	}
	out.printf("\n")
	for _, line := range terminal.Wrap("results in "+terminal.Mask(dir)+": "+strings.Join(written(run), ", "), width) {
		out.printf("%s\n", line)
	}
	return out.err
}

// excerpt is what a text begins with, on one line.
func excerpt(text string) string {
	const most = 160
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

// PassagesOf prints the passages of a document, in lines of at most width characters.
func PassagesOf(w io.Writer, width int, of *records.PassagesOf) error {
	out := &printer{w: w, width: width}
	out.printf("%s, %s@%d: %s of %s words stand earlier, %.1f %%\n", terminal.Mask(of.ID), terminal.Mask(of.Source),
		of.Position, count(of.Repeated), count(of.Words), 100*of.Share)
	for _, p := range of.Passages {
		out.printf("\n")
		out.item(plural(p.Words, "word"), "bytes %d to %d, from %s, %s@%d, bytes %d to %d", p.Start, p.End,
			terminal.Mask(p.FromID), terminal.Mask(p.FromSource), p.FromPosition, p.FromStart, p.FromEnd)
		if p.End <= int64(len(of.Text)) {
			out.item("", "%s", terminal.Mask(excerpt(of.Text[p.Start:p.End])))
		}
	}
	return out.err
}
