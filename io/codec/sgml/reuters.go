// Package sgml reads the articles of Reuters-21578, which are written in simple SGML.
//
// A record is an article, from "<REUTERS " to "</REUTERS>" and the newline after it. An article that is not closed ends
// where the next one begins, so that a split which sees only that beginning agrees. The files have one byte per
// character, in ISO 8859-1, and are converted to UTF-8.
package sgml

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/codec"
)

const (
	articleOpen  = "<REUTERS "
	articleClose = "</REUTERS>"
)

// NewReuters returns the codec of Reuters-21578.
//
// Text columns name elements, in upper or lower case: BODY, TITLE, DATELINE, AUTHOR, TOPICS and so on. None, or "text",
// means BODY, which is then never among the Missing. An element that an article lacks is empty; an article that lacks
// all of them, as those of TYPE="BRIEF" and "UNPROC" lack BODY, has no text. If an element occurs twice, the first is
// taken. Each tag inside it becomes a space.
//
// The id names an attribute of REUTERS, in upper or lower case; none, or "id", means OLDID, the number of the article
// in the collection from which this one was made. An empty id is no id.
//
// The value is the element with the column's name or, if an article has none, the attribute: a number if it reads as
// one, and none if it is empty.
//
// The entities lt, gt, amp, quot and apos and numeric character references are decoded, even those for control
// characters: &#3; becomes U+0003. Other references stay as written.
func NewReuters(fields codec.Fields) codec.Codec {
	c := &reuters{id: "OLDID"}
	if fields.ID != "" && fields.ID != "id" {
		c.id = fields.ID
	}
	names := fields.Text
	if len(names) == 0 {
		names = []string{"text"}
	}
	for _, name := range names {
		c.text = append(c.text, newElement(name))
	}
	if fields.Value != "" {
		c.value, c.element = fields.Value, newElement(fields.Value)
	}
	return c
}

type reuters struct {
	text    []element
	id      string
	value   string // "" for none
	element element
}

// Header returns the doctype, up to its ">" and the newline after it. Declarations inside a doctype are filler.
func (*reuters) Header(data []byte, atEOF bool) (n int, ok bool) {
	bom, ok := codec.BOM(data, atEOF)
	if !ok {
		return 0, false
	}
	doctype := data[bom:]
	const mark = "<!"
	if len(doctype) < len(mark) && !atEOF {
		return 0, false
	}
	if !bytes.HasPrefix(doctype, []byte(mark)) {
		return bom, true
	}
	// An unclosed doctype must not swallow the first article.
	i := bytes.IndexAny(doctype[len(mark):], "<>")
	switch {
	case i < 0 && !atEOF:
		return 0, false
	case i < 0:
		return len(data), true
	case doctype[len(mark)+i] == '<':
		return bom + len(mark) + i, true
	}
	return withNewline(data, bom+len(mark)+i+1, atEOF)
}

func (c *reuters) WithHeader([]byte) (codec.Codec, error) { return c, nil }

func (*reuters) Start(data []byte, atEOF bool) (n int, ok bool) {
	if i := bytes.Index(data, []byte(articleOpen)); i >= 0 {
		return i, true
	}
	if atEOF {
		return len(data), false
	}
	// Keep what a later byte may complete.
	return max(0, len(data)-len(articleOpen)+1), false
}

// begun is the state after a record's own beginning has been searched.
const begun codec.State = 1

func (*reuters) End(data []byte, state codec.State, atEOF bool) (n int, next codec.State, ok bool) {
	end := bytes.Index(data, []byte(articleClose))
	before := data
	if end >= 0 {
		before = data[:end]
	}
	own := min(int(begun-state), len(before))
	if i := bytes.Index(before[own:], []byte(articleOpen)); i >= 0 {
		return own + i, 0, true
	}
	if end >= 0 {
		if n, ok := withNewline(data, end+len(articleClose), atEOF); ok {
			return n, 0, true
		}
		return end, begun, false
	}
	if atEOF {
		return len(data), 0, true
	}
	// Search again what a later byte may complete.
	n = max(0, len(data)-len(articleClose)+1)
	if n == 0 {
		return 0, state, false
	}
	return n, begun, false
}

// Unclosed returns "": an article that is not closed ends where the next begins.
func (*reuters) Unclosed(codec.State, []byte, bool) (what string, lost bool) { return "", false }

// Sync lets Start search from the first byte of the split.
func (*reuters) Sync(data []byte, _ bool) (n int, ok bool) { return 1, len(data) > 0 }

