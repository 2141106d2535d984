package textnorm

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/spans"
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
		{"default", "The Quick-Brown fox; it's 5.0!", "the quick brown fox it s 5 0"},
		{"default", "snake_case <b>&amp;</b>", "snake case b amp b"},
		{"default", "€5 ≠ “five”…", "5 five"},
		{"default", "!?", ""},
		{"default", "Cafe\u0301 CAF\u00c9", "caf\u00e9 caf\u00e9"},
		{"default", "ﬁne Ｗｉｄｅ ½", "fine wide 1 2"}, // U+2044 FRACTION SLASH is a symbol
		{"default", "H\u0331", "\u1e96"},
		{"default", "İI ẞ ΣΊΣΥΦΟΣ", "ii ß σίσυφοσ"},
		{"default", "A\xffB \xe4.\xe4", "a\xff\xff\xffB \xff\xe4 \xff\xe4"},
		{"default", "a\uFFFDb", "a b"}, // U+FFFD is a symbol
		{"default", "中文，標點。", "中文 標點"},
		{"default", "\tA\r\nB  C\u2028\u00a0D ", "a b c d"},
		// A symbol that NFKC turns into white space and a mark is a symbol like any other; so is a symbol with a mark
		// on it.
		{"default", "don´t ˜x ¯\u0331y +\u0331z \u0301v゛w ΄ά", "don t x y z v w ά"},
		{"default", "\u00a8\u0301a \u0385b \u1fedc ‾d \ufe70e \u037af a\u00a0\u200d\u0301", "a b c d e f a"},
		{"default", "\u0301a ก็ ้ ็x", "\u0301a ก็ ็x"},
		{"default,letters-only", "5\u0302 a´", "a"},
		{"keep-symbols", "don´t", "don \u0301t"},
		{"nfkc", "don´t", "don \u0301t"},
		{"fold-han", "峯，羣龍歲月歳 裏裡 髮 A々", "峰 群龙岁月岁 里里 髮 a々"},
		{"fold-han,keep-symbols", "國A，\U00021ED5!", "国a,岁!"},
		{"nfkc,fold-han", "國A，", "国A,"},
		{"default", "國歳", "國歳"},
		{"none", "Cafe\u0301!  ", "Cafe\u0301!  "},
		{"none", "Caf\xe9!  ", "Caf\xff\xe9!  "},
		{"nfkc", "ＡＢ ﬁ\u00a0!", "AB fi !"},
		{"lower", "ÀＡ H\u0331", "àａ h\u0331"},
		{"lower", strings.Repeat("À", 11) + "\xff", strings.Repeat("à", 11) + "\xff\xff"},
		{"lower", "ȺȾ", "ⱥⱦ"}, // both longer than their capitals
		{"strip-accents", "Crème brûlée, Ångström, Đ", "Creme brulee, Angstrom, Đ"},
		{"strip-accents", "Cre\u0300me 한국", "Creme 한국"},
		{"letters-only", "R2-D2 é e\u0301 中!", "R  D  é e\u0301 中 "},
		{"digits-zero", "07.11. ٣٤ ½ Ⅷ", "00.00. 00 ½ Ⅷ"},
		{"nfkc,digits-zero", "x² ①", "x0 0"},
		{"collapse-space", "  a \t\n b\u3000\u00a0c ", " a b c "},
		{"no-space", "  a \t\n b\u3000\u00a0c ", "abc"},
		{"nfkc,collapse-space", "  a -- b ", " a -- b "},
		{"default,collapse-space", " a -- b!", "a b"},
		{"default,no-space", "a -- b!", "ab"},
		{"default,strip-accents,digits-zero", "Él: 1,5", "el 0 0"},
		{"no-space", "\xc3 \xa9 \xc3", "\xff\xc3\xff\xa9\xff\xc3"},        // no é
		{"default", "\xc3\u00ad\xa9", "\xff\xc3\xff\xc2\xff\xad\xff\xa9"}, // nor here
		{"keep-symbols", " Return a+b; // C++  ", "return a+b; // c++"},
		{"nfkc,keep-symbols", " A+B ", " A+B "},
		{"keep-case", " Return A+b; // \u00c9 ", "Return A b \u00c9"},
		{"keep-case,keep-symbols", " Return A+b; ", "Return A+b;"},
		{"default,letters-only", "R2-D2 e\u0301 می\u200cخواهم", "r d é می\u200cخواهم"},
	} {
		p := policy(t, c.policy)
		if got := p.Append([]byte("kept "), []byte(c.in)); string(got) != "kept "+c.want {
			t.Errorf("%s of %q is %q, want %q", c.policy, c.in, got[len("kept "):], c.want)
		}
	}
}

