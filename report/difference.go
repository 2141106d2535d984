package report

import (
	"io"
	"strconv"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// Difference prints how two documents differ, in lines of at most width characters.
func Difference(w io.Writer, width int, d *records.Difference) error {
	out := &printer{w: w, width: width, colors: terminal.Colours(w)}
	of := d.A.Shingles + d.B.Shingles - d.Shared
	out.lines("similarity %s (%d of %s shared); %s and %s; %s and %s",
		share(d.Similarity), d.Shared, plural(of, "shingle"),
		count(int64(d.A.Tokens)), plural(d.B.Tokens, "token"), bytesOf(int64(d.A.Bytes)), bytesOf(int64(d.B.Bytes)))
	for i, m := range d.Measures {
		if i == 0 || m.Of != d.Measures[i-1].Of {
			out.printf("\n%s\n", m.Of)
		}
		value := "-"
		if m.Value != nil {
			value = strconv.FormatFloat(*m.Value, 'g', 8, 64)
		}
		out.printf("  %-24s%14s\n", m.Name, value)
		if m.Refused != "" {
			for _, line := range terminal.Wrap("not computed: "+m.Refused, width-4) {
				out.printf("    %s\n", line)
			}
		}
	}
	out.printf("\n")
	columns(out, &d.Example)
	return out.err
}
