package shingle

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/textnorm"
	"github.com/neardup/neardup/kernels/token"
)

var configs = []string{"word:1", "word:2", "word:5", "char:1", "char:9", "byte:13"}

var allConfigs = append(slices.Clone(configs), "stopword:3", "stopword:2:it", "char32:9")

func shingler(t testing.TB, config, policy string) *Shingler {
	t.Helper()
	c, err := Parse(config)
	if err != nil {
		t.Fatal(err)
	}
	p, err := textnorm.Parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	return New(c, p)
}

func set(s *Shingler, text string) []uint64 {
	return Set(s.Shingles(nil, []byte(text)))
}

// jaccard implements the definition: it is the measure here, not the subject of the test.
func jaccard[T comparable](a, b []T) (shared, union int) {
	in := map[T]bool{}
	for _, v := range a {
		in[v] = true
	}
	union = len(in)
	seen := map[T]bool{}
	for _, v := range b {
		switch {
		case seen[v]:
		case in[v]:
			shared++
		default:
			union++
		}
		seen[v] = true
	}
	return shared, union
}

func TestVectors(t *testing.T) {
	table, err := os.ReadFile("testdata/vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		field := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(field) != 3 {
			t.Fatalf("line %q has %d fields, want 3", line, len(field))
		}
		var got []string
		for _, h := range shingler(t, field[0], "default").Shingles(nil, []byte(field[1])) {
			got = append(got, fmt.Sprintf("%016x", h))
		}
		if got := strings.Join(got, ","); got != field[2] {
			t.Errorf("%s of %q:\n got %s\nwant %s", field[0], field[1], got, field[2])
		}
	}
}

// FormatID names one Unicode version, so both sources of tables must have it.
func TestOneUnicodeVersion(t *testing.T) {
	if norm.Version != unicode.Version {
		t.Errorf("golang.org/x/text has Unicode %s, package unicode %s: FormatID must name both", norm.Version, unicode.Version)
	}
}