// interesting draws texts from the runes that the steps treat differently.
func interesting() *rapid.Generator[[]byte] {
	pieces := []string{
		"a", "Z", "e", "=", "5", " ", "  ", "\t", "-", "_", "'", ".", "\n",
		"\u0301", "\u0331", "\u0307", "\u0338", "\u0345", "\u3099", "\u200d", "\u034f",
		"é", "É", "İ", "ẞ", "Σ", "H", "Ⱥ", "K", "ﬁ", "½", "´", "˘", "ϔ", "ΐ", "\u0390",
		"م", "ی", "د", "\u064e", "\u200c", "\u200d\u200c", "क", "ष", "\u094d", "\u093c", "\u093f", "\u0941", "\u0dd9", "\u0dca", "\u00ad", "\ufe0f", "\u0678",
		"👩", "\U0001F3FD", "🏴", "\U000E0067", "\U000E007F", "\u20e3",
		"ﷺ", "㌖", "⑽", "中", "國", "羣", "歳", "\U00021ED5", "\uf9d1", "\u00a8", "ｰ", "が", "か", "한", "\u1112", "\u1161", "ภ", "\u0e33", "١", "𝟗", "👍", "€", "…", "\u00a0", "\u3000",
		"\xff", "\xe4", "\xf0\x9f",
	}
	piece := rapid.OneOf(
		rapid.SampledFrom(pieces),
		rapid.Map(rapid.Rune(), func(r rune) string { return string(r) }),
	)
	return rapid.Map(rapid.SliceOf(piece), func(s []string) []byte { return []byte(strings.Join(s, "")) })
}

// ofText draws any policy for a text that is not markup.
func ofText() *rapid.Generator[Policy] { return rapid.Map(policies(), Policy.KeepMarkup) }

// TestMarkup: the other steps apply to what a page shows.
func TestMarkup(t *testing.T) {
	for _, c := range []struct{ policy, page, want string }{
		{"strip-markup", "<p>Caf&eacute;<script>x</script> <b>A</b>B<p>c", "café ab c"},
		{"strip-markup,keep-case", "<p>A &amp; B", "A B"},
		{"strip-markup,lower", " <p>A<br>B  <!-- c -->", "a\nb"},
		{"strip-markup", "<plaintext><b>A</b><i>B</i>", "b a b i b i"},
		{"strip-markup", "\n <?xml version='1.0'?><d><plaintext>A</plaintext><e>B<f/>C</e></d>", "a b c"},
		{"strip-markup", "<d>A<e>B<f/>C</e></d>", "abc"},
		{"strip-markup", "a < b & c", "a b c"},
		{"strip-markup", "&lt;b&gt;a&lt;/b&gt;", "b a b"},
	} {
		p := policy(t, c.policy)
		if got := p.Append([]byte("kept "), []byte(c.page)); string(got) != "kept "+c.want {
			t.Errorf("%s of %q is %q, want %q", p, c.page, got[len("kept "):], c.want)
		}
	}
	if got, want := policy(t, "strip-markup").Append(nil, []byte("<b title='\xff'>a\xe4b")), policy(t, "default").Append(nil, []byte("a\xe4b")); !bytes.Equal(got, want) {
		t.Errorf("of what is not UTF-8: %q, want %q", got, want)
	}
	if p := policy(t, "strip-markup"); !p.Exceeds([]byte(strings.Repeat("&#xFDFA;", 100)), 100*32) || p.Exceeds([]byte("<b "+strings.Repeat("\uFDFA", 100)+">"), 100) {
		t.Error("Exceeds looks at the markup")
	}
}

func TestStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ofText().Draw(t, "policy")
		if p.steps.has(noSpace) {
			t.Skip("see the package comment")
		}
		once := p.Append(nil, bytes.ToValidUTF8(interesting().Draw(t, "text"), nil))
		if twice := p.Append(nil, once); !bytes.Equal(once, twice) {
			t.Fatalf("%s: once %+q, twice %+q", p, once, twice)
		}
		if p.steps.has(nfkc) && !norm.NFKC.IsNormal(once) {
			t.Fatalf("%s: %+q is not in NFKC", p, once)
		}
	})
}

// Every assigned rune, alone and with a mark that composes with many letters.
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

