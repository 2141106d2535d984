//go:build !purego

package token

import (
	"strings"
	"testing"
)

// TestFoldedFast: the fast path leaves nothing of an ASCII text without long words to the plain one, which is slow.
func TestFoldedFast(t *testing.T) {
	if !hasAVX2 {
		t.Skip("for other processors there is only the plain way")
	}
	text := []byte(strings.Repeat("Some words of abcdefghij, a b c d e f g h; ABCDEFGHIJKLMNOP ", 5))
	for from := range text {
		for to := from; to <= len(text); to++ {
			if _, n := foldedFast(nil, text[from:to]); n != to-from {
				t.Fatalf("%d of %q", n, text[from:to])
			}
		}
	}
}

// TestFoldedAVX2 tests code that processors with AVX-512 do not use.
func TestFoldedAVX2(t *testing.T) {
	if !hasAVX512 {
		t.Skip("the other tests do")
	}
	hasAVX512 = false
	defer func() { hasAVX512 = true }()
	for name, test := range map[string]func(*testing.T){
		"texts": TestFoldedASCII, "bytes": TestFoldedASCIIBytes, "lengths": TestFoldedASCIILengths, "ends": TestFoldedASCIIEnds,
		"room": TestFoldedASCIIRoom, "fast": TestFoldedFast,
	} {
		t.Run(name, test)
	}
}
