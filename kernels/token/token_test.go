package token

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
	"github.com/neardup/neardup/kernels/spans"
)

func hashes(tokens []string) []uint64 {
	var values []uint64
	for _, token := range tokens {
		values = append(values, hash.Bytes([]byte(token)))
	}
	return values
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // tokens, separated by |
	}{
		{"", ""},
		{" \t\r\n!?…", ""},
		{"...", ""},
		{"_ __", ""},
		{"\u0301 \u200d", ""},
		{"👍 🇨🇭 ©", ""},
		{"one", "one"},
		{"a quick  brown\nfox", "a|quick|brown|fox"},
		{"5 apples, 10% off", "5|apples|10|off"},
		{"mp3 2nd", "mp3|2nd"},
		// Rules WB6, 7, 11, 12: joined only between letters or between digits.
		{"it's e.g. 3.14, 1,000; a:b 1:2", "it's|e.g|3.14|1,000|a:b|1|2"},
		{"a,b a;b 1;2 x.1 1.x", "a|b|a|b|1;2|x|1|1|x"},
		{"end. Next 'quoted' a..b a'.b", "end|Next|quoted|a|b|a|b"},
		// WB13a, 13b.
		{"snake_case __init__ _1", "snake_case|__init__|_1"},
		{"well-known a/b a@b.org", "well|known|a|b|a|b.org"},
		// WB4: marks and format characters stay with what precedes them.
		{"cafe\u0301 na\u00efve", "cafe\u0301|na\u00efve"},
		{"soft\u00adhyphen a.\u0301b", "soft\u00adhyphen|a.\u0301b"},
		{"  \u200dℹ", "\u200dℹ"},
		{"слово за словом", "слово|за|словом"},
		{"aб б1", "aб|б1"},
		{"שלום מ״מ", "שלום|מ״מ"}, // WB7b, 7c
		{"近似重复", "近|似|重|复"},
		{"中文and English混排", "中|文|and|English|混|排"},
		{"人々の道", "人|々|の|道"},
		// An iteration mark, which is a letter of words in the annex, is a token of its own, whatever precedes it.
		{"a々 2々々b é々 _々 한々 a.々 x〻y a\U00016FE3", "a|々|2|々|々|b|é|々|々|한|々|a|々|x|〻|y|a|\U00016FE3"},
		{"ひらがな と カタカナ", "ひ|ら|が|な|と|カタカナ"},
		{"か\u3099", "か\u3099"},
		{"한국어 문서", "한국어|문서"},
		{"ภาษาไทย", "ภ|า|ษ|า|ไ|ท|ย"},
		{"ที่นี่", "ที่|นี่"},
		{"น้ำ", "น้ำ"},         // SARA AM belongs to the grapheme, not to the word of the annex
		{"ລາວ ၁၂", "ລ|າ|ວ|၁၂"}, // digits are numbers, not letters
		{"a\xff\xff b\xff\xe4\xffz", "a|\xff|b|\xe4|z"},
		{"\xff\xcf\xff\xf0\xff\xe8, Привет", "\xcf|\xf0|\xe8|Привет"},
	} {
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, "|")
		}
		if got := Words(nil, []byte(c.text)); !slices.Equal(got, hashes(want)) {
			t.Errorf("Words(%q) has %d tokens, not %q", c.text, len(got), want)
		}
	}
}

func TestWordsAndSymbols(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // tokens, separated by spaces
	}{
		{" \t\r\n\u00ad\u200b", ""},
		{"return a + b;", "return a + b ;"},
		{"C++ vs. C#", "C + + vs . C #"},
		{"GPL-2.0+ x==y_1", "GPL - 2.0 + x = = y_1"},
		{"__init__ __ ____-- a‿‿ ‿⁀", "__init__ _ _ _ _ _ _ - - a‿‿ ‿ ⁀"},
		{" \u0301a \u0301", "\u0301 a \u0301"},
		{"“five” € 中，文", "“ five ” € 中 ， 文"},
		{"👩\u200d👧👍🏽 🇨🇭🇫🇷 1\u20e3", "👩\u200d👧 👍🏽 🇨🇭 🇫🇷 1\u20e3"},
		{"a\xff\xff+\xff\xe4", "a \xff + \xe4"},
		{"\u0600", "\u0600"},
	} {
		if got, want := WordsAndSymbols(nil, []byte(c.text)), hashes(strings.Fields(c.want)); !slices.Equal(got, want) {
			t.Errorf("WordsAndSymbols(%q) has %d tokens, not %q", c.text, len(got), c.want)
		}
	}
}

// The annex takes these texts for one word, of which each iteration mark cuts off a piece.
func TestManyIterationMarks(t *testing.T) {
	const n = 1 << 17
	start := time.Now()
	tokens := Words(nil, []byte(strings.Repeat("a々", n)))
	if want := slices.Repeat(hashes([]string{"a", "々"}), n); !slices.Equal(tokens, want) {
		t.Errorf("%d tokens, want %d", len(tokens), len(want))
	}
	if spent := time.Since(start); spent > 10*time.Second {
		t.Errorf("took %v, more than a thousand times as long as other texts of this size", spent)
	}
}