// The guarantees of the steps for every text, whatever the fast path.
func TestWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ofText().Filter(func(p Policy) bool { return p != Policy{} }).Draw(t, "policy")
		out := string(p.Append(nil, bytes.ToValidUTF8(interesting().Draw(t, "text"), nil)))
		last := 'x'
		for i, r := range out {
			switch {
			case p.steps.has(lower) && unicode.ToLower(r) != r,
				p.steps.has(punctuation) && (unicode.IsPunct(r) || unicode.IsSymbol(r)),
				p.steps.has(invisible) && withoutIgnorable(r) < 0,
				p.steps.has(lettersOnly) && !unicode.IsLetter(r) && !unicode.IsMark(r) && r != ' ' && (!p.steps.has(invisible) || !inContext(r)),
				p.steps.has(digitsZero) && unicode.IsDigit(r) && r != '0',
				p.steps.has(noSpace) && unicode.IsSpace(r),
				p.steps.has(layout) && unicode.IsSpace(r) && i == 0,
				p.steps&(collapseSpace|layout) != 0 && unicode.IsSpace(r) && (r != ' ' || last == ' '):
				t.Fatalf("%s leaves %U in %+q", p, r, out)
			}
			last = r
		}
	})
}

func TestComposedAndDecomposedMeet(t *testing.T) {
	p := policy(t, "default")
	rapid.Check(t, func(t *rapid.T) {
		// Stay below the 30 marks in a row at which norm splits.
		text := rapid.StringOfN(rapid.Rune(), -1, 25, -1).Draw(t, "text")
		composed := p.Append(nil, norm.NFC.Bytes([]byte(text)))
		decomposed := p.Append(nil, norm.NFD.Bytes([]byte(text)))
		if !bytes.Equal(composed, decomposed) {
			t.Fatalf("%+q and %+q", composed, decomposed)
		}
	})
}

// The fast path against appendPlain on the whole text, for every combination of steps.
func FuzzAppendEqualsPlain(f *testing.F) {
	f.Add(uint16(defaultSteps), []byte("It's a Café; 5 €"))
	f.Add(uint16(defaultSteps), []byte("cafe\u0301 = \u0338\xff"))
	f.Add(uint16(lower|stripAccents|noSpace), []byte("H\u0331\u00a0\u3000x"))
	f.Add(uint16(lettersOnly|collapseSpace), []byte("aä 12345678901234567890 b"))
	f.Add(uint16(defaultSteps), []byte("plain می\u200cخوا\u00adهم, क\u094d\u200dष. x\u200d\u0301 🏴\U000E0067\U000E007F"))
	f.Add(uint16(defaultSteps&^punctuation|symbols), []byte("a =\u200b\u0338"))
	f.Add(uint16(defaultSteps), []byte("क्\u200c\u0941क"))
	f.Add(uint16(defaultSteps&^punctuation|symbols), []byte("a 👩\u200d👩\ufe0f\u200d👧; 🏴\U000E0067\U000E007F #\ufe0f\u20e3"))
	f.Fuzz(func(t *testing.T, steps uint16, text []byte) {
		p := Policy{step(steps)}
		if p.steps.has(invisible) {
			p.steps |= nfkc | lower // as Parse does
		}
		if p.steps == 0 || p.steps.has(collapseSpace|noSpace) || !utf8.Valid(text) {
			t.Skip()
		}
		before := bytes.Clone(text)
		got := p.Append([]byte("kept"), text)
		want := p.Space(p.appendPlain([]byte("kept"), text), len("kept"))
		if !bytes.Equal(got, want) {
			t.Errorf("%s of %+q:\n fast %+q\nplain %+q", p, text, got, want)
		}
		if !bytes.Equal(text, before) {
			t.Errorf("%s wrote into its source", p)
		}
	})
}

var whiteSpace = regexp.MustCompile(`[\t-\r\x{85}\pZ]+`)

// TestExceeds: for every rune, and for texts, the size is that of the decomposed text, and no policy exceeds it by more
// than half, for small letters that are longer than their capitals.
func TestExceeds(t *testing.T) {
	decomposed := func(text []byte) (size int) {
		for i := 0; i < len(text); {
			r, n := utf8.DecodeRune(text[i:])
			if r >= 0xac00 && r <= 0xd7a3 || r == utf8.RuneError {
				size += n
			} else {
				size += len(norm.NFKD.Bytes(text[i : i+n]))
			}
			i += n
		}
		return size
	}
	all := []Policy{policy(t, "default"), policy(t, "nfkc"), policy(t, "default,strip-accents")}
	check := func(t rapid.TB, text []byte) {
		want := decomposed(text)
		for _, p := range all {
			if p.Exceeds(text, want) || !p.Exceeds(text, want-1) {
				t.Fatalf("%s: %+q: not %d bytes", p, text, want)
			}
			if valid := bytes.ToValidUTF8(text, nil); 2*len(p.Append(nil, valid)) > 3*want {
				t.Fatalf("%s: %+q: %d bytes of %d", p, text, len(p.Append(nil, valid)), want)
			}
		}
	}
	most := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) {
			text := []byte(string(r))
			if r <= unicode.MaxASCII || all[0].Exceeds(text, len(text)) {
				check(t, text)
			}
			most = max(most, decomposed(text)/len(text))
		}
	}
	if most != MaxGrowth {
		t.Errorf("a rune takes up to %d times as much, MaxGrowth is %d", most, MaxGrowth)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, interesting().Draw(t, "text")) })
}

