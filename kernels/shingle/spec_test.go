package shingle

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/wordstep"
)

func spec(t testing.TB, config, policy, words string) Spec {
	t.Helper()
	c, err := Parse(config)
	if err != nil {
		t.Fatal(err)
	}
	p, err := textnorm.Parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	w, err := wordstep.Parse(words)
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Shingle: c, Normalize: p, Words: w}
}

// A text in a part has the shingles of part 0, all changed by its salt, in the same order.
func TestSalted(t *testing.T) {
	const text = "The 12 dogs of the 3 men, and the men of the dogs"
	for _, config := range []string{"word:1", "word:3", "word:20", "char:5", "char32:5", "byte:7", "stopword:3", "item"} {
		s := spec(t, config, "default", "none")
		s.Numbers = true
		apart, together := s.New(), s.InOnePart().New()
		apart.Apart(1, nil)
		together.Apart(1, nil)
		apart.Tokenise([]byte(text))
		salt := apart.Salt()
		got := slices.Clone(apart.Salted())
		for i := range got {
			got[i] ^= salt
		}
		if want := together.Shingles(nil, []byte(text)); salt == 0 || apart.Salt() != salt || !slices.Equal(got, want) {
			t.Errorf("%s: salt %d, then %d; %v, want %v", config, salt, apart.Salt(), got, want)
		}
	}
}

// A text whose words are changed has the shingles of the changed text, of every kind.
func TestWordSteps(t *testing.T) {
	const text = "The connections, of a   network; and CONNECTED dogs!"
	for _, c := range []struct{ normalize, words, want string }{
		{"default", "no-stop-words:en,stem:en", "connect network connect dog"},
		{"default", "no-stop-words:en", "connections network connected dogs"},
		{"default", "stem:en", "the connect of a network and connect dog"},
		{"default,no-space", "no-stop-words:en,stem:en", "connectnetworkconnectdog"},
		{"default,no-space", "none", "theconnectionsofanetworkandconnecteddogs"},
		{"lower,no-space", "no-stop-words:en", "connections,network;connecteddogs!"},
		{"lower,collapse-space", "stem:en", "the connect, of a network; and connect dog!"},
		{"keep-symbols", "no-stop-words:en", "connections, network; connected dogs!"},
	} {
		for _, config := range []string{"word:1", "word:3", "char:5", "char:200", "char32:5", "byte:7"} {
			got := spec(t, config, c.normalize, c.words).New()
			// Dropped spaces and kept symbols decide what a word is.
			unchanged := "none"
			if strings.Contains(c.normalize, "keep-symbols") {
				unchanged = c.normalize
			}
			if config == "byte:7" && c.normalize != "default,no-space" && c.normalize != "lower,no-space" && c.normalize != "lower,collapse-space" {
				continue // bytes keep layout
			}
			want := spec(t, config, unchanged, "none").New()
			if !slices.Equal(got.Shingles(nil, []byte(text)), want.Shingles(nil, []byte(c.want))) {
				t.Errorf("%s of %s, %s: not the shingles of %q", config, c.normalize, c.words, c.want)
			}
			var texts, wantTexts []string
			for s := range got.Texts([]byte(text)) {
				texts = append(texts, string(s))
			}
			for s := range want.Texts([]byte(c.want)) {
				wantTexts = append(wantTexts, string(s))
			}
			if !slices.Equal(texts, wantTexts) {
				t.Errorf("%s of %s, %s: texts %q, want %q", config, c.normalize, c.words, texts, wantTexts)
			}
		}
	}
}

// A text of only stop words has no tokens.
func TestStopWordsAlone(t *testing.T) {
	for _, config := range []string{"word:2", "char:5", "byte:5"} {
		if got := spec(t, config, "default", "no-stop-words:en").New().Shingles(nil, []byte("To be, or not to be")); len(got) != 0 {
			t.Errorf("%s: %d shingles", config, len(got))
		}
	}
}

