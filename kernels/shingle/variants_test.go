package shingle

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/setsim"
	"github.com/neardup/neardup/kernels/wordstep"
)

var prose = rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{
	"the", "of", "and", "The", "a", "it", "rose", "ship", "sails", "caf\u00e9", "\u4e2d", "42",
}), 0, 40), func(words []string) string { return strings.Join(words, " ") })

// The exact oracle of stop-word shingles is windows of words that begin with a word of the list.
func TestStopShinglesAreThoseOfStrings(t *testing.T) {
	stop, err := wordstep.StopWords("en")
	if err != nil {
		t.Fatal(err)
	}
	anchored := func(text string) (shingles []string) {
		words := strings.Fields(strings.ToLower(text))
		for i := 0; i+3 <= len(words); i++ {
			if slices.Contains(stop, words[i]) {
				shingles = append(shingles, strings.Join(words[i:i+3], " "))
			}
		}
		if shingles == nil && len(words) > 0 {
			shingles = []string{"only " + strings.Join(words, " ")}
		}
		return shingles
	}
	s := shingler(t, "stopword:3", "default")
	rapid.Check(t, func(t *rapid.T) {
		a, b := prose.Draw(t, "a"), prose.Draw(t, "b")
		shared, union := jaccard(set(s, a), set(s, b))
		wantShared, wantUnion := jaccard(anchored(a), anchored(b))
		if shared != wantShared || union != wantUnion {
			t.Fatalf("%q and %q share %d of %d hashes, %d of %d strings", a, b, shared, union, wantShared, wantUnion)
		}
	})
}

// A stop-word shingle is a word shingle at selected places.
func TestStopShinglesAreWordShingles(t *testing.T) {
	stop, word := shingler(t, "stopword:3", "default"), shingler(t, "word:3", "default")
	text := []byte("A spokesperson for the Sudzo Corporation revealed today that studies have shown it is good for people to buy Sudzo products.")
	got := stop.Shingles(nil, text)
	// "A spokesperson for", "for the Sudzo", "the Sudzo Corporation", "that studies have", "have shown it", "it is good",
	// "is good for", "for people to", "to buy Sudzo".
	if len(got) != 9 {
		t.Errorf("%d shingles, want 9", len(got))
	}
	all := word.Shingles(nil, text)
	for _, h := range got {
		if !slices.Contains(all, h) {
			t.Errorf("%x is no word shingle", h)
		}
	}
}

// The same article on two sites is more similar to itself than two articles on one site are, which does not hold for
// plain word shingles.
func TestStopShinglesSeeThroughBoilerplate(t *testing.T) {
	const articleA = "The minister said on Monday that the committee had agreed to a plan for the railway, and that it would be built by the state. " +
		"There was no doubt in her mind that this is what the people of the north had been waiting for."
	const articleB = "It was the second time in a month that a storm had closed the harbour, and the ships were kept at sea for more than a day. " +
		"None of them was damaged, but the owners of the cargo have asked for their money from those who run the port."
	const siteA = "Home World Business Technology Sport Weather Video Subscribe Login Register Newsletter Follow Twitter Facebook Instagram Youtube Share Print Email\n"
	const footA = "\nCopyright 2019 Daily Herald Media Group. Privacy policy Terms Cookies Contact Advertise Jobs Archive Sitemap RSS Help Accessibility Corrections Mobile apps Podcasts Events"
	const siteB = "Startseite Aktuell Menu Search Sign-in Premium Top stories Most read Markets Currencies Commodities Opinion Culture Travel Food Health Science Education Cars Homes\n"
	const footB = "\nEvening Post Limited registered office London. Syndication Licensing Puzzles Crosswords Competitions Horoscopes Classified Obituaries Dating Vouchers Shop Delivery Gift cards"
	similarity := func(s *Shingler, a, b string) float64 {
		x, y := set(s, a), set(s, b)
		return setsim.Similarity(setsim.Overlap(x, y), len(x), len(y))
	}
	stop, word := shingler(t, "stopword:3", "default"), shingler(t, "word:3", "default")
	sameArticle := similarity(stop, siteA+articleA+footA, siteB+articleA+footB)
	sameSite := similarity(stop, siteA+articleA+footA, siteA+articleB+footA)
	t.Logf("stopword:3: the same article elsewhere %.3f, another article there %.3f", sameArticle, sameSite)
	t.Logf("word:3: %.3f, %.3f", similarity(word, siteA+articleA+footA, siteB+articleA+footB), similarity(word, siteA+articleA+footA, siteA+articleB+footA))
	if sameArticle <= sameSite || sameArticle < .8 || sameSite > .2 {
		t.Errorf("the same article elsewhere %.3f, another article there %.3f", sameArticle, sameSite)
	}
	plainArticle := similarity(word, siteA+articleA+footA, siteB+articleA+footB)
	if plainArticle >= sameArticle {
		t.Errorf("word shingles see the same article as %.3f, stop-word shingles as %.3f", plainArticle, sameArticle)
	}
}

