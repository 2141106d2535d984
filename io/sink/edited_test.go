package sink

import (
	"encoding/binary"
	"testing"
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
