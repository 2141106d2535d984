package match

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/setsim"
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

// Eight bytes are classified like each of them.
func TestPlain(t *testing.T) {
	for c := range 256 {
		for at := range 8 {
			text := []byte("abcdefgh")
			text[at] = byte(c)
			if want := c < utf8.RuneSelf && (c < '0' || c > '9'); plain(binary.LittleEndian.Uint64(text)) != want {
				t.Errorf("%q is plain: %v", text, !want)
			}
		}
	}
}

// The digits of Unicode have the values of its compatibility mappings or, in runs of ten code points, of their order.
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

// Numbers are equal in any grouping, and different numbers differ.
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

// Documents are in one part if they have equal values for all columns.
func TestPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3).Draw(t, "columns")
		values := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ab", strings.Repeat("a", 300)}), n, n)
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		same := true
		rules := make([]Rule, n)
		for i := range a {
			same = same && a[i] == b[i] && a[i] != ""
			rules[i].Kind = Equal
		}
		_, x := Append(nil, rules, pack(a), 1, nil)
		if _, y := Append(nil, rules, pack(b), 2, nil); (x == y) != same {
			t.Errorf("%q and %q", a, b)
		}
	})
}

// Two documents satisfy a rule if they are in one part and their traits hold. Those with equal traits do.
func TestHold(t *testing.T) {
	for _, c := range []struct {
		rule, a, b string
		want       bool
	}{
		{"equal", "a", "a", true},
		{"equal", "a", "A", false},
		{"equal", "", "", false},
		{"equal,missing-ok", "", "", true},
		{"equal,missing-ok", "a", "", true},
		{"equal,missing-ok", "a", "b", false},
		{"different", "a", "b", true},
		{"different", "a", "a", false},
		{"different", "a", "", false},
		{"different,missing-ok", "a", "", true},
		{"different,missing-ok", "", "", true},
		{"within:2", "1999", "2001.0", true},
		{"within:2", "1999", "2001.5", false},
		{"within:.1", "1", "1.1", true},
		{"within:.1", "20.1", "20", true},
		{"within:.01", "-0.07", "-.06", true},
		{"within:.1", "1", "1.1000000000000005", false},
		{"within:0", "9007199254740991", "9007199254740990", false},
		{"within:0", "1e3", "1000", true},
		{"within:1", "", "1", false},
		{"within:1", "about 5", "5", false},
		{"within:1,missing-ok", "about 5", "5", true},
		{"within:1", "NaN", "5", false},
		{"within:7d", "2024-02-25", "2024-03-03", true},
		{"within:7d", "2024-02-25", "2024-03-04", false},
		{"within:7d", "2023-02-25", "2023-03-04", true},
		{"within:7d", "2023-12-31", "2024-01-07", true},
		{"within:1h", "2024-01-01T00:30:00Z", "2024-01-01 01:30", true},
		{"within:1h", "2024-01-01T00:30:00Z", "2024-01-01 01:30:00.5", false},
		{"within:1s", "2024-01-01T01:30:00+01:30", "2024-01-01", true},
		{"within:1s", "2023-12-31T22:30:00-01:30", "2024", true},
		{"within:31d", "2024-01", "2024-02", true},
		{"within:7d", "2024-13-01", "2024-13-01", false},
		{"char:1,.5", "abc", "abcdef", true},
		{"char:1,.5", "abc", "abcdefg", false},
		{"char:1,.5", "", "", false},
		{"char:1,.5", "", "a", false},
		{"char:1,.5,missing-ok", "", "a", true},
		{"char:1,.5,missing-ok", "", "", true},
		{"char:1,.5,missing-ok", "a", "b", false},
		{"within:7d", "1.1.2024", "1.1.2024", false},
	} {
		rules, err := Parse([]string{"x=equal", "c=" + c.rule})
		if err != nil {
			t.Fatal(err)
		}
		of := func(value string, key uint64) (part uint64, traits []uint64) {
			traits, part = Append(nil, rules, pack([]string{"same", value}), key, func(i int, value []byte) (set []uint64) {
				if rules[i].Column != "c" {
					t.Errorf("a set of column %s is asked", rules[i].Column)
				}
				for _, c := range value {
					set = append(set, uint64(c))
				}
				slices.Sort(set)
				return slices.Compact(set)
			})
			return part, traits
		}
		partA, a := of(c.a, 1)
		partB, b := of(c.b, 2)
		if !Pairwise(rules) {
			if len(a) > 0 {
				t.Errorf("%s: has %d traits", c.rule, len(a))
			}
			a = []uint64{1}
			b = []uint64{1}
		}
		if want := Words(rules); len(a) != want && want > 0 {
			t.Errorf("%s: %d words, want %d", c.rule, len(a), want)
		}
		own, traits := Own(slices.Concat([]uint64{7, 8}, a))
		if !slices.Equal(own, []uint64{7, 8}) || !slices.Equal(traits, a) {
			t.Errorf("%s: features %v have the traits %v, want %v", c.rule, own, traits, a)
		}
		for range 2 {
			if got := partA == partB && Hold(rules, a, b); got != c.want {
				t.Errorf("%s: %q and %q: %v", c.rule, c.a, c.b, got)
			}
			a, b = b, a
		}
		if partA == partB && slices.Equal(a, b) && !c.want {
			t.Errorf("%s: %q and %q have the same traits", c.rule, c.a, c.b)
		}
	}
}

