// Package plaintext reads text files without structure, with one document per line or per file.
//
// The text is the content of the file, byte for byte; of a line without its terminator, and without a UTF-8 byte order
// mark before the first line. There are no ids, and Decode never fails.
package plaintext

import "github.com/neardup/neardup/io/codec"

// Lines returns the codec of files with one document per line. An empty line is a document with an empty text; the
// newline at the end of a file does not begin a line.
func Lines() codec.Codec { return lines{} }

// File returns the codec of files that are one document each. It is not splittable. In an empty file, Start finds no
// record, because a record needs a byte to begin with; the reader must still see the document.
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

// file has no header, because a byte order mark is part of the document.
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
