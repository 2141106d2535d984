package codectest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codec/delimited"
	"github.com/neardup/neardup/io/codec/jsonl"
	"github.com/neardup/neardup/io/codec/plaintext"
	"github.com/neardup/neardup/io/codec/sgml"
	"github.com/neardup/neardup/io/codectest"
)

// TestFormatsAgree writes thirty documents in every format and reads them back.
func TestFormatsAgree(t *testing.T) {
	var documents []codectest.Want
	for i := range 30 {
		documents = append(documents, codectest.Want{
			ID:   fmt.Sprintf("doc-%d", i),
			Text: strings.Repeat("ten o'clock in the morning, ", i%4) + fmt.Sprint(i*i),
		})
	}
	fields := codec.Fields{Text: []string{"text"}, ID: "id"}
	for _, format := range []struct {
		name   string
		codec  codec.Codec
		header string
		record string // of id and text
		noID   bool
	}{
		{"jsonl", jsonl.New(fields), "", `{"id":%[1]q,"text":%[2]q}` + "\n", false},
		{"json", jsonl.NewJSON(fields), "", "{\"id\": %[1]q,\n\t\"text\": %[2]q}\n", false},
		{"a json array", jsonl.NewJSON(fields), " [", "{\"id\": %[1]q,\n\t\"text\": %[2]q}, ", false},
		{"tsv", delimited.NewTSV(fields), "id\ttext\n", "%[1]s\t%[2]s\n", false},
		{"csv", delimited.NewCSV(fields), "id,text\n", "%[1]s,%[2]q\n", false},
		{"csv without a header", delimited.NewCSV(codec.Fields{Text: []string{"2"}, ID: "1", NoHeader: true, Delimiter: ';'}), "", "%[1]s;%[2]q\n", false},
		{"lines", plaintext.Lines(), "", "%[2]s\n", true},
		{"reuters", sgml.NewReuters(fields), "<!DOCTYPE lewis>\n", "<REUTERS OLDID=%[1]q><BODY>%[2]s</BODY></REUTERS>\n", false},
	} {
		t.Run(format.name, func(t *testing.T) {
			file := []byte(format.header)
			var want []codectest.Want
			for _, d := range documents {
				record := d
				record.Position = int64(len(file))
				if format.noID {
					record.ID = ""
				}
				want = append(want, record)
				file = fmt.Appendf(file, format.record, d.ID, d.Text)
			}
			codectest.Run(t, format.codec, file, want)
		})
	}
}

// TestValues checks what each format reads as the value of a column, into a document that had another value before.
func TestValues(t *testing.T) {
	number := func(text string) codec.Value { return codec.Value{Kind: codec.NumberValue, Text: []byte(text)} }
	str := func(text string) codec.Value { return codec.Value{Kind: codec.StringValue, Text: []byte(text)} }
	none := codec.Value{}
	json := func(value string) string { return `{"text": "a", "n": {"v": ` + value + `}}` }
	article := func(attributes, elements string) string {
		return `<REUTERS ` + attributes + `>` + elements + `<BODY>a</BODY></REUTERS>`
	}
	for _, c := range []struct {
		new    func(codec.Fields) codec.Codec
		column string
		header string
		record string
		want   codec.Value
	}{
		{jsonl.New, "n.v", "", json(`-9007199254740993`), number("-9007199254740993")},
		{jsonl.New, "n.v", "", json(`1.50e+3`), number("1.50e+3")},
		{jsonl.New, "n.v", "", json(`"15"`), str("15")},
		{jsonl.New, "n.v", "", json(`"\u00e9\n"`), str("é\n")},
		{jsonl.New, "n.v", "", json(`""`), str("")},
		{jsonl.New, "n.v", "", json(`null`), none},
		{jsonl.New, "n.v", "", json(`true`), none},
		{jsonl.New, "n.v", "", json(`[1]`), none},
		{jsonl.New, "n.v", "", json(`{}`), none},
		{jsonl.New, "n.v", "", `{"text": "a", "n": 1}`, none},
		{jsonl.New, "n.v", "", `{"text": "a", "n.v": 1, "n": {"v": 2}}`, number("1")},
		{jsonl.New, "text", "", json(`1`), str("a")},
		{delimited.NewTSV, "v", "v\ttext\n", "15\ta", number("15")},
		{delimited.NewTSV, "#2", "text\tv\n", "a\t2024-01-31\n", str("2024-01-31")},
		{delimited.NewTSV, "v", "text\tv\n", "a\t\n", none},
		{delimited.NewCSV, "v", "v,text\n", "\"15\",a", number("15")},
		{delimited.NewCSV, "v", "text,v\n", "a,\"\"\n", none},
		{sgml.NewReuters, "date", "", article(`NEWID="7"`, "<DATE>26-FEB-1987</DATE>"), str("26-FEB-1987")},
		{sgml.NewReuters, "newid", "", article(`OLDID="1" NEWID="7"`, ""), number("7")},
		{sgml.NewReuters, "topics", "", article(`TOPICS="YES"`, "<TOPICS>tea&amp;</TOPICS>"), str("tea&")},
		{sgml.NewReuters, "topics", "", article(`TOPICS="YES"`, ""), str("YES")},
		{sgml.NewReuters, "topics", "", article(``, "<TOPICS></TOPICS>"), none},
		{sgml.NewReuters, "date", "", article(``, "<DATE>not closed"), none},
		{sgml.NewReuters, "date", "", article(``, ""), none},
	} {
		with, err := c.new(codec.Fields{Text: []string{"text"}, ID: "id", Value: c.column}).WithHeader([]byte(c.header))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		doc := codec.Document{Value: number("used")}
		raw := []byte(c.record)
		err = with.Decode(raw, &doc)
		clear(raw) // anything that doc still shares with raw would be lost
		if err != nil || doc.Value.Kind != c.want.Kind || string(doc.Value.Text) != string(c.want.Text) || string(doc.Text) != "a" {
			t.Errorf("%s of %q: %d %q of %q, error %v, want %d %q", c.column, c.record, doc.Value.Kind, doc.Value.Text, doc.Text, err, c.want.Kind, c.want.Text)
		}
	}
	_, err := delimited.NewTSV(codec.Fields{Text: []string{"text"}, Value: "v"}).WithHeader([]byte("text\tw\n"))
	if want := `--keep: no column "v"; the columns are "text", "w"`; err == nil || err.Error() != want {
		t.Errorf("a table without the column: %v, want %s", err, want)
	}
}
