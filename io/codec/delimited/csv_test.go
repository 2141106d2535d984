package delimited_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/delimited"
	"github.com/neardup/neardup/io/codectest"
)

func TestCSV(t *testing.T) {
	const sample = "id,\"the \"\"title\"\"\",body\n" + // 24 bytes
		"7,A title,A body\n" + // 17
		"\n" + // 1: filler
		"\"\",\"quoted, \"\"twice\"\"\",\"two\nlines\"\n" + // 35
		",,\n" + // 3
		"9,too few\n" + // 10
		"10,too,many,\n" + // 13
		"11,a quote \" inside,\"\"\n" + // 23
		"12,\"closed\" early,x\n" + // 20
		"13,\"last\",\"\"\"\"\n"
	codectest.Run(t, delimited.NewCSV(codec.Fields{Text: []string{`the "title"`, "body"}, ID: "id"}), []byte(sample), []codectest.Want{
		{Position: 24, ID: "7", Text: "A title A body"},
		{Position: 42, Text: "quoted, \"twice\" two\nlines"},
		{Position: 77, Text: " "},
		{Position: 80, Reason: codec.WrongColumnCount},
		{Position: 90, Reason: codec.WrongColumnCount},
		{Position: 103, ID: "11", Text: `a quote " inside `},
		{Position: 126, Reason: codec.BrokenCSV},
		{Position: 146, ID: "13", Text: `last "`},
	})
}

// TestCSVReasons checks the reasons given for unreadable rows.
func TestCSVReasons(t *testing.T) {
	for row, want := range map[string]string{
		"a\n":             "wrong column count: 1, but column 2 is needed",
		"a;\"b\n":         "malformed CSV: a quote is not closed",
		"\"a\";\"b\"c;d":  `malformed CSV: "c;d" follows a closing quote`,
		"\"a\"\r\r\n":     `malformed CSV: "\r" follows a closing quote`,
		"a;\"b\"\"\n;c\n": "malformed CSV: a quote is not closed",
	} {
		c, err := delimited.NewCSV(codec.Fields{Text: []string{"2"}, Delimiter: ';', NoHeader: true}).WithHeader(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Decode([]byte(row), new(codec.Document)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", row, err, want)
		}
	}
}

// TestOtherDelimiter checks that a message names the delimiters that could be meant.
func TestOtherDelimiter(t *testing.T) {
	for _, c := range []struct {
		delimiter    byte
		header, want string
	}{
		{0, "id;text\r\n", `"id;text"; values may be separated by ';': use --delimiter ';'`},
		{0, "\xEF\xBB\xBFid\ttext\n", `"id\ttext"; values may be separated by '\t': use --delimiter tab`},
		{0, "a, b| text\n", `"a", " b| text"; values may be separated by '|': use --delimiter '|'`},
		{';', "id,text\n", `"id,text"; values may be separated by ',': use --delimiter ','`},
		{0, "id;body\n", `"id;body"; values may be separated by ';': use --delimiter ';'`},
		{0, "id;name,body\n", `"id;name", "body"`},
		{0, "id;\"te\"xt\n", `"id;\"te\"xt"`},
		{0, "'text',id\n", `"'text'", "id"`},
		{0, strings.Repeat("long name ", 99) + strings.Repeat(",", 30), `"` + strings.Repeat("long name ", 10) + `"` + strings.Repeat(`, ""`, 19) + ` and 11 more`},
	} {
		_, err := delimited.NewCSV(codec.Fields{Text: []string{"text"}, Delimiter: c.delimiter}).WithHeader([]byte(c.header))
		if want := `no text column "text"; the columns are ` + c.want; err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", c.header, err, want)
		}
		// Where a message proposes flags, it does not list similar column names.
		if none := (*codec.NoColumnError)(nil); errors.As(err, &none) == strings.Contains(c.want, "use --") {
			t.Errorf("%q: %T", c.header, err)
		}
	}
}

// TestJSON checks that a message about JSON read as a table proposes the format, and lists no columns.
func TestJSON(t *testing.T) {
	for header, format := range map[string]string{"{\"id\": 1, \"body\": \"a\"}\n": "jsonl", "\xEF\xBB\xBF[{\"id\": 1},\n": "json", "[\n": "json"} {
		_, err := delimited.NewCSV(codec.Fields{Text: []string{"text"}}).WithHeader([]byte(header))
		if want := `no text column "text"; the file looks like JSON: use --format ` + format; err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", header, err, want)
		}
	}
}

// TestCR checks that a file whose lines end with a lone CR is reported as such, unless the CR is in quotes or part of a
// CRLF.
func TestCR(t *testing.T) {
	for header, cr := range map[string]bool{
		"id,text\r1,a\r2,b\r": true, "text,id\r1,a": true, "\xEF\xBB\xBF\"id\",\"text\"\r\"1\",\"a\"\r": true,
		"id,text\r\n": false, "id,text\r": false, "id,\"two\rlines\",text\n": false, "id,text\r\r\n": false,
	} {
		for _, c := range []codec.Codec{
			delimited.NewCSV(codec.Fields{Text: []string{"#1"}}), delimited.NewTSV(codec.Fields{Text: []string{"#1"}}),
		} {
			if _, ok := c.Header([]byte(header), false); ok != cr && !strings.Contains(header, "\n") {
				t.Errorf("%q: the header is whole: %t", header, ok)
			}
			if _, err := c.WithHeader([]byte(header)); err != nil != cr && !strings.Contains(header, "two") ||
				cr && !strings.Contains(err.Error(), "lines end with CR alone") {
				t.Errorf("%q: error %v, want one: %t", header, err, cr)
			}
		}
	}
}