func TestTextsThatAreTheSame(t *testing.T) {
	for _, c := range []struct{ name, config, a, b string }{
		{"case and punctuation", "word:5",
			"The Committee met on Monday, and (as expected) it adjourned.",
			"the committee met on monday -- and as expected it adjourned"},
		{"composed and decomposed", "word:2", "Le caf\u00e9 o\u00f9 l'on go\u00fbte", "Le cafe\u0301 ou\u0300 l'on gou\u0302te"},
		{"composed and decomposed", "char:3", "caf\u00e9 na\u00efve \u1e69", "cafe\u0301 nai\u0308ve s\u0307\u0323"},
		{"composed and decomposed", "byte:3", "caf\u00e9 na\u00efve", "cafe\u0301 nai\u0308ve"},
		{"Hangul", "word:1", "한국어 문서", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165 \u1106\u116e\u11ab\u1109\u1165"},
		{"width", "word:2", "ＡＢＣ １２３ ｶﾞ", "abc 123 ガ"},
		{"one word", "word:5", "Hello", "hello!"},
		{"punctuation", "char:9", "Well, the cat, sat on: the mat; yes.", "Well the cat sat on the mat yes"},
		{"layout", "char:9", " Well, the cat\n\nsat on\r\n\tthe mat.\n", "well the cat sat on the mat"},
		{"layout", "char32:9", "Well --\n\nthe cat", "well the cat"},
		{"soft hyphens", "word:2", "dis\u00adcus\u00adsion is closed", "discussion is closed"},
		{"soft hyphens", "char:9", "dis\u00adcus\u00adsion is closed", "discussion is closed"},
		{"soft hyphens", "stopword:2", "the dis\u00adcus\u00adsion is closed", "the discussion is closed"},
		{"three words", "word:5", "one two three", "One, two; three."},
		{"Thai", "word:5", "ภาษาไทยไม่มีช่องว่าง", "ภาษาไทยไม่มีช่องว่าง!"},
		{"Chinese", "word:5", "中文文本没有空格", "中文文本没有空格。"},
	} {
		s := shingler(t, c.config, "default")
		a, b := set(s, c.a), set(s, c.b)
		if len(a) == 0 || !slices.Equal(a, b) {
			t.Errorf("%s, %s: %q and %q have sets of %d and %d", c.name, c.config, c.a, c.b, len(a), len(b))
		}
	}
}

func TestTextsThatDiffer(t *testing.T) {
	for _, c := range []struct{ name, config, policy, a, b string }{
		{"symbols", "word:5", "keep-symbols", "return a + b", "return a - b"},
		{"symbols", "word:1", "keep-symbols", "C++", "C#"},
		{"symbols", "word:1", "keep-symbols", "GPL-2.0", "GPL-2.0+"},
		{"symbols", "char:3", "keep-symbols", "H2O", "H2O."},
		{"emoji", "word:1", "keep-symbols", "fine 👍", "fine 👎"},
		{"bytes that are not UTF-8", "word:1", "default", "\xcf\xf0", "\xcf\xf1"},
		{"bytes that are not UTF-8", "char:2", "default", "\xcf\xf0", "\xcf\xf1"},
		{"bytes that are not UTF-8", "word:1", "none", "\xcf\xf0", "\xcf\xf1"},
		{"surrogates", "word:1", "default", "\xed\xa0\x80", "\xed\xa0\x81"},
		{"layout of bytes", "byte:3", "default", "a  b", "a b"},
		{"invisible characters of bytes", "byte:3", "default", "a\u00adb", "ab"},
		{"blanks", "char:3", "collapse-space", " a b", "a b"},
		{"Persian", "word:1", "default", "می\u200cخواهم", "میخواهم"},
	} {
		s := shingler(t, c.config, c.policy)
		a, b := set(s, c.a), set(s, c.b)
		if len(a) == 0 || len(b) == 0 || slices.Equal(a, b) {
			t.Errorf("%s, %s %s: %q and %q have sets of %d and %d", c.name, c.config, c.policy, c.a, c.b, len(a), len(b))
		}
	}
}

func TestTextsWithoutToken(t *testing.T) {
	for _, config := range []string{"word:1", "word:5", "char:1", "char:9", "byte:13"} {
		for _, text := range []string{"", " \t\r\n", "!!!", "...", "…—«»", "\u3000\u00a0", "\u200b\u00ad\ufeff"} {
			if got := shingler(t, config, "default").Shingles(nil, []byte(text)); len(got) != 0 {
				t.Errorf("%s of %q under default: %d shingles, want none", config, text, len(got))
			}
		}
		if got := shingler(t, config, "none").Shingles(nil, []byte(" \n")); len(got) != 0 {
			t.Errorf("%s of white space under none: %d shingles, want none", config, len(got))
		}
	}
	for config, want := range map[string]int{"word:1": 0, "char:1": 3, "byte:2": 2} {
		if got := shingler(t, config, "none").Shingles(nil, []byte("!!!")); len(got) != want {
			t.Errorf("%s of !!! under none: %d shingles, want %d", config, len(got), want)
		}
	}
}

// Short texts match themselves and nothing else: not each other, and not the
// shingles of K tokens that longer texts have.
func TestShortTexts(t *testing.T) {
	s := shingler(t, "word:5", "default")
	seen := map[uint64]string{}
	for _, text := range []string{
		"a", "b", "a a", "a b", "b a", "a a a", "a b c", "a b c d", "a a a a",
		"a b c d e", "a a a a a", "a a a a b", "b a a a a",
	} {
		got := set(s, text)
		if len(got) != 1 {
			t.Fatalf("%q has %d shingles, want 1", text, len(got))
		}
		if other, ok := seen[got[0]]; ok {
			t.Errorf("%q and %q have the same shingle", text, other)
		}
		seen[got[0]] = text
	}
}

func TestFormLettersStayApart(t *testing.T) {
	letter := "Dear customer %d, your invoice %d of %d euros is due on day %d of month %d. Pay to account %d, please."
	s := shingler(t, "word:5", "default")
	a := set(s, fmt.Sprintf(letter, 101, 2001, 350, 4, 7, 88001))
	b := set(s, fmt.Sprintf(letter, 102, 2002, 351, 5, 8, 88002))
	// 22 words make 18 windows, and "euros is due on day" is the only one
	// without a number.
	shared, union := jaccard(a, b)
	if shared != 1 || union != 18+18-1 {
		t.Errorf("share %d of %d, want 1 of 35", shared, union)
	}
}

func TestOneChineseCharacterInEighty(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]rune, 80)
	for i := range text {
		text[i] = 0x4e00 + rune(i)*7
	}
	rng.Shuffle(len(text), func(i, j int) { text[i], text[j] = text[j], text[i] })
	changed := slices.Clone(text)
	changed[40] = '变'
	s := shingler(t, "word:5", "default")
	shared, union := jaccard(set(s, string(text)), set(s, string(changed)))
	// 76 windows, 5 of them hold the character.
	if shared != 71 || union != 81 {
		t.Errorf("share %d of %d, want 71 of 81", shared, union)
	}
}

