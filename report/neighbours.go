package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// Neighbours prints the documents that a query found.
func Neighbours(w io.Writer, a *records.Answer) error {
	out := &printer{w: w}
	of := out.names(len(","), a.Of)
	if of == "-" {
		of = "the text from standard input"
	}
	unit := "shingle"
	if byOverlap(a) {
		unit = "bit"
	}
	out.text("%s, %s: %s", of, plural(int(a.Size), unit), shares(a))
	if len(a.Neighbours) == 0 {
		return out.err
	}
	out.printf("\n")
	from := 0
	if a.Neighbours[0].Estimate == nil {
		from = 1
	}
	nearest := table{key: 4 - from}
	nearest.head([]string{"estimate", "similarity", "shared", "size", "id", "place"}[from:]...)
	for _, n := range a.Neighbours {
		estimate := ""
		if n.Estimate != nil {
			estimate = share(*n.Estimate)
		}
		nearest.row(cells[any](estimate, share(n.Similarity), n.Shared, n.Size,
			cmp.Or(terminal.Mask(n.ID), "-"), fmt.Sprintf("%s@%d", terminal.Mask(n.Source), n.Position))[from:]...)
	}
	nearest.print(out)
	return out.err
}

// byOverlap reports whether the query compares signatures.
func byOverlap(a *records.Answer) bool { return a.Parameters["measure"] == overlap }

// shares says how many documents were found, and if they are fewer than asked for.
func shares(a *records.Answer) string {
	switch found := len(a.Neighbours); {
	case found == 0:
		return "no document" + like(a, "shares")
	case found < a.Asked || int64(found) == a.Candidates:
		return fmt.Sprintf("found %s (up to %d requested)", alike(a, found), a.Asked)
	case found == 1:
		return "the nearest of the " + alike(a, int(a.Candidates))
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

// like says what documents have in common with the one in question, in words that follow "documents"; verb begins them.
func like(a *records.Answer, verb string) (words string) {
	if a.MinSimilarity > 0 {
		words = " with a similarity of at least " + strconv.FormatFloat(a.MinSimilarity, 'g', -1, 64)
	}
	switch {
	case a.Buckets && cmp.Or(a.Parameters["neardup.pieces"], "0") != "0":
		words += " " + verb + " a piece with it"
	case a.Buckets:
		words += " " + verb + " a bucket with it"
	case byOverlap(a): // any two signatures have some equal bits
	case a.MinSimilarity == 0:
		words += " " + verb + " a shingle with it"
	}
	return words
}
