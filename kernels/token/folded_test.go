package token

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/internal/fence"
)

// equalsFoldedPlain compares FoldedASCII with its plain twin on a text next to an inaccessible page.
func equalsFoldedPlain(t rapid.TB, memory fence.Memory, text []byte) {
	for _, place := range []func([]byte) []byte{memory.AtStart, memory.AtEnd} {
		text := place(text)
		// A token before them, and room for few more.
		got, n := FoldedASCII([]uint64{7}, text)
		want, plainN := foldedPlain([]uint64{7}, text)
		if n != plainN || !slices.Equal(got, want) {
			t.Fatalf("FoldedASCII(%q):\n fast %x, %d\nplain %x, %d", text, got, n, want, plainN)
		}
	}
}

const foldedBytes = 1 << 14

func FuzzFoldedASCII(f *testing.F) {
	long := strings.Repeat("It's 3.14, a_B ", 20)
	for _, seed := range []string{
		"", long, long + "é" + long, strings.Repeat("a", 200), strings.Repeat("a ", 100), strings.Repeat(" ", 150) + "é",
		long + "abcdefghijklmnopqrstuvwxyz" + long, long + "@[`{/:", "\xff" + long,
	} {
		f.Add([]byte(seed))
	}
	memory := fence.New(f, foldedBytes)
	f.Fuzz(func(t *testing.T, text []byte) { equalsFoldedPlain(t, memory, text[:min(len(text), foldedBytes)]) })
}

// TestFoldedASCII draws texts of words of all lengths that the implementations treat differently, over several blocks.
func TestFoldedASCII(t *testing.T) {
	memory := fence.New(t, foldedBytes)
	pieces := []string{
		" ", " ", " ", "\n", "'", "@", "[", "`", "{", "/", ":", "\x00", "\x7f", "a", "Z", "0", "9", "z", "A",
		"Abcdefg", "aBcdefgh", "abCdefghi", "abcdefghijklmnO", "abcdefghijklmnoP", "abcdefghijklmnopQ", strings.Repeat("xY0", 40), strings.Repeat(" ", 70),
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 120).Draw(t, "text"), ""))
		if len(text) > 0 && rapid.Bool().Draw(t, "wide") {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] |= 0x80
		}
		equalsFoldedPlain(t, memory, text)
	})
}

// TestFoldedASCIIBytes puts each byte at each place of a text of several blocks, within a word and between two.
func TestFoldedASCIIBytes(t *testing.T) {
	memory := fence.New(t, foldedBytes)
	for _, around := range []string{"a", "-", "a-"} {
		for at := range 140 {
			text := bytes.Repeat([]byte(around), 210/len(around))
			for b := range 256 {
				text[at] = byte(b)
				equalsFoldedPlain(t, memory, text)
			}
		}
	}
}

// TestFoldedASCIILengths cuts a text at each byte of several blocks.
func TestFoldedASCIILengths(t *testing.T) {
	if got, n := FoldedASCII(nil, nil); n != 0 || len(got) > 0 {
		t.Errorf("no text: %x, %d", got, n)
	}
	memory := fence.New(t, foldedBytes)
	text := []byte(strings.Repeat("Some words of abcdefghij, a b c d e f g h; ABCDEFGHIJKLMNOPQRST ", 5))
	for from := range 70 {
		for to := from; to <= len(text); to++ {
			equalsFoldedPlain(t, memory, text[from:to])
		}
	}
}

// TestFoldedASCIIEnds puts a non-ASCII byte at each place of several blocks, with words that begin and end anywhere.
func TestFoldedASCIIEnds(t *testing.T) {
	memory := fence.New(t, foldedBytes)
	words := []byte(strings.Repeat("Some words of abcdefghij, a b c d e f g h; ABCDEFGHIJKLMNOP ", 5))
	for from := range 64 {
		for at := from; at < len(words); at++ {
			text := bytes.Clone(words[from:])
			text[at-from] |= 0x80
			equalsFoldedPlain(t, memory, text)
		}
	}
}

// TestFoldedASCIIRoom has more words than fit in one call, and as many as can end in a block.
func TestFoldedASCIIRoom(t *testing.T) {
	memory := fence.New(t, foldedBytes)
	for _, from := range []int{0, 1} {
		equalsFoldedPlain(t, memory, bytes.Repeat([]byte("a "), foldedBytes/2)[from:])
	}
	for size := range 80 {
		text := []byte(strings.Repeat("a ", 200))
		got, n := FoldedASCII(make([]uint64, 0, size), text)
		if want, _ := foldedPlain(nil, text); n != len(text) || !slices.Equal(got, want) {
			t.Fatalf("with room for %d: %d tokens of %d bytes", size, len(got), n)
		}
	}
}
