// Package jsonl reads JSON Lines, one JSON object per line, and JSON objects in an array or one after another.
//
// Lines end with LF or CRLF. Lines of white space are filler. The whole line must be valid by RFC 8259, so that later
// readers accept whatever this one accepts, but only the requested columns are decoded: one pass over the bytes, no
// maps, no allocation. If a key appears twice in an object, the last value wins, as in most readers.
package jsonl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/neardup/neardup/io/codec"
)

// New returns the codec that extracts the given columns from each object.
//
// A column is a key of the object, or a dotted path: "meta.title" is the key "meta.title" of the object or else the key
// "title" of the object under "meta". A path into an array leads into each of its elements, and the values found there
// are joined by spaces. A string is unescaped, with bytes that are not UTF-8 unchanged and a lone surrogate as the
// three bytes that UTF-8 would use for it, which are not valid UTF-8 either; a number is taken as written. A text
// column that is null or missing is empty, and if all are, there is no text; a value of another type makes the record
// unreadable. A missing or null id is no id; a value of another type makes the record unreadable. The value column is a
// JSON number or string; other types are no value.
func New(fields codec.Fields) codec.Codec { return newJSONL(fields) }

func newJSONL(fields codec.Fields) *jsonl {
	c := &jsonl{fields: fields}
	for _, name := range fields.Text {
		c.text = append(c.text, c.add(name))
	}
	if fields.ID != "" {
		c.hasID = true
		c.id = c.add(fields.ID)
	}
	if fields.Value != "" {
		c.hasValue = true
		c.value = c.add(fields.Value)
	}
	return c
}

type jsonl struct {
	codec.Lines
	fields   codec.Fields
	text     []column
	id       column
	hasID    bool
	value    column
	hasValue bool

	root  node // the requested keys
	slots int  // number of nodes that hold a column
}

// column holds the slots in which the value of a column may be found: under its name as one key, which has precedence,
// or under its name as a path. Without a dot, the two are the same.
type column struct{ key, path int }

func (c *jsonl) add(name string) column {
	return column{
		key:  c.slot(c.root.child(name)),
		path: c.slot(c.root.descend(strings.Split(name, "."))),
	}
}

// slot returns the slot for the values at n.
func (c *jsonl) slot(n *node) int {
	if n.slot == none {
		n.slot = c.slots
		c.slots++
	}
	return n.slot
}

func (*jsonl) Header(data []byte, atEOF bool) (int, bool) { return codec.BOM(data, atEOF) }

func (c *jsonl) WithHeader([]byte) (codec.Codec, error) { return c, nil }

// maxBlank bounds how far Start looks into a line to see if it is blank. A longer run of spaces begins a record;
// otherwise a file of spaces would have to be held in memory whole.
const maxBlank = 1024

// Start skips blank lines. A record begins at the start of its line, not at its brace: otherwise a split between the
// two would lose it.
func (*jsonl) Start(data []byte, atEOF bool) (n int, ok bool) {
	for i, b := range data {
		switch {
		case b == '\n':
			n = i + 1
		case b != ' ' && b != '\t' && b != '\r', i-n >= maxBlank:
			return n, true
		}
	}
	if atEOF {
		return len(data), false
	}
	return n, false
}

