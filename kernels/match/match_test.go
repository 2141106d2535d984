package match

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"no digit, ½ ² Ⅳ":                   "",
		"issue 12":                          "12;",
		"issue 012":                         "12;",
		"0":                                 "0;",
		"000":                               "0;",
		"v1.02 and v1.0":                    "1;2;1;0;",
		"1,000 1.000 1'000 1’000 1000":      "1000;1000;1000;1000;1000;",
		"1\u00a0000 1\u202f000 1\u20090001": "1000;1000;1;1;",
		"1 000":                             "1;0;",
		"1,234,567.89":                      "1234567;89;",
		"1234,567":                          "1234;567;",
		"12.10.2024, 12/10/2024":            "12;10;2024;12;10;2024;",
		"2024-10-12":                        "2024;10;12;",
		"3,5":                               "3;5;",
		"A4B5":                              "4;5;",
		"\xff7\xff":                         "7;",
		"١٢٬٣٤٥ १२ １２ 𝟏𝟐 𞥐𞥑": "12345;12;12;12;1;",
	} {
		if got := string(AppendNumbers(nil, []byte(text))); got != want {
			t.Errorf("%q has the numbers %q, want %q", text, got, want)
		}
	}
}

// The digits of Unicode have the values that its compatibility mappings say, or those of ten code points in a row.
func TestDigits(t *testing.T) {
	n := 0
	for r := range rune(unicode.MaxRune + 1) {
		value := valueOf(r)
		if is := unicode.Is(unicode.Nd, r); is != (value >= 0) {
			t.Fatalf("%U has the value %d", r, value)
		}
		if value < 0 {
			continue
		}
		n++
		if mapped := norm.NFKC.String(string(r)); mapped != string(r) && mapped != fmt.Sprint(value) {
			t.Errorf("%U has the value %d, NFKC has %s", r, value, mapped)
		}
		if value == 0 && unicode.Is(unicode.Nd, r+10) && valueOf(r+10) != 0 || value > 0 && valueOf(r-1) != value-1 {
			t.Errorf("%U has the value %d", r, value)
		}
	}
	if n%10 != 0 {
		t.Errorf("%d digits", n)
	}
}

// Numbers in any grouping are the same, and others are others.
func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		plain := fmt.Sprint(a)
		separator := string(rapid.SampledFrom([]rune(grouped)).Draw(t, "separator"))
		written := ""
		for i, digit := range plain {
			if i > 0 && (len(plain)-i)%3 == 0 {
				written += separator
			}
			written += string(digit)
		}
		of := func(text string) string { return string(AppendNumbers(nil, []byte(text))) }
		if of(written+" x") != plain+";" {
			t.Errorf("%q: %q", written, of(written))
		}
		if (of(fmt.Sprint(a, " to ", b)) == of(fmt.Sprint(b, " to ", a))) != (a == b) {
			t.Errorf("%d and %d in another order", a, b)
		}
	})
}

func pack(values []string) (packed []byte) {
	for _, v := range values {
		packed = append(binary.AppendUvarint(packed, uint64(len(v))), v...)
	}
	return packed
}

// Documents are in one part if they have the same values, and all of them.
func TestPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3).Draw(t, "columns")
		values := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ab", strings.Repeat("a", 300)}), n, n)
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		same := true
		for i := range a {
			same = same && a[i] == b[i] && a[i] != ""
		}
		if (Part(pack(a), 1) == Part(pack(b), 2)) != same {
			t.Errorf("%q and %q", a, b)
		}
	})
}

func TestColumns(t *testing.T) {
	got, err := Columns([]string{"lang=equal", "a=b=equal", "meta.year=equal"})
	if err != nil || fmt.Sprint(got) != "[lang a=b meta.year]" {
		t.Errorf("%v, %v", got, err)
	}
	for rules, want := range map[string]string{
		"lang":                       "name a column and its rule",
		"=equal":                     "name a column and its rule",
		"lang=eqaul":                 `column lang: there is no rule "eqaul"; give lang=equal`,
		"lang=":                      `give lang=equal`,
		"a=equal lang=equal a=equal": "column a has two rules",
	} {
		if _, err := Columns(strings.Fields(rules)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rules, err, want)
		}
	}
}
