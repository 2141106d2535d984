package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/neardup/neardup/records"
)

// Study prints how similar documents are under each setting.
func Study(w io.Writer, s *records.Study) error {
	out := &printer{w: w}
	out.printf("%s, %s\n\n", plural(len(s.Documents), "document"), plural(s.Pairs, "pair"))
	if out.err != nil {
		return out.err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "similarity in per cent\tmean\tmedian\t99 of 100\tlargest\ttokens removed\t")
	for _, setting := range s.Settings {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t\n", setting.Name, perCent(setting.Mean), perCent(setting.Median), perCent(setting.Percentile), perCent(setting.Largest), perCent(setting.Removed))
	}
	return table.Flush()
}

func perCent(share float64) string { return fmt.Sprintf("%.2f", 100*share) }