func TestAppends(t *testing.T) {
	for name, tokens := range map[string]func([]uint64, []byte) []uint64{"Words": Words, "WordsAndSymbols": WordsAndSymbols, "Runes": Runes, "Bytes": Bytes} {
		if got := tokens([]uint64{7}, []byte("x")); len(got) != 2 || got[0] != 7 {
			t.Errorf("%s after [7] is %x", name, got)
		}
	}
}

// plain implements Words and WordsAndSymbols without the fast path.
func plain(text []byte, symbols bool) (tokens []uint64) {
	for len(text) > 0 {
		if text[0] == 0xFF { // a mark
			tokens = append(tokens, hash.Bytes(text[1:2]))
			text = text[2:]
			continue
		}
		valid, _, _ := bytes.Cut(text, []byte{0xFF})
		n := segment(valid)
		for token := range Segments(text[:n], symbols) {
			tokens = append(tokens, hash.Bytes(token))
		}
		text = text[n:]
	}
	return tokens
}

// normal returns a text as package textnorm would leave it.
func normal(text []byte) (marked []byte) {
	for part, raw := range spans.Of(text) {
		if raw {
			marked = spans.AppendRaw(marked, part)
		} else {
			marked = append(marked, part...)
		}
	}
	return marked
}

func equalsPlain(t rapid.TB, text []byte) {
	text = normal(text)
	if got, want := Words(nil, text), plain(text, false); !slices.Equal(got, want) {
		t.Fatalf("Words(%+q):\n fast %x\nplain %x", text, got, want)
	}
	if got, want := WordsAndSymbols(nil, text), plain(text, true); !slices.Equal(got, want) {
		t.Fatalf("WordsAndSymbols(%+q):\n fast %x\nplain %x", text, got, want)
	}
}

func FuzzWordsEqualPlain(f *testing.F) {
	for _, seed := range []string{
		"it's 3.14, e.g. a_b 'x' a..b 1,a a:1", "a.\u0301b \u200dℹ  \u3000x \uff9e", "中a文 の1",
		"a\xff\xe4b\xe4", "שלום מ״מ \"a\"", "\r\n\u0301a\r", "  \u200dℹ", "a\u2019b. \u0301c", "น้ำ1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { equalsPlain(t, text) })
}

// Fuzzing seldom finds several joiners in a row; this draws nothing else.
func TestWordsEqualPlainAmongJoiners(t *testing.T) {
	pieces := []string{
		"a", "Z", "7", "'", ".", ",", ":", ";", "_", "\"", " ", "\n", "\r", "-", "@", "\x00",
		"\u0301", "\u200d", "\u00ad", "\u2019", "\u00b7", "é", "א", "中", "々", "の", "カ", "ภ", "\u0e33", "١", "ℹ", "👍", "🇨", "\uff9e", "\u3000", "\xff", "\xe4",
	}
	rapid.Check(t, func(t *rapid.T) {
		equalsPlain(t, []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")))
	})
}

// In ASCII without joiners, words are the runs of letters and digits.
func TestWordsOfPlainASCII(t *testing.T) {
	separators := " \t\n-/!?(){}<>&%$#@*+=~^|`\\\""
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("abcXYZ019"+separators))).Draw(t, "text")
		want := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) })
		if got := Words(nil, []byte(text)); !slices.Equal(got, hashes(want)) {
			t.Fatalf("Words(%q) is not %q", text, want)
		}
	})
}

func TestRunesAndBytes(t *testing.T) {
	text := []byte("aé中\U0001f44da\xff\xe4\xff\xff\xffa")
	runes := Runes(nil, text)
	want := []uint64{'a', 'é', '中', 0x1f44d, 'a', 0x110000 + 0xe4, 0x110000 + 0xff, 0x110000 + 'a'}
	for i := range want {
		want[i] = hash.Mix(want[i])
	}
	if !slices.Equal(runes, want) {
		t.Errorf("Runes(%q) = %x, want %x", text, runes, want)
	}
	values := Bytes(nil, text)
	want = want[:0]
	for _, c := range []byte("aé中\U0001f44da\xe4\xffa") {
		want = append(want, hash.Mix(uint64(c)))
	}
	if !slices.Equal(values, want) {
		t.Errorf("Bytes(%q) = %x, want %x", text, values, want)
	}
}

func BenchmarkTokens(b *testing.B) {
	letters := "etaoinshrdlucmfwygpbvk"
	rng := rand.New(rand.NewPCG(1, 1))
	var english bytes.Buffer
	for english.Len() < 3000 {
		// Lengths of English words: mean 4.5, as in running text.
		for range 1 + rng.IntN(4) + rng.IntN(5) {
			english.WriteByte(letters[rng.IntN(len(letters))])
		}
		english.WriteByte(' ')
	}
	mixed := strings.Repeat("ein café in zürich москва и київ 東京の人々 ภาษาไทย ", 40)
	for _, c := range []struct {
		name string
		f    func([]uint64, []byte) []uint64
		text []byte
	}{
		{"words/ascii", Words, english.Bytes()},
		{"words/mixed", Words, []byte(mixed)},
		{"symbols/ascii", WordsAndSymbols, english.Bytes()},
		{"runes/ascii", Runes, english.Bytes()},
		{"runes/mixed", Runes, []byte(mixed)},
		{"bytes", Bytes, english.Bytes()},
	} {
		b.Run(c.name, func(b *testing.B) {
			var dst []uint64
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = c.f(dst[:0], c.text)
			}
		})
	}
}
