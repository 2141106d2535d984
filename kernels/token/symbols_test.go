package token

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// ascii7 is all ASCII characters.
var ascii7 = unicode.RangeTable{R16: []unicode.Range16{{Lo: 0, Hi: 0x7F, Stride: 1}}}

// plainSymbols is the plain twin of Symbols.
func plainSymbols(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.P, unicode.S) {
			return r
		}
		return -1
	}, text)
}

func TestSymbols(t *testing.T) {
	for text, want := range map[string]string{
		"return a + b":       "+",
		"C++, C#":            "++,#",
		"GPL-2.0+":           "-.+",
		"it's 5 € ＋ ½ – “a”": "'€＋–“”",
		"H2O\tna\u00a0x":     "",
		"a\xffb":             "\ufffd",
	} {
		if got := string(Symbols([]byte("before "), []byte(text))); got != "before "+want {
			t.Errorf("symbols of %q: %q, want %q", text, got, want)
		}
	}
	for b := range 256 { // at each place of a block, and in the rest
		for at := range 2*blockBytes - 1 {
			text := bytes.Repeat([]byte("a"), 2*blockBytes-1)
			text[at] = byte(b)
			if got, want := string(Symbols(nil, text)), plainSymbols(string(text)); got != want {
				t.Errorf("symbols of %q: %q, want %q", text, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom(nil, &ascii7), 0, 100, -1), rapid.StringOf(rapid.RuneFrom(nil, unicode.P, unicode.S, unicode.L)),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		if got, want := string(Symbols(nil, []byte(text))), plainSymbols(text); got != want {
			t.Errorf("symbols of %q: %q, want %q", text, got, want)
		}
	})
}

// The processor's implementation and the plain one agree on the symbols before the first non-ASCII byte, and on the
// non-ASCII bytes.
func TestSymbolsOfABlock(t *testing.T) {
	ascii := func(symbols, wide uint64) [2]uint64 { return [2]uint64{symbols & (wide&-wide - 1), wide} }
	rapid.Check(t, func(t *rapid.T) {
		top := byte(rapid.SampledFrom([]int{0x7f, 0xff}).Draw(t, "top"))
		block := (*[blockBytes]byte)(rapid.SliceOfN(rapid.ByteRange(0, top), blockBytes, blockBytes).Draw(t, "block"))
		if got, want := ascii(symbolsOf(block)), ascii(symbolsPlain(block)); got != want {
			t.Errorf("%q: %x, want %x", *block, got, want)
		}
	})
}

func BenchmarkSymbols(b *testing.B) {
	text := []byte(strings.Repeat("It was, they said, the best film of 1967 (if not of all time); nobody in the theatre moved. ", 12))
	var symbols []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		symbols = Symbols(symbols[:0], text)
	}
}
