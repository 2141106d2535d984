package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/neardup/neardup/internal/terminal"
	"github.com/neardup/neardup/records"
)

// Cluster prints what a finished output says about one document, in lines of at most width characters.
func Cluster(w io.Writer, width int, c *records.Cluster) error {
	out := &printer{w: w, width: width, colors: terminal.Colours(w)}
	out.lines("%s%s", out.names(len(","), c.ID), outcome(c))
	if c.State != records.StateClustered || out.err != nil {
		return out.err
	}
	out.printf("\n")
	members := table{key: 4}
	members.head("similarity", "", "why", "size", "id", "place")
	for _, m := range c.Members {
		similarity, fate := "-", "kept"
		if m.Similarity != nil {
			similarity = share(*m.Similarity)
		}
		if !m.Kept {
			fate = "removed"
		}
		id := cmp.Or(terminal.Mask(m.ID), "-")
		if m.Source == c.Source && m.Position == c.Position {
			similarity, id = "this one", "* "+id
		}
		members.row(similarity, fate, why(m.InPlace), fmt.Sprint(m.Size), id,
			fmt.Sprintf("%s@%d", terminal.Mask(m.Source), m.Position))
	}
	members.print(out)
	if more := int(c.Documents) - len(c.Members); more > 0 {
		out.printf("and %s; --members lists more\n", plural(more, "more document"))
	}
	for i := range c.Examples {
		e := &c.Examples[i]
		out.printf("\n")
		columns(out, e)
	}
	return out.err
}

// outcome says what happened to a document, in words that follow its id.
func outcome(c *records.Cluster) string {
	switch c.State {
	case records.StateAlone:
		return fmt.Sprintf(" (%s) is in no cluster: the run found no document with a similarity of at least %s to it, and "+
			"kept it; neardup query INPUT --of ID lists the nearest documents",
			terminal.Mask(c.Source), strconv.FormatFloat(c.Threshold, 'g', -1, 64))
	case records.StateNotCompared:
		return fmt.Sprintf(" (%s@%d) is in no cluster, because it was not compared (%s)", terminal.Mask(c.Source),
			c.Position, terminal.Mask(c.Reason))
	case records.StateUnreadable:
		return fmt.Sprintf(" (%s@%d) is an unreadable record (%s)", terminal.Mask(c.Source),
			c.Position, terminal.Mask(c.Reason))
	default:
		return fmt.Sprintf(", in a cluster of %s: %s kept, %s removed", plural(int(c.Documents), "document"),
			count(int64(c.Kept)), count(int64(c.Documents-c.Kept)))
	}
}

// why says for which document a document was removed, and what they have in common; "" for a kept document.
func why(p *records.InPlace) string {
	if p == nil {
		return ""
	}
	id := terminal.Cut(terminal.Mask(p.ID), 24)
	switch {
	case p.Reason == records.ReasonSameSet:
		return "same shingle set as " + id
	case p.Reason == records.ReasonEqual:
		return "same tokens as " + id
	case p.Reason != records.ReasonNear:
		return p.Reason + " to " + id
	case p.Similarity == nil:
		return "linked by pairs to " + id
	default:
		return "similarity " + share(*p.Similarity) + " to " + id
	}
}
