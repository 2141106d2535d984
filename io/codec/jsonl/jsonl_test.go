package jsonl_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/jsonl"
	"github.com/neardup/neardup/io/codectest"
)

var defaults = codec.Fields{Text: []string{"text"}, ID: "id"}

func TestJSONL(t *testing.T) {
	const sample = `{"id": "a", "text": "one\ntwo"}` + "\n" + // 32 bytes
		"\n \t\n" + // 4: filler
		`{"id": 12.50, "text": "", "more": [1, {"text": 2}]}` + "\n" + // 52
		`  {"text": -1e5} ` + "\n" + // 18
		`{"id": "b", "text": "broken}` + "\n" + // 29
		`{"id": "c"}` + "\n" + // 12
		`["text"]` + "\n" + // 9
		`{"id": "d", "text": "last"}` + "\n"
	codectest.Run(t, jsonl.New(defaults), []byte(sample), []codectest.Want{
		{Position: 0, ID: "a", Text: "one\ntwo"},
		{Position: 36, ID: "12.50", Text: ""},
		{Position: 88, Text: "-1e5"},
		{Position: 106, Reason: codec.BrokenJSON},
		{Position: 135, ID: "c", NoText: true},
		{Position: 147, Reason: codec.NotAnObject},
		{Position: 156, ID: "d", Text: "last"},
	})
}