// Days are those of the calendar.
func TestDates(t *testing.T) {
	for day := time.Date(1890, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2110; day = day.AddDate(0, 0, 1) {
		if at, ok := date(day.Format(time.DateOnly)); !ok || at != float64(day.Unix()) {
			t.Fatalf("%v: %v", day, at)
		}
	}
	for _, not := range []string{"2023-02-29", "1900-02-29", "2024-02-30", "2024-04-31", "2024-12-32", "2024-11-31", "2024-00-01", "2024-01-00"} {
		if at, ok := date(not); ok {
			t.Errorf("%s is %v, want no date", not, at)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := Parse([]string{"lang=equal", "a=b=different,missing-ok", "meta.year=within:1.5", "date=within:7d", "title=char:3,.75,lower,no-space,missing-ok"})
	want := []Rule{
		{Column: "lang", Kind: Equal}, {Column: "a=b", Kind: Different, MissingOK: true},
		{Column: "meta.year", Kind: Within, Most: 1.5}, {Column: "date", Kind: Dates, Most: 7 * 86400},
		{
			Column: "title", Kind: Similar, Shingles: "char:3", Steps: "lower,no-space", MissingOK: true,
			Threshold: setsim.Threshold{Num: 3, Den: 4},
		},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for rules, want := range map[string]string{
		"lang":                        "name a column and its rule",
		"=equal":                      "name a column and its rule",
		"lang=eqaul":                  `column lang: "eqaul" is not a rule; use a rule such as lang=equal`,
		"lang=":                       `use a rule such as lang=equal`,
		"lang=equal:3":                `use a rule such as lang=equal`,
		"lang=Different":              `use a rule such as lang=different`,
		"lang=equal,missing":          `use a rule such as lang=equal,missing-ok`,
		"year=witin:3,missing_ok":     `use a rule such as year=within:3,missing-ok`,
		"year=within":                 `use a rule such as year=within:1`,
		"year=within:-3":              `use a rule such as year=within:1`,
		"year=within:7w":              `use a rule such as year=within:1`,
		"year=within:NaN":             `use a rule such as year=within:1`,
		"title=char":                  `use a rule such as title=char:3,.7`,
		"title=chars:4,.8,lower":      `use a rule such as title=char:4,.8,lower`,
		"title=word:2,1.5,missing-ok": `use a rule such as title=word:2,.7,missing-ok`,
		"title=char:0,.8":             `use a rule such as title=char:3,.8`,
		"a=equal lang=equal a=equal":  "column a has two rules",
	} {
		if _, err := Parse(strings.Fields(rules)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rules, err, want)
		}
	}
}