func (*reuters) Splittable() bool { return true }

func (*reuters) Separated() bool { return false }

func (c *reuters) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	attributes, content, ok := bytes.Cut(bytes.TrimPrefix(record, []byte(articleOpen)), []byte(">"))
	if !ok {
		return broken("the tag <REUTERS is not closed")
	}
	id := attribute(attributes, c.id)
	doc.MissingID = id == nil
	if len(id) > 0 {
		doc.ID = appendText(doc.ID, id)
		doc.HasID = true
	}
	content, _, ok = bytes.Cut(content, []byte(articleClose))
	if !ok {
		return broken("no " + articleClose)
	}
	doc.NoText = true
	for i, e := range c.text {
		if i > 0 {
			doc.NextColumn(" ")
		}
		inner, found, err := e.find(content)
		if err != nil {
			return err
		}
		switch {
		case found:
			doc.NoText = false
			doc.Text = appendText(doc.Text, inner)
		case !e.usual:
			doc.Missing = append(doc.Missing, i)
		}
	}
	if doc.NoText {
		doc.Text, doc.Ends = doc.Text[:0], doc.Ends[:0]
	}
	if c.value != "" {
		value, found, err := c.element.find(content)
		if !found || err != nil {
			value = attribute(attributes, c.value)
		}
		doc.Value = codec.Untyped(appendText(doc.Value.Text, value))
	}
	return nil
}

// withNewline returns n and the length of the newline at data[n:].
func withNewline(data []byte, n int, atEOF bool) (int, bool) {
	rest := data[n:]
	for _, newline := range []string{"\n", "\r\n"} {
		if bytes.HasPrefix(rest, []byte(newline)) {
			return n + len(newline), true
		}
	}
	if len(rest) == 0 || string(rest) == "\r" {
		return n, atEOF
	}
	return n, true
}

// attributes matches an attribute: its name, and its value in quotes of two kinds or without quotes.
var attributes = regexp.MustCompile(`([^=]*)=\s*(?:"([^"]*)"?|'([^']*)'?|([^\s"'][^ \t\r\n]*))`)

// attribute returns the value of the attribute called name, or nil.
func attribute(tag []byte, name string) []byte {
	for _, a := range attributes.FindAllSubmatch(tag, -1) {
		if strings.EqualFold(string(bytes.TrimSpace(a[1])), name) {
			return bytes.Join(a[2:], nil) // not nil
		}
	}
	return nil
}

// element finds the content of one kind of element.
type element struct {
	open, shut string
	usual      bool // the default, which nobody can have mistyped
}

func newElement(name string) element {
	name = strings.ToUpper(name)
	usual := name == "TEXT"
	if usual {
		// The element TEXT also holds the title and the dateline.
		name = "BODY"
	}
	return element{open: "<" + name, shut: "</" + name + ">", usual: usual}
}

var closing = regexp.MustCompile(`</([A-Za-z][A-Za-z0-9-]*)>`)

// Columns returns the names of the elements in a record, in the order in which they end.
func Columns(record []byte) (names []string) {
	for _, tag := range closing.FindAllSubmatch(record, -1) {
		if name := string(tag[1]); !slices.Contains(names, name) && name != "REUTERS" {
			names = append(names, name)
		}
	}
	return names
}

// Attributes returns the names of a record's attributes.
func Attributes(record []byte) (names []string) {
	tag, _, _ := bytes.Cut(bytes.TrimPrefix(record, []byte(articleOpen)), []byte(">"))
	for _, a := range attributes.FindAllSubmatch(tag, -1) {
		names = append(names, string(bytes.TrimSpace(a[1])))
	}
	return names
}

// find returns the content of the first such element in content.
func (e element) find(content []byte) (inner []byte, found bool, err error) {
	for {
		i := bytes.Index(content, []byte(e.open))
		if i < 0 {
			return nil, false, nil
		}
		content = content[i+len(e.open):]
		// <D and <DATE begin with the same characters.
		if len(content) > 0 && slices.Contains([]byte("> \t\r\n"), content[0]) {
			break
		}
	}
	_, content, ok := bytes.Cut(content, []byte(">"))
	if !ok {
		return nil, false, broken(fmt.Sprintf("the tag %s is not closed", e.open))
	}
	inner, _, ok = bytes.Cut(content, []byte(e.shut))
	if !ok {
		return nil, false, broken("no " + e.shut)
	}
	return inner, true, nil
}

func broken(detail string) error {
	return &codec.Error{Reason: codec.BrokenSGML, Detail: detail}
}
