package codec

import (
	"fmt"
	"strings"
)

// Column is a column of a file, and the type of its values in the format's terms.
type Column struct{ Name, Type string }

// Listed lists columns for a message. There may be many, so it takes the first 20 names and the first 100 characters of
// each.
func Listed(columns []string) string {
	const most = 20
	var names []string
	for _, name := range columns[:min(len(columns), most)] {
		names = append(names, fmt.Sprintf("%.100q", name))
	}
	listed := strings.Join(names, ", ")
	if more := len(columns) - most; more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return listed
}