// Every rune with an image keeps it after runes that combine with many others, under each set of steps that composes,
// as newPage claims for all runes.
func TestImagesStandBehindAnything(t *testing.T) {
	neighbours := []string{"a", "E", "o\u0323", "か", "\u1100", "가", "\u0915", "\u0b92", "\u0bc6", "\u1025", "\u1b05", "="}
	for _, list := range []string{"default", "nfkc", "strip-accents", "lower,strip-accents", "default,strip-accents", "nfkc,strip-accents,letters-only"} {
		p := policy(t, list)
		var before [][]byte
		for _, neighbour := range neighbours {
			before = append(before, p.appendPlain(nil, []byte(neighbour)))
		}
		for r := rune(utf8.RuneSelf); r <= 0xffff; r++ {
			image, images := p.image(r)
			if image == noImage || !utf8.ValidRune(r) {
				continue
			}
			became := string(image)
			if image < 0 {
				became = images.several(image)
			}
			for i, neighbour := range neighbours {
				got := p.appendPlain(nil, []byte(neighbour+string(r)))
				if want := append(before[i], became...); !bytes.Equal(got, want) {
					t.Errorf("%s of %q and %U is %+q, want %+q", p, neighbour, r, got, want)
				}
			}
		}
	}
}

// A third implementation, with only library calls on strings.
func TestAppendEqualsLibraryCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ofText().Filter(func(p Policy) bool { return p != Policy{} }).Draw(t, "policy")
		text := bytes.ToValidUTF8(interesting().Draw(t, "text"), nil)
		s := string(text)
		if p.steps.has(invisible) {
			s = strings.Map(func(r rune) rune {
				if isDefaultIgnorable(r) && r != 0x200C && r != 0x200D && (r < 0xE0020 || r > 0xE007F) {
					return -1
				}
				return r
			}, s)
		}
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
		if p.steps.has(foldHan) {
			s = strings.Map(variantsFolded, s)
		}
		s = strings.Map(func(r rune) rune {
			blank := p.steps.has(punctuation) && unicode.In(r, unicode.P, unicode.S) ||
				p.steps.has(lettersOnly) && !unicode.In(r, unicode.L, unicode.M) && (!p.steps.has(invisible) || !inContext(r))
			switch {
			case blank:
				return ' '
			case p.steps.has(digitsZero) && unicode.Is(unicode.Nd, r):
				return '0'
			}
			return r
		}, s)
		if p.steps&(punctuation|lettersOnly) != 0 {
			joiners := ""
			if p.steps.has(invisible) {
				joiners = "\u200c\u200d\U000E0020-\U000E007F"
			}
			stray := regexp.MustCompile(`([\t-\r\x{85}\pZ][` + joiners + `\x{FFFF}]*)` + accents)
			for before := ""; before != s; {
				before, s = s, stray.ReplaceAllString(s, "$1")
			}
		}
		if p.steps.has(invisible) {
			s = norm.NFC.String(withJoinersByRules(s))
		}
		if p.steps.has(layout) {
			s = strings.Join(strings.Fields(s), " ")
		}
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

// accents is a class of the characters that are reordered when a text is decomposed.
var accents = func() string {
	var class strings.Builder
	class.WriteString("[")
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && norm.NFD.PropertiesString(string(r)).CCC() != 0 {
			class.WriteRune(r)
		}
	}
	return class.String() + "]"
}()

// variantsFolded looks r up in the lines of the table.
func variantsFolded(r rune) rune {
	at := strings.IndexRune(classes, r)
	if line := classes[strings.LastIndexByte(classes[:max(at, 0)], '\n')+1:]; r >= 0x3400 && at >= 0 && line[0] != '#' {
		r, _ = utf8.DecodeRuneInString(line)
	}
	return r
}

