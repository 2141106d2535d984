package dedup

import (
	"maps"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// Counts are those of the definition, which asks every script about each letter.
func TestLettersByDefinition(t *testing.T) {
	if len(scripts) > notLetter {
		t.Fatalf("%d scripts do not fit a byte", len(scripts))
	}
	rapid.Check(t, func(t *rapid.T) {
		c, want := newLetters(), map[string]int64{}
		for _, text := range rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("aZ@[`{ é0жЖ文字ひらالعربไทย한글\u0301ªµ\ufffd"))))).Draw(t, "texts") {
			c.add([]byte(text))
			for _, r := range text {
				if !unicode.IsLetter(r) {
					continue
				}
				in := "Other"
				for name, table := range unicode.Scripts {
					if unicode.Is(table, r) {
						in = name
					}
				}
				want[in]++
			}
		}
		if got := c.byScript(); !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// Invalid UTF-8 bytes are not letters, and do not affect the letters next to them.
func TestLettersOfInvalidUTF8(t *testing.T) {
	c := newLetters()
	c.add([]byte("a\xff\xc3b\xe4\xb8c"))
	if got, want := c.byScript(), (map[string]int64{"Latin": 3}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func BenchmarkLetters(b *testing.B) {
	text := []byte("The quick brown fox: быстрая лисица, 敏捷的棕色狐狸.")
	b.SetBytes(int64(len(text)))
	c := newLetters()
	for b.Loop() {
		c.add(text)
	}
}
