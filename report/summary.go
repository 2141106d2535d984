// Package report presents finished runs to people.
package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// Plan prints what a run will read and which parameters it chose, in lines of at most width characters.
func Plan(w io.Writer, width int, run *records.Run) error {
	out := &printer{w: w, width: width}
	c := run.Chosen
	f := run.Forecast
	documents := "about " + plural(c.Documents, "document")
	if f != nil && f.Whole {
		documents = plural(f.Documents, "document")
	} else if f != nil {
		documents = "about " + plural(f.Documents, "document")
	}
	under := cmp.Or(terminal.Mask(run.Input.Root), "-")
	bytes, files := bytesOf(run.Input.Bytes), plural(run.Input.Files, "file")
	if run.References == nil {
		out.item("input", "%s in %s, %s, under %s", bytes, files, documents, under)
	} else {
		out.item("input", "%s in %s, under %s", bytes, files, under)
		against(out, run, "; "+documents+" including the input")
	}
	if f != nil {
		sampledTexts(out, f)
	}
	detected(out, run.Input.Encodings)
	switch {
	case run.Parameters.Same != "":
		out.item("parameters", "%s", c.Reason)
	case c.JoinBytes > 0:
		out.item("parameters", "%s", c.Reason)
		out.item("", "the comparison moves at most about %s of shingle sets", bytesOf(c.JoinBytes))
	case c.Pieces > 0:
		out.item("parameters", "%d pieces of %d-bit signatures; a pair at the threshold is found with probability %.5f",
			c.Pieces, c.Signature, c.ExpectedRecall)
		out.item("", "%s", c.Reason)
	default:
		out.item("parameters", "bands × rows %d × %d, from signatures of %d values; a pair at the threshold is "+
			"found with probability %.5f",
			c.Bands, c.Rows, c.Signature, c.ExpectedRecall)
		out.item("", "%s", c.Reason)
	}
	if c.Copies >= leastSampled {
		symbols(out, run, c.Symbols, c.Copies, "sampled copy differs from the document it copies",
			"sampled copies differ from the documents they copy")
	}
	if f != nil {
		forecast(out, run)
	}
	return out.err
}

