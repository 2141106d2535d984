// Package codec says what a file format has to know: where records begin and end in a
// stream of bytes, and which document a record holds.
//
// A codec is pure: it sees slices of bytes and never a file, so the same code serves whole
// files, byte-range splits, compressed streams and archives. Records, the filler between
// them and the header tile a file: every byte belongs to exactly one of the three, which is
// what lets a corpus be written back byte for byte. Package codectest holds the suite every
// codec passes, and in it the smallest reader that uses one correctly.
package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Fields names what a codec takes out of a record. Column names mean what the format says:
// JSON keys or dotted paths, TSV column names, SGML elements and attributes.
type Fields struct {
	// Text lists the text columns in order; their values are joined by one space. One that a record
	// lacks is empty if another has text.
	Text []string
	// Values is how many of the last text columns are no text, but values that documents are matched by. A file may
	// lack them.
	Values int
	// ID is the id column; "" means the format's own default, or none.
	ID string
	// Value is the column whose value documents are ordered by; "" means none.
	Value string
	// Delimiter is the byte between two values of CSV; 0 means a comma. NoHeader says that the first line of
	// a table is a row.
	Delimiter byte
	NoHeader  bool
	// Items makes a line, as EndItem has it, of each value of the text columns, also of those in lists.
	Items bool
}

// NoColumnError says that a file has no column of a name, and which it has.
type NoColumnError struct {
	Kind    string // what it was to be: text, id or, to keep by, ""
	Name    string
	Columns []string
	// Reference: it was to be a column of what the input is compared with.
	Reference bool
}

func (e *NoColumnError) Error() string {
	return fmt.Sprintf("no %s %.100q; the columns are %s", ColumnOf(e.Kind), e.Name, Listed(e.Columns))
}

// ColumnOf is what a message calls a column of a kind.
func ColumnOf(kind string) string { return strings.TrimSpace(kind + " column") }

// Document is what Decode takes out of a record. Decode overwrites every field and reuses
// the slices, so a caller keeps one Document and copies what it wants to keep.
type Document struct {
	ID    []byte
	HasID bool
	Text  []byte
	// Plain says that Text is known to be ASCII without control characters but white space. It may be without that.
	Plain bool
	// Ends says where the text columns end in Text, all but the last, as uvarints: documents have the same
	// columns, byte for byte, if they have the same Text and Ends. Of one column it is empty.
	Ends []byte
	// Values are those that documents are matched by, as blocks.Document has them. Who reads the text columns sets them.
	Values []byte
	// NoText says that the record, though well formed, has no text at all: every text column is
	// missing or null. The document is not compared. An empty text is not NoText.
	NoText bool
	// Missing are the text columns, by their numbers in Fields.Text, that the record does not have.
	// One that is null, or whose name may go without, is not among them.
	Missing []int
	// MissingID says that the record, of a format where each has columns of its own, does not have the id column.
	MissingID bool
	// Value is that of the column asked for, typed where the format has types. A column that a
	// record lacks, or of a type without an order, is no value and never an error.
	Value Value
}

// Reset empties doc and keeps its memory. Decode begins with it.
func (doc *Document) Reset() {
	*doc = Document{ID: doc.ID[:0], Text: doc.Text[:0], Ends: doc.Ends[:0], Values: doc.Values[:0],
		Missing: doc.Missing[:0], Value: Value{Text: doc.Value.Text[:0]}}
}

// NextColumn ends a text column and begins another, which is set apart by Fields.Between.
func (doc *Document) NextColumn(between string) {
	doc.Ends = binary.AppendUvarint(doc.Ends, uint64(len(doc.Text)))
	doc.Text = append(doc.Text, between...)
}

// Between is what stands between two values of a text.
func (f *Fields) Between() string {
	if f.Items {
		return ""
	}
	return " "
}

var itemEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`)

// EndItem makes text[from:] an item, which is a line: line feeds and backslashes in it are \n and \\.
func EndItem(text []byte, from int) []byte {
	if item := text[from:]; bytes.ContainsAny(item, "\\\n") {
		text = append(text[:from], itemEscapes.Replace(string(item))...)
	}
	return append(text, '\n')
}

// State is what a codec knows of the part of a record that is searched: whether a quote is open, or how
// many brackets.
type State uint64

// MaxHead is the size in bytes of the longest head of a record that End waits for.
const MaxHead = 64 << 10

// Codec finds and reads the records of one format. A Codec is immutable: all methods may be
// called concurrently (Decode with distinct Documents).
//
// The searching methods take a window of the file, data, and whether the file ends with it.
// ok=false asks for a longer window, or at the end of the file says that there is nothing.
type Codec interface {
	// Header returns the length of what stands before the first record of a file and is no
	// filler: a byte order mark, a line of column names, a doctype. data begins the file.
	// ok is always true at the end of the file. A header has no upper length of its own; the
	// caller sets one.
	Header(data []byte, atEOF bool) (n int, ok bool)

	// WithHeader returns the codec for a file with this header, which is where column names
	// become indexes. An error names the missing column and lists those there are. An empty
	// header, as of an empty file, is no error.
	WithHeader(header []byte) (Codec, error)

	// Start finds the next record: data[n:] begins with it. data begins after the header, at
	// what Sync returned, after a record, or after what Start itself let go. With ok=false
	// the first n bytes are filler and can be dropped; at the end of the file n is then
	// len(data). Start always gets on: for 4 KiB or more it returns ok or n > 0.
	Start(data []byte, atEOF bool) (n int, ok bool)

	// End looks for the end of a record. State is 0 where data begins with the record. With ok, the
	// record ends at data[:n], its terminator included; at the end of the file all that is left is
	// the record. Otherwise data[:n], all but 15 bytes at most, is searched: the next call begins
	// behind it, with the state that this one returned. So no byte is searched twice, and the middle
	// of an over-long record can be dropped. Only of a head that tells the record's length, and is longer than
	// data, n may be 0: up to MaxHead bytes. A negative n says that ^n bytes of data are searched and that the record is
	// not as long as its head says, but may have taken others: its end is looked for once more from its beginning, with
	// next. With ok it ends at data[:^n] unless that look finds another end; who has dropped its beginning does not look.
	End(data []byte, state State, atEOF bool) (n int, next State, ok bool)

	// Unclosed says what is open at the end of a file: what follows the error is lost, or the file is cut off. State is
	// that which End returned with the last record, 0 if there was none, and tail the filler behind it. What is "" if
	// nothing is open; lost says that it is the record, which may have taken others.
	Unclosed(state State, tail []byte) (what string, lost bool)

	// Sync returns the offset of the first place where a record of a split may begin; data
	// begins one byte before the split, and Start goes on from there. ok=false: not in data,
	// none of which is needed any more. A record belongs to the split its first byte lies in.
	// The split that begins at the header's end does not sync. Only for splittable formats.
	Sync(data []byte, atEOF bool) (n int, ok bool)

	// Decode takes id, text and value out of one record. An error, always an *Error, means that the
	// record is unreadable; doc then holds the id if one was found.
	Decode(record []byte, doc *Document) error

	// Splittable says whether records can be found from any byte offset.
	Splittable() bool

	// Separated says whether filler separates records, as commas do in a list: where records are left
	// out, the filler of one side goes with them. A piece of filler is then all that stands between two records.
	Separated() bool
}

// Reasons why a record is unreadable. They are column values in rejected/ and keys of
// counters, and therefore frozen.
const (
	BrokenJSON       = "broken json"                  // not valid by RFC 8259, or nested too deeply
	NotAnObject      = "not an object"                // valid JSON, but not {...}
	TextNotString    = "text is not a string"         // nor a number
	IDNotString      = "id is not a string or number" // but neither missing nor null
	WrongColumnCount = "wrong column count"           // a row longer or shorter than the header
	BrokenCSV        = "broken csv"                   // a quote that is not closed, or something behind a closing one
	BrokenSGML       = "broken sgml"                  // a tag that is not closed
	BrokenWARC       = "broken warc"                  // a header, or a length, that is not so
	BrokenHTTP       = "broken http"                  // a response whose body cannot be had
	BrokenTar        = "broken tar"                   // a header that is none, or the archive ends early
	InvalidUTF8      = "invalid utf-8"                // a text with bytes that are not UTF-8, which codecs pass on
)

// Error says why a record is unreadable.
type Error struct {
	Reason string // one of the constants above
	Detail string // what exactly and where, for the user; may be empty
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.Detail
}
