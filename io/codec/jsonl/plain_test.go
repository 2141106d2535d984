package jsonl

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/internal/fence"
)

// plainBytes is the definition of plainWords.
func plainBytes(b []byte) (n int, wide bool) {
	for i, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return i, wide
		}
		wide = wide || c >= utf8.RuneSelf
	}
	return len(b), wide
}

// equalPlain compares both implementations with the definition, with b placed next to a memory fence.
func equalPlain(t rapid.TB, memory fence.Memory, b []byte) {
	want, wantWide := plainBytes(b)
	for _, place := range []func([]byte) []byte{memory.AtStart, memory.AtEnd} {
		b := place(b)
		fast, fastWide := plain(b)
		words, wordsWide := plainWords(b)
		if fast != want || words != want || fastWide != wantWide || wordsWide != wantWide {
			t.Fatalf("%q: fast %d, wide %t, by words %d, %t; want %d, %t", b, fast, fastWide, words, wordsWide, want, wantWide)
		}
	}
}

const plainMost = 1 << 12

func FuzzPlain(f *testing.F) {
	dots := bytes.Repeat([]byte("."), 100)
	for n := range dots {
		f.Add(dots[:n])
	}
	memory := fence.New(f, plainMost)
	f.Fuzz(func(t *testing.T, b []byte) { equalPlain(t, memory, b[:min(len(b), plainMost)]) })
}

// TestPlainBytes puts each byte value at each place of strings of all lengths up to a few blocks.
func TestPlainBytes(t *testing.T) {
	memory := fence.New(t, plainMost)
	for size := range 100 {
		b := bytes.Repeat([]byte("."), size)
		equalPlain(t, memory, b)
		for at := range b {
			for c := range 256 {
				b[at] = byte(c)
				equalPlain(t, memory, b)
			}
			b[at] = '.'
		}
	}
}

// TestPlain draws strings with several bytes that are not plain.
func TestPlain(t *testing.T) {
	memory := fence.New(t, plainMost)
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Repeat([]byte{0xFF}, rapid.IntRange(0, 300).Draw(t, "size"))
		for range rapid.IntRange(0, min(3, len(b))).Draw(t, "stops") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("\"\\\x00\x1F !#[]\x7F")).Draw(t, "byte")
		}
		equalPlain(t, memory, b)
	})
}

func BenchmarkPlain(b *testing.B) {
	text := append(bytes.Repeat([]byte("."), 1000), '"')
	for name, f := range map[string]func([]byte) (int, bool){"fast": plain, "words": plainWords} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				f(text)
			}
		})
	}
}
