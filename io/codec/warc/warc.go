// Package warc reads the records of WARC/1.0 and 1.1 (ISO 28500), and therefore of WET files.
//
// A record extends from the line "WARC/1.…" to the next one: its header, as much content as Content-Length states, and
// line ends. If other data follows, or the header is damaged, the record is unreadable and ends before the next line
// that begins with "WARC/1.", so that a length that is too large swallows no other record. If a record ends where
// another one does, other evidence decides whether it swallowed that one or quotes it (see taken).
//
// Records of type response, resource and conversion are documents. Others are copied with the file (see Besides).
package warc

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/neardup/neardup/io/codec"
)

// version is the beginning of each record.
const version = "WARC/1."

// New returns the codec of WARC.
//
// The text column "text", or none, means the text of the record: for HTML, what the page displays (internal/markup);
// for plain text, all of it, decoded from its character set; for a conversion to plain text, its bytes unchanged. A
// record of another type has no such text. Other columns name fields of the record's header, in upper or lower case:
// WARC-Target-URI, WARC-Date. The id is the value of such a field; none, or "id", means WARC-Record-ID.
func New(fields codec.Fields) codec.Codec {
	c := &records{text: fields.Text, id: fields.ID, value: fields.Value}
	if len(c.text) == 0 {
		c.text = []string{"text"}
	}
	if c.id == "" || c.id == "id" {
		c.id = "WARC-Record-ID"
	}
	return c
}

type records struct {
	codec.Sequential
	text      []string
	id, value string
}

func (c *records) WithHeader([]byte) (codec.Codec, error) { return c, nil }

// Start skips line ends before the first record; later line ends belong to the record before them.
func (*records) Start(data []byte, _ bool) (n int, ok bool) {
	n = lineEnds(data)
	return n, n < len(data)
}

// States of a record after its header, except the header's last byte. content is the state at the content's last byte;
// it is one more for each byte still to come.
const (
	searching codec.State = 1 + iota // for the next line that begins with version
	ending                           // after the content
	doubted                          // at the beginning of a record whose content may hold records
	content

	// holds is added if a line of the content begins with version: if the length is wrong, that line begins a record.
	holds codec.State = 1 << 62
)

// maxContent is larger than any file.
const maxContent = 1 << 60

func (*records) End(data []byte, state codec.State, atEOF bool) (n int, next codec.State, ok bool) {
	held := state & holds
	state -= held
	if state == doubted {
		return judge(data, atEOF)
	}
	if state == 0 {
		head, whole := headOf(data)
		if !whole && !atEOF && len(data) < codec.MaxHead && mayBegin(data) {
			return 0, 0, false
		}
		length, ok := head.length()
		if !ok {
			return search(data, 1, atEOF)
		}
		n, state = len(head)-1, content+codec.State(length)
	}
	if state >= content {
		remaining := int64(state-content) + 1
		take := int(min(remaining, int64(len(data)-n)))
		if holdsRecord(data[n:n+take], remaining == int64(take)) {
			held = holds
		}
		if remaining > int64(take) && !atEOF {
			take = max(0, take-len(mark)+1) // search again what a later byte may complete
			return n + take, held + state - codec.State(take), false
		}
		n += take
		state = ending
		if remaining > int64(take) {
			return wrong(data, n, held, atEOF)
		}
	}
	if state == ending {
		n += lineEnds(data[n:])
		switch {
		case bytes.HasPrefix(data[n:], []byte(version)), atEOF && n == len(data):
			if held != 0 {
				return ^n, doubted, true
			}
			return n, 0, true
		case !atEOF && mayBegin(data[n:]):
			return n, held + ending, false
		}
		return wrong(data, n, held, atEOF)
	}
	return search(data, n, atEOF)
}

// Unclosed reports a record too long for Decode that ends with the file and not where its header says.
func (*records) Unclosed(state codec.State, _ []byte, long bool) (what string, lost bool) {
	if !long || state == 0 {
		return "", false
	}
	return "the record that begins there has a wrong header or length, or is cut off", true
}

