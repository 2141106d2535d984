package textnorm

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// isDefaultIgnorable derives the property as the header of DerivedCoreProperties.txt says.
func isDefaultIgnorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
		!unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark) &&
		(r < 0xFFF9 || r > 0xFFFB) && (r < 0x13430 || r > 0x13440)
}

func TestIgnorable(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if got, want := isIgnorable(r), isDefaultIgnorable(r); got != want {
			t.Errorf("%U: %v, want %v", r, got, want)
		}
	}
}

// By definition in DerivedJoiningType.txt, all marks and format characters are transparent, except those that
// ArabicShaping.txt lists.
func TestTransparent(t *testing.T) {
	listed := []rune{0x200C, 0x200D, 0x0600, 0x0601, 0x0602, 0x0603, 0x0604, 0x0605, 0x06DD, 0x08E2, 0x0890, 0x0891, 0x2066, 0x2067, 0x2068, 0x2069, 0x202F, 0x180E, 0x110BD, 0x110CD}
	for r := range rune(unicode.MaxRune + 1) {
		want := unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) && !slices.Contains(listed, r)
		if got := unicode.Is(transparent, r); got != want && (!got || r != 0x1E94B) { // a listed letter
			t.Errorf("%U: %v, want %v", r, got, want)
		}
	}
}

// What people see as equal, and what they do not.
func TestInvisible(t *testing.T) {
	for _, c := range []struct {
		name, policy, a, b string
		same               bool
	}{
		{"soft hyphen", "default", "dis\u00adcus\u00adsion", "discussion", true},
		{"word joiner", "default", "a\u2060b", "ab", true},
		{"zero-width space", "default", "a\u200bb", "ab", true},
		{"direction marks", "default", "a\u200e b\u200f \u202ac\u202c \u2067d\u2069", "a b c d", true},
		{"BOM", "default", "\ufeffa\ufeff b", "a b", true},
		{"variation selector", "default", "a\ufe00 葛\U000E0100", "a 葛", true},
		{"grapheme joiner", "default", "a\u034fb e\u034f\u0301", "ab é", true},
		{"Hangul filler", "default", "가\u3164나\uffa0", "가나", true},
		{"only invisible", "default", "\u200b\u2060\u200d\ufeff", "", true},
		{"number sign, which is seen", "default", "\u0600١", "١", false},
		{"end of ayah, which is seen", "default", "م\u06dd", "م", false},

		{"Persian, joined or not", "default", "می\u200cخواهم", "میخواهم", false},
		{"Persian, parted or not", "default", "می\u200cخواهم", "می خواهم", false},
		{"Persian, twice", "default", "می\u200c\u200cخواهم", "می\u200cخواهم", true},
		{"Persian, over a mark", "default", "مِ\u200cخ", "مِخ", false},
		{"Persian, composed", "default", "آب\u200cها ئ\u200cم", "ا\u0653ب\u200cها ي\u0654\u200cم", true},
		{"Persian, at the end of a word", "default", "خانه\u200c کتاب\u200c", "خانه کتاب", true},
		{"Persian, behind a letter that does not join", "default", "در\u200cد", "درد", true},
		{"Arabic, between words of Latin", "default", "a\u200cb a\u200db", "ab ab", true},
		{"Arabic, a joiner", "default", "ه\u200d", "ه", true},
		{"Arabic, letters only", "default,letters-only", "می\u200cخواهم", "میخواهم", false},

		{"Hindi, half form", "default", "क्\u200dष", "क्ष", false},
		{"Hindi, virama shown", "default", "क्\u200cष", "क्ष", false},
		{"Hindi, one or the other", "default", "क्\u200cष", "क्\u200dष", false},
		{"Hindi, a vowel before the virama", "default", "कु्\u200dष", "कु्ष", false},
		{"Hindi, nukta", "default", "क\u093c्\u200dष", "क\u093c्ष", false},
		{"Hindi, without a letter after", "default", "क्\u200c क्", "क् क्", true},
		{"Hindi, before a vowel sign", "default", "क्\u200dि", "क्ि", true},
		{"Hindi, without a virama", "default", "क\u200dष", "कष", true},
		{"Malayalam, chillu", "default", "അവന്\u200d", "അവന്", false},
		{"Sinhala", "default", "ශ්\u200dරී", "ශ්රී", false},
		{"Hindi, accents off", "default,strip-accents", "क्\u200dष", "कष", true},

		{"emoji are symbols", "default", "a 👩\u200d👧 b", "a b", true},
		{"emoji, family", "keep-symbols", "👩\u200d👩\u200d👧", "👩👩👧", false},
		{"emoji, skin", "keep-symbols", "👩🏽\u200d🚀", "👩🏽🚀", false},
		{"emoji, presentation", "keep-symbols", "❤\ufe0f\u200d🔥", "❤\u200d🔥", true},
		{"emoji, stray joiner", "keep-symbols", "👩\u200d a \u200d👩", "👩 a 👩", true},
		{"emoji, flags", "keep-symbols", "🏴\U000E0067\U000E0062\U000E0065\U000E007F", "🏴\U000E0067\U000E0062\U000E0073\U000E007F", false},
		{"emoji, tags without end", "keep-symbols", "🏴\U000E0067\U000E0062", "🏴", true},
		{"tags", "keep-symbols", "a\U000E0067\U000E007F", "a", true},
		{"keycap", "keep-symbols", "#\ufe0f\u20e3", "#\u20e3", true},
	} {
		p := policy(t, c.policy)
		a, b := p.Append(nil, []byte(c.a)), p.Append(nil, []byte(c.b))
		if same := string(a) == string(b); same != c.same {
			t.Errorf("%s: %+q and %+q are the same: %v, want %v", c.name, a, b, same, c.same)
		}
	}
}

