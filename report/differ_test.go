package report

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func join(stretches []stretch) (text string) {
	for _, s := range stretches {
		if s.Lacked {
			text += "[" + s.Text + "]"
		} else {
			text += s.Text
		}
	}
	return text
}

func TestDiffering(t *testing.T) {
	lead := strings.Repeat("same ", 20)
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"one two three", "one 2 three", "one [two] three", "one [2] three"},
		{"a b c d", "a x y d", "a [b c] d", "a [x y] d"},
		{"a", "a b", "a", "a [b]"},
		{"", "", "", ""},
		{"日本語の文書", "日本語の記書", "日本語の[文]書", "日本語の[記]書"},
		{"ที่นี่", "ที่โน่น", "ที่[นี่]", "ที่[โน่น]"},
		{" a\n\tb ", "a b", "a b", "a b"},
		{"a\x00b", "a\x00c", "[a\uFFFDb]", "[a\uFFFDc]"},
		{lead + "x", lead + "y", "…" + strings.Repeat(" same", 12) + " [x]", "…" + strings.Repeat(" same", 12) + " [y]"},
		{strings.Repeat("ab", 30) + "c", strings.Repeat("ab", 30) + "d", strings.Repeat("ab", 20) + "[" + strings.Repeat("ab", 10) + "c]", strings.Repeat("ab", 20) + "[" + strings.Repeat("ab", 10) + "d]"},
	} {
		inA, inB := differing(c.a, c.b)
		if got := join(inA); got != c.wantA {
			t.Errorf("%q beside %q: %q, want %q", c.a, c.b, got, c.wantA)
		}
		if got := join(inB); got != c.wantB {
			t.Errorf("%q beside %q: %q, want %q", c.b, c.a, got, c.wantB)
		}
	}
}

// What is not marked is the same in both, what is marked and what is not are all words, and long texts are cut.
func TestDifferingShowsAll(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "cc", "語", "ü"}), 0, 30).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		inA, inB := differing(a, b)
		common := func(stretches []stretch) (words string) {
			for _, s := range stretches {
				if !s.Lacked {
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
	long, _ := differing(strings.Repeat("語", 10_000), "x")
	if n := len(join(long)); n > mostBytes+len("[] …") {
		t.Errorf("%d bytes are shown", n)
	}
	if n := strings.Count(join(long), "語"); n > mostWords {
		t.Errorf("%d words are shown", n)
	}
}

// Before firstMark there is no mark and no character of an unspaced script.
func TestFirstMark(t *testing.T) {
	for r := range firstMark {
		if unicode.In(r, unicode.Mn, unicode.Mc) || unicode.In(r, unspaced...) {
			t.Errorf("%U", r)
		}
	}
}
