package plaintext_test

import (
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/plaintext"
	"github.com/neardup/neardup/io/codectest"
)

func TestLines(t *testing.T) {
	codectest.Run(t, plaintext.Lines(), []byte("one\n\n  two \tthree\n\xFFnot UTF-8\nlast one\n"), []codectest.Want{
		{Position: 0, Text: "one"},
		{Position: 4, Text: ""},
		{Position: 5, Text: "  two \tthree"},
		{Position: 18, Text: "\xFFnot UTF-8"},
		{Position: 29, Text: "last one"},
	})
}

func TestFile(t *testing.T) {
	const text = "a file\n\nof three\nlines"
	codectest.Run(t, plaintext.File(), []byte(text), []codectest.Want{{Text: text}})
	if plaintext.File().Splittable() {
		t.Error("splittable")
	}
	if n, ok := plaintext.File().Sync([]byte("\nabc"), true); ok {
		t.Errorf("a record begins in a later split, at %d", n)
	}
}

func TestFileIsContentAsItStands(t *testing.T) {
	const content = "\xEF\xBB\xBFa\r\n"
	if n, ok := plaintext.File().Header([]byte(content), true); n != 0 || !ok {
		t.Errorf("the header has %d bytes (%v), want none: a mark is part of the document", n, ok)
	}
	var doc codec.Document
	if err := plaintext.File().Decode([]byte(content), &doc); err != nil || string(doc.Text) != content {
		t.Errorf("got %q, %v", doc.Text, err)
	}
}

func FuzzLines(f *testing.F) {
	codectest.Fuzz(f, plaintext.Lines(), "a\nb\r\n\n\r\n\r", "\xEF\xBB\xBF\n")
}

func FuzzFile(f *testing.F) {
	codectest.Fuzz(f, plaintext.File(), "\xEF\xBB\xBFa\n", "\xEF\xBB")
}
