package edit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// byDefinition tries every edit of the first characters.
func byDefinition(a, b []rune) int {
	switch {
	case len(a) == 0:
		return len(b)
	case len(b) == 0:
		return len(a)
	case a[0] == b[0]:
		return byDefinition(a[1:], b[1:])
	default:
		return 1 + min(byDefinition(a[1:], b), byDefinition(a, b[1:]), byDefinition(a[1:], b[1:]))
	}
}

func TestDistanceEqualsDefinition(t *testing.T) {
	short := rapid.StringOfN(rapid.SampledFrom([]rune("ab\u00e9")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := short.Draw(t, "a"), short.Draw(t, "b")
		if got, want := Distance(a, b), byDefinition([]rune(a), []rune(b)); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	})
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		wanted string
		names  []string
		want   string
	}{
		{"doc_id", []string{"text", "docid", "id"}, "docid"},
		{"ab", []string{"bb", "aa"}, "aa"},
		{"ab", []string{"aa", "bb"}, "aa"},
		{"nope", []string{"note", "nape"}, "nape"},
		{"abcd", []string{"abxy"}, "abxy"}, // half of its bytes
		{"abcd", []string{"axyz"}, ""},
		{"abcd", nil, ""},
	} {
		if got := Nearest(tt.wanted, slices.Values(tt.names)); got != tt.want {
			t.Errorf("%q of %q: %q, want %q", tt.wanted, tt.names, got, tt.want)
		}
	}
}
