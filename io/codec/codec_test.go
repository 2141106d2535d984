package codec_test

import (
	"testing"

	"github.com/neardup/neardup/io/codec"
)

func TestTrimNewline(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "\n": "", "\r\n": "", "a\n": "a", "a\r\n": "a",
		"a\r": "a\r", "a\r\r\n": "a\r", "a\n\n": "a\n", "\r": "\r",
	} {
		if got := string(codec.TrimNewline([]byte(in))); got != want {
			t.Errorf("TrimNewline(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBOM(t *testing.T) {
	for _, c := range []struct {
		data  string
		atEOF bool
		n     int
		ok    bool
	}{
		{"", false, 0, false},
		{"", true, 0, true},
		{"\xEF", false, 0, false},
		{"\xEF", true, 0, true},
		{"\xEF\xBB", false, 0, false},
		{"\xEF\xBB\xBF", false, 3, true},
		{"\xEF\xBB\xBFx", false, 3, true},
		{"\xEF\xBBx", false, 0, true},
		{"x", false, 0, true},
	} {
		if n, ok := codec.BOM([]byte(c.data), c.atEOF); n != c.n || ok != c.ok {
			t.Errorf("BOM(%q, %v) = %d, %v, want %d, %v", c.data, c.atEOF, n, ok, c.n, c.ok)
		}
	}
}

func TestError(t *testing.T) {
	for want, err := range map[string]*codec.Error{
		"not an object":                  {Reason: codec.NotAnObject},
		"malformed JSON: column 3: oops": {Reason: codec.BrokenJSON, Detail: "column 3: oops"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%#v: got %q, want %q", err, got, want)
		}
	}
}

func TestResetKeepsMemory(t *testing.T) {
	doc := codec.Document{
		ID: []byte("id"), HasID: true, Text: []byte("text"), NoText: true, Nulls: 1,
		Value: codec.Value{Kind: codec.StringValue, Text: []byte("value")},
	}
	id, text, value := &doc.ID[0], &doc.Text[0], &doc.Value.Text[0]
	doc.Reset()
	if len(doc.ID) != 0 || doc.HasID || len(doc.Text) != 0 || doc.NoText || doc.Nulls != 0 || doc.Value.Kind != codec.NoValue || len(doc.Value.Text) != 0 {
		t.Errorf("not empty: %+v", doc)
	}
	if &doc.ID[:1][0] != id || &doc.Text[:1][0] != text || &doc.Value.Text[:1][0] != value {
		t.Error("memory not kept")
	}
}