// Two char32 shingles are equal if and only if their hashes have equal upper halves.
func TestChar32KeepsFourBytes(t *testing.T) {
	const n = 300_000 // about ten of which collide: n²/2^33
	hashes := make([]uint64, n)
	upper := map[uint64]bool{}
	for i := range hashes {
		hashes[i] = hash.Mix(uint64(i))
		upper[hashes[i]>>32] = true
	}
	distinct := map[uint64]bool{}
	for _, h := range cutTo32(hashes, 0) {
		distinct[h] = true
	}
	if len(upper) == n || len(distinct) != len(upper) {
		t.Errorf("%d values of %d, and %d distinct upper halves", len(distinct), n, len(upper))
	}
	s, whole := shingler(t, "char32:9", "default"), shingler(t, "char:9", "default")
	text := []byte(english(3000))
	want := whole.Shingles(nil, text)
	for i := range want {
		want[i] = hash.Mix(want[i] >> 32)
	}
	if got := s.Shingles(nil, text); !slices.Equal(got, want) {
		t.Error("char32:9 is not char:9 cut to 4 bytes")
	}
}

// Texts yields what Shingles hashes: as many distinct ones, in the same order, equal where those are.
func TestTextsAreShingles(t *testing.T) {
	for _, config := range allConfigs {
		s := shingler(t, config, "default")
		rapid.Check(t, func(t *rapid.T) {
			text := []byte(prose.Draw(t, "text") + rapid.SampledFrom([]string{"", "!", " \xff", " l'an"}).Draw(t, "end"))
			seen := map[string]bool{}
			for shingle := range s.Texts(text) {
				seen[string(shingle)] = true
			}
			if want := len(Set(s.Shingles(nil, text))); len(seen) != want {
				t.Fatalf("%s of %q: %d texts, %d shingles: %v", config, text, len(seen), want, seen)
			}
		})
	}
}

// A published pair: the exact similarity of its sets of 10 characters.
const (
	lorem = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. " +
		"Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat. " +
		"Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur. " +
		"Excepteur sint occaecat cupidatat non proident"
	loremEnd  = ", sunt in culpa qui officia deserunt mollit anim id est laborum."
	loremEnd2 = " bla bla bla."
)

func TestPublishedSimilarity(t *testing.T) {
	const want = 0.8285077951002228
	for _, config := range []string{"char:10", "char32:10"} {
		s := shingler(t, config, "lower,collapse-space")
		a, b := set(s, lorem+loremEnd), set(s, lorem+loremEnd2)
		if got := setsim.Similarity(setsim.Overlap(a, b), len(a), len(b)); got != want {
			t.Errorf("%s: similarity %v, want %v", config, got, want)
		}
	}
}

func TestPublishedShingles(t *testing.T) {
	s := shingler(t, "char:10", "lower,collapse-space")
	text := []byte("I love pizza Margherita! xd 1111@\n\n\n")
	var texts []string
	for shingle := range s.Texts(text) {
		texts = append(texts, string(shingle))
	}
	if len(texts) != 25 || texts[0] != "i love piz" || texts[len(texts)-1] != " xd 1111@ " {
		t.Errorf("%d shingles: %q", len(texts), texts)
	}
	if n := len(set(s, string(text))); n != 25 {
		t.Errorf("%d hashes, want 25", n)
	}
}
