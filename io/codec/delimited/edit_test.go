package delimited

import (
	"bytes"
	"testing"

	"github.com/neardup/neardup/io/codec"
)

// Only the values of the text columns change. Quotes stay, and are added where a value needs them.
func TestEdit(t *testing.T) {
	for _, tt := range []struct{ header, record, want string }{
		{"id,text\n", "1,one\r\n", "1,ONE;\r\n"},
		{"text,id\n", "\"o\"\"ne\",\"1\"\n", "\"O\"\"NE;\",\"1\"\n"},
		{"id,text\n", "1,\n", "1,;\n"},
		{"id,text\n", "1,comma\n", "1,\"COMMA,;\"\n"},
		{"id,text,x\n", "1,line,\" a \"", "1,\"LINE\n;\",\" a \""},
		{"id,text\n", "1,\"open\n", ""},
	} {
		plain := NewCSV(codec.Fields{Text: []string{"text"}, ID: "id"})
		c, err := plain.WithHeader([]byte(tt.header))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := c.(codec.Editor).Edit(nil, []byte(tt.record), func(text []byte) []byte {
			text = bytes.ToUpper(text)
			switch string(text) {
			case "COMMA":
				text = append(text, ',')
			case "LINE":
				text = append(text, '\n')
			}
			return append(text, ';')
		})
		if ok != (tt.want != "") || string(got) != tt.want {
			t.Errorf("%q: %q, %t, want %q", tt.record, got, ok, tt.want)
		}
	}
}
