package token

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// plainSymbols is the plain twin of Symbols.
func plainSymbols(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.P, unicode.S) {
			return r
		}
		return -1
	}, text)
}

func TestSymbols(t *testing.T) {
	for text, want := range map[string]string{
		"return a + b":       "+",
		"C++, C#":            "++,#",
		"GPL-2.0+":           "-.+",
		"it's 5 € ＋ ½ – “a”": "'€＋–“”",
		"H2O\tna\u00a0x":     "",
		"a\xffb":             "\ufffd",
	} {
		if got := string(Symbols([]byte("before "), []byte(text))); got != "before "+want {
			t.Errorf("symbols of %q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom(nil, unicode.P, unicode.S, unicode.L)),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		if got, want := string(Symbols(nil, []byte(text))), plainSymbols(text); got != want {
			t.Errorf("symbols of %q: %q, want %q", text, got, want)
		}
	})
}