// Summary prints the results of a run and where they are, in lines of at most width characters; example may be nil.
func Summary(w io.Writer, width int, run *records.Run, dir string, example *records.Example) error {
	out := &printer{w: w, width: width, colors: terminal.Colours(w)}
	n := run.Counts
	documents := n.Records - n.Unreadable
	kept := documents - n.Removed

	read := plural(documents, "document") + " in "
	if limit := run.Parameters.Limit; limit > 0 && documents == limit {
		read = "the first " + strings.TrimPrefix(plural(documents, "document"), "1 ") + " of "
	}
	out.item("read", "%s%s, %s", read, plural(run.Input.Files, "file"), bytesOf(run.Input.Bytes))
	if r := run.References; r != nil {
		documents := plural(r.Records-r.Unreadable, "document")
		against(out, run, fmt.Sprintf(", %s; %s", documents, several(r.Removed,
			"input document removed because it is similar to one of these",
			"input documents removed because they are similar to one of these")))
	}
	detected(out, run.Input.Encodings)
	if decoded := run.Input.Decoded; decoded > 0 && len(run.Input.Encodings) == 0 {
		as := run.Parameters.Encoding + ", or as the byte order mark specifies"
		if run.Parameters.Encoding == records.Default().Encoding {
			as = "declared"
		}
		out.item("encoding", "%s of %s decoded as %s", count(decoded), plural(run.Input.Files, "file"), as)
	}
	if n.Unreadable > 0 {
		out.item("unreadable", "%s", plural(n.Unreadable, "record"))
	}
	if n.NotCompared > 0 {
		where := "kept in the corpus"
		if run.Parameters.DropNotCompared {
			where = "left out of the corpus"
			kept -= n.NotCompared
		}
		out.item("not compared", "%s (%s), %s", plural(n.NotCompared, "document"), reasons(run.NotCompared), where)
	}
	out.item("copies", "%s with the same %s as an earlier one", plural(n.Copies, "document"), copied(run))
	if run.Parameters.Same == "" {
		verified := ", each verified exactly"
		switch {
		case n.NearPairs == 0:
			verified = ""
		case run.Parameters.Compare == "overlap":
			verified = ", each verified by comparing whole signatures, which estimate the similarity of texts"
		}
		out.item("near pairs", "%s%s", count(n.NearPairs), verified)
	}
	if n.ComparedPairs > 0 {
		out.item("compared", "%s, of %s in all", plural(n.ComparedPairs, "pair"), count(n.AllPairs))
	}
	if n.PairsPartial > 0 {
		out.item("over budget", "pairs/ may list only some pairs of %s, in groups with more pairs, or longer ids, than "+
			"--pair-budget allows", plural(n.PairsPartial, "cluster"))
	}
	out.item("clusters", "%s", count(n.Clusters))
	out.item("removed", "%s%s", plural(n.Removed, "document"), removed(run))
	if again := nearCopies(run); again > 0 {
		out.item("", "%s removed too", several(again, "copy counts as a near-duplicate: the document it copies was",
			"copies count as near-duplicates: the documents they copy were"))
	}
	if n.Chained > 0 {
		out.item("chains", "%s removed only through a chain of similar documents; --cluster star does not follow "+
			"chains", plural(n.Chained, "document"))
	}
	one, more := "removed copy differs from the kept document", "removed copies differ from the kept documents"
	if slices.Contains(run.Parameters.Keep, "none") {
		one, more = "removed copy differs from the first document of its cluster",
			"removed copies differ from the first documents of their clusters"
	}
	symbols(out, run, n.Symbols, n.Equal+n.SameSet, one, more)
	if n.Numbers > 0 {
		out.item("numbers", "%s (docs/choosing.md)", differInNumbers(run))
	}
	still := ""
	if n.NotCompared > 0 && !run.Parameters.DropNotCompared {
		still = fmt.Sprintf(", %s of them not compared", count(n.NotCompared))
		if n.NotCompared == kept {
			still = ", not compared"
		}
	}
	out.item("kept", "%s%s", plural(kept, "document"), still)
	if run.Parameters.Append {
		out.item("appended", "%s and %s to %s", plural(documents-n.Removed-n.NotCompared, "kept document"),
			plural(n.Near, "removed near-duplicate"), terminal.Mask(run.Parameters.Against[0]))
	}
	if run.Recall != nil {
		recall(out, run)
	}
	out.item("took", "%s, %s CPU, peak memory %s", seconds(run.Seconds), seconds(run.CPU), bytesOf(run.Peak))
	if example != nil {
		out.printf("\n")
		sideBySide(out, run, example)
	}
	out.printf("\n")
	out.results(run, dir)
	return out.err
}

// against prints the references.
func against(out *printer, run *records.Run, found string) {
	if r := run.References; r != nil {
		out.item("against", "%s in %s%s", bytesOf(r.Bytes), plural(r.Files, "file"), found)
	}
}

func recall(out *printer, run *records.Run) {
	r := run.Recall
	if c := run.Chosen; c.Pieces > 0 {
		out.item("recall", "expected %.5f for pairs at the threshold; %s", c.ExpectedRecall, c.Reason)
	}
	if r.Exact {
		out.item("recall", "expected 1.0000: all documents that may be near-duplicates were compared with each other")
	}
	if e := r.Estimated; e != nil && e.RecallInterval != nil {
		estimated := share(e.Recall)
		if e.Interval != nil {
			low, high := fmt.Sprintf("%.4f", down(e.Low)), fmt.Sprintf("%.4f", up(e.High))
			if estimated = low + " to " + high; low == high {
				estimated = low
			}
		}
		out.item("recall", "estimated %s: found %s of about %s", estimated, count(e.Found),
			plural(int64(math.Round(e.True)), "near pair"))
	}
	if m := r.Measured; m != nil && m.RecallInterval == nil {
		out.item("recall", "not measured: found no near pairs in a random sample of %s; a larger --measure-recall may "+
			"find some", plural(m.Sample, "document"))
	} else if m != nil {
		interval, family := "", "; no confidence interval, which needs near pairs in two or more groups of documents"
		if m.Interval != nil {
			interval, family = fmt.Sprintf(", 95 %% confidence interval %.4f to %.4f", down(m.Low), up(m.High)), ""
		}
		found := count(m.Found) + " of " + plural(m.True, "near pair")
		if m.Found == m.True {
			found = strings.Replace("all "+plural(m.True, "near pair"), "all 1 ", "the only ", 1)
		}
		out.item("recall", "measured %s%s: found %s in a random sample of %s, each compared with all others%s",
			share(m.Recall), interval, found, plural(m.Sample, "document"), family)
	}
	if r.Crowds > 0 {
		out.item("", "not counting the pairs of %s above --pair-budget", plural(r.Crowds, "group"))
	}
}

