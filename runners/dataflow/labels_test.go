package dataflow

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLabels compares with the regular expressions in the service's documentation.
func TestLabels(t *testing.T) {
	key, value := regexp.MustCompile(`^\p{Ll}[\p{Ll}\p{Lo}\p{N}_-]{0,62}$`), regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$`)
	check := func(t interface{ Errorf(string, ...any) }, s string) {
		if isLabelKey(s) != key.MatchString(s) || isLabel(s) != value.MatchString(s) {
			t.Errorf("%q: key %v, value %v", s, isLabelKey(s), isLabel(s))
		}
	}
	for _, s := range []string{
		"", "a", "ä", "ª", "1", "-", "_a", "aB", "a.b", "a\n", "語", "a語٣", "\xff", "a\xff", "\ufffd",
		strings.Repeat("ä", 63), strings.Repeat("ä", 64), strings.Repeat("1", 63), strings.Repeat("1", 64),
	} {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "s")) })
}
