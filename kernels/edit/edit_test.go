package edit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// byDefinition tries every edit of the first characters.
func byDefinition(a, b []rune) int {
	switch {
	case len(a) == 0:
		return len(b)
	case len(b) == 0:
		return len(a)
	case a[0] == b[0]:
		return byDefinition(a[1:], b[1:])
	default:
		return 1 + min(byDefinition(a[1:], b), byDefinition(a, b[1:]), byDefinition(a[1:], b[1:]))
	}
}

func TestDistanceEqualsDefinition(t *testing.T) {
	short := rapid.StringOfN(rapid.SampledFrom([]rune("ab\u00e9")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := short.Draw(t, "a"), short.Draw(t, "b")
		if got, want := Distance(a, b), byDefinition([]rune(a), []rune(b)); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	})
}

// plain computes the distance row by row.
func plain(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1) // the distances of from so far to to[:j]
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			replace := diagonal
			if x != y {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

// Distances from strings of several words of bits, and repeated ones, are those of the plain algorithm.
func TestFromEqualsPlain(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("abc\u00e9")), 0, 200, -1)
	rapid.Check(t, func(t *rapid.T) {
		a := text.Draw(t, "a")
		from := From(a)
		for _, b := range []string{text.Draw(t, "b"), a + "x", text.Draw(t, "c"), "a\xffb", ""} {
			if got, want := from(b), plain(a, b); got != want {
				t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
			}
		}
	})
}

// An id is compared with those of all documents, so From must be much faster than the plain algorithm: 20 times here.
func TestFromIsFast(t *testing.T) {
	a, b := strings.Repeat("a long path/", 100), strings.Repeat("another one\n", 100)
	from, begun := From(a), time.Now()
	for range 30 {
		from(b)
	}
	fast, begun := time.Since(begun), time.Now()
	for range 30 {
		plain(a, b)
	}
	if slow := time.Since(begun); slow < 2*fast {
		t.Errorf("%v, and %v by the plain algorithm", fast, slow)
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		wanted string
		names  []string
		want   string
	}{
		{"doc_id", []string{"text", "docid", "id"}, "docid"},
		{"ab", []string{"bb", "aa"}, "aa"},
		{"ab", []string{"aa", "bb"}, "aa"},
		{"nope", []string{"note", "nape"}, "nape"},
		{"abcd", []string{"abxy"}, "abxy"}, // half of its bytes
		{"abcd", []string{"axyz"}, ""},
		{"abcd", nil, ""},
	} {
		if got := Nearest(tt.wanted, slices.Values(tt.names)); got != tt.want {
			t.Errorf("%q of %q: %q, want %q", tt.wanted, tt.names, got, tt.want)
		}
	}
}
