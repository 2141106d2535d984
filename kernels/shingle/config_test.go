package shingle

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Config{
		"word:5":        {Kind: Word, K: 5},
		"word:1":        {Kind: Word, K: 1},
		"char:9":        {Kind: Char, K: 9},
		"byte:13":       {Kind: Byte, K: 13},
		"char32:9":      {Kind: Char32, K: 9},
		"stopword:3":    {Kind: Stop, K: 3, Language: "en"},
		"stopword:4:it": {Kind: Stop, K: 4, Language: "it"},
		"item":          {Kind: Item, K: 1},
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
		"word:5:it":    `"5:it" is not`,
		"stopword":     `"" is not a whole number`,
		"stopword:3:":  `no stop words for language ""`,
		"stopword:3:x": `no stop words for language "x"; use da`,
		"stopword:0":   `"0" is not a whole number`,
		"item:1":       `each item is one shingle`,
	} {
		got, err := Parse(in)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", in, got)
			continue
		}
		if !strings.Contains(err.Error(), says) {
			t.Errorf("Parse(%q): %v; want %q in it", in, err, says)
		}
	}
}
