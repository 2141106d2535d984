package jsonl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/jsonl"
	"github.com/neardup/neardup/io/codectest"
)

func FuzzJSONL(f *testing.F) {
	codectest.Fuzz(f, jsonl.New(defaults),
		"{\"text\":\"a\"}\n\n \r\n{\"text\":1}\r\n{",
		"\xEF\xBB\xBF{\"id\":\"a\"}\n\r")
}

// TestStringBytes puts each byte value at each place of a string that is scanned a word at a time.
func TestStringBytes(t *testing.T) {
	for size := range 20 {
		for at := range size {
			for b := range 256 {
				text := bytes.Repeat([]byte("."), size)
				text[at] = byte(b)
				agree(t, slices.Concat([]byte(`{"text":"`), text, []byte(`"}`)))
			}
		}
	}
}

// FuzzDecode compares the scanner with encoding/json: which input is valid, and the values of the columns.
func FuzzDecode(f *testing.F) {
	for _, line := range []string{
		`{"text":"a","id":1,"m":{"t":-0.5e+3,"x":[true,false,null,{}]},"m.t":"b"}`,
		`{"text":"\ud83d\ude00\ud83d\n\u0041","text":"\\\"","m":{"t":"a"},"m":{}}`,
		`{"text":["a",null,[1,"b"]],"m":[{"t":"c"},{"t":["d"],"t":"e"},3,[{"t":[]}]],"m.t":[]}`,
		`{"te\u0078t":"0123456789abcdef","id":{"a":[[]]}}`,
		" \t[1, 2.0E-1,\"\x7F\xFF\"]\r", `"a`, `{"":0e}`, `nul`, `-`, "",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(agree)
}

// agree checks that Decode and encoding/json read line in the same way.
func agree(t *testing.T, line []byte) {
	t.Helper()
	for _, fields := range []codec.Fields{
		{Text: []string{"text"}, ID: "id"},
		{Text: []string{"m.t", "text"}, ID: "m"},
	} {
		var got codec.Document
		err := jsonl.New(fields).Decode(line, &got)
		var unreadable *codec.Error
		reason := ""
		if errors.As(err, &unreadable) {
			reason = unreadable.Reason
		} else if err != nil {
			t.Fatalf("%q: error %v of type %T", line, err, err)
		}
		if valid := json.Valid(line); valid == (reason == codec.BrokenJSON) {
			t.Fatalf("%q: json.Valid says %v, Decode %v", line, valid, err)
		}
		if reason == codec.BrokenJSON || !utf8.Valid(line) {
			continue
		}
		want, wantReason := plain(line, fields)
		if reason != wantReason {
			t.Fatalf("%q %v: got reason %q, want %q", line, fields, reason, wantReason)
		}
		if got.HasID != want.HasID || !bytes.Equal(replaced(got.ID), want.ID) {
			t.Fatalf("%q %v: got id %q, want %q", line, fields, got.ID, want.ID)
		}
		if text := replaced(got.Text); reason == "" && (got.NoText != want.NoText || !bytes.Equal(text, want.Text)) {
			t.Fatalf("%q %v: got text %q (none: %v), want %q (%v)", line, fields, text, got.NoText, want.Text, want.NoText)
		}
	}
}

// replaced returns text with U+FFFD for each lone surrogate, as encoding/json does it.
func replaced(text []byte) (out []byte) {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if n == 1 && r == utf8.RuneError {
			n = 3
		}
		text = text[n:]
		out = utf8.AppendRune(out, r)
	}
	return out
}

// plain decodes as Decode does, but in the simplest way.
func plain(line []byte, fields codec.Fields) (doc codec.Document, reason string) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		panic(err)
	}
	top, ok := v.(map[string]any)
	if !ok {
		return doc, codec.NotAnObject
	}
	find := func(name string) any {
		if v, ok := top[name]; ok {
			return v
		}
		return follow(top, strings.Split(name, "."))
	}
	switch id := find(fields.ID).(type) {
	case nil, spread:
	case string:
		doc.ID, doc.HasID = []byte(id), true
	case json.Number:
		doc.ID, doc.HasID = []byte(id), true
	default:
		return doc, codec.IDNotString
	}
	var texts []string
	doc.NoText = true
	for _, name := range fields.Text {
		var joined []string
		for _, v := range flat(find(name)) {
			switch text := v.(type) {
			case nil:
				continue
			case string:
				joined = append(joined, text)
			case json.Number:
				joined = append(joined, text.String())
			default:
				return doc, codec.TextNotString
			}
			doc.NoText = false
		}
		texts = append(texts, strings.Join(joined, " "))
	}
	if !doc.NoText {
		doc.Text = []byte(strings.Join(texts, " "))
	}
	return doc, ""
}

// spread holds the values that a path leads to through arrays.
type spread []any

// follow returns the value at path below v, or nil if there is none.
func follow(v any, path []string) any {
	if len(path) == 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		return follow(v[path[0]], path[1:])
	case []any:
		found := spread{}
		for _, element := range v {
			found = append(found, follow(element, path))
		}
		return found
	}
	return nil
}

// flat returns the values in v, which may or may not be an array.
func flat(v any) []any {
	var elements []any
	switch v := v.(type) {
	case []any:
		elements = v
	case spread:
		elements = v
	default:
		return []any{v}
	}
	var all []any
	for _, element := range elements {
		all = append(all, flat(element)...)
	}
	return all
}
