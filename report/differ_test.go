package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func join(stretches []stretch) (text string) {
	for _, s := range stretches {
		switch {
		case s.Only == onlyA:
			text += "[" + s.Text + "]"
		case s.Only == onlyB:
			text += "{" + s.Text + "}"
		case s.Equal > 0:
			text += fmt.Sprintf("<%d: %s>", s.Equal, s.Text)
		default:
			text += s.Text
		}
	}
	return text
}

func TestDiffering(t *testing.T) {
	lead := strings.Repeat("same ", 20)
	many := func(n int) string { return strings.TrimSpace(strings.Repeat("same ", n)) }
	for _, c := range []struct{ a, b, wantA, wantB, wantBoth string }{
		{"one two three", "one 2 three", "one [two] three", "one {2} three", "one [two] {2} three"},
		{"a b c d", "a x y d", "a [b c] d", "a {x y} d", "a [b c] {x y} d"},
		{"a", "a b", "a", "a {b}", "a {b}"},
		{"", "", "", "", ""},
		{"日本語の文書", "日本語の記書", "日本語の[文]書", "日本語の{記}書", "日本語の[文]{記}書"},
		{"ที่นี่", "ที่โน่น", "ที่[นี่]", "ที่{โน่น}", "ที่[นี่]{โน่น}"},
		{" a\n\tb ", "a b", "a b", "a b", "a b"},
		{"a\x00b", "a\x00c", "[a\uFFFDb]", "{a\uFFFDc}", "[a\uFFFDb] {a\uFFFDc}"},
		{lead + "x", lead + "y", "…" + strings.Repeat(" same", 12) + " [x]", "…" + strings.Repeat(" same", 12) + " {y}", "…" + strings.Repeat(" same", 12) + " [x] {y}"},
		{strings.Repeat("ab", 30) + "c", strings.Repeat("ab", 30) + "d", strings.Repeat("ab", 20) + "[" + strings.Repeat("ab", 10) + "c]", strings.Repeat("ab", 20) + "{" + strings.Repeat("ab", 10) + "d}", strings.Repeat("ab", 20) + "[" + strings.Repeat("ab", 10) + "c]{" + strings.Repeat("ab", 10) + "d}"},
		// Equal words are folded, except twelve beside a difference.
		{"x " + many(44) + " y", "z " + many(44), "[x] " + many(12) + " <20: " + many(20) + "> " + many(12) + " [y]",
			"{z} " + many(12) + " <20: " + many(20) + "> " + many(12), "[x] {z} " + many(12) + " <20: " + many(20) + "> " + many(12) + " [y]"},
		{"x " + many(43) + " y", "z " + many(43), "[x] " + many(43) + " [y]", "{z} " + many(43), "[x] {z} " + many(43) + " [y]"},
		{"x " + many(32), many(32), "[x] " + many(12) + " <20: " + many(20) + ">", many(12) + " <20: " + many(20) + ">",
			"[x] " + many(12) + " <20: " + many(20) + ">"},
	} {
		got := differing(c.a, c.b)
		for want, is := range map[string][]stretch{c.wantA: got.A, c.wantB: got.B, c.wantBoth: got.Both} {
			if join(is) != want {
				t.Errorf("%q beside %q: %q, want %q", c.a, c.b, join(is), want)
			}
		}
	}
}

// The unmarked parts are the same in both texts, marked and unmarked parts together are all words, and long texts are
// cut.
func TestDifferingShowsAll(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "cc", "語", "ü"}), 0, 30).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		got := differing(a, b)
		inA, inB := got.A, got.B
		common := func(stretches []stretch) (words string) {
			for _, s := range stretches {
				if s.Only == both {
					words += strings.Join(strings.Fields(s.Text), "")
				}
			}
			return strings.TrimPrefix(words, "…")
		}
		if common(inA) != common(inB) {
			t.Fatalf("common are %q and %q", common(inA), common(inB))
		}
		for of, shown := range map[string][]stretch{a: inA, b: inB} {
			var words string
			for _, s := range shown {
				words += s.Text
			}
			if words, cut := strings.CutPrefix(words, "… "); !cut && words != of || !strings.HasSuffix(of, words) {
				t.Fatalf("%q is shown of %q", words, of)
			}
		}
	})
	long := differing(strings.Repeat("語", 10_000), "x").A
	if n := len(join(long)); n > mostBytes+len("[] …") {
		t.Errorf("%d bytes are shown", n)
	}
	if n := strings.Count(join(long), "語"); n > mostWords {
		t.Errorf("%d words are shown", n)
	}
}

// Before firstMark there are no combining marks and no characters of a script without spaces.
func TestFirstMark(t *testing.T) {
	for r := range firstMark {
		if unicode.In(r, unicode.Mn, unicode.Mc) || unicode.In(r, unspaced...) {
			t.Errorf("%U", r)
		}
	}
}

// A time has at most two decimals, whatever seconds and fractions add up to.
func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{
		.0042: "0 ms", .42: "420 ms", 1.889: "1.89 s", 1.9: "1.9 s", 17: "17 s", 59.994: "59.99 s", 293: "4 min 53 s", 7260: "2 h 1 min",
	} {
		if got := seconds(s); got != want {
			t.Errorf("seconds(%v) is %s, want %s", s, got, want)
		}
	}
}
