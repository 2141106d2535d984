// Package plaintext reads text files without structure: a document per line, or per file.
//
// The text is what stands in the file, byte for byte: of a line without its terminator, and
// without the UTF-8 byte order mark that may stand before the first. There are no ids, and Decode
// has no error.
package plaintext

import "github.com/neardup/neardup/io/codec"

// Lines returns the codec of files with a document per line. An empty line is a document
// with an empty text; the newline that ends a file begins none.
func Lines() codec.Codec { return lines{} }

// File returns the codec of files that are one document each. It is not splittable. In
// an empty file Start finds no record, for there is no byte it could begin with; the document is
// there all the same, and the reader's to see.
func File() codec.Codec { return file{} }

type lines struct{ codec.Lines }

func (lines) Header(data []byte, atEOF bool) (int, bool) { return codec.BOM(data, atEOF) }

func (c lines) WithHeader([]byte) (codec.Codec, error) { return c, nil }

func (lines) Start(data []byte, _ bool) (int, bool) { return 0, len(data) > 0 }

func (lines) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	doc.Text = append(doc.Text, codec.TrimNewline(record)...)
	return nil
}

// file has no header, for a byte order mark is of the document, too.
type file struct{ codec.Sequential }

func (c file) WithHeader([]byte) (codec.Codec, error) { return c, nil }

func (file) Start(data []byte, _ bool) (int, bool) { return 0, len(data) > 0 }

func (file) End(data []byte, _ codec.State, atEOF bool) (int, codec.State, bool) {
	return len(data), 0, atEOF
}

func (file) Decode(record []byte, doc *codec.Document) error {
	doc.Reset()
	doc.Text = append(doc.Text, record...)
	return nil
}
