package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// Neighbours prints what a query found.
func Neighbours(w io.Writer, a *records.Answer) error {
	out := &printer{w: w}
	of := terminal.Mask(a.Of)
	if of == "-" {
		of = "the text of standard input"
	}
	unit := "shingle"
	if byOverlap(a) {
		unit = "bit"
	}
	out.printf("%s, %s: %s\n", of, plural(int(a.Size), unit), shares(a))
	if len(a.Neighbours) == 0 {
		return out.err
	}
	out.printf("\n")
	if out.err != nil {
		return out.err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	columns := "similarity\tshared\tsize\tid\tsource"
	if a.Buckets {
		columns = "estimate\t" + columns
	}
	fmt.Fprintln(table, columns)
	for _, n := range a.Neighbours {
		if n.Estimate != nil {
			fmt.Fprintf(table, "%s\t", share(*n.Estimate))
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s@%d\n", share(n.Similarity), n.Shared, n.Size, cmp.Or(terminal.Mask(n.ID), "-"),
			terminal.Mask(n.Source), n.Position)
	}
	return table.Flush()
}

// byOverlap reports whether signatures are compared.
func byOverlap(a *records.Answer) bool { return a.Parameters["measure"] == overlap }

// shares says how many documents were found, and plainly if they are fewer than asked for.
func shares(a *records.Answer) string {
	switch found := len(a.Neighbours); {
	case found == 0:
		return "no document" + like(a, "shares")
	case found < a.Asked:
		return fmt.Sprintf("only %s, of the %d asked for", alike(a, found), a.Asked)
	default:
		return fmt.Sprintf("the %d nearest of the %s", found, alike(a, int(a.Candidates)))
	}
}

func alike(a *records.Answer, n int) string {
	if n == 1 {
		return "1 document" + like(a, "that shares")
	}
	return plural(n, "document") + like(a, "that share")
}

// like says what documents have in common with the one in question, to follow them; verb is what they do.
func like(a *records.Answer, verb string) (words string) {
	if a.MinSimilarity > 0 {
		words = " of similarity " + strconv.FormatFloat(a.MinSimilarity, 'g', -1, 64) + " or more"
	}
	switch {
	case a.Buckets:
		words += " " + verb + " a bucket with it"
	case byOverlap(a): // of any two signatures some bits are equal
	case a.MinSimilarity == 0:
		words += " " + verb + " a shingle with it"
	}
	return words
}
