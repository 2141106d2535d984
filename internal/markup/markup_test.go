package markup

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// read returns the text that r reads from a page, or "none" if that has no such elements.
func read(r Reader, page string) string {
	const before = "before "
	text, found := r.Append([]byte(before), []byte(page))
	if !found {
		return "none"
	}
	return strings.TrimPrefix(string(text), before)
}

func TestHTML(t *testing.T) {
	for page, want := range map[string]string{
		"":                                       "",
		" \n":                                    "",
		"a  b\n\tc":                              "a b c",
		"<p>a</p>\n\n<p> b </p>":                 "a\nb",
		"a<br>b<br/>\n<br> c":                    "a\nb\nc",
		"<b>a</b>b <i> c</i>":                    "ab c",
		"a<script>x<p>y</script>b":               "ab",
		"a<script/>x</script>b":                  "ab",
		"<style>p{}</style><p>a<!-- x -->b":      "ab",
		"<noscript><p>x</p></noscript>a":         "a",
		"&lt;p&gt; &amp;amp; &eacute;&#8364;":    "<p> &amp; é€",
		"<pre>a\n  b</pre> c <pre>  d":           "a\n  b\nc\n  d",
		"<table><tr><td>a<td>b<tr><td>c</table>": "a b\nc",
		"<ul><li>a<li>b</ul>c":                   "a\nb\nc",
		"<title>a &amp; <b></title>b":            "a & <b>\nb",
		"a<textarea>b</textarea>c":               "a\nb\nc",
		"<p title='x > y'>a</p":                  "a",
		"<script>never closed":                   "",
		"a\u00a0b":                               "a\u00a0b",
	} {
		if got := read(Reader{}, page); got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}

func TestXML(t *testing.T) {
	for document, want := range map[string]string{
		"": "",
		"<?xml version='1.0'?>\n<!DOCTYPE d [<!ENTITY e \"<p>]>\"> <!-- don't -->]>\n<d>a &e; b</d>": "a &e; b",
		"<d><first>Ann</first><last>Lee</last></d>":                                                  "Ann\nLee",
		"H<sub>2</sub>O, <h:b>bold</h:b>ly":                                                          "H2O, boldly",
		"<d>a<!-- <b>x</b> -->b<?php echo '>' ?>c</d>":                                               "abc",
		"<d><![CDATA[a <b> &amp; c]]></d>":                                                           "a <b> &amp; c",
		"<d><script>x<y>z</y></script>a<x:style>b<x:style/><x:style>c</x:style>d</x:style>e</d>":     "ae",
		"<d><style/>a<script/>b</d>":                                                                 "a\nb",
		"&lt;p&gt; &amp;amp; &eacute;&#8364;&#x20AC; &none; & &;":                                    "<p> &amp; é€€ &none; & &;",
		"<d a='>' b=\"/>\">a</d>b":                                                                   "a\nb",
		"<plaintext>a<p>b</p></plaintext><title>c <i>d</i></title>":                                  "a\nb\nc d",
		"<d><pre>a\n  b</pre>  c</d>":                                                                "a\n  b\nc",
		"<tr><td>a</td><td>b</td></tr>":                                                              "a b",
		"a < b and <3 <é>c</é>":                                                                      "a < b and <3\nc",
		"<d>never <closed":                                                                           "never",
		"<d>never <!-- closed":                                                                       "never",
		"<d>never <![CDATA[closed":                                                                   "never closed",
		"<":                                                                                          "<",
	} {
		if got := read(Reader{XML: true}, document); got != want {
			t.Errorf("%q: %q, want %q", document, got, want)
		}
	}
}

// TestElements: the text of elements of a name; one inside another is a part of that.
func TestElements(t *testing.T) {
	const page = "<Title>T</Title>x<article>a <b>b</b><aside>c<article>d</article></aside>e</article> y <ARTICLE>f</article><article/>"
	for _, c := range []struct {
		reader     Reader
		page, want string
	}{
		{Reader{Element: "article"}, page, "a b\nc\nd\ne\nf"},
		{Reader{Element: "ARTICLE"}, page, "a b\nc\nd\ne\nf"},
		{Reader{Element: "article", First: true}, page, "a b\nc\nd\ne"},
		{Reader{Element: "title"}, page, "T"},
		{Reader{Element: "main"}, page, "none"},
		{Reader{Element: "script"}, "a<script>b</script>", ""},
		{Reader{Element: "p"}, "<p>a<p>b</p>c", "a\nb"},
		{Reader{Element: "td"}, "<tr><td>a</td><td>b", "a\nb"},
		{Reader{XML: true, Element: "article"}, page, "a b\nc\nd\ne"},
		{Reader{XML: true, Element: "ARTICLE"}, page, "f"},
		{Reader{XML: true, Element: "article", First: true}, "<article/><article>a</article>", ""},
		{Reader{XML: true, Element: "title"}, page, "none"},
		{Reader{XML: true, Element: "x:t"}, "<t>a</t><x:t>b</x:t><x:ti>c</x:ti>", "b"},
		{Reader{XML: true, Element: "style"}, "<d><style>Baroque <b>music</b></style> a</d>", "Baroque music"},
		{Reader{XML: true, Element: "i"}, "a<i>b</i>c<i> d</i>", "b\nd"},
	} {
		if got := read(c.reader, c.page); got != c.want {
			t.Errorf("%+v of %q: %q, want %q", c.reader, c.page, got, c.want)
		}
	}
}

func TestEncoding(t *testing.T) {
	for head, want := range map[string]string{
		"":                  "",
		"<p>charset=latin1": "",
		"<?xml version=\"1.0\" encoding='windows-1251' ?><d/>":                                    "windows-1251",
		"\n<?xml version=\"1.0\"?><html><meta charset=koi8-r>":                                    "koi8-r",
		"<!-- <meta charset=latin1> --><META CharSet=\"Shift_JIS\">":                              "Shift_JIS",
		"<meta name=a content=b><meta content='text/html; charset=big5' http-equiv=Content-Type>": "big5",
		"<meta name=description content='charset=big5'>":                                          "",
		"<\x00?\x00x\x00": "utf-16le",
		"\x00<\x00?":      "utf-16be",
		strings.Repeat(" ", 1<<10) + "<meta charset=latin1>": "",
	} {
		if got := Encoding([]byte(head)); got != want {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
}

// TestLongTags: a tag of any size has the effect that it has without its attributes, and so do the tags after it.
func TestLongTags(t *testing.T) {
	long := strings.Repeat(" a='>' b", longTag/8)
	for _, name := range []string{"b", "p", "td", "PRE", "script", "Style", "plaintext", "TextArea", "title", "xmp"} {
		for _, end := range []string{">", "/>", " c=\">\" >"} {
			for _, content := range []string{"", "one  &amp; <b>two</b> three", "<i" + long + ">"} {
				page := func(attributes string) []byte {
					return fmt.Appendf(nil, "<p>before<%s%s%s%s</%[1]s>\n  after <b a>that", name, attributes, end, content)
				}
				if got, want := read(Reader{}, string(page(long))), read(Reader{}, string(page(""))); got != want {
					t.Errorf("<%s ...%s%.40s: %.90q and not %.90q", name, end, content, got, want)
				}
			}
		}
	}
	if got := read(Reader{}, "<title><i"+long+">one</title>"); got != "<i"+long+">one" {
		t.Errorf("the content of a title is %.90q", got)
	}
}

// TestManyAttributes: attributes are not stored.
func TestManyAttributes(t *testing.T) {
	page := []byte("<p")
	for i := range 500_000 {
		page = fmt.Appendf(page, " %x", i)
	}
	page = append(page, ">text"...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, _ := Reader{}.Append(nil, page)
	runtime.ReadMemStats(&after)
	if allocated := int(after.TotalAlloc - before.TotalAlloc); string(text) != "text" || allocated > 12*len(page) {
		t.Errorf("%q; %d bytes were allocated for a tag of %d", text, allocated, len(page))
	}
}

// hostile returns large pages that are costly for a reader that stores open elements, or looks ahead for an end.
func hostile(size int) map[string]string {
	repeated := func(text string) string { return strings.Repeat(text, size/len(text)) }
	return map[string]string{
		"one tag":          "<p " + repeated("a='b' ") + ">",
		"open elements":    repeated("<b>"),
		"open lines":       repeated("<div>"),
		"scripts":          repeated("<script>"),
		"pre":              repeated("<pre> "),
		"unclosed tags":    repeated("<p "),
		"quotes":           repeated("<p '"),
		"less-than signs":  repeated("<"),
		"slashes":          repeated("</"),
		"comments":         repeated("<!--"),
		"sections":         repeated("<![CDATA["),
		"declarations":     repeated("<!a "),
		"brackets":         "<!DOCTYPE a [" + repeated("<!b "),
		"instructions":     repeated("<?"),
		"ampersands":       repeated("&"),
		"references":       repeated("&#x10FFFF;"),
		"long reference":   "&" + repeated("a") + ";",
		"a name":           "<" + repeated("a") + ">",
		"blanks":           repeated(" "),
		"cut in an entity": repeated("a ") + "&am",
	}
}

// TestHostile: the time for a page grows with its size, and the memory stays within a small multiple of it.
func TestHostile(t *testing.T) {
	const size = 1 << 20
	for name, page := range hostile(size) {
		for _, r := range []Reader{{}, {XML: true}, {Element: "b"}, {XML: true, Element: "b"}} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun := time.Now()
			r.Append(nil, []byte(page))
			took := time.Since(begun)
			runtime.ReadMemStats(&after)
			if most := 10 * time.Second; took > most {
				t.Errorf("%s, %+v: %v for %d bytes", name, r, took, size)
			}
			if allocated := int(after.TotalAlloc - before.TotalAlloc); allocated > 16*size {
				t.Errorf("%s, %+v: %d bytes were allocated for %d", name, r, allocated, size)
			}
		}
	}
}

// TestXMLAsAnother: for documents that encoding/xml reads, the text is the same except for white space.
func TestXMLAsAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var document strings.Builder
		var write func(depth int)
		write = func(depth int) {
			for range rapid.IntRange(0, 4).Draw(t, "pieces") {
				switch rapid.IntRange(0, 6).Draw(t, "piece") {
				case 0:
					document.WriteString("<!-- <" + rapid.StringMatching(`[a-z<>&' ]{0,5}`).Draw(t, "comment") + "-->")
				case 1:
					document.WriteString("<![CDATA[" + rapid.StringMatching(`[a-z<>&' ]{0,5}`).Draw(t, "data") + "]]>")
				case 2:
					document.WriteString("<?p " + rapid.StringMatching(`[a-z<>&' ]{0,5}`).Draw(t, "instruction") + "?>")
				case 3:
					name := rapid.SampledFrom([]string{"p", "b", "x:b", "pre", "td", "plaintext", "a-b.c"}).Draw(t, "name")
					attribute := rapid.SampledFrom([]string{"", " a='>'", " a = \"/>'\" "}).Draw(t, "attribute")
					if depth > 4 || rapid.Bool().Draw(t, "empty") {
						document.WriteString("<" + name + attribute + "/>")
						continue
					}
					document.WriteString("<" + name + attribute + ">")
					write(depth + 1)
					document.WriteString("</" + name + " >")
				default:
					document.WriteString(rapid.SampledFrom([]string{"a", " ", "é", "&lt;", "&#65;", "&#x20AC;", "&amp;", "\n", ">"}).Draw(t, "text"))
				}
			}
		}
		document.WriteString("<d>")
		write(0)
		document.WriteString("</d>")
		var want strings.Builder
		for d := xml.NewDecoder(strings.NewReader(document.String())); ; {
			token, err := d.RawToken()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := token.(xml.CharData); ok {
				want.Write(text)
			}
		}
		bare := func(text string) string { return strings.Join(strings.Fields(text), "") }
		if got := read(Reader{XML: true}, document.String()); bare(got) != bare(want.String()) {
			t.Errorf("%s: %q, want %q", document.String(), got, want.String())
		}
	})
}

