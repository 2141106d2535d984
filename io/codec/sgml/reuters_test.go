package sgml_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/sgml"
	"github.com/neardup/neardup/io/codectest"
)

// article returns an article in the format of the collection.
func article(oldID, text string) string {
	return `<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="` + oldID + `" NEWID="1">
<DATE>26-FEB-1987</DATE>
<TOPICS><D>cocoa</D><D>tea</D></TOPICS>
<TEXT` + text + `</TEXT>
</REUTERS>
`
}

func TestReuters(t *testing.T) {
	file := `<!DOCTYPE lewis SYSTEM "lewis.dtd">` + "\n"
	var want []codectest.Want
	add := func(record string, w codectest.Want) {
		w.Position = int64(len(file))
		want = append(want, w)
		file += record
	}
	add(article("5544", `>&#2;
<TITLE>BAHIA &amp; COCOA</TITLE>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Showers
continued &lt;throughout> the week &#3;</BODY>`), codectest.Want{ID: "5544", Text: "Showers\ncontinued <throughout> the week \x03"})
	file += "\n<!-- between -->\n"
	add(article("5545", ` TYPE="BRIEF"><TITLE>Short</TITLE>`), codectest.Want{ID: "5545", NoText: true})
	add(article("", `><BODY></BODY>`), codectest.Want{})
	add(article("5547", `><BODY>cut off`), codectest.Want{ID: "5547", Reason: codec.BrokenSGML})
	add(`<REUTERS OLDID="5548"><BODY>No end</BODY>`+"\n", codectest.Want{ID: "5548", Reason: codec.BrokenSGML})
	add(`<REUTERS OLDID="5549"`+"\n", codectest.Want{Reason: codec.BrokenSGML})
	add(article("5550", `><BODY>Last</BODY>`), codectest.Want{ID: "5550", Text: "Last"})
	codectest.Run(t, sgml.NewReuters(codec.Fields{}), []byte(file), want)
}

