package textnorm

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func policy(t testing.TB, s string) Policy {
	t.Helper()
	p, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSteps(t *testing.T) {
	for _, c := range []struct{ policy, in, want string }{
		{"default", "", ""},
		{"default", "The Quick-Brown fox; it's 5.0!", "the quick brown fox  it s 5 0 "},
		{"default", "snake_case <b>&amp;</b>", "snake case  b  amp   b "},
		{"default", "€5 ≠ “five”…", " 5    five    "}, // NFKC makes three full stops of the ellipsis
		{"default", "Cafe\u0301 CAF\u00c9", "caf\u00e9 caf\u00e9"},
		{"default", "ﬁne Ｗｉｄｅ ½", "fine wide 1 2"}, // U+2044 FRACTION SLASH is a symbol
		{"default", "H\u0331", "\u1e96"},
		{"default", "İI ẞ ΣΊΣΥΦΟΣ", "ii ß σίσυφοσ"},
		{"default", "a\xffb\xe4", "a b "}, // U+FFFD is a symbol
		{"default", "中文，標點。", "中文 標點 "},
		{"default", "\tA\r\nB  C ", "\ta\r\nb  c "},
		{"none", "Cafe\u0301\xff!  ", "Cafe\u0301\xff!  "},
		{"nfkc", "ＡＢ ﬁ\u00a0!", "AB fi !"},
		{"lower", "ÀＡ H\u0331\xff\xfe", "àａ h\u0331\ufffd\ufffd"},
		{"lower", "ȺȾ", "ⱥⱦ"}, // both longer than their capitals
		{"strip-accents", "Crème brûlée, Ångström, Đ", "Creme brulee, Angstrom, Đ"},
		{"strip-accents", "Cre\u0300me 한국", "Creme 한국"},
		{"letters-only", "R2-D2 é e\u0301 中!", "R  D  é e\u0301 中 "},
		{"digits-zero", "07.11. ٣٤ ½ Ⅷ", "00.00. 00 ½ Ⅷ"},
		{"nfkc,digits-zero", "x² ①", "x0 0"},
		{"collapse-space", "  a \t\n b\u3000\u00a0c ", " a b c "},
		{"no-space", "  a \t\n b\u3000\u00a0c ", "abc"},
		{"default,collapse-space", "a -- b!", "a b "},
		{"default,no-space", "a -- b!", "ab"},
		{"default,strip-accents,digits-zero", "Él: 1,5", "el  0 0"},
	} {
		p := policy(t, c.policy)
		if got := p.Append([]byte("kept "), []byte(c.in)); string(got) != "kept "+c.want {
			t.Errorf("%s of %q is %q, want %q", c.policy, c.in, got[len("kept "):], c.want)
		}
	}
}

// interesting draws texts from the runes the steps disagree about.
func interesting() *rapid.Generator[[]byte] {
	pieces := []string{
		"a", "Z", "e", "=", "5", " ", "  ", "\t", "-", "_", "'", ".", "\n",
		"\u0301", "\u0331", "\u0307", "\u0338", "\u0345", "\u3099", "\u200d", "\u034f",
		"é", "É", "İ", "ẞ", "Σ", "H", "Ⱥ", "K", "ﬁ", "½", "´", "˘", "ϔ", "ΐ", "\u0390",
		"中", "が", "か", "한", "\u1112", "\u1161", "ภ", "\u0e33", "١", "𝟗", "👍", "€", "…", "\u00a0", "\u3000",
		"\xff", "\xe4", "\xf0\x9f",
	}
	piece := rapid.OneOf(
		rapid.SampledFrom(pieces),
		rapid.Map(rapid.Rune(), func(r rune) string { return string(r) }),
	)
	return rapid.Map(rapid.SliceOf(piece), func(s []string) []byte { return []byte(strings.Join(s, "")) })
}

func TestStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		if p.steps.has(noSpace) {
			t.Skip("see the package comment")
		}
		once := p.Append(nil, interesting().Draw(t, "text"))
		if twice := p.Append(nil, once); !bytes.Equal(once, twice) {
			t.Fatalf("%s: once %+q, twice %+q", p, once, twice)
		}
		if p.steps.has(nfkc) && !norm.NFKC.IsNormal(once) {
			t.Fatalf("%s: %+q is not in NFKC", p, once)
		}
	})
}

// Every assigned rune, alone and with a mark that many letters compose with.
func TestDefaultIsStableForEveryRune(t *testing.T) {
	p := policy(t, "default")
	var once, twice []byte
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf) {
			continue
		}
		for _, mark := range []string{"", "\u0301", "\u0331"} {
			once = p.Append(once[:0], []byte(string(r)+mark))
			twice = p.Append(twice[:0], once)
			if !bytes.Equal(once, twice) {
				t.Errorf("%U with %+q: once %+q, twice %+q", r, mark, once, twice)
			}
		}
	}
}

// What the steps promise about every text, whatever the fast path.
func TestWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Filter(func(p Policy) bool { return p != Policy{} }).Draw(t, "policy")
		out := string(p.Append(nil, interesting().Draw(t, "text")))
		if !utf8.ValidString(out) {
			t.Fatalf("%s: %+q is not UTF-8", p, out)
		}
		last := 'x'
		for _, r := range out {
			switch {
			case p.steps.has(lower) && unicode.ToLower(r) != r,
				p.steps.has(punctuation) && (unicode.IsPunct(r) || unicode.IsSymbol(r)),
				p.steps.has(lettersOnly) && !unicode.IsLetter(r) && !unicode.IsMark(r) && r != ' ',
				p.steps.has(digitsZero) && unicode.IsDigit(r) && r != '0',
				p.steps.has(noSpace) && unicode.IsSpace(r),
				p.steps.has(collapseSpace) && unicode.IsSpace(r) && (r != ' ' || last == ' '):
				t.Fatalf("%s leaves %U in %+q", p, r, out)
			}
			last = r
		}
	})
}