// Texts of one Shingler do not affect each other, and long ones leave nothing behind.
func TestWordStepsInTurn(t *testing.T) {
	one := spec(t, "char:5", "default", "no-stop-words:en,stem:en").New()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.SampledFrom([]rune("the dogsérunig ,.中\xff"))).Draw(t, "text"))
		fresh := Spec{Shingle: one.config, Normalize: one.policy, Words: wordstep.Steps{Stop: "en", Stem: "en"}}.New()
		if !slices.Equal(one.Shingles(nil, text), fresh.Shingles(nil, text)) {
			t.Fatalf("%q: other shingles after other texts", text)
		}
	})
	one.Shingles(nil, []byte(strings.Repeat("long words ", 1<<18)))
	if one.Trim(); one.normal != nil {
		t.Error("a long text stays")
	}
}

// Texts whose words are changed differently are never compared.
func TestFormatID(t *testing.T) {
	seen := map[string]bool{}
	for _, words := range []string{"none", "no-stop-words:en", "stem:en", "stem:it", "no-stop-words:en,stem:en"} {
		id := spec(t, "char:5", "default", words).FormatID()
		if seen[id] || !strings.HasPrefix(id, FormatID) || (id == FormatID) != (words == "none") {
			t.Errorf("%s has the id %q", words, id)
		}
		seen[id] = true
	}
}

// TestTooLarge: the limit applies to the normalised text, if that is more than twice as large. Such a text has no
// tokens.
func TestTooLarge(t *testing.T) {
	const limit = 1 << 10
	words := "\ufdfa" // four words, 33 bytes of 3
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"ordinary", strings.Repeat("word ", limit/5), false},
		{"grown, and within the limit", strings.Repeat(words, limit/33), false},
		{"grown beyond it", strings.Repeat(words, limit/33+1), true},
		{"grown beyond it, by less than half", strings.Repeat(words, limit/33) + strings.Repeat("word ", limit*9/10/5), false},
		{"decomposed letters, which are composed again", strings.Repeat("ế", limit/3), false},
		{"syllables", strings.Repeat("한", limit/3), false},
	} {
		for _, kind := range []string{"word:5", "char:9", "byte:13", "stopword:3"} {
			s := spec(t, kind, "default", "none")
			s.MaxBytes = limit
			if got := s.TooLarge([]byte(c.text)); got != c.want {
				t.Errorf("%s, %s: too large: %v", c.name, kind, got)
			}
			shingler := s.New()
			if got := len(shingler.Tokenise([]byte(c.text))) == 0; got != c.want {
				t.Errorf("%s, %s: no token: %v", c.name, kind, got)
			}
			if c.want && cap(shingler.text) > 0 {
				t.Errorf("%s, %s: the text was normalised", c.name, kind)
			}
			s.Normalize = textnorm.Policy{}
			if s.TooLarge([]byte(c.text)) {
				t.Errorf("%s, %s: too large without NFKC", c.name, kind)
			}
		}
	}
}

// One list has the steps for texts and those for words, in any order.
func TestNormalized(t *testing.T) {
	for list, want := range map[string]string{
		"default": "default", "none": "none", "stem:en": "default,stem:en", "none,stem:en": "none,stem:en",
		"stem:it,lower,no-stop-words:it,nfkc": "nfkc,lower,no-stop-words:it,stem:it",
	} {
		got, err := Spec{Words: wordstep.Steps{Stem: "da"}}.Normalized(list)
		if again, _ := (Spec{}).Normalized(got.Steps()); err != nil || got.Steps() != want || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: %s, %v, and again %s; want %s", list, got.Steps(), err, again.Steps(), want)
		}
	}
	for _, list := range []string{"stem:xx", "stem:en,stem:en", "shout", "loud:en", "none,lower,stem:en"} {
		if got, err := (Spec{}).Normalized(list); err == nil {
			t.Errorf("%s: %s", list, got.Steps())
		}
	}
}