func TestColumns(t *testing.T) {
	for _, c := range []struct {
		text, id string // columns; the text columns are separated by commas
		line     string
		want     string // text, or id=text
	}{
		{"text", "id", `{"text":"a","id":"b"}`, "b=a"},
		{"text", "", `{"text":"a","id":"b"}`, "a"},
		{"text", "id", `{"text":"a","id":""}`, "=a"},
		{"text", "id", `{"text":"a","id":null}`, "a"},
		{"text", "id", `{"text":"a","id":12345678901234567890}`, "12345678901234567890=a"},
		{"text", "id", `{"text":"a","id":1,"id":null}`, "a"},
		{"title,text", "", `{"text":"a","title":"b"}`, "b a"},
		{"text,text", "text", `{"text":"a"}`, "a=a a"},

		// Of duplicate keys, the last counts.
		{"text", "", `{"text":"a","text":"b"}`, "b"},
		{"text", "", `{"text":[],"text":"b"}`, "b"},
		{"m.t", "", `{"m":{"t":"a"},"m":{"t":"b"}}`, "b"},
		{"m.t", "m.i", `{"m":{"t":"a","i":"1"},"m":{"t":"b"}}`, "b"},

		// Dotted paths.
		{"m.t", "", `{"m":{"t":"a","u":"b"},"t":"c"}`, "a"},
		{"m.t", "", `{"m.t":"a","m":{"t":"b"}}`, "a"},
		{"m.t", "", `{"m":{"t":"b"},"m.t":"a"}`, "a"},
		{"a.b.c.d", "a.b", `{"a":{"b":{"c":{"d":"e"}}},"a.b":1}`, "1=e"},
		{"a.b,a", "", `{"a":"x","a.b":"y"}`, "y x"},
		{"m.t", "", `{"m":[{"t":"b"}],"m":{"x":[{"t":"c"}],"t":"d"}}`, "d"},
		{".", "", `{"":{"":"a"}}`, "a"},
		{"t", "", `{"m":{"t":"b"},"t":"a"}`, "a"},

		// Escapes, also in keys.
		{"text", "", `{"\u0074e\u0078t":"a"}`, "a"},
		{"a\"b", "", `{"a\"b":"c"}`, "c"},
		{"text", "id", `{"text":"\"\\\/\b\f\n\r\t","id":"\u00E9"}`, "é=\"\\/\b\f\n\r\t"},
		{"text", "", `{"text":"\ud83d\ude00"}`, "😀"},
		{"text", "", `{"text":"\ud83d"}`, "\xED\xA0\xBD"},
		{"text", "", `{"text":"\ud83dx\ude00"}`, "\xED\xA0\xBDx\xED\xB8\x80"},
		{"text", "", `{"text":"\ud83d\ud83d\ude00"}`, "\xED\xA0\xBD😀"},
		{"text", "", `{"text":"\ud83d\u0041"}`, "\xED\xA0\xBDA"},
		{"text", "", `{"text":"\u0000"}`, "\x00"},
		{"text", "", `{"text":"\u09AF\u09af\ud800\uDFFF\udbff"}`, "\u09AF\u09AF\U000103FF\xED\xAF\xBF"},
		{"text", "", "{\"text\":\"\xFF\x80é\u2028\x7F\"}", "\xFF\x80é\u2028\x7F"},
	} {
		var doc codec.Document
		fields := codec.Fields{Text: strings.Split(c.text, ","), ID: c.id}
		if err := jsonl.New(fields).Decode([]byte(c.line), &doc); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		got := string(doc.Text)
		if doc.HasID {
			got = string(doc.ID) + "=" + got
		}
		if got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"a":1}}`, `malformed JSON: column 8: invalid character '}' after top-level value`},
		{`{"abc"}`, `malformed JSON: column 7: invalid character '}' after object key`},
		{`{"a":1 2}`, `malformed JSON: column 8: invalid character '2' after object key:value pair`},
		{`{"a":}`, `malformed JSON: column 6: invalid character '}' where a value must begin`},
		{`{'a':1}`, `malformed JSON: column 2: invalid character '\'' where a key in quotes must begin`},
		{`{"a":1,}`, `malformed JSON: column 8: invalid character '}' where a key in quotes must begin`},
		{`{"a":[1 2]}`, `malformed JSON: column 9: invalid character '2' after array element`},
		{`{"a":[1,]}`, `malformed JSON: column 9: invalid character ']' where a value must begin`},
		{`{"a":"b` + "\t" + `"}`, `malformed JSON: column 8: invalid character '\t' in string literal`},
		{`{"a":"\x"}`, `malformed JSON: column 8: invalid character 'x' in string escape code`},
		{`{"a":"\u12g4"}`, `malformed JSON: column 11: invalid character 'g' in \u hexadecimal character escape`},
		{`{"a":nul}`, `malformed JSON: column 9: invalid character '}' in literal null`},
		{`{"a":tRue}`, `malformed JSON: column 7: invalid character 'R' in literal true`},
		{`{"a":fals`, `malformed JSON: column 10: unexpected end of line`},
		{`{"a":-}`, `malformed JSON: column 7: invalid character '}' in numeric literal`},
		{`{"a":01}`, `malformed JSON: column 7: invalid character '1' after object key:value pair`},
		{`{"a":1.}`, `malformed JSON: column 8: invalid character '}' after decimal point in numeric literal`},
		{`{"a":1e+}`, `malformed JSON: column 9: invalid character '}' in exponent of numeric literal`},
		{"{\"a\":\xC3}", `malformed JSON: column 6: invalid character '\xc3' where a value must begin`},
		{`{"a`, `malformed JSON: column 4: unexpected end of line`},
		{"{\r\n", `malformed JSON: column 2: unexpected end of line`},
		{"   ", `malformed JSON: column 4: unexpected end of line`},
		{`[]`, `not an object: it is an array`},
		{`"text"`, `not an object: it is a string`},
		{` null `, `not an object: it is null`},
		{`{"text":true}`, `text is not a string: "text" is a boolean`},
		{`{"text":["a",true]}`, `text is not a string: "text" is a boolean`},
		{`{"text":[["a"],[{"b":"c"}]]}`, `text is not a string: "text" is an object`},
		{`{"text":"a","id":["b"]}`, `id is not a string or number: it is an array`},
		{`{"text":{"text":"a"}}`, `text is not a string: "text" is an object`},
		{`{"text":"a","id":false}`, `id is not a string or number: it is a boolean`},
		{`{"text":"a","id":{}}`, `id is not a string or number: it is an object`},
	} {
		var doc codec.Document
		err := jsonl.New(defaults).Decode([]byte(c.line), &doc)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %v", c.line, err, c.want)
		}
	}
}

