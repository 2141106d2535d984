package report

import (
	"strings"
	"testing"
)

// Files and other programs get complete ids, however many there are in a line.
func TestNamesOfFiles(t *testing.T) {
	a, b := strings.Repeat("a", 500), "b\x1b"
	var out strings.Builder
	p := &printer{w: &out, width: 80}
	if got, want := p.names(7, a, b), a+"  b·"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
