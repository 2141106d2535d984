package wordstep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// The vocabularies are Snowball's own, with the stems that its own program gives.
func TestVocabularies(t *testing.T) {
	for language := range algorithms {
		s, err := NewStemmer(language)
		if err != nil {
			t.Fatal(err)
		}
		table, err := os.ReadFile(filepath.Join("testdata", language+".tsv"))
		if err != nil {
			t.Fatal(err)
		}
		words := 0
		for line := range strings.Lines(string(table)) {
			word, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			for range 2 { // the second time from memory
				if got := string(s.Append([]byte("> "), []byte(word))); got != "> "+want {
					t.Errorf("%s: stem of %q is %q, want %q", language, word, got, want)
				}
			}
			words++
		}
		if words < 400 {
			t.Errorf("%s: %d words", language, words)
		}
	}
}

func TestUnknownLanguage(t *testing.T) {
	for _, language := range []string{"", "EN", "english", "xx"} {
		if _, err := NewStemmer(language); err == nil || !strings.Contains(err.Error(), "en, es") {
			t.Errorf("language %q: %v", language, err)
		}
	}
}

// What is remembered equals what would be computed, even if there is no room for more.
func TestMemory(t *testing.T) {
	s, err := NewStemmer("en")
	if err != nil {
		t.Fatal(err)
	}
	twin, _ := NewStemmer("en")
	word := []byte("aaaaaings")
	for i := range mostKnown + 1000 {
		for at, n := 0, i; at < 5; at, n = at+1, n/26 {
			word[at] = byte('a' + n%26)
		}
		if got, want := string(s.Append(nil, word)), twin.plain(string(word)); got != want {
			t.Fatalf("stem of %q is %q, want %q", word, got, want)
		}
		if len(s.stems) > mostKnown {
			t.Fatalf("%d words are remembered", len(s.stems))
		}
	}
	long := []byte(strings.Repeat("long", 9))
	s.Append(nil, long)
	if _, ok := s.stems[string(long)]; ok {
		t.Error("a long word is remembered")
	}
}

// The stem of any word is UTF-8.
func FuzzStem(f *testing.F) {
	f.Add("dogs'")
	f.Add("y'all's")
	f.Add("ё́ж")
	f.Add("１２３")
	f.Fuzz(func(t *testing.T, word string) {
		if !utf8.ValidString(word) {
			return
		}
		for language := range algorithms {
			s, err := NewStemmer(language)
			if err != nil {
				t.Fatal(err)
			}
			if stem := s.Append(nil, []byte(word)); !utf8.Valid(stem) {
				t.Errorf("%s: the stem of %q is %q", language, word, stem)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	table, err := os.ReadFile("testdata/en.tsv")
	if err != nil {
		b.Fatal(err)
	}
	s, err := NewStemmer("en")
	if err != nil {
		b.Fatal(err)
	}
	words := strings.Fields(string(table))
	b.Run("plain", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			s.plain(words[i%len(words)])
		}
	})
	b.Run("known", func(b *testing.B) {
		var stem []byte
		for i := 0; b.Loop(); i++ {
			stem = s.Append(stem[:0], []byte(words[i%len(words)]))
		}
	})
}