// TestNoText checks that a null or missing column is empty, and that a record has no text if all its columns are.
func TestNoText(t *testing.T) {
	none := "none"
	for _, c := range []struct {
		text, line string
		want       string
		missing    []int
	}{
		{"text", `{}`, none, []int{0}},
		{"text", `{"Text":"a"}`, none, []int{0}},
		{"text", `{"text":null}`, none, nil},
		{"text", `{"text":"a","text":null}`, none, nil},
		{"text", `{"text":""}`, "", nil},
		{"m.t", `{"m.t":null,"m":{"t":"a"}}`, none, nil},
		{"m.t", `{"m":null}`, none, []int{0}},

		// If a later duplicate of the object lacks the path, the column is missing, whatever the earlier one had.
		{"m.t", `{"m":{"t":"a"},"m":{}}`, none, []int{0}},
		{"m.t", `{"m":{"t":"a"},"m":1}`, none, []int{0}},
		{"m.t", `{"m":[{"t":"a"}],"m":{}}`, none, []int{0}},
		{"m.t", `{"m":{"t":"a"},"m":[{"t":"b"}]}`, "b", nil},

		// The values of an array are joined by spaces.
		{"m.t", `{"m":[{"t":"a"},{"u":"b"},"c",{"t":null},{"t":1,"t":2},[{"t":["",["d"]]}]]}`, "a 2  d", nil},
		{"m.t", `{"m":[{"t":["a"],"t":["b","c"]},{"t":"d"}]}`, "b c d", nil},
		{"m.t", `{"m":[]}`, none, nil},
		{"text", `{"text":[]}`, none, nil},
		{"text", `{"text":[null,[]]}`, none, nil},
		{"title,tags,text", `{"tags":["a","b"],"text":"c"}`, " a b c", []int{0}},

		{"title,text", `{"text":"a"}`, " a", []int{0}},
		{"title,text", `{"text":"a","title":null}`, " a", nil},
		{"title,text", `{"text":"a","title":""}`, " a", nil},
		{"title,text", `{"title":"a","text":null}`, "a ", nil},
		{"title,m.t,text", `{"title":"a","m":1,"text":"b"}`, "a  b", []int{1}},
		{"title,text", `{"title":null}`, none, []int{1}},
		{"title,text", `{"title":"","text":null}`, " ", nil},
		{"title,text", `{}`, none, []int{0, 1}},
	} {
		var doc codec.Document
		if err := jsonl.New(codec.Fields{Text: strings.Split(c.text, ",")}).Decode([]byte(c.line), &doc); err != nil {
			t.Errorf("%s of %s: %v", c.text, c.line, err)
			continue
		}
		got := string(doc.Text)
		if doc.NoText {
			got += none
		}
		if got != c.want || !slices.Equal(doc.Missing, c.missing) {
			t.Errorf("%s of %s: text %q, missing %v; want %q, %v", c.text, c.line, got, doc.Missing, c.want, c.missing)
		}
	}
}

func TestKeys(t *testing.T) {
	for line, want := range map[string][]string{
		`{"id":1,"text":{"a":"b"},"m\u0041":[{"x":null}]}` + "\n":        {"id", "text.a", "mA.x"},
		`{"a":{},"b":[],"c":[[1],{"x":1}],"d":{"e":{"f":{"g":{"h":1}}}}`: {"a", "b", "c", "d.e.f.g"},
		"{": nil, "": nil, "[1]": nil,
		`{}`: nil,
	} {
		if got := jsonl.Columns([]byte(line)); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", line, got, want)
		}
	}
}

func TestManyColumns(t *testing.T) {
	var fields codec.Fields
	var line, want []byte
	for i := range 20 {
		key := strings.Repeat("k", i+1)
		fields.Text = append(fields.Text, key)
		line = append(line, `,"`+key+`":"`+key+`"`...)
		want = append(want, " "+key...)
	}
	line[0] = '{'
	var doc codec.Document
	if err := jsonl.New(fields).Decode(append(line, '}'), &doc); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(doc.Text, want[1:]) {
		t.Errorf("got %q, want %q", doc.Text, want[1:])
	}
}