// wrong continues after data[:n], which shows that the record's length is wrong: from the record's beginning if its
// content may hold records.
func wrong(data []byte, n int, held codec.State, atEOF bool) (int, codec.State, bool) {
	if held != 0 {
		return ^n, searching, false
	}
	return search(data, n, atEOF)
}

// judge returns the end of the record at the beginning of data, which must be whole.
func judge(data []byte, atEOF bool) (int, codec.State, bool) {
	head, _ := headOf(data)
	length, _ := head.length()
	n := len(head) + int(length)
	n += lineEnds(data[n:])
	if _, ok := taken(head, data[len(head):n], int(length)); ok {
		return search(data, 1, atEOF)
	}
	return n, 0, true
}

// mark is the boundary of two records.
const mark = "\n" + version

// holdsRecord reports whether a line of the content data begins like a record, or may continue beyond its end to do so.
func holdsRecord(data []byte, atEnd bool) bool {
	for n := len(mark) - 1; atEnd && n > 1; n-- {
		if bytes.HasSuffix(data, []byte(mark[:n])) {
			return true
		}
	}
	return bytes.Contains(data, []byte(mark))
}

// search looks for the next record after data[:n].
func search(data []byte, n int, atEOF bool) (int, codec.State, bool) {
	n = min(n, len(data))
	if i := bytes.Index(data[n:], []byte(mark)); i >= 0 {
		return n + i + 1, 0, true
	}
	if atEOF {
		return len(data), searching, true
	}
	return max(n, len(data)-len(mark)+1), searching, false
}

// mayBegin reports whether data, as far as it goes, begins a record.
func mayBegin(data []byte) bool {
	return bytes.HasPrefix(data, []byte(version)) || bytes.HasPrefix([]byte(version), data)
}

func lineEnds(data []byte) int { return len(data) - len(bytes.TrimLeft(data, "\r\n")) }

// Besides reports whether record, which is whole, is not a document but is copied with the file: a warcinfo, request,
// metadata or revisit, or a type unknown to the standard. A damaged one is not Besides.
func Besides(record []byte) bool {
	head, _, err := split(record)
	return err == nil && !head.holdsDocument()
}

// Length returns the length of the record that data begins with, by its header and without the line ends after it.
func Length(data []byte) (length int64, ok bool) {
	if !bytes.HasPrefix(data, []byte(version)) {
		return 0, false
	}
	h, whole := headOf(data)
	n, ok := h.length()
	return int64(len(h)) + n, whole && ok
}

// CheckVersion returns an error if the file that begins with head has a version before 1.0, whose headers differ.
func CheckVersion(head []byte) error {
	head = head[lineEnds(head):]
	if !bytes.HasPrefix(head, []byte("WARC/0.")) {
		return nil
	}
	line, _, _ := bytes.Cut(head[:min(len(head), 20)], []byte("\n"))
	return fmt.Errorf("its records are %s; convert the file to WARC/1.0", bytes.Fields(line)[0])
}

func (c *records) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	head, content, err := split(record)
	id := head.get(c.id)
	doc.MissingID = id == nil
	if len(id) > 0 {
		doc.ID, doc.HasID = append(doc.ID, id...), true
	}
	if err != nil {
		return err
	}
	if c.value != "" {
		doc.Value = codec.Untyped(append(doc.Value.Text, head.get(c.value)...))
	}
	doc.NoText = true
	for i, name := range c.text {
		if i > 0 {
			doc.NextColumn(" ")
		}
		if !strings.EqualFold(name, "text") {
			value := head.get(name)
			if value == nil {
				doc.Missing = append(doc.Missing, i)
				continue
			}
			doc.Text, doc.NoText = append(doc.Text, value...), false
			continue
		}
		text, ok, err := appendText(doc.Text, head, content)
		if err != nil {
			doc.Text = doc.Text[:0]
			return err
		}
		if ok {
			doc.Text, doc.NoText = text, false
		}
	}
	if doc.NoText {
		doc.Text, doc.Ends = doc.Text[:0], doc.Ends[:0]
	}
	return nil
}

// Columns returns the columns of a record: its text and the fields of its header.
func Columns(record []byte) []string {
	if len(record) == 0 {
		return nil
	}
	return append([]string{"text"}, Fields(record)...)
}

