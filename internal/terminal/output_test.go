package terminal

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestOnScreen: however a text is split into writes, a terminal gets it masked, except for colours, line ends and tabs.
func TestOnScreen(t *testing.T) {
	passes := regexp.MustCompile(`^(\x1b\[(31|32|0)m|\n|\t)$`)
	parts := regexp.MustCompile(`\x1b\[(31|32|0)m|(?s:.)`)
	texts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{Red, Green, Reset, "\x1b[2J", "\x1b", "\n", "\t", "\r", "\u009b31m", "\u202e", "\xe2\x82"})))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(texts.Draw(t, "texts"), "") + "\n"
		var got bytes.Buffer
		w := onScreen(&got)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			if written, err := io.WriteString(w, rest[:n]); written != n || err != nil {
				t.Fatalf("%d of %d bytes, error %v", written, n, err)
			}
			rest = rest[n:]
		}
		want := parts.ReplaceAllStringFunc(text, func(part string) string {
			if passes.MatchString(part) {
				return part
			}
			return Mask(part)
		})
		if got.String() != want {
			t.Fatalf("%q becomes %q, want %q", text, got.String(), want)
		}
	})
}

// TestOutputOfFiles: a file and a pipe get the bytes unchanged.
func TestOutputOfFiles(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := io.WriteString(Output(write), "\x1b[2J\xff"); err != nil {
		t.Fatal(err)
	}
	write.Close()
	if got, err := io.ReadAll(read); err != nil || string(got) != "\x1b[2J\xff" {
		t.Errorf("%q, error %v", got, err)
	}
}
