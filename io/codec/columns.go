package codec

import "fmt"

// Column is one that a file has, and the type of its values as the format calls it.
type Column struct{ Name, Type string }

// Listed is how a message lists columns, of which there may be many:
// the first 20 names, and of each its first 100 characters.
func Listed(columns []string) string {
	const most = 20
	if more := len(columns) - most; more > 0 {
		return fmt.Sprintf("%.100q and %d more", columns[:most], more)
	}
	return fmt.Sprintf("%.100q", columns)
}
