package jsonl

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/io/codec"
)

// Only the strings of the text columns change, and they decode to what was written.
func TestEdit(t *testing.T) {
	for _, tt := range []struct{ record, want string }{
		{`{"text": "one"}` + "\r\n", `{"text": "ONE"}` + "\r\n"},
		{` {"x":"\u0061", "body":"b\/" ,"text" : "a\u00e9\"" } `, ` {"x":"\u0061", "body":"B/" ,"text" : "AÉ\"" } `},
		{`{"text":"first","text":"last"}`, `{"text":"first","text":"LAST"}`},
		{`{"text":null,"body":"x\n\t\u0001\ud800"}`, `{"text":null,"body":"X\n\t\u0001\ud800"}`},
		{`{"body":"x"}`, `{"body":"X"}`},
		{`{"text":5,"body":"x"}`, ""},
		{`{"text":["a"],"body":"x"}`, ""},
		{`{"text":`, ""},
	} {
		c := newJSONL(codec.Fields{Text: []string{"text", "body"}})
		columns := 0
		upper := func(text []byte) []byte {
			columns++
			if !utf8.Valid(text) { // a lone surrogate
				return append(bytes.ToUpper(text[:1]), text[1:]...)
			}
			return bytes.ToUpper(text)
		}
		got, ok := c.Edit([]byte("kept "), []byte(tt.record), upper)
		if ok != (tt.want != "") || string(got) != "kept "+tt.want {
			t.Errorf("%s: %s, %t, want %s", tt.record, got, ok, tt.want)
		}
		if ok && columns != 2 {
			t.Errorf("%s: %d columns", tt.record, columns)
		}
	}
}