// direct hashes each window from scratch.
func (s *Shingler) direct(text []byte) []uint64 {
	tokens := s.Tokenise(text)
	polynomial := func(window []uint64) uint64 {
		var sum uint64
		power := uint64(1)
		for _, t := range slices.Backward(window) {
			sum += t * power
			power *= multiplier
		}
		return sum
	}
	var shingles []uint64
	for i := 0; i+s.config.K <= len(tokens); i++ {
		if s.config.Kind != Stop || s.stop[tokens[i]] {
			shingles = append(shingles, hash.Mix(polynomial(tokens[i:i+s.config.K])))
		}
	}
	if len(shingles) == 0 && len(tokens) > 0 {
		shingles = []uint64{hash.Mix(hash.Mix(polynomial(tokens)) ^ uint64(len(tokens)))}
	}
	if s.config.Kind == Char32 {
		for i, h := range shingles {
			shingles[i] = hash.Mix(h >> 32)
		}
	}
	return shingles
}

func FuzzShinglesEqualDirect(f *testing.F) {
	f.Add([]byte("The quick brown fox jumps over the lazy dog."), uint8(1), uint8(5), false)
	f.Add([]byte("a rose is a rose is a rose"), uint8(2), uint8(9), true)
	f.Add([]byte("近似重复 caf\u00e9 \xff"), uint8(3), uint8(13), false)
	f.Add([]byte("!!!"), uint8(2), uint8(2), true)
	f.Add([]byte("The cat sat on the mat, and that was that"), uint8(3), uint8(2), false)
	f.Add([]byte("The cat"), uint8(4), uint8(9), false)
	f.Fuzz(func(t *testing.T, text []byte, kind, k uint8, raw bool) {
		c := Config{Kind: Word + Kind(kind%5), K: 1 + int(k)}
		policy := "default"
		if raw {
			policy = "none"
		}
		s := shingler(t, c.String(), policy)
		got := s.Shingles([]uint64{7}, text)
		if got[0] != 7 {
			t.Fatal("what was there is gone")
		}
		if want := s.direct(text); !slices.Equal(got[1:], want) {
			t.Errorf("%s of %q:\nrolling %x\n direct %x", c, text, got[1:], want)
		}
		s.Tokenise(text)
		if inPlace := s.InPlace(); !slices.Equal(inPlace, got[1:]) {
			t.Errorf("%s of %q:\nin place %x\n  rolling %x", c, text, inPlace, got[1:])
		}
	})
}

// A long text takes memory for its tokens once, and releases it.
func TestLongTexts(t *testing.T) {
	for _, c := range []struct{ kind, text string }{
		{"word:5", strings.Repeat("a b c ", usualText)}, {"word:5", strings.Repeat("Äé ö", usualText)}, {"stopword:3", strings.Repeat("the cat ", usualText)},
		{"char:9", strings.Repeat("abc é", usualText)}, {"byte:13", strings.Repeat("abc é", usualText)}, {"char32:9", strings.Repeat("abc é", usualText)},
	} {
		s, text := shingler(t, c.kind, "default"), []byte(c.text)
		n := len(s.Tokenise(text))
		if room := cap(s.tokens); room > n*11/10+usualTokens || n < usualText {
			t.Errorf("%s: room for %d tokens, there are %d", c.kind, room, n)
		}
		room := cap(s.tokens)
		if len(s.InPlace()) > n || cap(s.tokens) != room {
			t.Errorf("%s: room for %d tokens and %d shingles", c.kind, room, cap(s.tokens))
		}
		s.Trim()
		if cap(s.tokens) > usualTokens || cap(s.text) > 2*usualText {
			t.Errorf("%s: %d tokens and %d bytes are held", c.kind, cap(s.tokens), cap(s.text))
		}
		s.Tokenise([]byte("the end"))
		if held := cap(s.tokens); held == 0 {
			t.Errorf("%s: nothing is held of a text of usual size", c.kind)
		} else if s.Trim(); cap(s.tokens) != held {
			t.Errorf("%s: a text of usual size leaves nothing for the next", c.kind)
		}
	}
}

