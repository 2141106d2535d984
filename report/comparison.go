package report

import (
	"fmt"
	"io"
	"slices"
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
	if err := table.Flush(); err != nil {
		return err
	}
	return buckets(w, c.Methods)
}

// buckets prints what became of buckets, if a method lists their pairs.
func buckets(w io.Writer, methods []records.Method) error {
	methods = slices.DeleteFunc(slices.Clone(methods), func(m records.Method) bool { return m.Buckets == nil })
	if len(methods) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nmethod\tpairs in buckets\tdistinct\tcompared\ttrue\trefuted\tshuffled")
	for _, m := range methods {
		b, verified := m.Buckets, "-"
		if b.True != nil {
			verified = count(*b.True)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, count(b.Pairs), count(b.Distinct), count(b.Compared), verified, count(b.Refuted), Size(b.ShuffledBytes))
	}
	if err := table.Flush(); err != nil || methods[0].Buckets.CPU == nil {
		return err
	}
	fmt.Fprintln(table, "\nCPU time\tshingling\tsigning\tkeys\tgrouping\tverifying")
	for _, m := range methods {
		cpu := m.Buckets.CPU
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, seconds(cpu.Shingling), seconds(cpu.Signing), seconds(cpu.Keys), seconds(cpu.Grouping), seconds(cpu.Verifying))
	}
	return table.Flush()
}
