package token

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/kernels/hash"
)

// The hashes of the segments are the words.
func TestSegmentsAreWords(t *testing.T) {
	pieces := []string{"rose", "a_b", "can't", " ", ". ", "\n", "42", "3.14", "caf\u00e9", "\u4e2d\u6587", "\u30ab\u30bf", "\u0e20\u0e32\u0e29\u0e32", "\u2139", "\u200d", "\xff", "\xe4", "\u2014", "+", "--", "\u00ad", "\U0001F469\u200d\U0001F467"}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte{}
		for _, piece := range rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces") {
			text = append(text, piece...)
		}
		text = normal(text)
		for symbols, want := range map[bool][]uint64{false: Words(nil, text), true: WordsAndSymbols(nil, text)} {
			var got []uint64
			for segment := range Segments(text, symbols) {
				got = append(got, hash.Bytes(segment))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q has %d segments and %d tokens, symbols: %v", text, len(got), len(want), symbols)
			}
		}
	})
}

// The parts of a text are all of it, and those that are words are the tokens of Segments.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.SampledFrom([]rune("aZ1é中あกカ한 \n\t'.,:_-ℹ️\u200d\u0301👍!"))).Draw(t, "text"))
		var all []byte
		var words, want []string
		for part, word := range Parts(text, false) {
			all = append(all, part...)
			if word {
				words = append(words, string(part))
			}
		}
		for word := range Segments(text, false) {
			want = append(want, string(word))
		}
		if !bytes.Equal(all, text) || !slices.Equal(words, want) {
			t.Fatalf("%q: parts %q, words %q, want %q", text, all, words, want)
		}
	})
}
