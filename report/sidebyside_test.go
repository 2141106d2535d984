package report

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/records"
)

var colour = regexp.MustCompile("\x1b\\[(31|32|0)m")

// Colours are the only thing that a terminal adds, and nothing of a text is one.
func TestColours(t *testing.T) {
	words := rapid.SliceOf(rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "the", "\x1b[31mred\x1b[0m"}), rapid.String()))
	rapid.Check(t, func(t *rapid.T) {
		e := &records.Example{TextA: strings.Join(words.Draw(t, "a"), " "), TextB: strings.Join(words.Draw(t, "b"), " ")}
		var plain, coloured strings.Builder
		columns(&printer{w: &plain, width: 60}, e)
		columns(&printer{w: &coloured, width: 60, colors: true}, e)
		if strings.Contains(plain.String(), "\x1b") {
			t.Fatalf("%q", plain.String())
		}
		if got := colour.ReplaceAllString(coloured.String(), ""); got != plain.String() {
			t.Fatalf("without colours %q, want %q", got, plain.String())
		}
		Differing(e)
		if marked := strings.Count(coloured.String(), reset); marked != len(e.OnlyA)+len(e.OnlyB) {
			t.Fatalf("%d words are coloured, and %d differ", marked, len(e.OnlyA)+len(e.OnlyB))
		}
	})
}
