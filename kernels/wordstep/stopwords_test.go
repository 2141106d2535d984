package wordstep

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestLists(t *testing.T) {
	for language, some := range map[string]string{
		"da": "og", "de": "und", "en": "the", "es": "los", "fi": "että", "fr": "dans", "hu": "és",
		"it": "perché", "nl": "het", "no": "ikke", "pt": "não", "ru": "что", "sv": "från",
	} {
		words, err := StopWords(language)
		if err != nil {
			t.Error(err)
		}
		if !slices.Contains(words, some) {
			t.Errorf("%s has no %q", language, some)
		}
		for _, word := range words {
			if word != strings.ToLower(word) || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '.' }) {
				t.Errorf("%s: %q is not a word in lower case", language, word)
			}
		}
		if !slices.Contains(languages(), language) {
			t.Errorf("%s is not listed", language)
		}
	}
}

func TestLanguageWithoutList(t *testing.T) {
	for _, language := range []string{"", "EN", "xx", "../README"} {
		if _, err := StopWords(language); err == nil || !strings.Contains(err.Error(), "en, es") {
			t.Errorf("language %q: %v", language, err)
		}
	}
}