func TestDepth(t *testing.T) {
	nested := func(depth int) []byte {
		return []byte(`{"text":"a","more":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "}")
	}
	c := jsonl.New(defaults)
	if err := c.Decode(nested(10000), new(codec.Document)); err != nil {
		t.Errorf("10000 deep: %v", err)
	}
	const want = "malformed JSON: column 10019: nested more than 10000 levels deep"
	if err := c.Decode(nested(10001), new(codec.Document)); err == nil || err.Error() != want {
		t.Errorf("10001 deep: got %v, want %v", err, want)
	}
}

// A blank line is filler unless it is long. Otherwise the window would grow with it.
func TestLongBlankLine(t *testing.T) {
	c := jsonl.New(defaults)
	for _, blanks := range []int{0, 1, 1000, 5000} {
		file := []byte("\n" + strings.Repeat(" ", blanks) + "\n" + `{"text":""}`)
		codectest.Invariants(t, c, file)
		wantRecord := blanks > 1024
		n, ok := c.Start(file[:len(file)-11], true)
		if ok != wantRecord || ok && n != 1 {
			t.Errorf("%d blanks: Start = %d, %v", blanks, n, ok)
		}
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	c := jsonl.New(codec.Fields{Text: []string{"title", "m.text"}, ID: "id"})
	line := []byte(`{"id":7,"title":"a\tb","m":{"text":"\u00e9","m":[1,null]},"k\u0065y":{}}` + "\n")
	var doc codec.Document
	if n := testing.AllocsPerRun(100, func() {
		if err := c.Decode(line, &doc); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per record", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 40)
	for name, text := range map[string]string{
		"plain":   text,
		"escaped": strings.ReplaceAll(text, ". ", `.\n\"`),
	} {
		b.Run(name, func(b *testing.B) {
			c := jsonl.New(defaults)
			line := []byte(`{"id":"7","url":"https://example.org/","text":"` + text + `","score":0.5}` + "\n")
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			var doc codec.Document
			for b.Loop() {
				if err := c.Decode(line, &doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestEnds checks that the ends of the text columns are recorded if there are several.
func TestEnds(t *testing.T) {
	var doc codec.Document
	for _, c := range []struct {
		columns    []string
		line, ends string
	}{
		{[]string{"a", "b", "c"}, `{"a":"one","b":"two","c":"three"}`, "\x03\x07"},
		{[]string{"a", "b"}, `{"a":"` + strings.Repeat("x", 200) + `","b":"two"}`, "\xC8\x01"},
		{[]string{"a", "b"}, `{"b":"two"}`, "\x00"},
		{[]string{"a", "b"}, `{"a":null}`, ""},
		{[]string{"a"}, `{"a":"one","b":"two"}`, ""},
	} {
		if err := jsonl.New(codec.Fields{Text: c.columns}).Decode([]byte(c.line), &doc); err != nil || string(doc.Ends) != c.ends {
			t.Errorf("%v of %s: ends %q, want %q; error %v", c.columns, c.line, doc.Ends, c.ends, err)
		}
	}
}

// TestPlainText checks that a text is plain if all its columns are.
func TestPlainText(t *testing.T) {
	for record, want := range map[string]bool{
		`{"a":"a\n\t\\ \"/\/\f\r","b":1}`: true, `{"a":"~\u007f"}`: false, `{"a":"é"}`: false, `{"a":"","b":"é"}`: false, `{"a":"é","b":""}`: false,
		`{"a":"\b"}`: false, `{"a":"\u0000"}`: false, `{"a":"` + strings.Repeat(".", 40) + `é` + strings.Repeat(".", 40) + `"}`: false,
		`{"a":"` + strings.Repeat(".", 40) + `","é":"é"}`: true, `{"a":"\\u0000\\b"}`: true, `{"a":null}`: true, `{"é":"é","a":"` + strings.Repeat(".", 40) + `"}`: true,
	} {
		var doc codec.Document
		if err := jsonl.New(codec.Fields{Text: []string{"a", "b"}}).Decode([]byte(record), &doc); err != nil || doc.Plain != want {
			t.Errorf("%s: plain %t, %v; want %t", record, doc.Plain, err, want)
		}
	}
}
