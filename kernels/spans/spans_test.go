package spans

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func parts(text string) string {
	var b strings.Builder
	for part, raw := range Of([]byte(text)) {
		if raw {
			b.WriteString("<" + string(part) + ">")
		} else {
			b.Write(part)
		}
	}
	return b.String()
}

func TestOf(t *testing.T) {
	const long = "жжжжжжжжжжжжжжжжжжжж" // 20 characters
	for _, c := range []struct{ name, text, want string }{
		{"UTF-8", "a é 中 \uFFFD", "a é 中 \uFFFD"},
		{"a damage", long + "\xffa" + long, long + "<\xff>a" + long},
		{"a character cut off", long + "\xe4\xb8", "<" + long + "\xe4\xb8>"},
		{"a longer one", long + long + "\xe4\xb8", long + long + "<\xe4><\xb8>"},
		{"windows-1252", "caf\xe9, na\xefve.", "caf<\xe9>, na<\xefv>e."},
		{"windows-1251", "\xef\xf0\xe8 \xcc\xe8\xf0\xe5!", "<\xef\xf0\xe8> <\xcc\xe8\xf0\xe5>!"},
		{"Shift_JIS, of which the second byte is ASCII", "\x83\x5c\x98A \x83a", "<\x83\x5c\x98A> <\x83a>"},
		{"GBK, of which one character is UTF-8", "\xd6\xd0\xb9\xfa\xc2\xa1", "<\xd6\xd0\xb9\xfa\xc2\xa1>"},
		{"GB18030", "\x81\x30\x81\x30", "<\x81\x30\x81\x30>"},
		{"no second byte", "\xe9 \xe9.\xe9/", "<\xe9> <\xe9>.<\xe9>/"},
		{"surrogate", "a\xed\xa0\x80", "a<\xed\xa0\x80>"},
	} {
		if got := parts(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add([]byte("caf\xc3\xa9 \xff\xfe\xe4\xb8x\xed\xa0\x80"))
	f.Add([]byte(strings.Repeat("é", 50) + "\xff\xffa"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var all, marked, back []byte
		wasRaw, begun := false, false
		for part, raw := range Of(text) {
			if len(part) == 0 || !raw && !utf8.Valid(part) || begun && !raw && !wasRaw {
				t.Fatalf("%q of %q, raw %v", part, text, raw)
			}
			all, wasRaw, begun = append(all, part...), raw, true
			if raw {
				marked = AppendRaw(marked, part)
			} else {
				marked = append(marked, part...)
			}
		}
		if !bytes.Equal(all, text) {
			t.Fatalf("%q has the parts %q", text, all)
		}
		for part, raw := range Marked(marked) {
			if raw && len(part) != 1 || !raw && !utf8.Valid(part) {
				t.Fatalf("%q of %q, raw %v", part, marked, raw)
			}
			back = append(back, part...)
		}
		if !bytes.Equal(back, text) {
			t.Fatalf("%q comes back as %q", text, back)
		}
	})
}

// Both can be stopped early.
func TestStops(t *testing.T) {
	for name, iterate := range map[string]func(yield func([]byte, bool) bool){
		"Of": Of([]byte("a\xff b\xfe c")), "Marked": Marked([]byte("a\xff\xff b\xff\xfe c")),
	} {
		for parts := range 5 {
			n := 0
			for range iterate {
				if n++; n > parts {
					break
				}
			}
			if n != parts+1 {
				t.Errorf("%s: %d parts, want %d", name, n, parts+1)
			}
		}
	}
}
