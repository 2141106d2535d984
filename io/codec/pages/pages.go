// Package pages reads HTML and XML files. A file is one document, and its text is what it displays (internal/markup).
//
// If text columns are given, they name the elements whose texts are taken instead: in HTML in upper or lower case, in
// XML exactly as written. None, or "text", means the whole file.
//
// In XML, RECORD/ELEMENT makes each element RECORD a record, whose text is that of the elements ELEMENT in it; RECORD/*
// takes all of it. The bytes between records are filler, so a file without some of its records is still XML. A record
// within another is part of that one. A record that is not closed extends to the end of the file.
//
// The id and the value also name elements, of which the first is taken, or an attribute of a record. No id, or "id",
// means the attribute or element id of a record; a file then has no id.
package pages

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/markup"
	"github.com/neardup/neardup/io/codec"
)

// NewHTML returns the codec of HTML.
func NewHTML(fields codec.Fields) codec.Codec {
	return file{pageOf(fields, false)}
}

// NewXML returns the codec of XML.
func NewXML(fields codec.Fields) codec.Codec {
	p := pageOf(fields, true)
	if OneDocument(fields) {
		return file{p}
	}
	return &records{page: p, names: fields.Text}
}

// OneDocument reports whether a file of XML is one document.
func OneDocument(fields codec.Fields) bool {
	return !slices.ContainsFunc(fields.Text, func(name string) bool { return strings.Contains(name, "/") })
}

// page extracts texts from markup.
type page struct {
	codec.Sequential
	xml       bool
	record    string   // the element that is a record; "": the file is one
	text      []string // names of elements; "": all
	id, value string
}

func pageOf(fields codec.Fields, xml bool) page {
	p := page{xml: xml, value: fields.Value}
	for _, name := range fields.Text {
		record, element, ok := strings.Cut(name, "/")
		switch {
		case !xml || !ok:
			element = name
		default:
			p.record = record
		}
		if element == "*" || element == "text" && p.record == "" {
			element = ""
		}
		p.text = append(p.text, element)
	}
	if p.text == nil {
		p.text = []string{""}
	}
	switch {
	case fields.ID != "" && fields.ID != "id":
		p.id = fields.ID
	case p.record != "":
		p.id = "id"
	}
	return p
}

const mark = "\xEF\xBB\xBF"

func (p page) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	record = bytes.TrimPrefix(record, []byte(mark))
	id, found := p.first(doc.ID, record, p.id)
	doc.ID, doc.HasID, doc.MissingID = id, len(id) > 0, !found
	if p.value != "" {
		value, _ := p.first(doc.Value.Text, record, p.value)
		doc.Value = codec.Untyped(value)
	}
	doc.NoText = true
	for i, element := range p.text {
		if i > 0 {
			doc.NextColumn(" ")
		}
		if doc.Text, found = (markup.Reader{XML: p.xml, Element: element}).Append(doc.Text, record); found {
			doc.NoText = false
		} else {
			doc.Missing = append(doc.Missing, i)
		}
	}
	if doc.NoText {
		doc.Text, doc.Ends = doc.Text[:0], doc.Ends[:0]
	}
	return nil
}

// first appends the text of the attribute called name, or else of the first such element.
func (p *page) first(dst, record []byte, name string) (text []byte, found bool) {
	switch {
	case name == "":
		return dst, false
	case p.record != "":
		_, tag, _ := markup.XMLToken(record)
		if value, ok := attribute(tag, name); ok {
			text, _ := markup.Reader{XML: true}.Append(dst, value)
			return text, true
		}
	}
	return markup.Reader{XML: p.xml, Element: name, First: true}.Append(dst, record)
}

var attributes = regexp.MustCompile(`([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`)

// attribute returns the value of an attribute of a tag.
func attribute(tag []byte, name string) (value []byte, found bool) {
	for _, a := range attributes.FindAllSubmatch(tag[:min(len(tag), codec.MaxHead)], -1) {
		if string(a[1]) == name {
			return append(a[2], a[3]...), true
		}
	}
	return nil, false
}

// file is the codec of a file that is one document, which includes its byte order mark.
type file struct{ page }

func (c file) WithHeader([]byte) (codec.Codec, error) { return c, nil }

func (file) Start(data []byte, _ bool) (int, bool) { return 0, len(data) > 0 }

func (file) End(data []byte, _ codec.State, atEOF bool) (int, codec.State, bool) {
	return len(data), 0, atEOF
}

var tags = regexp.MustCompile(`<([\pL_][\pL\pN_.:-]*)`)

// Columns returns the names of the elements that begin in the first bytes of a record, in order.
func Columns(record []byte) (names []string) {
	for _, tag := range tags.FindAllSubmatch(record[:min(len(record), codec.MaxHead)], -1) {
		if name := string(tag[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// recordOf returns the record element in the names of text columns, which must all name the same one.
func recordOf(names []string) (string, error) {
	first, _, _ := strings.Cut(names[0], "/")
	for _, name := range names {
		record, element, _ := strings.Cut(name, "/")
		switch {
		case record == "" || element == "" || strings.Contains(element, "/"):
			return "", fmt.Errorf("--text %s: use RECORD/ELEMENT, or RECORD/* for the whole record", name)
		case record != first:
			return "", fmt.Errorf("--text %s, --text %s: only one element can be the record; begin both with the same element, "+
				"as in page/title and page/text",
				names[0], name)
		case len(record) > maxName:
			return "", fmt.Errorf("--text %.20s...: the name of a record may have at most %d bytes", name, maxName)
		}
	}
	return first, nil
}