// Fields returns the names of the fields in a record's header.
func Fields(record []byte) (names []string) {
	head, _ := headOf(record)
	for name := range head.fields() {
		names = append(names, string(name))
	}
	return names
}

// split splits a record into header and content.
func split(record []byte) (h header, content []byte, err error) {
	if !bytes.HasPrefix(record, []byte(version)) {
		return nil, nil, broken("it does not begin with %s", version)
	}
	h, whole := headOf(record)
	if !whole {
		return h, nil, broken("its header exceeds %d bytes", len(h))
	}
	length, ok := h.length()
	if !ok {
		return h, nil, broken("Content-Length is %q", bytes.Join(h.all("Content-Length"), []byte(", ")))
	}
	rest := record[len(h):]
	if int64(len(rest)) < length {
		return h, nil, broken("its content is %d bytes shorter than its Content-Length of %d",
			length-int64(len(rest)), length)
	}
	content, rest = rest[:length], rest[length:]
	if n := len(rest) - lineEnds(rest); n > 0 {
		return h, nil, broken("%d bytes follow its Content-Length of %d", n, length)
	}
	if at, ok := taken(h, record[len(h):], int(length)); ok {
		return h, nil, broken("its Content-Length of %d includes another record, which begins at byte %d of this one",
			length, len(h)+at)
	}
	return h, content, nil
}

func broken(format string, args ...any) error {
	return &codec.Error{Reason: codec.BrokenWARC, Detail: fmt.Sprintf(format, args...)}
}

// header is the header of a record or an HTTP message: a first line, fields, and an empty line.
type header []byte

// headOf returns the header that data begins with, and whether it has its empty line. A record's header ends before a
// line that begins another record, so that each byte is in only one header however many follow one another; it then
// lacks its last line end.
func headOf(data []byte) (header, bool) {
	data = data[:min(len(data), codec.MaxHead)]
	record := bytes.HasPrefix(data, []byte(version))
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return data, false
		}
		line := bytes.TrimSuffix(data[at:at+i], []byte("\r"))
		if at += i + 1; len(line) == 0 {
			return data[:at], true
		}
		if record && bytes.HasPrefix(data[at:], []byte(version)) {
			return data[:at-1], false
		}
	}
}

// fields yields names and values. A line that begins with a space or tab continues the value before it, but is not part
// of the value yielded.
func (h header) fields() func(yield func(name, value []byte) bool) {
	return func(yield func(name, value []byte) bool) {
		_, rest, _ := bytes.Cut(h, []byte("\n"))
		for line := range bytes.Lines(rest) {
			name, value, ok := bytes.Cut(line, []byte(":"))
			if ok && line[0] != ' ' && line[0] != '\t' && !yield(bytes.TrimRight(name, " \t"), bytes.TrimSpace(value)) {
				return
			}
		}
	}
}

// get returns the value of the first field called name, in upper or lower case; nil if there is none.
func (h header) get(name string) []byte {
	for n, value := range h.fields() {
		if strings.EqualFold(string(n), name) {
			return value[:len(value):len(value)]
		}
	}
	return nil
}

// all returns the values of all fields called name, in upper or lower case.
func (h header) all(name string) (values [][]byte) {
	for n, value := range h.fields() {
		if strings.EqualFold(string(n), name) {
			values = append(values, value)
		}
	}
	return values
}

// length returns the Content-Length of a record.
func (h header) length() (int64, bool) {
	if !bytes.HasPrefix(h, []byte(version)) || !bytes.HasSuffix(h, []byte("\n")) {
		return 0, false
	}
	return h.contentLength()
}

// contentLength returns the Content-Length, which must occur once, or several times with the same value.
func (h header) contentLength() (int64, bool) {
	values := h.all("Content-Length")
	for _, value := range values {
		if !bytes.Equal(value, values[0]) {
			return 0, false
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(values[0]), 10, 64) // accepts no sign
	return int64(n), err == nil && n < maxContent
}

// holdsDocument reports whether the record is of a type that holds documents.
func (h header) holdsDocument() bool {
	switch string(bytes.ToLower(h.get("WARC-Type"))) {
	case "response", "resource", "conversion":
		return true
	}
	return false
}
