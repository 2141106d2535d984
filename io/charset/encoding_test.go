package charset

import (
	"slices"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
	"pgregory.net/rapid"
)

var tested = []string{"utf-16le", "utf-16be", "windows-1251", "windows-1252", "koi8-r", "shift_jis", "gbk", "gb18030", "big5", "euc-jp", "euc-kr"}

// encoded draws a text, and the bytes of each of its characters in an encoding.
func encoded(t *rapid.T, name string) (text []rune, bytes [][]byte) {
	e, err := htmlindex.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	alphabets := []*rapid.Generator[rune]{
		rapid.RuneFrom([]rune("\n\r\t\",;{}[]\\ab1")), rapid.RuneFrom([]rune("éяЖßソ表能ー中文가ｱ")), rapid.Rune(),
	}
	for _, r := range rapid.SliceOfN(rapid.OneOf(alphabets...), 0, 40).Draw(t, "text") {
		coded, err := e.NewEncoder().String(string(r))
		if err != nil || r == utf8.RuneError {
			continue // not in the encoding
		}
		if back, err := e.NewDecoder().String(coded); err != nil || back != string(r) {
			continue // the encoding has another one for it
		}
		text, bytes = append(text, r), append(bytes, []byte(coded))
	}
	return text, bytes
}

// TestDecoded checks that decoding returns the original text.
func TestDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(tested).Draw(t, "encoding")
		text, coded := encoded(t, name)
		e, err := Named(name)
		if err != nil || e.Name != name {
			t.Fatal(e, err)
		}
		if got := string(e.AppendDecoded([]byte("x"), slices.Concat(coded...))); got != "x"+string(text) {
			t.Errorf("%s: %q, want %q", name, got, string(text))
		}
	})
}

// TestOutline checks that an outline has all ASCII characters in their places, and no others.
func TestOutline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(tested).Draw(t, "encoding")
		text, coded := encoded(t, name)
		e, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for i, r := range text {
			for j := 0; j < len(coded[i]); j += e.Unit() {
				if r < utf8.RuneSelf {
					want = append(want, byte(r))
				} else {
					want = append(want, 0x80)
				}
			}
		}
		all := slices.Concat(coded...)
		if got := e.AppendOutline(nil, all, true); string(got) != string(want) {
			t.Errorf("%s: outline of %q is %q, want %q", name, string(text), got, want)
		}
		cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
		part := e.AppendOutline(nil, all[:cut], false)
		rest := e.AppendOutline(nil, all[len(part)*e.Unit():], true)
		if got := slices.Concat(part, rest); string(got) != string(want) || cut-len(part)*e.Unit() > 3 {
			t.Errorf("%s: outline of %q, cut at %d, is %q and %q, want %q", name, string(text), cut, part, rest, want)
		}
	})
}

// TestInvalid checks that bytes invalid in an encoding do not decode to UTF-8, and do not swallow a line end.
func TestInvalid(t *testing.T) {
	for _, tt := range []struct{ name, text, want, outline string }{
		{"shift_jis", "a\x81\nb", "a\xFF\nb", "a\x80\nb"},
		{"gbk", "\x81\n\x81", "\xFF\n\xFF", "\x80\n\x80"},
		{"gb18030", "\x810\n", "\xFF0\n", "\x800\n"},
		{"windows-1253", "a\xAA", "a\xFF", "a\x80"},
		{"utf-16le", "\x00\xD8\n\x00a", "\xFF\n\xFF", "\x80\n\x80"},
		{"utf-16be", "\x00a\xDC\x00\xD8", "a\xFF\xFF", "a\x80\x80"},
		{"utf-16be", "\xFF\xFD", "\uFFFD", "\x80"},
	} {
		e, err := Named(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		got, outline := string(e.AppendDecoded(nil, []byte(tt.text))), string(e.AppendOutline(nil, []byte(tt.text), true))
		if got != tt.want || outline != tt.outline {
			t.Errorf("%s: %q is %q, outline %q; want %q, %q", tt.name, tt.text, got, outline, tt.want, tt.outline)
		}
	}
}

// FuzzPropose checks that a proposed encoding can decode the text, whatever it is.
func FuzzPropose(f *testing.F) {
	f.Add([]byte("\xFF\xFEa\x00"))
	f.Add([]byte("gr\xF6\xDFe f\xFCr alle Stra\xDFen der sch\xF6nen Stadt K\xF6ln"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if proposed := Propose(text); proposed != "" {
			if _, err := Named(proposed); err != nil {
				t.Errorf("%q is taken for %s: %v", text, proposed, err)
			}
		}
	})
}