func (c *jsonl) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	var few [8]value
	found := few[:]
	if c.slots > len(few) {
		found = make([]value, c.slots)
	}
	line := codec.TrimNewline(record)
	var more []listed
	s := scanner{data: line, found: found, more: &more}
	if err := s.line(&c.root); err != nil {
		return err
	}
	if c.hasID {
		v := found[c.id.pick(found)]
		switch v.kind {
		case absent, spread:
			doc.MissingID = true
		case null:
		case str, number:
			doc.HasID = true
			doc.ID = v.appendTo(doc.ID, line)
		default:
			return &codec.Error{Reason: codec.IDNotString, Detail: "it is " + v.kind.String()}
		}
	}
	doc.NoText, doc.Plain = true, true
	for i, column := range c.text {
		between := c.fields.Between(i)
		if i > 0 {
			doc.NextColumn(between)
		}
		slot := column.pick(found)
		v := found[slot]
		if v.kind == absent {
			doc.Missing = append(doc.Missing, i)
		}
		if v.kind != array && v.kind != spread {
			if err := c.addText(doc, i, v, line); err != nil {
				return err
			}
			continue
		}
		first := true
		for _, l := range more {
			if l.slot != slot || l.kind == null {
				continue
			}
			if !first {
				doc.Text = append(doc.Text, between...)
			}
			first = false
			if err := c.addText(doc, i, l.value, line); err != nil {
				return err
			}
		}
	}
	if doc.NoText {
		doc.Text, doc.Ends = doc.Text[:0], doc.Ends[:0]
	}
	if c.hasValue {
		switch v := found[c.value.pick(found)]; v.kind {
		case number:
			doc.Value = codec.Value{Kind: codec.NumberValue, Text: v.appendTo(doc.Value.Text, line)}
		case str:
			doc.Value = codec.Value{Kind: codec.StringValue, Text: v.appendTo(doc.Value.Text, line)}
		}
	}
	return nil
}

// addText appends a value of the i-th text column to the text of doc.
func (c *jsonl) addText(doc *codec.Document, i int, v value, line []byte) error {
	switch v.kind {
	case absent, null:
	case str, number:
		doc.NoText = false
		doc.Plain = doc.Plain && !v.special
		from := len(doc.Text)
		if doc.Text = v.appendTo(doc.Text, line); c.fields.HasItems(i) {
			doc.Text = codec.EndItem(doc.Text, from)
		}
	default:
		return &codec.Error{Reason: codec.TextNotString, Detail: fmt.Sprintf("%q is %v", c.fields.Text[i], v.kind)}
	}
	return nil
}

// Columns returns the paths to the values of a record's object, in their order.
func Columns(record []byte) (paths []string) {
	for _, key := range eachKey(record) {
		paths = appendPaths(paths, key.name, key.value, 3)
	}
	return paths
}

// appendPaths appends the paths to the values below path, which has value. Objects deeper than depth are values, too.
func appendPaths(paths []string, path string, value json.RawMessage, depth int) []string {
	var elements []json.RawMessage
	if bytes.HasPrefix(value, []byte("[")) && json.Unmarshal(value, &elements) == nil && len(elements) > 0 {
		value = elements[0]
	}
	columns := eachKey(value)
	if len(columns) == 0 || depth == 0 {
		return append(paths, path)
	}
	for _, column := range columns {
		paths = appendPaths(paths, path+"."+column.name, column.value, depth-1)
	}
	return paths
}

// types are the JSON types (RFC 8259, section 3) by the first byte of a value; other values are numbers.
var types = map[byte]string{'"': "string", '{': "object", '[': "array", 't': "boolean", 'f': "boolean", 'n': "null"}

// Typed returns the keys of a record's object, in their order, with the types of their values.
func Typed(record []byte) (columns []codec.Column) {
	for _, key := range eachKey(record) {
		columns = append(columns, codec.Column{Name: key.name, Type: cmp.Or(types[key.value[0]], "number")})
	}
	return columns
}

type key struct {
	name  string
	value json.RawMessage
}

// eachKey returns the keys of an object, as far as it can be read; none for another value.
func eachKey(object []byte) (keys []key) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if brace, err := decoder.Token(); err != nil || brace != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		word, _ := decoder.Token()
		name, ok := word.(string)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil || !ok {
			return keys
		}
		keys = append(keys, key{name, value})
	}
	return keys
}

// pick returns the slot that has the value of a column.
func (c column) pick(found []value) int {
	if found[c.key].kind != absent {
		return c.key
	}
	return c.path
}