func TestComposedAndDecomposedMeet(t *testing.T) {
	p := policy(t, "default")
	rapid.Check(t, func(t *rapid.T) {
		// Stay below the 30 marks in a row that norm breaks up.
		text := rapid.StringOfN(rapid.Rune(), -1, 25, -1).Draw(t, "text")
		composed := p.Append(nil, norm.NFC.Bytes([]byte(text)))
		decomposed := p.Append(nil, norm.NFD.Bytes([]byte(text)))
		if !bytes.Equal(composed, decomposed) {
			t.Fatalf("%+q and %+q", composed, decomposed)
		}
	})
}

// The fast path against the plain way on the whole text, for every combination
// of steps.
func FuzzAppendEqualsPlain(f *testing.F) {
	f.Add(uint8(defaultSteps), []byte("It's a Café; 5 €"))
	f.Add(uint8(defaultSteps), []byte("cafe\u0301 = \u0338\xff"))
	f.Add(uint8(lower|stripAccents|noSpace), []byte("H\u0331\u00a0\u3000x"))
	f.Add(uint8(lettersOnly|collapseSpace), []byte("a\xe4 12345678901234567890 b"))
	f.Fuzz(func(t *testing.T, steps uint8, text []byte) {
		p := Policy{step(steps)}
		if p.steps == 0 || p.steps.has(collapseSpace|noSpace) {
			t.Skip()
		}
		before := bytes.Clone(text)
		got := p.Append([]byte("kept"), text)
		want := p.space(p.appendPlain([]byte("kept"), text), len("kept"))
		if !bytes.Equal(got, want) {
			t.Errorf("%s of %+q:\n fast %+q\nplain %+q", p, text, got, want)
		}
		if !bytes.Equal(text, before) {
			t.Errorf("%s wrote into its source", p)
		}
	})
}

var whiteSpace = regexp.MustCompile(`[\t-\r\x{85}\pZ]+`)

// Every rune with an image keeps it behind runes that combine with many others,
// under each set of steps that composes; what newPage says of all runes at once.
func TestImagesStandBehindAnything(t *testing.T) {
	neighbours := []string{"a", "E", "o\u0323", "か", "\u1100", "가", "\u0915", "\u0b92", "\u0bc6", "\u1025", "\u1b05", "="}
	for _, list := range []string{"default", "nfkc", "strip-accents", "lower,strip-accents", "default,strip-accents", "nfkc,strip-accents,letters-only"} {
		p := policy(t, list)
		var before [][]byte
		for _, neighbour := range neighbours {
			before = append(before, p.appendPlain(nil, []byte(neighbour)))
		}
		for r := rune(utf8.RuneSelf); r <= 0xffff; r++ {
			image := p.image(r)
			if image < 0 || !utf8.ValidRune(r) {
				continue
			}
			for i, neighbour := range neighbours {
				got := p.appendPlain(nil, []byte(neighbour+string(r)))
				if want := utf8.AppendRune(before[i], image); !bytes.Equal(got, want) {
					t.Errorf("%s of %q and %U is %+q, want %+q", p, neighbour, r, got, want)
				}
			}
		}
	}
}

// A third way, with nothing but library calls on strings.
func TestAppendEqualsLibraryCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Filter(func(p Policy) bool { return p != Policy{} }).Draw(t, "policy")
		text := interesting().Draw(t, "text")
		s := string([]rune(string(text)))
		if p.steps.has(nfkc) {
			s = norm.NFKC.String(s)
		}
		if p.steps.has(lower) {
			s = strings.Map(unicode.ToLower, s)
			if p.steps.has(nfkc) {
				s = norm.NFKC.String(s)
			}
		}
		if p.steps.has(stripAccents) {
			s = norm.NFD.String(s)
			s = strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return r
			}, s)
			s = norm.NFC.String(s)
		}
		s = strings.Map(func(r rune) rune {
			blank := p.steps.has(punctuation) && unicode.In(r, unicode.P, unicode.S) ||
				p.steps.has(lettersOnly) && !unicode.In(r, unicode.L, unicode.M)
			switch {
			case blank:
				return ' '
			case p.steps.has(digitsZero) && unicode.Is(unicode.Nd, r):
				return '0'
			}
			return r
		}, s)
		if p.steps.has(noSpace) {
			s = strings.Join(strings.Fields(s), "")
		}
		if p.steps.has(collapseSpace) {
			s = whiteSpace.ReplaceAllString(s, " ")
		}
		if got := string(p.Append(nil, text)); got != s {
			t.Fatalf("%s of %+q is %+q, want %+q", p, text, got, s)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	texts := map[string]string{
		"ascii": strings.Repeat("The quick, brown fox (aged 7) jumps over a lazy dog. ", 60)[:3000],
		"mixed": strings.Repeat("Ein Café in Zürich; Москва и Київ — 東京の人々, ภาษาไทย. ", 60)[:3000],
	}
	for _, name := range []string{"ascii", "mixed"} {
		b.Run(name, func(b *testing.B) {
			p, text := policy(b, "default"), []byte(strings.ToValidUTF8(texts[name], ""))
			var dst []byte
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = p.Append(dst[:0], text)
			}
		})
	}
}