// class returns a regexp class with the runes of tables.
func class(tables ...*unicode.RangeTable) string {
	var b strings.Builder
	rangetable.Visit(rangetable.Merge(tables...), func(r rune) { fmt.Fprintf(&b, `\x{%X}`, r) })
	return "[" + b.String() + "]"
}

func withCCC(keep func(ccc uint8) bool) *unicode.RangeTable {
	var runes []rune
	for r := range rune(unicode.MaxRune + 1) {
		if unicode.Is(unicode.M, r) && keep(norm.NFC.PropertiesString(string(r)).CCC()) {
			runes = append(runes, r)
		}
	}
	return rangetable.New(runes...)
}

var (
	viramas   = class(withCCC(func(ccc uint8) bool { return ccc == 9 }))
	reordered = func() string {
		var runes []rune
		rangetable.Visit(withCCC(func(ccc uint8) bool { return ccc != 0 }), func(r rune) {
			if unicode.Is(unicode.Mn, r) {
				runes = append(runes, r)
			}
		})
		return class(rangetable.New(runes...))
	}()
	marks = class(transparent)

	// The regular expressions of UAX #31, before and after the joiner.
	a1Before = regexp.MustCompile(class(joinsNext) + marks + `*$`)
	a1After  = regexp.MustCompile(`^` + marks + `*` + class(joinsLast))
	a2Before = regexp.MustCompile(`\p{L}\p{Mn}*` + viramas + reordered + `*$`)
	a2After  = regexp.MustCompile(`^` + reordered + `*\p{L}`)
	bNot     = regexp.MustCompile(`^` + class(vowelSign))
	// And those of UTS #51.
	emojiBefore = regexp.MustCompile(class(pictograph) + `[\x{1F3FB}-\x{1F3FF}]*$`)
	emojiAfter  = regexp.MustCompile(`^` + class(pictograph))
	flag        = regexp.MustCompile(`^[\x{E0020}-\x{E007E}]*\x{E007F}`)
)

// withJoinersByRules drops from s the joiners and tags that the rules do not keep.
func withJoinersByRules(s string) string {
	var before string
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		after := strings.TrimLeftFunc(s[i+n:], inContext)
		keep := true
		switch {
		case r == 0x200C:
			keep = a1Before.MatchString(before) && a1After.MatchString(after) || a2Before.MatchString(before) && a2After.MatchString(after)
		case r == 0x200D:
			keep = a2Before.MatchString(before) && !bNot.MatchString(after) || emojiBefore.MatchString(before) && emojiAfter.MatchString(after)
		case inContext(r):
			keep = false
			if tags := flag.FindString(s[i:]); tags != "" && strings.HasSuffix(before, "🏴") {
				keep, n = true, len(tags)
			}
		}
		if keep {
			before += s[i : i+n]
		}
		i += n
	}
	return before
}

// If a dropped joiner lets two characters compose, the composed character keeps at least as many joiners, so dropping
// again drops none.
func TestContextOfComposedLetters(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		parts := norm.NFD.String(string(r))
		if parts == string(r) || norm.NFC.String(parts) != string(r) {
			continue
		}
		for _, begin := range []conjunct{noLetter, withLetter, withVirama} {
			whole, cut := context{conjunct: begin}, context{conjunct: begin}
			whole.add(r, []byte(string(r)))
			for _, p := range parts {
				cut.add(p, []byte(string(p)))
			}
			if whole.conjunct < cut.conjunct || whole.cursive != cut.cursive || whole.emoji != cut.emoji {
				t.Errorf("%U: %+v, by its parts %+v", r, whole, cut)
			}
			if a, b := follow([]byte(string(r))), follow([]byte(parts)); a.joins != b.joins || a.letter != b.letter || a.vowel != b.vowel {
				t.Errorf("%U: %+v, by its parts %+v", r, a, b)
			}
		}
	}
}
