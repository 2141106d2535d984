// Package codec defines what a file format must know: where records begin and end in a stream of bytes, and which
// document a record holds.
//
// A codec is pure: it sees slices of bytes and never a file, so the same code serves whole files, byte-range splits,
// compressed streams and archives. Records, the filler between them and the header tile a file: every byte belongs to
// exactly one of the three, which allows a corpus to be written back byte for byte. Package codectest holds the suite
// that every codec passes, including the smallest reader that uses a codec correctly.
package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Fields names the values that a codec extracts from a record. The meaning of a column name depends on the format: JSON
// keys or dotted paths, TSV column names, SGML elements and attributes.
type Fields struct {
	// Text lists the text columns in order; their values are joined by one space. A column that a record lacks is empty if
	// another has text.
	Text []string
	// Values is how many of the last text columns are not text, but values by which documents are matched. A file may lack
	// them.
	Values int
	// ID is the id column; "" means the format's own default, or none.
	ID string
	// Value is the column whose value documents are ordered by; "" means none.
	Value string
	// Delimiter is the byte between two values of CSV; 0: a comma. NoHeader says that the first line of a table is a row.
	Delimiter byte
	NoHeader  bool
	// Items turns each value of the text columns, even in lists, into a line, as EndItem does; not those of Values.
	Items bool
}

// NoColumnError says that a file has no column of a name, and which columns it has.
type NoColumnError struct {
	Kind    string // text, id or, for the column to keep by, ""
	Name    string
	Columns []string
	// Reference says that a file of references lacks the column.
	Reference bool
}

func (e *NoColumnError) Error() string {
	return fmt.Sprintf("no %s %.100q; the columns are %s", ColumnOf(e.Kind), e.Name, Listed(e.Columns))
}

// ColumnOf returns what a message calls a column of a kind.
func ColumnOf(kind string) string { return strings.TrimSpace(kind + " column") }

// Document is what Decode extracts from a record. Decode overwrites every field and reuses the slices, so a caller
// keeps one Document and copies what it needs.
type Document struct {
	ID    []byte
	HasID bool
	Text  []byte
	// Plain says that Text is known to be ASCII without control characters except white space. It may be false anyway.
	Plain bool
	// Ends says where the text columns end in Text, except the last, as uvarints: documents have the same columns, byte
	// for byte, if they have the same Text and Ends. With one column it is empty.
	Ends []byte
	// Values are those by which documents are matched, as in blocks.Document. The reader of the text columns sets them.
	Values []byte
	// NoText says that the record, though well formed, has no text at all: every text column is
	// missing or null. The document is not compared. An empty text is not NoText.
	NoText bool
	// Nulls is the number of missing or null text columns before the first with a value; the last column never counts.
	Nulls int
	// Missing lists the text columns that the record does not have, by their index in Fields.Text. It excludes columns
	// that are null, and those whose name may be omitted.
	Missing []int
	// MissingID says that the record does not have the id column, in a format whose records have their own columns.
	MissingID bool
	// Value is the value of Fields.Value, typed if the format has types. A missing value, or one of a type without an
	// order, is NoValue and never an error.
	Value Value
}

// Reset empties doc and keeps its memory. Decode begins with it.
func (doc *Document) Reset() {
	*doc = Document{ID: doc.ID[:0], Text: doc.Text[:0], Ends: doc.Ends[:0], Values: doc.Values[:0],
		Missing: doc.Missing[:0], Value: Value{Text: doc.Value.Text[:0]}}
}

// NextColumn ends a text column and begins another, separated by the result of Fields.Between.
func (doc *Document) NextColumn(between string) {
	if doc.NoText {
		doc.Nulls++
	}
	doc.Ends = binary.AppendUvarint(doc.Ends, uint64(len(doc.Text)))
	doc.Text = append(doc.Text, between...)
}

// HasItems reports whether the values of the i-th text column are items.
func (f *Fields) HasItems(i int) bool { return f.Items && i < len(f.Text)-f.Values }

// Between returns the separator of two values of the i-th text column, which also precedes the column.
func (f *Fields) Between(i int) string {
	if f.HasItems(i) {
		return ""
	}
	return " "
}

var itemEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`)

// EndItem makes text[from:] an item, which is a line: line feeds and backslashes in it become \n and \\.
func EndItem(text []byte, from int) []byte {
	if item := text[from:]; bytes.ContainsAny(item, "\\\n") {
		text = append(text[:from], itemEscapes.Replace(string(item))...)
	}
	return append(text, '\n')
}

// State is what a codec knows of the searched part of a record: whether a quote is open, or how many brackets.
type State uint64

// MaxHead is the maximum size in bytes of a record's head for which End waits.
const MaxHead = 64 << 10

// Codec finds and reads the records of one format. A Codec is immutable and safe for concurrent use (Decode with
// distinct Documents).
//
// The searching methods take a window of the file, data, and whether the file ends with it. ok=false asks for a longer
// window or, at the end of the file, says that there is nothing.
type Codec interface {
	// Header returns the length of what precedes the first record of a file and is not filler: a byte order mark, a line
	// of column names, a doctype. data begins the file. ok is always true at the end of the file. The codec does not bound
	// a header; the caller does.
	Header(data []byte, atEOF bool) (n int, ok bool)

	// WithHeader returns the codec for a file with this header, in which it looks up the columns. An error names the
	// missing column and lists the existing ones. An empty header, as of an empty file, is no error.
	WithHeader(header []byte) (Codec, error)

	// Start finds the next record: data[n:] begins with it. data begins after the header, at an offset returned by Sync,
	// after a record, or after bytes that Start itself has skipped. With ok=false, the first n bytes are filler and can be
	// dropped; at the end of the file, n is then len(data). Start always makes progress: for 4 KiB or more it returns ok
	// or n > 0.
	Start(data []byte, atEOF bool) (n int, ok bool)

	// End looks for the end of a record. state is 0 if data begins with the record. With ok, the record ends at data[:n],
	// including its terminator; at the end of the file, it has all the rest. Otherwise data[:n], which is all but at most
	// 15 bytes, has been searched: the next call begins after it, with the state that this one returned. So no byte is
	// searched twice, and the middle of an over-long record can be dropped. n may be 0 only for a head that states the
	// record's length and is longer than data, up to MaxHead bytes. A negative n says that ^n bytes of data are searched
	// and that the record does not have the length that its head states, but may have swallowed others: the caller
	// searches for the end again from the record's beginning, with next. With ok, the record ends at data[:^n] unless that
	// search finds another end; a caller that has dropped the beginning does not search.
	End(data []byte, state State, atEOF bool) (n int, next State, ok bool)

	// Unclosed says what is open at the end of a file, which means that the file is cut off, or that the data after an
	// error is lost. state is the State that End returned with the last record, 0 if there was none, and tail is the
	// filler after it; long says that Decode does not get the record, because of its length. what is "" if nothing is
	// open; lost says that the record is open and may have swallowed others.
	Unclosed(state State, tail []byte, long bool) (what string, lost bool)

	// Sync returns the offset of the first place at which a record of a split may begin. data begins one byte before the
	// split, and Start continues from the offset. ok=false: there is none in data, which is no longer needed. A record
	// belongs to the split that contains its first byte. The split that begins at the header's end does not sync. Only
	// splittable formats need Sync.
	Sync(data []byte, atEOF bool) (n int, ok bool)

	// Decode extracts id, text and value from one record. An error, always an *Error, means that the record is unreadable;
	// doc then holds the id if one was found.
	Decode(record []byte, doc *Document) error

	// Splittable reports whether records can be found from any byte offset.
	Splittable() bool

	// Separated reports whether filler separates records, as commas do in a list: if records are omitted, the filler on
	// one side is, too. One piece of filler is then everything between two records.
	Separated() bool
}

// Reasons why a record is unreadable. They are column values in rejected/ and keys of
// counters, and therefore frozen.
const (
	BrokenJSON       = "broken json"                  // not valid by RFC 8259, or nested too deeply
	NotAnObject      = "not an object"                // valid JSON, but not {...}
	TextNotString    = "text is not a string"         // and not a number
	IDNotString      = "id is not a string or number" // but neither missing nor null
	WrongColumnCount = "wrong column count"           // a row longer or shorter than the header
	BrokenCSV        = "broken csv"                   // an unclosed quote, or data after a closing one
	BrokenSGML       = "broken sgml"                  // an unclosed tag
	BrokenWARC       = "broken warc"                  // a wrong header or length
	BrokenHTTP       = "broken http"                  // a response whose body cannot be decoded
	BrokenTar        = "broken tar"                   // not a header, or the archive ends early
	InvalidUTF8      = "invalid utf-8"                // a text that is not UTF-8; codecs do not check this
)

// Error says why a record is unreadable.
type Error struct {
	Reason string // one of the constants above
	Detail string // what exactly and where, for the user; may be empty
}

func (e *Error) Error() string {
	return strings.TrimSuffix(inMessages.Replace(e.Reason)+": "+e.Detail, ": ")
}

// inMessages changes reasons to what messages call them; the table keeps the frozen values.
var inMessages = strings.NewReplacer(BrokenJSON, "malformed JSON", BrokenCSV, "malformed CSV", BrokenSGML,
	"malformed SGML", BrokenWARC, "malformed WARC", BrokenHTTP, "malformed HTTP", BrokenTar, "malformed tar", InvalidUTF8,
	"invalid UTF-8")
