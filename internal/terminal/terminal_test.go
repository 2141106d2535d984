package terminal

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestMask(t *testing.T) {
	for s, want := range map[string]string{
		"\x1b]52;c;bWVhbg==\a":     "·]52;c;bWVhbg==·",
		"a\r\nb":                   "a··b",
		"exe.\u202efdp":            "exe.·fdp",
		"\u009b31m":                "·31m",
		"क्\u200dष, می\u200cخواهم": "क्\u200dष, می\u200cخواهم",
		"\xff":                     "\ufffd",
		"ﬁne ✓ 漢字":                 "ﬁne ✓ 漢字",
	} {
		if got := Mask(s); got != want {
			t.Errorf("%q masked is %q, want %q", s, got, want)
		}
	}
	if got := MaskLines("a\nb\r\n\x1b"); got != "a\nb·\n·" {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, r := range Mask(rapid.String().Draw(t, "text")) {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q is not masked", r)
			}
		}
	})
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s     string
		width int
		want  string
	}{{"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abc…fg"}, {"abcdefgh", 5, "ab…gh"}, {"äöüßé", 3, "ä…é"}} {
		if got := Cut(c.s, c.width); got != c.want {
			t.Errorf("%s cut to %d is %s, want %s", c.s, c.width, got, c.want)
		}
	}
}

// Lines are within the width, no word is lost, and no line has room for the first word of the next.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-zé]{1,12}`)).Draw(t, "words")
		width := rapid.IntRange(1, 30).Draw(t, "width")
		lines := Wrap(strings.Join(words, " "), width)
		if got := strings.Join(lines, " "); got != strings.Join(words, " ") {
			t.Errorf("wrapped: %q", got)
		}
		for i, line := range lines {
			n := utf8.RuneCountInString(line)
			if n > width && strings.Contains(line, " ") {
				t.Errorf("%q is longer than %d", line, width)
			}
			if i+1 < len(lines) {
				if next, _, _ := strings.Cut(lines[i+1], " "); n+1+utf8.RuneCountInString(next) <= width {
					t.Errorf("%q has room for %q", line, next)
				}
			}
		}
	})
}
