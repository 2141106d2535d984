package jsonl

import (
	"slices"
	"testing"

	"github.com/neardup/neardup/io/codec"
)

// Two lists have the same text only if their items are equal, whatever the items contain.
func TestItems(t *testing.T) {
	c := New(codec.Fields{Text: []string{"a", "b"}, Items: true})
	for record, want := range map[string]string{
		`{"a":["x y","z"],"b":["w"]}`:    "x y\nz\nw\n",
		`{"a":["x y z"],"b":"w"}`:        "x y z\nw\n",
		`{"a":["x","",null,["y",1.50]]}`: "x\n\ny\n1.50\n",
		`{"a":["x\ny","x\\ny"]}`:         "x\\ny\nx\\\\ny\n",
		`{"a":[""]}`:                     "\n",
		`{"a":[],"b":null}`:              "",
	} {
		var doc codec.Document
		if err := c.Decode([]byte(record), &doc); err != nil || string(doc.Text) != want || doc.NoText != (want == "") {
			t.Errorf("%s: %q, %t, %v; want %q", record, doc.Text, doc.NoText, err, want)
		}
	}
	c = New(codec.Fields{Text: []string{"a", "b", "c"}, Values: 2, Items: true})
	var doc codec.Document
	err := c.Decode([]byte(`{"a":["x","y"],"b":["","z\nz"],"c":""}`), &doc)
	if string(doc.Text) != "x\ny\n  z\nz " || !slices.Equal(doc.Ends, []byte{4, 9}) || err != nil {
		t.Errorf("values: %q, %v, %v", doc.Text, doc.Ends, err)
	}
}
