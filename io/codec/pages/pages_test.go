package pages_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/pages"
	"github.com/neardup/neardup/io/codectest"
)

func fields(id string, text ...string) codec.Fields { return codec.Fields{ID: id, Text: text} }

// besides returns what Want says of a record that pages.Besides reports: no text columns, and so no text.
func besides(at int) codectest.Want { return codectest.Want{Position: int64(at), NoText: true} }

func TestRecords(t *testing.T) {
	file := "<?xml version=\"1.0\"?>\n"
	want := []codectest.Want{besides(0)}
	add := func(record string, w codectest.Want) {
		w.Position = int64(len(file))
		want = append(want, w)
		file += record
	}
	file += "<dump>\n  "
	add("<page id=\"a\"><title>One</title><text>first &amp; <b>last</b></text></page>\n", codectest.Want{ID: "a", Text: "first & last"})
	file += "  <pages> <pagE></pagE> "
	add("<page\n><id>b</id><page id='c'><text>x</text></page><text>y</text><id>d</id></page >", codectest.Want{ID: "b", Text: "x\ny"})
	add("<page/>", codectest.Want{NoText: true})
	add("<!-- <page>no</page> -->", codectest.Want{NoText: true})
	file += "\n"
	add("<page a='/>' id=''><!-- </page> --><![CDATA[</page>]]><?p </page>?><text a=\"</page>\"/></page>\n", codectest.Want{Text: ""})
	add("<![CDATA[<page>]]>", codectest.Want{NoText: true})
	add("<page>&lt;3 < 4 <3 ' <text>é</text></page>\n", codectest.Want{Text: "é"})
	file += "</pages></dump>\n<page"
	codectest.Run(t, pages.NewXML(fields("", "page/text")), []byte(file), want)
}

func TestFile(t *testing.T) {
	const page = "<html><title>T</title><script>no</script><p id=a>one<p>two"
	codectest.Run(t, pages.NewHTML(fields("id")), []byte(page), []codectest.Want{{Text: "T\none\ntwo"}})
	codectest.Run(t, pages.NewHTML(fields("title", "P")), []byte(page), []codectest.Want{{ID: "T", Text: "one\ntwo"}})
	codectest.Run(t, pages.NewXML(fields("id")), []byte("<d><id>1</id><e/></d>"), []codectest.Want{{Text: "1"}})
}

func TestColumns(t *testing.T) {
	const record = "<page id='a' when=\"2024\" n=''><id>1</id><title>One &amp;</title><text>two</text><text>three</text><date>2025-01-31</date></page>"
	for _, c := range []struct {
		text, id, value string
		want            string // id=text, value
		missing         []int
	}{
		{"page/*", "", "", "a=1\nOne &\ntwo\nthree\n2025-01-31", nil},
		{"page/title,page/text", "title", "date", "One &=One & two\nthree 2025-01-31", nil},
		{"page/text", "id", "when", "a=two\nthree 2024", nil},
		{"page/text", "n", "n", "two\nthree", nil},
		{"page/body,page/title", "none", "none", " One &", []int{0}},
		{"page/body", "", "", "a=none", []int{0}},
		{"page/page", "", "", "a=1\nOne &\ntwo\nthree\n2025-01-31", nil},
		{"text", "", "", "1\nOne &\ntwo\nthree\n2025-01-31", nil},
		{"title", "date", "title", "2025-01-31=One & One &", nil},
	} {
		f := codec.Fields{Text: strings.Split(c.text, ","), ID: c.id, Value: c.value}
		with, err := pages.NewXML(f).WithHeader(nil)
		if err != nil {
			t.Fatal(err)
		}
		var doc codec.Document
		if err := with.Decode([]byte(record), &doc); err != nil {
			t.Fatal(err)
		}
		got := string(doc.Text)
		if doc.NoText {
			got += "none"
		}
		if doc.HasID {
			got = string(doc.ID) + "=" + got
		}
		if doc.Value.Kind != codec.NoValue {
			got += " " + string(doc.Value.Text)
		}
		if got != c.want || !slices.Equal(doc.Missing, c.missing) {
			t.Errorf("%+v: %q, missing %v", c, got, doc.Missing)
		}
	}
	if got := strings.Join(pages.Columns([]byte(record)), " "); got != "page id title text date" {
		t.Errorf("elements %s", got)
	}
}

// TestNames checks that names which do not identify one kind of record are rejected.
func TestNames(t *testing.T) {
	for text, ok := range map[string]bool{
		"page/text": true, "page/*,page/text": true, "text": true, "a,b": true,
		"/text": false, "page/": false, "page/a/b": false, "page/a,other/b": false, "page/a,text": false, "text,page/a": false,
		strings.Repeat("p", 1001) + "/*": false, strings.Repeat("p", 1000) + "/*": true,
	} {
		f := fields("", strings.Split(text, ",")...)
		if _, err := pages.NewXML(f).WithHeader(nil); (err == nil) != ok {
			t.Errorf("%.50q: %v", text, err)
		}
		if pages.OneDocument(f) != !strings.Contains(text, "/") {
			t.Errorf("%.50q: one document %v", text, pages.OneDocument(f))
		}
	}
}

// TestUnclosed checks that an element still open at the end of a file is reported, since it may have swallowed other
// records.
func TestUnclosed(t *testing.T) {
	c := pages.NewXML(fields("", "page/*"))
	for record, lost := range map[string]bool{
		"<page></page>": false, "<page/>": false, "<page></page>\r\n": false, "<!---->": false, "<?p?>": false, "<![CDATA[]]>": false,
		"<page>": true, "<page": true, "<page></page": true, "<page></pagE>": true, "<page><page></page>": true, "<page a='>": true,
		"<!--->": true, "<!-- -- >": true, "<![CDATA[]>": true, "<?p": true, "<page><!-- </page>": true,
	} {
		n, state, ok := c.End([]byte(record), 0, true)
		if _, got := c.Unclosed(state, nil, false); n != len(record) || !ok || got != lost {
			t.Errorf("%s: ends at %d, %v; lost %v, want %v", record, n, ok, got, lost)
		}
	}
}

func Fuzz(f *testing.F) {
	codectest.Fuzz(f, pages.NewXML(fields("", "page/text")),
		"<?xml?><d><page id='a'><text>b</text></page>\r\n<page/><!-- <page> --></d>",
		"<page><page a='>'/></page><![CDATA[<page>]]><page>", "<pag<page <page></pages></page\n>\r<page/\n")
}

// TestReferences checks that an attribute is decoded as a text is.
func TestReferences(t *testing.T) {
	for tag, want := range map[string]string{
		`id="a&amp;b"`: "a&b", `id = 'a"b'`: `a"b`, `xml:id="x" id="y"`: "y", `ID="x"`: "", `id=x`: "", `a="id='b'"`: "",
	} {
		var doc codec.Document
		if err := pages.NewXML(fields("", "page/*")).Decode(fmt.Appendf(nil, "<page %s></page>", tag), &doc); err != nil || string(doc.ID) != want {
			t.Errorf("%s: id %q, error %v, want %q", tag, doc.ID, err, want)
		}
	}
}