// down and up round the ends of an interval to the four printed digits such that the interval does not shrink.
func down(low float64) float64 { return math.Floor(low*1e4) / 1e4 }
func up(high float64) float64  { return math.Ceil(high*1e4) / 1e4 }

// share formats a similarity or another share, rounded down to four digits: only 1 is 1.0000. Shares are fractions of
// integers below 2^31, so a share with four digits differs from any other by more than the tolerance, and float64 is
// more precise than that.
func share(v float64) string {
	const tolerance = 1e-10
	return fmt.Sprintf("%.4f", math.Floor(v*1e4+tolerance)/1e4)
}

// wholePerCent formats a similarity for people: 82, or 100 only for equal documents.
func wholePerCent(v float64) string {
	const tolerance = 1e-10
	return strconv.Itoa(int(math.Floor(v*100 + tolerance)))
}

// tokens returns the name of the units of which shingles consist.
func tokens(run *records.Run) string {
	switch kind, _, _ := strings.Cut(run.Parameters.Shingle, ":"); kind {
	case "char", "char32":
		return "characters"
	case "byte":
		return "bytes"
	default:
		return "words"
	}
}

// copied says what copies have in common.
func copied(run *records.Run) string {
	switch run.Parameters.Same {
	case "bytes":
		return "text, byte for byte,"
	case "tokens":
		return tokens(run) + " in the same order"
	default:
		return features(run)
	}
}

// features returns the name of what is compared of each document.
func features(run *records.Run) string {
	switch run.Parameters.Compare {
	case "overlap":
		return "SimHash signature"
	case "cosine":
		return "vector"
	default:
		return "shingle set"
	}
}

