package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/neardup/neardup/records"
)

// Comparison prints how several ways to find pairs agree.
func Comparison(w io.Writer, c *records.Comparison) error {
	out := &printer{w: w}
	out.printf("pairs of documents at least %v similar; %s signatures in %d bands of %d rows\n\n", c.Threshold, c.Signature, c.Bands, c.Rows)
	if out.err != nil {
		return out.err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "method\ttime\tpairs\tcommon with %s\trecall\tprecision\n", c.Methods[0].Name)
	for _, m := range c.Methods {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, seconds(m.Seconds), count(int64(m.Pairs)), count(int64(m.Common)), share(m.Recall), share(m.Precision))
	}
	return table.Flush()
}
