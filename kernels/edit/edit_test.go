package edit

import (
	"testing"

	"pgregory.net/rapid"
)

// byDefinition tries every way to treat the first characters.
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