// TestManyValues checks that a row with very many values takes no memory for those nobody asked for.
func TestManyValues(t *testing.T) {
	c, err := delimited.NewCSV(codec.Fields{Text: []string{"text"}}).WithHeader([]byte("id,text,more\n"))
	if err != nil {
		t.Fatal(err)
	}
	row := bytes.Repeat([]byte(","), 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = c.Decode(row, new(codec.Document))
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(row)) {
		t.Errorf("%d bytes of memory for a row of %d", took, len(row))
	}
	if want := "wrong column count: 1048577, but the header has 3"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestNoHeader checks that without a header columns are named by number, and rows may have any length.
func TestNoHeader(t *testing.T) {
	for _, format := range []struct {
		new  func(codec.Fields) codec.Codec
		file string
	}{{delimited.NewTSV, "1\t2\n3\t4\t5\n"}, {delimited.NewCSV, "1,\"2\"\n3,4,5\n"}} {
		second := int64(strings.Index(format.file, "3"))
		codectest.Run(t, format.new(codec.Fields{Text: []string{"2", "#1"}, ID: "id", NoHeader: true}), []byte(format.file), []codectest.Want{
			{Text: "2 1"}, {Position: second, Text: "4 3"},
		})
		for _, fields := range []codec.Fields{{Text: []string{"text"}}, {Text: []string{"0"}}, {Text: []string{"1"}, ID: "key"}, {Text: []string{"1"}, Value: "v"}} {
			fields.NoHeader = true
			_, err := format.new(fields).WithHeader(nil)
			if want := "without a header, columns are numbered from 1"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v", fields, err)
			}
		}
	}
	if _, err := delimited.NewCSV(codec.Fields{}).WithHeader([]byte("a,\"b\"c\n")); err == nil || err.Error() != `header: malformed CSV: "c" follows a closing quote` {
		t.Errorf("a broken header: %v", err)
	}
}

func FuzzCSV(f *testing.F) {
	codectest.Fuzz(f, delimited.NewCSV(codec.Fields{Text: []string{"#1"}, ID: "id", Delimiter: ';'}),
		"id;text\n1;a\n\n\r\n\"2\";\"\nb\"\r\n3\n\r",
		"\xEF\xBB\xBF\"te\r\nxt\"\r\na\r\n \r\n\"\"\"a\";\r\r\n")
}

// FuzzRows compares the rows of a file, and their values, with encoding/csv.
func FuzzRows(f *testing.F) {
	f.Add("a,b\n\"c\n\",\"\"\"d\"\n\n,\n")
	f.Add("\"a\"\"b\"\n\"\"\n")
	f.Fuzz(func(t *testing.T, file string) { sameRows(t, file) })
}

// TestRows is FuzzRows with files made of few different characters.
func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameRows(t, rapid.StringOfN(rapid.SampledFrom([]rune(`",a`+"\n")), 0, 30, -1).Draw(t, "file"))
	})
}

func sameRows(t rapid.TB, file string) {
	t.Helper()
	if strings.ContainsAny(file, "\r") || strings.HasPrefix(file, "\xEF\xBB\xBF") {
		return // encoding/csv changes line ends in values, and takes a byte order mark for content
	}
	reader := csv.NewReader(strings.NewReader(file))
	reader.FieldsPerRecord = -1
	data := []byte(file)
	for {
		want, err := reader.Read()
		if errors.Is(err, csv.ErrBareQuote) || errors.Is(err, csv.ErrQuote) {
			return // encoding/csv goes on after errors in its own way, or rejects quotes in values
		}
		c := delimited.NewCSV(codec.Fields{NoHeader: true})
		n, ok := c.Start(data, true)
		if err == io.EOF {
			if ok {
				t.Fatalf("%q: another row, %q", file, data[n:])
			}
			return
		}
		if err != nil || !ok {
			t.Fatalf("%q: row %q, found %v, error %v", file, want, ok, err)
		}
		data = data[n:]
		n, _, _ = c.End(data, 0, true)
		var got []string
		for i := range want {
			with, err := delimited.NewCSV(codec.Fields{NoHeader: true, Text: []string{string(rune('1' + i%9))}}).WithHeader(nil)
			if i >= 9 || err != nil {
				return
			}
			var doc codec.Document
			if err := with.Decode(bytes.Clone(data[:n]), &doc); err != nil {
				t.Fatalf("%q: row %q: %v", file, data[:n], err)
			}
			got = append(got, string(doc.Text))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: row %q is %q, want %q", file, data[:n], got, want)
		}
		data = data[n:]
	}
}
