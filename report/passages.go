package report

import (
	"cmp"
	"context"
	_ "embed" // the page
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// PassagesPlan prints what a run of passages will read, in lines of at most width characters.
func PassagesPlan(w io.Writer, width int, run *records.Run) error {
	out := &printer{w: w, width: width}
	found := run.Passages
	out.item("input", "%s in %s, about %s, under %s", bytesOf(run.Input.Bytes), plural(run.Input.Files, "file"),
		plural(run.Chosen.Documents, "document"), cmp.Or(terminal.Mask(run.Input.Root), "-"))
	if found.Items != nil {
		out.item("items", "%s, %s; each process holds them in memory", plural(run.References.Files, "file"),
			bytesOf(run.References.Bytes))
		out.item("search", "for runs of at least %s that cover at least %s %% of an item's words",
			plural(found.Length, "word"), decimal(100*found.Items.Share))
		return out.err
	}
	out.item("passages", "%s; about %s of hashes are shuffled to find them", passagesAre(found),
		bytesOf(found.PlannedBytes))
	out.item("disk", "at most %s, if the whole input is repeated", bytesOf(found.MostBytes))
	return out.err
}

// Passages prints the results of a run of passages and where they are, in lines of at most width characters; most are
// the most frequent passages.
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
	if items := found.Items; items != nil {
		out.itemsFound(run)
	} else {
		out.passagesFound(found)
	}
	if found.Cut != "none" {
		out.item("cut", "%s; %s before the end of a text", found.Cut, plural(found.Seams, "cut"))
		if found.Uncut > 0 {
			out.item("not cut", "%s whose text is not one whole string", plural(found.Uncut, "document"))
		}
	}
	out.item("took", "%s, %s CPU, peak memory %s", seconds(run.Seconds), seconds(run.CPU), bytesOf(run.Peak))
	if len(most) > 0 {
		out.printf("\nthe most frequent passages:\n")
	}
	for _, r := range most {
		out.printf("\n")
		out.item(count(r.Occurrences)+" times", "in %s, %s, first in %s",
			plural(r.Documents, "document"), plural(r.Words, "word"), terminal.Mask(r.ID))
		out.item("", "%s", terminal.Mask(excerpt(r.Text)))
	}
	out.printf("\n")
	out.results(run, dir)
	return out.err
}

// passagesFound prints which passages were found.
func (out *printer) passagesFound(found *records.PassagesFound) {
	if found.Short > 0 {
		out.item("short", "%s of fewer than %s, too few for a passage",
			plural(found.Short, "document"), plural(found.Length, "word"))
	}
	if found.DropCovered > 0 {
		out.item("removed", "%s with at least %s %% of %s words in documents kept earlier",
			plural(found.Dropped, "document"), decimal(100*found.DropCovered),
			strings.TrimPrefix(several(found.Dropped, "its", "their"), count(found.Dropped)+" "))
	} else {
		out.item("copies", "%s with the same text as an earlier one", plural(found.Copies, "document"))
	}
	out.item("passages", "%s %s, in %s", count(found.Passages), passagesAre(found), plural(found.Documents, "document"))
	share := 0.0
	if found.Words > 0 {
		share = 100 * float64(found.Repeated) / float64(found.Words)
	}
	out.item("repeated", "%s of %s words, %.2f %%", count(found.Repeated), count(found.Words), share)
}

// passagesAre says what counts as a passage.
func passagesAre(found *records.PassagesFound) string {
	if found.Whole != "" {
		if found.Passages == 1 {
			return "whole " + strings.TrimSuffix(found.Whole, "s")
		}
		return "whole " + found.Whole
	}
	return "of at least " + plural(found.Length, "word")
}

// itemsFound prints which items were found.
func (out *printer) itemsFound(run *records.Run) {
	found := run.Passages
	items := found.Items
	out.item("items", "%s, %s", plural(items.Items, "item"), plural(items.Words, "word"))
	if items.Short > 0 {
		out.item("too short", "%s, not looked for", plural(items.Short, "item"))
	}
	out.item("contaminated", "%s with at least %s %% of an item's words, in runs of at least %s; %s in all",
		plural(found.Documents, "document"), decimal(100*items.Share), plural(found.Length, "word"),
		plural(items.Pairs, "pair"))
	if items.Dropped > 0 {
		out.item("removed", "%s", plural(items.Dropped, "document"))
	}
}

// excerpt returns the beginning of a text, on one line.
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
	out.printf("%s, %s@%d: %s of %s words occur earlier, %.1f %%\n", terminal.Mask(of.ID), terminal.Mask(of.Source),
		of.Position, count(of.Repeated), count(of.Words), 100*of.Share)
	if of.DroppedFor != "" {
		out.printf("It is not in the corpus; most of its words occur in document %s.\n", terminal.Mask(of.DroppedFor))
	}
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

//go:embed passages.html
var passagesTemplate string

// Limits of what the page shows.
const (
	pageRepeats   = 100
	pageDocuments = 10
	pageOrigins   = 50
	pageText      = 20_000 // bytes of a document
)

// passagesReport is the data of the template.
type passagesReport struct {
	*records.Run
	Share     float64
	Most      []records.Repeat
	Documents []markedDocument
	Items     []records.Contaminated
	Origins   []markedDocument // documents in which their passages first occur
	NotRead   string
}

// markedDocument is a document with its passages marked.
type markedDocument struct {
	records.Coverage
	Parts []markedPart
	More  bool // the text continues
}

// markedPart is a part of a text. If it is a passage, From names the document in which it first occurs, and Anchor is
// that document's place on the page.
type markedPart struct {
	Text         string
	Marked       bool
	From, Anchor string
}

