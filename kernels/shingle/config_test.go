package shingle

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Config{
		"word:5":  {Word, 5},
		"word:1":  {Word, 1},
		"char:9":  {Char, 9},
		"byte:13": {Byte, 13},
	} {
		got, err := Parse(in)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", in, got, err, want)
		}
		if s := got.String(); s != in {
			t.Errorf("Parse(%q) prints as %q", in, s)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for in, says := range map[string]string{
		"":             `unknown kind ""`,
		"words:5":      `unknown kind "words"`,
		"Word:5":       `unknown kind "Word"`,
		"word":         `"" is not a whole number`,
		"word:":        `"" is not a whole number`,
		"word:0":       `"0" is not a whole number from 1 to`,
		"word:1048577": `is not a whole number from 1 to 1048576`,
		"char:-3":      `"-3" is not`,
		"byte:1.5":     `"1.5" is not`,
		"word:5:5":     `"5:5" is not`,
		"stopword:3":   "not available",
	} {
		got, err := Parse(in)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", in, got)
			continue
		}
		if !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), in) {
			t.Errorf("Parse(%q): %v; want %q in it", in, err, says)
		}
	}
}