// removed lists how many documents were removed for each reason.
func removed(run *records.Run) string {
	n := run.Counts
	var parts []string
	for _, part := range []struct {
		documents int64
		text      string
	}{
		{n.Identical, plural(n.Identical, "exact duplicate")},
		{n.Equal, count(n.Equal) + " with the same " + tokens(run) + " in the same order"},
		{n.SameSet, count(n.SameSet) + " with the same " + features(run)},
		{n.Near - n.Chained, plural(n.Near-n.Chained, "near-duplicate")},
		{n.Chained, count(n.Chained) + " removed through a chain"},
	} {
		if part.documents > 0 {
			parts = append(parts, part.text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// nearCopies returns how many copies are not copies of their kept document; 0 if rules or protection separate copies.
func nearCopies(run *records.Run) int64 {
	n := run.Counts
	if len(run.Parameters.Protect)+len(run.Parameters.Match) > 0 || run.Parameters.MatchNumbers {
		return 0
	}
	return n.Copies - n.Identical - n.Equal - n.SameSet
}

// notCompared describes documents that were not compared, by reason.
var notCompared = map[string]string{
	records.ReasonNoText: "without text", records.ReasonNoColumn: "without a text column",
	records.ReasonNoToken: "without tokens", records.ReasonTooShort: "with too few words",
	records.ReasonTooLarge: "too large", records.ReasonLongID: "with too long an id",
}

// reasons lists how many documents were not compared for each reason.
func reasons(of map[string]int64) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, count(of[reason])+" "+cmp.Or(notCompared[reason], reason))
	}
	return strings.Join(parts, ", ")
}

// leastSampled is the minimum number of sampled copies from which to draw conclusions about the input.
const leastSampled = 10

// detected prints which encodings were detected.
func detected(out *printer, all []records.FileEncoding) {
	label := "detected"
	for _, e := range all {
		switch {
		case e.Read:
			out.item(label, "%s read as %s (confidence at least %d %%)", plural(e.Files, "file"), e.Name, e.Percent)
		case e.Name != records.UnknownEncoding:
			confidence := fmt.Sprintf(" (confidence %d %%)", e.Percent)
			if e.Percent == 0 {
				confidence = ""
			}
			out.item(label, "%s of uncertain encoding: %s may be %s%s; specify it with --encoding",
				plural(e.Files, "file"), terminal.Mask(e.File), e.Name, confidence)
		default:
			out.item(label, "%s of unknown encoding, for example %s; specify it with --encoding", plural(e.Files, "file"),
				terminal.Mask(e.File))
		}
		label = ""
	}
}

// symbols prints a warning if more than a tenth of the copies that are not identical differ in symbols, unless symbols
// were compared or only letters were.
func symbols(out *printer, run *records.Run, differ, copies int64, one, more string) {
	policy := run.Parameters.Normalize
	if differ*10 <= copies || strings.Contains(policy, "keep-symbols") || strings.Contains(policy, "letters-only") {
		return
	}
	out.item("symbols", "%s in symbols (as in a + b and a - b); --normalize keep-symbols compares symbols, and "+
		"--method exact removes only exact duplicates (docs/choosing.md)", several(differ, one, more))
}

// differInNumbers says how many removed documents differ in numbers, and which flag keeps them.
func differInNumbers(run *records.Run) string {
	way := "--match-numbers"
	if run.Chosen.Rule != "" { // without a text, the flag does not apply
		way = "a higher threshold in --match, or one more rule,"
	}
	n := run.Counts
	differ, them := "contain different numbers from the documents kept in their place", "them"
	if n.Numbers == 1 {
		differ, them = "contains different numbers from the document kept in its place", "it"
	}
	if slices.Contains(run.Parameters.Keep, "none") { // nothing is kept in their place
		differ, them = "contain different numbers from the first documents of their clusters", "them"
		if n.Numbers == 1 {
			differ, them = "contains different numbers from the first document of its cluster", "both"
		}
	}
	return fmt.Sprintf("%s of %s %s (as in issue 12 and issue 13); %s would keep %s",
		count(n.Numbers), plural(n.Removed, "removed document"), differ, way, them)
}

// results prints the parts that the run wrote, and where its page is.
func (p *printer) results(run *records.Run, dir string) {
	var names []string
	for _, name := range run.Parameters.Write {
		kind := " (Parquet)"
		if output.Part(name) == output.Corpus {
			kind = ""
		}
		names = append(names, fmt.Sprintf("%v/%s", name, kind))
	}
	p.lines("results in %s: %s", terminal.Mask(dir), strings.Join(append(names, "run.json"), ", "))
	if run.Page {
		p.item("report", "%s", terminal.Mask(output.Folder{Dir: dir}.Path(output.ReportFile)))
	}
}

// printer prints and remembers the first error, so that callers check for errors only once.
type printer struct {
	w      io.Writer
	width  int  // of lines
	colors bool // marked words are in colour
	err    error
}

// labelWidth is the width of the labels of items.
const labelWidth = 14

// item prints a label and, beside it, a wrapped text.
func (p *printer) item(label, format string, args ...any) {
	for _, line := range terminal.Wrap(fmt.Sprintf(format, args...), p.width-labelWidth) {
		p.printf("%-*s%s\n", labelWidth, label, line)
		label = ""
	}
}

// lines prints a sentence, wrapped.
func (p *printer) lines(format string, args ...any) {
	for _, line := range terminal.Wrap(fmt.Sprintf(format, args...), p.width) {
		p.printf("%s\n", line)
	}
}

// text prints a sentence, wrapped on a terminal.
func (p *printer) text(format string, args ...any) {
	p.printf("%s\n", strings.Join(terminal.Wrap(fmt.Sprintf(format, args...), p.limit()), "\n"))
}

// limit returns the maximum length of a line: the width of a terminal, and no limit for files and other programs.
func (p *printer) limit() int {
	if terminal.Watched(p.w) {
		return terminal.Width(p.w)
	}
	return math.MaxInt
}

// names returns ids for a line that has this many other characters, each shortened if there is not enough room.
func (p *printer) names(others int, ids ...string) string {
	room := (p.limit() - others - gap*(len(ids)-1)) / len(ids)
	var names []string
	for _, id := range ids {
		names = append(names, terminal.Cut(terminal.Mask(id), room))
	}
	return strings.Join(names, strings.Repeat(" ", gap))
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func count(n int64) string { return records.Count(n) }

func plural[N int | int64](n N, noun string) string { return records.Plural(n, noun) }

// bytesOf formats a number of bytes with a unit.
func bytesOf(n int64) string {
	for i, unit := range []string{"TB", "GB", "MB", "kB"} {
		if size := math.Pow10(12 - 3*i); float64(n) >= size {
			return fmt.Sprintf("%.1f %s", float64(n)/size, unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}

func seconds(s float64) string {
	switch d := time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%g s", float64(d.Milliseconds())/1000) // Seconds() would add two floats and print more digits
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
}