func TestColumns(t *testing.T) {
	long := article("5544", `><TITLE>T</TITLE><AUTHOR>By &apos;A&apos;</AUTHOR><BODY>B</BODY>`)
	for _, c := range []struct {
		text, id string // columns; the text columns are separated by commas
		want     string
	}{
		{"", "", "5544=B"},
		{"text", "id", "5544=B"},
		{"body", "OLDID", "5544=B"},
		{"Title,BODY", "newid", "1=T B"},
		{"title,text", "CgiSplit", "TRAINING-SET=T B"},
		{"title,dateline,body", "", "5544=T  B"},
		{"author", "", "5544=By 'A'"},
		{"topics", "", "5544= cocoa  tea "},
		{"d", "", "5544=cocoa"},
		{"dateline,companies", "", "5544=none"},
		{"body", "csecs", "B"},
		{"body", "ID", "B"}, // no such attribute
	} {
		fields := codec.Fields{ID: c.id}
		if c.text != "" {
			fields.Text = strings.Split(c.text, ",")
		}
		var doc codec.Document
		if err := sgml.NewReuters(fields).Decode([]byte(long), &doc); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		got := string(doc.Text)
		if doc.NoText {
			got += "none"
		}
		if doc.HasID {
			got = string(doc.ID) + "=" + got
		}
		if got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// TestMissing checks that an element which an article lacks is distinguished from an empty one, except for the default
// element.
func TestMissing(t *testing.T) {
	record := []byte(article("5544", `><TITLE></TITLE>`))
	for _, c := range []struct {
		text, want string
		missing    []int
	}{
		{"text", "none", nil},
		{"body", "none", []int{0}},
		{"title", "", nil},
		{"body,title,text", "  ", []int{0}},
	} {
		var doc codec.Document
		if err := sgml.NewReuters(codec.Fields{Text: strings.Split(c.text, ",")}).Decode(record, &doc); err != nil {
			t.Fatal(err)
		}
		got := string(doc.Text)
		if doc.NoText {
			got += "none"
		}
		if got != c.want || !slices.Equal(doc.Missing, c.missing) {
			t.Errorf("%s: text %q, missing %v; want %q, %v", c.text, got, doc.Missing, c.want, c.missing)
		}
	}
	if got, want := sgml.Columns(record), "TITLE"; !slices.Contains(got, want) || slices.Contains(got, "BODY") || slices.Contains(got, "REUTERS") {
		t.Errorf("elements %q, want %s among them and no others", got, want)
	}
}

func TestAttributes(t *testing.T) {
	for tag, want := range map[string]string{
		`OLDID="1"`:                 "1",
		`OLDID='1'`:                 "1",
		`OLDID=1`:                   "1",
		`OLDID = "1" NEWID="2"`:     "1",
		`NEWID=2 OLDID=1`:           "1",
		"NEWID=\"2\"\nOLDID=\"1\"":  "1",
		`NEWID="OLDID=3" oldid="1"`: "1",
		`OLDID="a&amp;b"`:           "a&b",
		`OLDID="1" OLDID="2"`:       "1",
		`XOLDID="2"`:                "",
		`OLDID=""`:                  "",
		`OLDID=`:                    "",
		`OLDID`:                     "",
		`NEWID="2"`:                 "",
		`NEWID="2 OLDID=1`:          "",
	} {
		var doc codec.Document
		if err := sgml.NewReuters(codec.Fields{}).Decode([]byte("<REUTERS "+tag+"></REUTERS>"), &doc); err != nil {
			t.Errorf("%s: %v", tag, err)
		}
		if string(doc.ID) != want || doc.HasID != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", tag, doc.ID, doc.HasID, want)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"a&lt;b&gt;&amp;&quot;&apos;": `a<b>&"'`,
		"&amp;lt;":                    "&lt;",
		"&#65;&#x42;&#X63;&#127;":     "ABc\x7F",
		"&#252;&#x20AC;&#1114111;":    "ü€\U0010FFFF",
		"&#x110000;&#xD800;":          "&#x110000;&#xD800;",
		"&#;&#x;&#-1;&#+1;&#1_0;&;":   "&#;&#x;&#-1;&#+1;&#1_0;&;",
		"&LT;&nbsp;AT&T & Co":         "&LT;&nbsp;AT&T & Co",
		"&#65":                        "&#65",
		"&#99999999999999999999;":     "&#99999999999999999999;",
		"M\xFCnchen":                  "München",
		"\x80\xFF":                    "\u0080ÿ",
		"a<D>b</D>c":                  "a b c",
		"1 < 2 > 1, <-, </, <a, <<D>": "1 < 2 > 1, <-, </, <a, < ",
	} {
		var doc codec.Document
		record := "<REUTERS ><BODY>" + in + "</BODY></REUTERS>"
		if err := sgml.NewReuters(codec.Fields{}).Decode([]byte(record), &doc); err != nil {
			t.Errorf("%s: %v", in, err)
		} else if string(doc.Text) != want {
			t.Errorf("%s: got %q, want %q", in, doc.Text, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for record, want := range map[string]string{
		`<REUTERS OLDID="1"`:                 "malformed SGML: the tag <REUTERS is not closed",
		`<REUTERS ><BODY></BODY>`:            "malformed SGML: no </REUTERS>",
		`<REUTERS ><BODY></REUTERS>`:         "malformed SGML: no </BODY>",
		`<REUTERS ><BODY </REUTERS>`:         "malformed SGML: the tag <BODY is not closed",
		`<REUTERS ><BODYX><BODY>b</REUTERS>`: "malformed SGML: no </BODY>",
		`<REUTERS ><BODY>b</REUTERS></BODY>`: "malformed SGML: no </BODY>",
	} {
		err := sgml.NewReuters(codec.Fields{}).Decode([]byte(record), new(codec.Document))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %v", record, err, want)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		data  string
		atEOF bool
		n     int
		ok    bool
	}{
		{"<!DOCTYPE lewis>\n<REUTERS ", false, 17, true},
		{"<!DOCTYPE lewis>\r\n", false, 18, true},
		{"<!DOCTYPE lewis>", false, 16, false},
		{"<!DOCTYPE lewis>\r", false, 17 - 1, false},
		{"<!DOCTYPE lewis>", true, 16, true},
		{"<!DOCTYPE lewis", false, 0, false},
		{"<!DOCTYPE lewis", true, 15, true},
		{"<!DOCTYPE lewis\n<REUTERS ", false, 16, true},
		{"<REUTERS >", false, 0, true},
		{"\xEF\xBB\xBF<!x>y", false, 7, true},
		{"\xEF\xBB\xBFy", true, 3, true},
		{"<", false, 0, false},
		{"<", true, 0, true},
	} {
		n, ok := sgml.NewReuters(codec.Fields{}).Header([]byte(c.data), c.atEOF)
		if ok != c.ok || ok && n != c.n {
			t.Errorf("Header(%q, %v) = %d, %v, want %d, %v", c.data, c.atEOF, n, ok, c.n, c.ok)
		}
	}
}

// Tags that are never closed cost no more than one look each.
func TestManyOpenTags(t *testing.T) {
	body := strings.Repeat("<a", 1<<20)
	var doc codec.Document
	if err := sgml.NewReuters(codec.Fields{}).Decode([]byte("<REUTERS ><BODY>"+body+"</BODY></REUTERS>"), &doc); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(doc.Text, []byte(body)) {
		t.Error("text differs")
	}
}

func FuzzReuters(f *testing.F) {
	codectest.Fuzz(f, sgml.NewReuters(codec.Fields{Text: []string{"title", "body"}}),
		"<!DOCTYPE lewis>\n"+article("1", "><BODY>b&#3;</BODY>")+"x"+article("2", ">"),
		"<REUTERS OLDID=1><BODY>a<D>\xFC</D></BODY></REUTERS>\r\n<REUTERS <REUTERS </REUTERS>\r",
		"\xEF\xBB\xBF<!DOCTYPE<REUTERS ></REUTERS></REUTERS>")
}

// FuzzText checks that a text, escaped by the rules, decodes to itself.
func FuzzText(f *testing.F) {
	f.Add("Grüße & <küsse> \x03")
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;")
	f.Fuzz(func(t *testing.T, text string) {
		var latin1 []byte
		var want strings.Builder
		for _, r := range text {
			if r > 0xFF {
				continue
			}
			want.WriteRune(r)
			latin1 = append(latin1, byte(r))
		}
		record := "<REUTERS ><BODY>" + escape.Replace(string(latin1)) + "</BODY></REUTERS>"
		var doc codec.Document
		if err := sgml.NewReuters(codec.Fields{}).Decode([]byte(record), &doc); err != nil {
			t.Fatal(err)
		}
		if string(doc.Text) != want.String() {
			t.Errorf("%q: got %q, want %q", record, doc.Text, want.String())
		}
	})
}

// TestEnds checks that the ends of the text elements are recorded if there are several.
func TestEnds(t *testing.T) {
	var doc codec.Document
	for _, c := range []struct {
		columns       []string
		content, ends string
	}{
		{nil, "<TITLE>one</TITLE><BODY>three</BODY>", ""},
		{[]string{"title", "body"}, "<TITLE>one</TITLE><BODY>three</BODY>", "\x03"},
		{[]string{"title", "body"}, "<BODY>three</BODY>", "\x00"},
		{[]string{"title", "body"}, "", ""},
	} {
		record := []byte("<REUTERS OLDID=\"1\">" + c.content + "</REUTERS>\n")
		if err := sgml.NewReuters(codec.Fields{Text: c.columns}).Decode(record, &doc); err != nil || string(doc.Ends) != c.ends {
			t.Errorf("%v of %s: ends %q, want %q; error %v", c.columns, record, doc.Ends, c.ends, err)
		}
	}
}
