package codec

import (
	"fmt"
	"strings"
)

// Column is one that a file has, and the type of its values as the format calls it.
type Column struct{ Name, Type string }

// Listed is how a message lists columns, of which there may be many:
// the first 20 names, and of each its first 100 characters.
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
