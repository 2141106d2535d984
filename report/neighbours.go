package report

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/neardup/neardup/records"
)

// Neighbours prints what a query found.
func Neighbours(w io.Writer, a *records.Answer) error {
	out := &printer{w: w}
	of := a.Of
	if of == "-" {
		of = "the text of standard input"
	}
	out.printf("%s, %s: %s\n", of, plural(int(a.Size), "shingle"), shares(a))
	if len(a.Neighbours) == 0 {
		return out.err
	}
	out.printf("\n")
	if out.err != nil {
		return out.err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "estimate\tsimilarity\tshared\tsize\tid\tsource")
	for _, n := range a.Neighbours {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s@%d\n", share(n.Estimate), share(n.Similarity), n.Shared, n.Size, cmp.Or(n.ID, "-"), n.Source, n.Position)
	}
	return table.Flush()
}

// shares says how many documents were found, and plainly if they are fewer than asked for.
func shares(a *records.Answer) string {
	switch found := len(a.Neighbours); {
	case found == 0:
		return "no document shares a bucket with it"
	case found < a.Asked:
		return fmt.Sprintf("only %s a bucket with it, of the %d asked for", verb(found), a.Asked)
	default:
		return fmt.Sprintf("the %d nearest of the %s a bucket with it", found, verb(int(a.Candidates)))
	}
}

func verb(n int) string {
	if n == 1 {
		return "1 document that shares"
	}
	return fmt.Sprintf("%s that share", plural(n, "document"))
}