// passagesPage writes the report.html of passages.
func passagesPage(ctx context.Context, w io.Writer, f *output.Finished, read Texts) error {
	p := passagesReport{Run: &f.Run}
	if f.Run.Passages.Items != nil {
		if err := p.contaminated(ctx, f); err != nil {
			return err
		}
	} else if err := p.repeated(ctx, f, read); err != nil {
		return err
	}
	return render(w, passagesTemplate, &p)
}

// Policy returns the page's Content-Security-Policy.
func (*passagesReport) Policy() string { return loadsNothing }

// pageItems is the maximum number of pairs of a document and an item that the page lists.
const pageItems = 200

// contaminated reads the pairs with the largest shares.
func (p *passagesReport) contaminated(ctx context.Context, f *output.Finished) error {
	return each(ctx, f, output.Contaminated, func(row records.Contaminated) {
		remember(&p.Items, row, pageItems, func(a, b records.Contaminated) int { return cmp.Compare(b.Share, a.Share) })
	})
}

// repeated reads the most frequent passages, and the documents with the most repeated words.
func (p *passagesReport) repeated(ctx context.Context, f *output.Finished, read Texts) error {
	if words := f.Run.Passages.Words; words > 0 {
		p.Share = float64(f.Run.Passages.Repeated) / float64(words)
	}
	var err error
	if p.Most, err = MostRepeated(ctx, f, pageRepeats); err != nil {
		return err
	}
	for i := range p.Most {
		if f.Run.Parameters.NoText {
			p.Most[i].Text = ""
		}
	}
	return p.mark(ctx, f, read)
}

// MostRepeated returns up to n of the most frequent passages. Of overlapping passages it takes only the first:
// otherwise a single notice, quoted in parts, could take all places.
func MostRepeated(ctx context.Context, f *output.Finished, n int) ([]records.Repeat, error) {
	return separate(output.Rows[records.Repeat](ctx, f, output.Repeats), n)
}

func separate(rows iter.Seq2[records.Repeat, error], n int) (most []records.Repeat, err error) {
	for row, err := range rows {
		if err != nil || len(most) == n {
			return most, err
		}
		overlaps := func(r records.Repeat) bool {
			return r.Source == row.Source && r.Position == row.Position && r.Start < row.End && row.Start < r.End
		}
		if !slices.ContainsFunc(most, overlaps) {
			most = append(most, row)
		}
	}
	return most, nil
}

// anchor returns the place of a document on the page.
func anchor(source string, position int64) string { return fmt.Sprintf("%s@%d", source, position) }

// mark reads the documents with the most repeated words, and marks their passages.
func (p *passagesReport) mark(ctx context.Context, f *output.Finished, read Texts) error {
	if f.Run.Parameters.NoText {
		return nil
	}
	var most []records.Coverage
	err := each(ctx, f, output.Coverage, func(row records.Coverage) {
		if row.Repeated < row.Words { // otherwise usually a copy, in which there is nothing to see
			remember(&most, row, pageDocuments, func(a, b records.Coverage) int { return cmp.Compare(b.Repeated, a.Repeated) })
		}
	})
	if err != nil {
		return err
	}
	var places, origins []records.Place
	passages, firsts := map[records.Place][]records.Passage{}, map[records.Place][]records.Passage{}
	for _, row := range most {
		place := records.Place{Source: row.Source, Position: row.Position}
		places, passages[place] = append(places, place), nil
	}
	err = each(ctx, f, output.Passages, func(row records.Passage) {
		place := records.Place{Source: row.Source, Position: row.Position}
		if of, ok := passages[place]; ok {
			passages[place] = append(of, row)
		}
	})
	if err != nil {
		return err
	}
	for _, place := range places {
		for _, row := range passages[place] {
			from := records.Place{Source: row.FromSource, Position: row.FromPosition}
			if firsts[from] == nil {
				origins = append(origins, from)
			}
			firsts[from] = append(firsts[from], records.Passage{
				ID: row.FromID, Source: from.Source, Position: from.Position, Start: row.FromStart, End: row.FromEnd,
			})
		}
	}
	origins = origins[:min(len(origins), pageOrigins)]
	texts, err := read(ctx, slices.Concat(places, origins))
	if err != nil {
		p.NotRead = err.Error()
	}
	for i, place := range places {
		if text, ok := texts[place]; ok {
			p.Documents = append(p.Documents, marked(most[i], text, passages[place]))
		}
	}
	for _, place := range origins {
		if text, ok := texts[place]; ok {
			spans := firsts[place]
			slices.SortFunc(spans, func(a, b records.Passage) int { return cmp.Compare(a.Start, b.Start) })
			of := records.Coverage{ID: spans[0].ID, Source: place.Source, Position: place.Position}
			p.Origins = append(p.Origins, marked(of, text, spans))
		}
	}
	return nil
}

// marked splits a text into passages and the parts between them.
func marked(of records.Coverage, text string, passages []records.Passage) markedDocument {
	m := markedDocument{Coverage: of}
	at := 0
	add := func(end int, part markedPart) {
		if part.Text = text[at:max(at, end)]; part.Text != "" {
			m.Parts = append(m.Parts, part)
		}
		at = max(at, end)
	}
	for i := range passages {
		p := &passages[i]
		if int(p.End) > min(len(text), pageText) {
			m.More = true
			return m
		}
		add(int(p.Start), markedPart{})
		part := markedPart{Marked: true, From: p.FromID}
		if p.FromSource != "" {
			part.Anchor = anchor(p.FromSource, p.FromPosition)
		}
		add(int(p.End), part)
	}
	rest := min(len(text), max(at, pageText))
	for rest < len(text) && !utf8.RuneStart(text[rest]) {
		rest--
	}
	add(rest, markedPart{})
	m.More = rest < len(text)
	return m
}
