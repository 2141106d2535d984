package shingle

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/textnorm"
)

func textsWithPlaces() *rapid.Generator[string] {
	pieces := []string{
		"a", "Zebra", "5", " ", "  ", "\t", "-", "_", "'", ".", ",", "\r\n", "don't", "3.14", "C++", "the", "running",
		"\u0301", "\u0331", "\u3099", "\u200d", "\u00ad", "\u200b", "é", "É", "İ", "ẞ", "K", "ﬁ",
		"می\u200cخواهم", "क्\u200dष", "👩\u200d👩", "🏴", "🇮🇹🇫🇷", "中文", "ひらがな", "カタカナ", "한국어", "\u1112\u1161", "ภาษา", "١", "👍", "€", "<p>", "</b>", "<br>", "&eacute;", "&amp;", "&#65;", "\u00a0", "\u3000", "\u2028",
	}
	return rapid.Map(rapid.SliceOf(rapid.SampledFrom(pieces)), func(s []string) string { return strings.Join(s, "") })
}

var placedSpecs = []string{"default", "none", "keep-symbols", "keep-case", "nfkc,lower", "default,strip-accents", "letters-only", "default,no-stop-words:en", "default,stem:en", "keep-symbols,collapse-space", "strip-markup,default", "strip-markup,keep-symbols,keep-case"}

// There is one place per token, in order and at character boundaries, and the fast path gives the places of the plain
// one. A text cut at the places of two tokens has these and those between them.
func TestPlacesCutOutTheirWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, err := Spec{Shingle: Config{Kind: Word, K: 1}}.Normalized(rapid.SampledFrom(placedSpecs).Draw(t, "normalize"))
		if err != nil {
			t.Fatal(err)
		}
		text := []byte(textsWithPlaces().Draw(t, "text"))
		s := spec.New()
		tokens := slices.Clone(s.Tokenise(text))
		places := slices.Collect(s.Places(text))
		plain := []textnorm.Span{}
		s.placesPlain(text, func(p textnorm.Span) bool { plain = append(plain, p); return true })
		if !spec.Normalize.StripsMarkup() && !slices.Equal(places, plain) {
			t.Fatalf("%s of %+q: %v, want %v", spec.Steps(), text, places, plain)
		}
		if len(places) != len(tokens) {
			t.Fatalf("%s of %+q: %d places of %d tokens", spec.Steps(), text, len(places), len(tokens))
		}
		if len(tokens) == 0 {
			return
		}
		first := rapid.IntRange(0, len(tokens)-1).Draw(t, "first")
		last := rapid.IntRange(first, len(tokens)-1).Draw(t, "last")
		cut := text[places[first].Start:places[last].End]
		if got := s.Tokenise(cut); !slices.Equal(got, tokens[first:last+1]) {
			t.Fatalf("%s of %+q: tokens %d to %d are cut as %+q, which has %d tokens", spec.Steps(), text, first, last, cut, len(got))
		}
	})
}

// A raw byte is a token; a character that stands for two words is the place of both.
func TestPlacesOfSpecialTexts(t *testing.T) {
	s := New(Config{Kind: Word, K: 1}, textnorm.Policy{})
	if got, want := slices.Collect(s.Places([]byte("Stra\xdfe \xe4\xf6"))), []textnorm.Span{{Start: 0, End: 4}, {Start: 4, End: 5}, {Start: 5, End: 6}, {Start: 7, End: 8}, {Start: 8, End: 9}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	policy, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	s = New(Config{Kind: Word, K: 1}, policy)
	if got, want := slices.Collect(s.Places([]byte("a ½ b"))), []textnorm.Span{{Start: 0, End: 1}, {Start: 2, End: 4}, {Start: 2, End: 4}, {Start: 5, End: 6}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	long := strings.Repeat("ab\u00e9 cd  ef\u3000", 4000)
	if got, want := len(slices.Collect(s.Places([]byte(long)))), len(s.Tokenise([]byte(long))); got != want {
		t.Errorf("%d places of %d tokens", got, want)
	}
}
