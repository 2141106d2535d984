package token

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/clipperhouse/uax29/v2/sentences"
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

// Sentences are those of the annex, also around long rows of spaces, quotation marks and brackets, which take linear
// time.
func TestSentences(t *testing.T) {
	var ends []string
	for r := range rune(unicode.MaxRune) {
		if rowOf(r) != rowless {
			ends = append(ends, string(r))
		}
	}
	part := rapid.OneOf(
		rapid.SampledFrom(ends), rapid.SampledFrom([]string{"a", "A", "1", ".", "!", "\n", "\r\n", "\u2029", "\u0301", "中", ",", "-"}),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom(ends).Draw(t, "end"), rapid.IntRange(longRow-1, 3*longRow).Draw(t, "times"))
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), ""))
		var got, want []string
		for sentence := range Sentences(text) {
			got = append(got, string(sentence))
		}
		for rest := text; len(rest) > 0; {
			n, _, _ := sentences.SplitFunc(rest, true)
			want = append(want, string(rest[:n]))
			rest = rest[n:]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
	start := time.Now()
	for range Sentences([]byte("." + strings.Repeat(" ", 1<<18))) {
	}
	if spent := time.Since(start); spent > 10*time.Second {
		t.Errorf("took %v", spent)
	}
}
