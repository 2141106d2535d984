package main

import (
	"encoding/json"
	"io"
)

// printJSON writes what --json prints: indented, and texts as they are, without escapes for HTML.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
