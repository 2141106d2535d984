package jsonl_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/jsonl"
	"github.com/neardup/neardup/io/codectest"
)

func TestJSON(t *testing.T) {
	const sample = "\n  {\n" + // 5 bytes
		" \"id\": 1, \"text\": \"a }, { \\\" \\\\\"\n}" + // 34
		"{\"text\":\"b\"}\n" + // 13
		"[1, [2]] 3.5 \"x, y\" null\n" + // 25
		"{\"text\":\"c\"}x\n" + // 14
		"{\"text\": {\"text\": [\"d\"]}}" // 25
	codectest.Run(t, jsonl.NewJSON(defaults), []byte(sample), []codectest.Want{
		{Position: 3, ID: "1", Text: `a }, { " \`},
		{Position: 39, Text: "b"},
		{Position: 52, Reason: codec.NotAnObject},
		{Position: 61, Reason: codec.NotAnObject},
		{Position: 65, Reason: codec.NotAnObject},
		{Position: 72, Reason: codec.NotAnObject},
		{Position: 77, Reason: codec.BrokenJSON},
		{Position: 91, Reason: codec.TextNotString},
	})
}

// TestLongGap checks that a long run of blanks belongs to the record after it.
func TestLongGap(t *testing.T) {
	blanks := strings.Repeat(" ", 10_000)
	codectest.Run(t, jsonl.NewJSON(defaults), []byte("{\"text\":\"a\"}"+blanks+"{\"text\":\"b\"}"), []codectest.Want{
		{Position: 0, Text: "a"}, {Position: 12 + 2000, Text: "b"},
	})
}

// TestDeep checks that a value nested a million levels deep is found without taking memory, and is rejected.
func TestDeep(t *testing.T) {
	const deep = 1_000_000
	record := []byte(`{"text":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}")
	c := jsonl.NewJSON(defaults)
	if n, _, ok := c.End(append(record, " {}"...), 0, false); !ok || n != len(record) {
		t.Errorf("ends at %d, %v, want %d", n, ok, len(record))
	}
	if allocs := testing.AllocsPerRun(1, func() { c.End(record, 0, true) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
	err := c.Decode(record, new(codec.Document))
	if err == nil || !strings.Contains(err.Error(), "nested more than 10000 levels deep") {
		t.Errorf("error %v", err)
	}
}

func TestInLines(t *testing.T) {
	for head, want := range map[string]bool{
		"":                                       false,
		"[{}]\n":                                 false,
		"{\"a\": [\"}\"]}\n{":                    true,
		"\xEF\xBB\xBF \n\r\n{\"a\":1} \r\n{":     true,
		"{\n\"a\":1}\n":                          false,
		"{\"a\":1} {}\n":                         false,
		"{}{}\n":                                 false,
		"{\"a\":1},\n{}":                         false,
		"{\"a\":\n":                              false,
		"{\"a\":1}":                              true,
		"{\"a\":1} ":                             true,
		"{\"a\":\"" + strings.Repeat("x", 1<<16): true,
		"1\n{}":                                  false,
	} {
		if got := jsonl.InLines([]byte(head)); got != want {
			t.Errorf("%.40q: %v, want %v", head, got, want)
		}
	}
}

func FuzzJSON(f *testing.F) {
	codectest.Fuzz(f, jsonl.NewJSON(defaults),
		"{\"text\":\"a\\\"}\"}\n\n \r\n{\"text\":[[1]]},{", "\xEF\xBB\xBF[{\"id\":\"a\"},\n1 {}{}\"\\\"]\"]")
}

// FuzzValues compares the records of a file with encoding/json: the objects of a valid array, or of a sequence of valid
// values.
func FuzzValues(f *testing.F) {
	f.Add(`[{"text":"a"}, {"text":["b"]} ]`)
	f.Add("{\"text\":\"]\"}{}\n\n{\"text\":\"\\\\\"}")
	f.Fuzz(func(t *testing.T, file string) {
		var want []json.RawMessage
		if json.Unmarshal([]byte(file), &want) != nil || want == nil { // encoding/json accepts null as an array
			want = nil
			for decoder := json.NewDecoder(strings.NewReader(file)); ; {
				var value json.RawMessage
				err := decoder.Decode(&value)
				if err == io.EOF {
					break
				}
				if err != nil || value[0] != '{' { // values that are not objects need not be separated
					return
				}
				want = append(want, value)
			}
		}
		c := jsonl.NewJSON(defaults)
		n, _ := c.Header([]byte(file), true)
		data := []byte(file)[n:]
		for _, value := range want {
			n, ok := c.Start(data, true)
			if n > 1000 {
				return // the gap is too long
			}
			data = data[n:]
			n, _, _ = c.End(data, 0, true)
			if !ok || string(data[:n]) != string(value) {
				t.Fatalf("%q: record %q, want %q", file, data[:n], value)
			}
			data = data[n:]
		}
		if n, ok := c.Start(data, true); ok {
			t.Fatalf("%q: another record, %q", file, data[n:])
		}
	})
}