// TestHanVariants: each folded character is a letter that NFKC does not change, and so is the one that represents it.
// The latter represents itself, and no character is in two classes.
func TestHanVariants(t *testing.T) {
	classOf := map[rune]string{}
	folds, lines := 0, 0
	for line := range strings.Lines(classes) {
		if line = strings.TrimSpace(line); line[0] == '#' {
			continue
		}
		lines++
		stands, _ := utf8.DecodeRuneInString(line)
		for _, r := range line {
			if other, ok := classOf[r]; ok || !unicode.Is(unicode.Han, r) || !norm.NFKC.IsNormalString(string(r)) {
				t.Errorf("%U, of %s, is in %q, or no Han character, or not in NFKC", r, line, other)
			}
			classOf[r] = line
			if got := hanFolded(r); got != stands || hanFolded(got) != got {
				t.Errorf("%c becomes %c, want %c", r, got, stands)
			}
			folds++
		}
	}
	if lines < 6000 || folds < 2*lines {
		t.Errorf("%d variants in %d classes", folds, lines)
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if _, ok := classOf[r]; !ok && hanFolded(r) != r {
			t.Errorf("%U, which has no variant, becomes %U", r, hanFolded(r))
		}
	}
	// Chosen by hand from the database: which are one character, and which stay two.
	for _, same := range []string{"国國囯", "岁歲歳嵗", "峰峯", "群羣", "里裏裡", "面麵", "买買", "开開", "电電", "说說説", "龙龍", "户戶戸", "为為爲", "万萬", "个個箇"} {
		for _, r := range same {
			if classOf[r] == "" || !strings.ContainsRune(classOf[r], []rune(same)[0]) {
				t.Errorf("%c is not in the class of %s", r, same)
			}
		}
	}
	for _, apart := range []string{"他她", "后後", "发發", "发髮", "干乾", "一壹", "于於", "只隻", "么幺", "忄心"} {
		if r := []rune(apart); hanFolded(r[0]) == hanFolded(r[1]) {
			t.Errorf("%s are one", apart)
		}
	}
}

// Eight bytes at a time, and one by one.
func TestCollapsed(t *testing.T) {
	pieces := []string{" ", " ", "  ", "a", "bc", "defghi", "\t", "\n ", "\x00", "\x7f", "é", "\u00a0", "\u3000", "中", "\u200b", "!", "\x1f", "\x20a"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "text"), "")
		if got, want := string(collapsed([]byte("x "+text), 2, true)), "x "+strings.Join(strings.Fields(text), " "); got != want {
			t.Fatalf("%q, trimmed, is %q, want %q", text, got, want)
		}
		if got, want := string(collapsed([]byte("x "+text), 2, false)), "x "+whiteSpace.ReplaceAllString(text, " "); got != want {
			t.Fatalf("%q is %q, want %q", text, got, want)
		}
	})
}

// Raw bytes stay, each with a mark, and separate what precedes them from what follows.
func TestRawBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ofText().Filter(func(p Policy) bool { return p.steps&(collapseSpace|noSpace|layout) == 0 }).Draw(t, "policy")
		text := slices.Concat(interesting().Draw(t, "before"), []byte("\xff"), interesting().Draw(t, "after"))
		var want []byte
		for part, raw := range spans.Of(text) {
			if raw {
				want = spans.AppendRaw(want, part)
			} else {
				want = p.Append(want, part)
			}
		}
		if got := p.Append(nil, text); !bytes.Equal(got, want) {
			t.Fatalf("%s of %+q is %+q, want %+q", p, text, got, want)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	texts := map[string]string{
		"ascii":     strings.Repeat("The quick, brown fox (aged 7) jumps over a lazy dog. ", 60)[:3000],
		"invisible": strings.Repeat("The quick, brown fox (aged\u00a07) jumps over a lazy dog. ", 30)[:1500] + "soft\u00adhyphen " + strings.Repeat("The quick, brown fox. ", 70),
		"persian":   strings.Repeat("می\u200cخواهم به خانه\u200cی تو بیایم و کتاب\u200cها را ببینم. ", 40)[:3000],
		"mixed":     strings.Repeat("Ein Café in Zürich; Москва и Київ — 東京の人々, ภาษาไทย. ", 60)[:3000],
	}
	for _, name := range []string{"ascii", "mixed", "invisible", "persian"} {
		b.Run(name, func(b *testing.B) {
			p, text := policy(b, "default,collapse-space"), []byte(strings.ToValidUTF8(texts[name], ""))
			var dst []byte
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = p.Append(dst[:0], text)
			}
		})
	}
}