// windows is the exact oracle: the shingles of tokens as strings.
func windows(tokens []string, k int) []string {
	if m := len(tokens); m < k {
		if m == 0 {
			return nil
		}
		return []string{strconv.Itoa(m) + "\x00" + strings.Join(tokens, "\x00")}
	}
	var shingles []string
	for i := 0; i+k <= len(tokens); i++ {
		shingles = append(shingles, strconv.Itoa(k)+"\x00"+strings.Join(tokens[i:i+k], "\x00"))
	}
	return shingles
}

// Sets of hashes have the sizes and the Jaccard similarity of the sets of strings that they represent. A false equality
// has probability under 10^-15 per run.
func TestSimilarityIsThatOfStrings(t *testing.T) {
	// Few words, so that texts share windows and repeat their own.
	texts := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "ab", "rose", "is", "café", "中", "文", "42",
	}), 0, 60), func(words []string) string { return strings.Join(words, " ") })

	split := map[Kind]func(string) []string{
		Word: strings.Fields,
		Char: func(s string) []string { return strings.Split(s, "") },
		Byte: func(s string) []string {
			var tokens []string
			for i := range len(s) {
				tokens = append(tokens, s[i:i+1])
			}
			return tokens
		},
	}
	for _, config := range configs {
		t.Run(config, func(t *testing.T) {
			s := shingler(t, config, "default")
			rapid.Check(t, func(t *rapid.T) {
				a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
				wantA := windows(split[s.config.Kind](a), s.config.K)
				wantB := windows(split[s.config.Kind](b), s.config.K)
				gotA, gotB := set(s, a), set(s, b)

				shared, union := jaccard(gotA, gotB)
				wantShared, wantUnion := jaccard(wantA, wantB)
				if shared != wantShared || union != wantUnion {
					t.Fatalf("%q and %q share %d of %d hashes, %d of %d strings", a, b, shared, union, wantShared, wantUnion)
				}
				// Compared with nothing, a set has its own size.
				if _, size := jaccard(wantA, nil); len(gotA) != size {
					t.Fatalf("%q has %d hashes, %d strings", a, len(gotA), size)
				}
			})
		})
	}
}

func TestShinglesDoNotAllocate(t *testing.T) {
	text := []byte(english(3000))
	for _, config := range allConfigs {
		s := shingler(t, config, "default")
		dst := s.Shingles(nil, text)
		if n := testing.AllocsPerRun(20, func() { dst = Set(s.Shingles(dst[:0], text)) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", config, n)
		}
	}
}

// english returns a text of n bytes with words of English lengths.
func english(n int) string {
	const letters = "etaoinshrdlucmfwygpbvk"
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for b.Len() < n {
		for range 1 + rng.IntN(4) + rng.IntN(5) {
			b.WriteByte(letters[rng.IntN(len(letters))])
		}
		b.WriteString([]string{" ", " ", " ", " ", ", ", ". "}[rng.IntN(6)])
	}
	return b.String()[:n]
}

func BenchmarkShingles(b *testing.B) {
	texts := map[string]string{
		"ascii": english(3000),
		"mixed": strings.Repeat("Ein Café in Zürich; Москва и Київ — 東京の人々, ภาษาไทย. ", 32),
	}
	for _, config := range []string{"word:5", "char:9", "byte:13"} {
		for _, name := range []string{"ascii", "mixed"} {
			b.Run(config+"/"+name, func(b *testing.B) {
				s, text := shingler(b, config, "default"), []byte(texts[name])
				var dst []uint64
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					dst = s.Shingles(dst[:0], text)
				}
			})
		}
	}
}

// plainWords implements foldedWords without the fast path.
func plainWords(s *Shingler, text []byte) []uint64 {
	return token.Words(nil, s.policy.Append(nil, text))
}

