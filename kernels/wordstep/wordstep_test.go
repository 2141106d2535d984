package wordstep

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/textnorm"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Steps{
		"none":                     {},
		"no-stop-words:en":         {Stop: "en"},
		"stem:de":                  {Stem: "de"},
		"no-stop-words:en,stem:en": {Stop: "en", Stem: "en"},
		"no-stop-words:en,stem:ru": {Stop: "en", Stem: "ru"},
	} {
		got, err := Parse(in)
		if err != nil || got != want || got.String() != in {
			t.Errorf("Parse(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	if got, err := Parse("stem:it, no-stop-words:it"); err != nil || got != (Steps{"it", "it"}) {
		t.Errorf("in another order: %v, %v", got, err)
	}
}

func TestParseErrors(t *testing.T) {
	for in, says := range map[string]string{
		"":                  `unknown step ""`,
		"stems:en":          `unknown step "stems"; use none alone, or a comma-separated list`,
		"none,stem:en":      `unknown step "none"`,
		"stem":              `stem needs a language, as in stem:en`,
		"stem:xx":           `use da, de, en`,
		"no-stop-words:xx":  `no stop words for language "xx"`,
		"stem:en,stem:de":   "stem is named twice",
		"stem:en,stem:en":   "stem is named twice",
		"no-stop-words:en,": `unknown step ""`,
	} {
		if got, err := Parse(in); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Parse(%q) = %v, %v; want %q", in, got, err, says)
		}
	}
}

// Every language of stop words has a stemmer, so that one flag serves both.
func TestLanguages(t *testing.T) {
	_, err := StopWords("none such")
	_, list, _ := strings.Cut(strings.Replace(err.Error(), " or ", ", ", 1), "use ")
	for _, language := range strings.Split(list, ", ") {
		if _, err := Parse("no-stop-words:" + language + ",stem:" + language); err != nil {
			t.Error(err)
		}
	}
}

func policy(t testing.TB, name string) textnorm.Policy {
	t.Helper()
	p, err := textnorm.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAppend(t *testing.T) {
	both := Steps{Stop: "en", Stem: "en"}
	for _, c := range []struct {
		name, policy string
		steps        Steps
		in, want     string
	}{
		{"both", "lower", both, "the connections of a network", "  connect     network"},
		{"stop words alone", "lower", Steps{Stop: "en"}, "the connections of a network", "  connections     network"},
		{"stems alone", "lower", Steps{Stem: "en"}, "the connections of a network", "the connect of a network"},
		{"what is between words stays", "lower", both, "\tcats, and dogs!\n", "\tcat,   dog!\n"},
		{"a stop word with an apostrophe", "lower", both, "don't doubt", "  doubt"},
		{"its rests are none", "default", both, "don t doubt", "don t doubt"},
		{"stop words in capitals", "none", both, "The Cats AND Dogs", "  Cat   Dog"},
		{"without stop words", "none", Steps{Stem: "en"}, "The Cats AND Dogs", "The Cat AND Dog"},
		{"a word is left out, not a part of one", "lower", Steps{Stop: "en"}, "theology isn others", "theology isn others"},
		{"another language", "lower", Steps{Stop: "it", Stem: "it"}, "il gatto e la casa", "  gatt     cas"},
		{"scripts without blanks", "lower", both, "中the文", "中 文"},
		{"raw bytes", "lower", both, "cats\xff\xe9 \xff\xe9the", "cat\xff\xe9 \xff\xe9 "},
		{"nothing", "lower", both, "", ""},
	} {
		got := string(c.steps.New(policy(t, c.policy)).Append([]byte("> "), []byte(c.in)))
		if got != "> "+c.want {
			t.Errorf("%s: %q becomes %q, want %q", c.name, c.in, got, "> "+c.want)
		}
	}
}

// In ASCII text, words are what a pattern finds; each is looked up in the list, and the rest stays.
func TestAppendIsPlain(t *testing.T) {
	words, err := StopWords("en")
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`[a-z]+`)
	drawn := rapid.SampledFrom(append([]string{" ", "  ", "\n", "- ", "(", "!?", "hotels", "running", "x"}, slices.DeleteFunc(words, func(w string) bool { return strings.Contains(w, "'") })...))
	r := Steps{Stop: "en"}.New(policy(t, "lower"))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(drawn).Draw(t, "text"), "")
		want := pattern.ReplaceAllStringFunc(text, func(word string) string {
			if slices.Contains(words, word) {
				return " "
			}
			return word
		})
		if got := string(r.Append(nil, []byte(text))); got != want {
			t.Fatalf("%q becomes %q, want %q", text, got, want)
		}
	})
}
