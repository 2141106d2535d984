package delimited_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/delimited"
	"github.com/neardup/neardup/io/codectest"
)

func TestTSV(t *testing.T) {
	const sample = "id\ttitle\tbody\n" + // 14 bytes
		"7\tA title\tA body\n" + // 17
		"\n" + // 1: filler
		"\t \"quoted\" \t\n" + // 13
		"\t\t\n" + // 3
		"9\ttoo few\n" + // 10
		"10\ttoo\tmany\t\n" + // 13
		"  \n" + // 3: a row with one value
		"11\tlast\tone\n"
	codectest.Run(t, delimited.NewTSV(codec.Fields{Text: []string{"title", "body"}, ID: "id"}), []byte(sample), []codectest.Want{
		{Position: 14, ID: "7", Text: "A title A body"},
		{Position: 32, Text: ` "quoted"  `},
		{Position: 45, Text: " "},
		{Position: 48, Reason: codec.WrongColumnCount},
		{Position: 58, Reason: codec.WrongColumnCount},
		{Position: 71, Reason: codec.WrongColumnCount},
		{Position: 74, ID: "11", Text: "last one"},
	})
}

func TestColumns(t *testing.T) {
	const row = "0\t1\t2\t3\n"
	for _, c := range []struct {
		header   string
		text, id string
		want     string // text, or id=text
	}{
		{"id\ttext\tb\tc\n", "text", "id", "0=1"},
		{"id\ttext\tb\tc\r\n", "c", "id", "0=3"},
		{"\xEF\xBB\xBFid\ttext\tb\tc", "id", "text", "1=0"},
		{"a\ttext\tb\tc\n", "text", "id", "1"}, // the default id column may be missing
		{"a\ttext\tb\tc\n", "text", "", "1"},
		{"a\t text \tb\tc\n", "text", "a", "0=1"},
		{"a\t text \ttext\tc\n", "text", "a", "0=2"},   // an exact match goes before a trimmed one
		{"a\t text \ttext\tc\n", " text ", "a", "0=1"}, // and both can be read
		{"a\ttext\tb\tc\n", "#4", "#1", "0=3"},
		{"a\t#4\tb\tc\n", "#4", "#1", "0=1"}, // a name goes before a number
		{"a\ta\tb\tc\n", "#2", "c", "3=1"},
		{"a\ta\ttext\tc\n", "text", "c", "3=2"}, // a duplicate name only matters if it is asked for
	} {
		with, err := delimited.NewTSV(codec.Fields{Text: []string{c.text}, ID: c.id}).WithHeader([]byte(c.header))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		var doc codec.Document
		if err := with.Decode([]byte(row), &doc); err != nil {
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

func TestColumnErrors(t *testing.T) {
	for _, c := range []struct{ header, text, id, want string }{
		{"a\tb\n", "text", "", `no text column "text"; the columns are "a", "b"`},
		{"a\tb\n", "a", "key", `no id column "key"; the columns are "a", "b"`},
		{"a\tb\n", "#3", "", `no text column "#3"; the columns are "a", "b"`},
		{"a\tb\n", "#0", "", `no text column "#0"; the columns are "a", "b"`},
		{"a\tb\n", "#x", "", `no text column "#x"; the columns are "a", "b"`},
		{"a\tb\n", "A", "", `no text column "A"; the columns are "a", "b"`},
		{"\n", "a", "", `no text column "a"; the columns are ""`},
		{"a\tb\ta\n", "a", "", `two columns are called "a"; name one by number: #1 or #3`},
		{"b\tid\tid\n", "b", "id", `two columns are called "id"; name one by number: #2 or #3`},
		{"id;text\n", "text", "", `no text column "text"; the columns are "id;text"; values may be separated by ';': use --format csv --delimiter ';'`},
		{"id,\"te\"\"xt\"\n", "te\"xt", "", `no text column "te\"xt"; the columns are "id,\"te\"\"xt\""; values may be separated by ',': use --format csv`},
		{"\"text\"\n", "text", "", `no text column "text"; the columns are "\"text\""`},
		{"b\t id\tid \n", "b", "id", `two columns are called "id"; name one by number: #2 or #3`},
	} {
		_, err := delimited.NewTSV(codec.Fields{Text: []string{c.text}, ID: c.id}).WithHeader([]byte(c.header))
		if err == nil || err.Error() != c.want {
			t.Errorf("header %q, text %q, id %q:\n got %v\nwant %v", c.header, c.text, c.id, err, c.want)
		}
	}
}

func TestColumnCountDetail(t *testing.T) {
	with, err := delimited.NewTSV(codec.Fields{Text: []string{"b"}}).WithHeader([]byte("a\tb\tc\n"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "wrong column count: 2, but the header has 3"
	if err := with.Decode([]byte("1\t2\n"), new(codec.Document)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

// Start must not take the CR of a blank line for a row just because the LF has not been read yet.
func TestStartAtCR(t *testing.T) {
	for _, c := range []struct {
		data  string
		atEOF bool
		n     int
		ok    bool
	}{
		{"\r", false, 0, false},
		{"\r\n", false, 2, false},
		{"\r\n\n\r", false, 3, false},
		{"\rx", false, 0, true},
		{"\n\r", true, 1, true},
	} {
		n, ok := delimited.NewTSV(codec.Fields{}).Start([]byte(c.data), c.atEOF)
		if n != c.n || ok != c.ok {
			t.Errorf("Start(%q, %v) = %d, %v, want %d, %v", c.data, c.atEOF, n, ok, c.n, c.ok)
		}
	}
}

// TSV has no null: an empty id means no id.
func TestEmptyID(t *testing.T) {
	with, err := delimited.NewTSV(codec.Fields{Text: []string{"text"}, ID: "id"}).WithHeader([]byte("id\ttext\n"))
	if err != nil {
		t.Fatal(err)
	}
	var doc codec.Document
	if err := with.Decode([]byte("\ta\n"), &doc); err != nil || doc.HasID {
		t.Errorf("got %+v, %v", doc, err)
	}
}

func FuzzTSV(f *testing.F) {
	codectest.Fuzz(f, delimited.NewTSV(codec.Fields{Text: []string{"#1", "text"}, ID: "id"}),
		"id\ttext\n1\ta\n\n\r\n2\tb\r\n3\n\r",
		"\xEF\xBB\xBFtext\r\na\r\n \r\n\r\r\n")
}

// FuzzDecode compares Decode with strings.Split.
func FuzzDecode(f *testing.F) {
	f.Add("1\tb\tc\r\n", 3, 1)
	f.Add("\t", 2, 1)
	f.Add("a\r", 2, 0)
	f.Fuzz(func(t *testing.T, line string, columns, text int) {
		if columns < 1 || columns > 100 || text < 0 || text >= columns {
			return
		}
		header := strings.Repeat("-\t", columns)[:2*columns-1]
		fields := codec.Fields{Text: []string{fmt.Sprint("#", text+1)}}
		with, err := delimited.NewTSV(fields).WithHeader([]byte(header))
		if err != nil {
			t.Fatal(err)
		}
		row := strings.Split(string(codec.TrimNewline([]byte(line))), "\t")
		var doc codec.Document
		err = with.Decode([]byte(line), &doc)
		if (err == nil) != (len(row) == columns) {
			t.Fatalf("%d columns, row %q: %v", columns, row, err)
		}
		if err == nil && string(doc.Text) != row[text] {
			t.Fatalf("row %q: got %q, want %q", row, doc.Text, row[text])
		}
	})
}

// TestEnds checks that the ends of the text columns are recorded if there are several.
func TestEnds(t *testing.T) {
	var doc codec.Document
	for columns, ends := range map[string]string{"a": "", "a b": "\x03", "b a": "\x05"} {
		c, err := delimited.NewTSV(codec.Fields{Text: strings.Fields(columns)}).WithHeader([]byte("a\tb\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Decode([]byte("one\tthree\n"), &doc); err != nil || string(doc.Ends) != ends {
			t.Errorf("%s: ends %q, want %q; error %v", columns, doc.Ends, ends, err)
		}
	}
}