func FuzzFoldedWordsEqualPlain(f *testing.F) {
	for _, text := range []string{
		"The QUICK brown_fox, 9 o'clock 1,000.5 a.b.c internationalization incomprehensibilities",
		"Café crème — naïve = \u0338 x=\u0338y \u3000 \u200dℹ a\u00adb",
		"Это русский текст, with some English in it, и снова русский; then a long stretch of English that goes on for more than 64 bytes.",
		"中文, abc. \xff\xfe \xe4a b\u0301\u0301 c\x00\u0301 \r\n\u0308",
	} {
		f.Add([]byte(text))
	}
	shinglers := []*Shingler{shingler(f, "word:1", "default"), shingler(f, "word:1", "lower,nfkc,strip-accents,default")}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range shinglers {
			s.Tokenise(text)
			if want := plainWords(s, text); !slices.Equal(s.tokens, want) {
				t.Errorf("%s of %+q:\n fast %x\nplain %x", s.policy, text, s.tokens, want)
			}
		}
	})
}

// Pieces that end, join, compose and switch paths, at every offset in the blocks of 64 bytes.
func TestFoldedWordsEqualPlain(t *testing.T) {
	pieces := []string{
		"a", "Z", "word", "UPPER", "abcdefgh", "abcdefghi", "sixteen_letters_", "abcdefghijklmnop", "ABCDEFGHIJKLMNOPQ", strings.Repeat("long", 40),
		"0", "12345678", " ", "  ", "\t", "\r\n", "'", ".", ",", ":", "_", "-", "=", "@", "[", "`", "{", "/", "\x00", "\x7f",
		"é", "e\u0301", "\u0301", "\u0338", "\u00ad", "\u200d", "\u2139", "\u3000", "\u00a0", "ß", "İ", "Σ", "ж", "中", "が", "\u3099", "ภ", "\u0e33", "한", "👍", "\xff", "\xe4\xb8",
		strings.Repeat(" ascii words", 6), "می", "\u200c", "خ", "क्", "\u200dष", "\ufe0f", "👩",
	}
	for _, policy := range []string{"default", "default,strip-accents", "lower,nfkc", "default,letters-only", "default,digits-zero"} {
		s := shingler(t, "word:1", policy)
		rapid.Check(t, func(t *rapid.T) {
			text := strings.Repeat("x ", rapid.IntRange(0, 40).Draw(t, "before")) +
				strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), "")
			if got, want := s.Tokenise([]byte(text)), plainWords(s, []byte(text)); !slices.Equal(got, want) {
				t.Fatalf("%s of %+q:\n fast %x\nplain %x", policy, text, got, want)
			}
		})
	}
}

// Texts that are not UTF-8 agree only where their bytes do: characters that share their second bytes, that differ in
// what lower case or NFKC would fold, or that are UTF-8 by chance.
func TestTextsOfOtherEncodings(t *testing.T) {
	for _, c := range []struct{ name, a, b string }{
		{"Shift_JIS, second bytes A and a", "\x83A\x98A\x82\xcc", "\x83a\x98A\x82\xcc"},
		{"Shift_JIS, second bytes [ and ]", "\x83[\x98\xb0", "\x83]\x98\xb0"},
		{"GBK, UTF-8 by chance", "\xd6\xd0\xb9\xfa\xc2\xa1", "\xd6\xd0\xb9\xfa\xc2\xa5"},
		{"GB18030, digits", "\x810\x810\xd6\xd0", "\x810\x811\xd6\xd0"},
		{"windows-1251, case", "\xcc\xe8\xf0", "\xec\xe8\xf0"},
	} {
		for _, config := range allConfigs {
			for _, policy := range []string{"default", "none", "keep-symbols", "nfkc,lower", "default,digits-zero"} {
				s := shingler(t, config, policy)
				a, b := set(s, c.a), set(s, c.b)
				if len(a) == 0 || len(b) == 0 || slices.Equal(a, b) {
					t.Errorf("%s, %s %s: sets of %d and %d", c.name, config, policy, len(a), len(b))
				}
			}
		}
	}
	// ASCII is still normalised.
	s := shingler(t, "word:2", "default")
	if a, b := set(s, "Hello, \xcc\xe8\xf0!  World"), set(s, "hello \xcc\xe8\xf0 world"); !slices.Equal(a, b) {
		t.Errorf("sets of %d and %d", len(a), len(b))
	}
}