// Fuzz checks that the text of UTF-8 is UTF-8, and no larger than the page and a line end per tag, and that the text of
// all elements of a name is a part of it.
func Fuzz(f *testing.F) {
	f.Add("<p>a<pre>b&amp;<script>c</script><!-- d --><td>e", "p")
	f.Add("<?xml version='1.0'?><d a='>'><![CDATA[a]]>&lt;<style>b</style></d>", "d")
	for _, page := range hostile(100) {
		f.Add(page, "b")
	}
	f.Fuzz(func(t *testing.T, page, element string) {
		for _, isXML := range []bool{false, true} {
			all, _ := Reader{XML: isXML}.Append(nil, []byte(page))
			if utf8.ValidString(page) && !utf8.Valid(all) {
				t.Errorf("%q of %q", all, page)
			}
			if placed, _ := (Reader{XML: isXML}).Placed([]byte(page)); !bytes.Equal(placed, all) {
				t.Errorf("%q with places, %q without", placed, all)
			}
			if len(all) > 2*len(page) {
				t.Errorf("%d bytes of %d: %q", len(all), len(page), page)
			}
			some, found := Reader{XML: isXML, Element: element}.Append(nil, []byte(page))
			if !found && len(some) > 0 {
				t.Errorf("%q of no element %q of %q", some, element, page)
			}
			if bytes.Contains(all, []byte("<script")) && !strings.Contains(page, "script") {
				t.Errorf("%q of %q", all, page)
			}
			Encoding([]byte(page))
		}
	})
}
