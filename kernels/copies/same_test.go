package copies

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/match"
	"github.com/neardup/neardup/kernels/shingle"
	"github.com/neardup/neardup/kernels/textnorm"
)

// specs returns shingles of each kind, under several policies.
func specs(t *testing.T) (all []shingle.Spec) {
	t.Helper()
	for _, kind := range []string{"word:1", "word:5", "char:9", "char32:9", "byte:13", "stopword:3", "item"} {
		for _, steps := range append(textnorm.Steps(), "none") {
			config, err := shingle.Parse(kind)
			if err != nil {
				t.Fatal(err)
			}
			policy, err := textnorm.Parse(steps)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, shingle.Spec{Shingle: config, Normalize: policy})
		}
	}
	return all
}

// anyText often has few letters, or none.
var anyText = rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("aZ .!\u0301\u200d\u00ad\n+é中"))))

// A key is the trait of that name, whatever has been read before. A text has a key if it has a shingle or, for Bytes, a
// byte.
func TestKeyIsTrait(t *testing.T) {
	for _, spec := range specs(t) {
		t.Run(fmt.Sprint(spec.Shingle, spec.Normalize), func(t *testing.T) {
			reader, plain := NewReader(spec, (*shingle.Shingler).Set), spec.New()
			rapid.Check(t, func(t *rapid.T) {
				text := []byte(anyText.Draw(t, "text"))
				wantSet := shingle.Set(plain.Shingles(nil, text))
				want := Traits{Text: hash.Text(text), Tokens: hash.Values(plain.Tokenise(text)), Set: hash.Values(wantSet)}
				traits, set := reader.Read(text, nil)
				seen := text // of markup, only what a page shows
				if spec.Shingle.Kind != shingle.Item {
					seen = spec.Normalize.Visible(nil, text)
				}
				want.Symbols, want.Numbers = traits.Symbols, hash.Bytes(match.AppendNumbers(nil, seen))
				if traits != want || !slices.Equal(set, wantSet) {
					t.Errorf("%q: traits %v, want %v", text, traits, want)
				}
				for _, same := range All() {
					lean := Traits{Text: want.Text, Symbols: want.Symbols, Numbers: want.Numbers}
					if same == Set {
						lean.Tokens = want.Tokens
					}
					if got := reader.ReadCopy(same, text, nil); got != lean {
						t.Errorf("%q: traits %v of a copy by %s, want %v", text, got, same, lean)
					}
				}
				for same, trait := range map[Same]hash.Sum128{Bytes: want.Text, Tokens: want.Tokens, Set: want.Set} {
					key, ok := reader.Key(same, text, nil)
					if ok != (len(set) > 0 || same == Bytes && len(text) > 0) || ok && key != trait || traits.Of(same) != trait {
						t.Errorf("%q: key of %s is %v, %v", text, same, key, ok)
					}
				}
			})
		})
	}
}

// TestMarkup: symbols are those that a page shows.
func TestMarkup(t *testing.T) {
	for steps, want := range map[string]bool{"default": false, "strip-markup": true} {
		policy, err := textnorm.Parse(steps)
		if err != nil {
			t.Fatal(err)
		}
		reader := NewReader(shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}, Normalize: policy}, (*shingle.Shingler).Set)
		traits := func(page string) Traits {
			traits, _ := reader.Read([]byte(page), nil)
			return traits
		}
		one, other := traits("<b>b &amp; b</b><!-- one -->"), traits("<b class='b'>b & b</b>")
		if (one.Tokens == other.Tokens) != want || (one.Symbols == other.Symbols) != want || one.Text == other.Text {
			t.Errorf("%s: %+v, %+v", steps, one, other)
		}
		if copied := reader.ReadCopy(Tokens, []byte("<b class='b'>b & b</b>"), nil); copied.Symbols != other.Symbols {
			t.Errorf("%s: symbols of a copy %d, want %d", steps, copied.Symbols, other.Symbols)
		}
		if key, _ := reader.Key(Tokens, []byte("<b>b &amp; b</b><!-- one -->"), nil); key != one.Tokens {
			t.Errorf("%s: key %v, want %v", steps, key, one.Tokens)
		}
	}
}

// What each kind of copy distinguishes, and what not.
func TestTraits(t *testing.T) {
	policy, err := textnorm.Parse("default")
	if err != nil {
		t.Fatal(err)
	}
	reader := NewReader(shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 2}, Normalize: policy}, (*shingle.Shingler).Set)
	for _, c := range []struct{ a, b, same string }{
		{"return a + b", "return a + b", "text tokens set symbols"},
		{"return a + b", "return a - b", "tokens set"},
		{"Return a + b", "return a + b", "tokens set symbols"},
		{"x y x y", "x y x y x y", "set symbols"},
		{"x, y x y", "x y x y x y", "set"},
		{"a b", "b a", "symbols"},
	} {
		a, _ := reader.Read([]byte(c.a), nil)
		b, _ := reader.Read([]byte(c.b), nil)
		var same []string
		for _, trait := range []struct {
			name  string
			equal bool
		}{
			{"text", a.Text == b.Text}, {"tokens", a.Tokens == b.Tokens}, {"set", a.Set == b.Set}, {"symbols", a.Symbols == b.Symbols},
		} {
			if trait.equal {
				same = append(same, trait.name)
			}
		}
		if got := strings.Join(same, " "); got != c.same {
			t.Errorf("%q and %q have the same %s, want %s", c.a, c.b, got, c.same)
		}
	}
}
