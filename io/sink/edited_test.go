package sink

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/shingle"
)

// Where something was cut out, the two parts are joined by one space, or by the line break that stood beside it.
func TestCutTexts(t *testing.T) {
	for _, tt := range []struct {
		columns []string
		spans   [][2]uint64
		want    []string
		seams   int64
	}{
		{[]string{"one two three"}, [][2]uint64{{4, 7}}, []string{"one three"}, 1},
		{[]string{"one two three"}, [][2]uint64{{0, 3}}, []string{"two three"}, 0},
		{[]string{"one two three"}, [][2]uint64{{8, 13}}, []string{"one two"}, 0},
		{[]string{"one two three"}, [][2]uint64{{0, 13}}, []string{""}, 0},
		{[]string{"one\r\ntwo\nthree "}, [][2]uint64{{5, 8}}, []string{"one\r\nthree "}, 1},
		{[]string{"one two\nthree"}, [][2]uint64{{4, 7}}, []string{"one\nthree"}, 1},
		{[]string{"one, two. Three"}, [][2]uint64{{5, 8}}, []string{"one, . Three"}, 1},
		{[]string{"one two three four five"}, [][2]uint64{{4, 7}, {8, 13}, {19, 23}}, []string{"one four"}, 1},
		{[]string{"", "one two", "three four"}, [][2]uint64{{1, 4}, {15, 19}}, []string{"", "two", "three"}, 0},
		{[]string{"  one"}, [][2]uint64{{2, 5}}, []string{""}, 0},
		// Where no white space was, none comes, unless two words would become one.
		{[]string{"天地宙"}, [][2]uint64{{3, 6}}, []string{"天宙"}, 1},
		{[]string{"天 地宙"}, [][2]uint64{{4, 7}}, []string{"天 宙"}, 1},
		{[]string{"天地\n宙"}, [][2]uint64{{3, 6}}, []string{"天\n宙"}, 1},
		{[]string{"天地宙."}, [][2]uint64{{3, 6}, {6, 9}}, []string{"天."}, 1},
		{[]string{"天，地。宙"}, [][2]uint64{{6, 9}}, []string{"天，。宙"}, 1},
		{[]string{"天\u3000地\u3000宙"}, [][2]uint64{{6, 9}}, []string{"天\u3000\u3000宙"}, 1},
		{[]string{"ก้ขค"}, [][2]uint64{{6, 9}}, []string{"ก้ค"}, 1},
		{[]string{"one/two=three"}, [][2]uint64{{4, 7}}, []string{"one/=three"}, 1},
		{[]string{"๒天๓"}, [][2]uint64{{3, 6}}, []string{"๒ ๓"}, 1},
		{[]string{"one天two"}, [][2]uint64{{3, 6}}, []string{"one two"}, 1},
		{[]string{"one天.two"}, [][2]uint64{{3, 6}}, []string{"one .two"}, 1},
		{[]string{"one_天_two"}, [][2]uint64{{4, 7}}, []string{"one_ _two"}, 1},
	} {
		var spans []byte
		for _, s := range tt.spans {
			spans = binary.AppendUvarint(binary.AppendUvarint(spans, s[0]), s[1])
		}
		e := editor{spans: map[int64][]byte{7: spans}, seams: map[seam]int64{}}
		seams := int64(0)
		for begin, i := 0, 0; i < len(tt.columns); i++ {
			for range 2 { // text that is cut again counts once
				if got := string(e.edit(7, begin, []byte(tt.columns[i]))); got != tt.want[i] {
					t.Errorf("%q without %v: %q, want %q", tt.columns[i], tt.spans, got, tt.want[i])
				}
			}
			seams += e.seams[seam{7, begin}]
			begin += len(tt.columns[i]) + 1
		}
		if seams != tt.seams {
			t.Errorf("%q without %v: %d seams, want %d", tt.columns, tt.spans, seams, tt.seams)
		}
	}
}

// What is left has the words that it had: no two become one.
func TestCutKeepsWordsApart(t *testing.T) {
	pieces := []string{
		"天", "々", "〇", "あ", "カ", "ー", "ก้", "๒", "ຂ", "한", "é", "x", "5", "½", "№", "™", "😀", "\u200d", "\u0301", "\u3000", " ", "\n",
		".", "．", ",", "，", "、", "。", "'", "’", "\"", "_", "＿", "-", "=", "/", ":", "「", "」", "\u00ad", "א",
	}
	shingler := shingle.Spec{Shingle: shingle.Config{Kind: shingle.Word, K: 1}}.New()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "pieces"), ""))
		var spans []byte
		var want []string
		at := 0 // the end of the last word: what becomes several is one place
		for word := range shingler.Places(text) {
			if word.Start < at {
				continue
			}
			if at = word.End; rapid.Bool().Draw(t, "cut") {
				spans = binary.AppendUvarint(binary.AppendUvarint(spans, uint64(word.Start)), uint64(word.End))
			} else {
				want = append(want, string(text[word.Start:word.End]))
			}
		}
		e := editor{spans: map[int64][]byte{0: spans}, seams: map[seam]int64{}}
		left := e.edit(0, 0, text)
		var got []string
		at = 0
		for word := range shingler.Places(left) {
			if word.Start >= at {
				at = word.End
				got = append(got, string(left[word.Start:word.End]))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q becomes %q: its words are %q, want %q", text, left, got, want)
		}
	})
}
