package spans

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func FuzzOf(f *testing.F) {
	f.Add([]byte("caf\xc3\xa9 \xff\xfe\xe4\xb8x\xed\xa0\x80"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var all []byte
		wasValid, bad := false, 0
		for part, valid := range Of(text) {
			switch {
			case len(part) == 0, valid && !utf8.Valid(part), valid && wasValid:
				t.Fatalf("%q of %q, valid %v", part, text, valid)
			case !valid:
				bad++
			}
			all, wasValid = append(all, part...), valid
		}
		if !bytes.Equal(all, text) {
			t.Fatalf("%q has the parts %q", text, all)
		}
		// The runes of a string are an independent account of what is not valid.
		want := 0
		for i, r := range string(text) {
			if r == utf8.RuneError && !bytes.HasPrefix(text[i:], []byte("\uFFFD")) {
				want++
			}
		}
		if bad != want {
			t.Fatalf("%q has %d invalid bytes, want %d", text, bad, want)
		}
	})
}

func TestOfStops(t *testing.T) {
	for parts := range 5 {
		n := 0
		for range Of([]byte("a\xffb\xfec")) {
			if n++; n > parts {
				break
			}
		}
		if n != parts+1 {
			t.Errorf("%d parts, want %d", n, parts+1)
		}
	}
}
