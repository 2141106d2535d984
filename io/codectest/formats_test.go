package codectest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/codectest"
	"github.com/neardup/neardup/io/delimited"
	"github.com/neardup/neardup/io/jsonl"
	"github.com/neardup/neardup/io/plaintext"
	"github.com/neardup/neardup/io/sgml"
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
		{"tsv", delimited.NewTSV(fields), "id\ttext\n", "%[1]s\t%[2]s\n", false},
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
