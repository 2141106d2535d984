// Package reading is the interface between file formats and their users: a run accesses input files only through a
// RecordReader.
//
// Package bytefile reads the formats for which a codec of bytes exists; it handles compression, windows and spools. A
// format with a layout of its own, such as row groups, implements RecordReader in a sibling package. Package readertest
// holds the suite that every implementation must pass.
package reading

import (
	"context"
	"errors"
	"io"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
)

// Options say how to read records.
type Options struct {
	Fields codec.Fields
	// Encoding is the encoding of text files, or "auto" for that of each file's byte order mark; "": UTF-8.
	Encoding string
	// MaxRecord is the size in bytes above which a record is Long.
	MaxRecord int
	// MaxWindow is the size in bytes above which the window of a compressed file is refused; 0: no limit.
	MaxWindow int64
	// Room is how many bytes all readers of this process may hold at a time; 0: no limit. Results do not depend on it.
	Room int64
}

// Record is a document that was read, or the reason why there is none.
type Record struct {
	// Position is where the record begins. Positions ascend within a file, and a span is a range of them. Depending on the
	// format they count bytes of the decompressed content, bytes of the stored file if each record is compressed by
	// itself, or rows.
	Position int64
	// Doc is the content of the record. An unreadable record has at most an id, a Long one nothing.
	Doc *codec.Document
	// Err says why the record is unreadable, usually as a *codec.Error.
	Err error
	// Raw is the record as stored, unless it is Long. A format whose records are not text sets it only together with Err,
	// and renders the record.
	Raw []byte
	// Long says that the record has more than MaxRecord bytes and was not decoded.
	Long bool
}

// Progress says how much was read.
type Progress struct {
	Content int64 // bytes of the decompressed content
	Stored  int64 // bytes of the stored file, as listed
}

// ErrAbsent is the error of a position where no record begins.
var ErrAbsent = errors.New("no record begins there; check the position, and whether the file has changed")

// ErrStop is the error by which a callback ends the reading early; the caller then gets no error.
var ErrStop = errors.New("stop")

// RecordReader reads the files of one format. It is immutable and safe for concurrent use.
//
// Each record belongs to the span that contains its position. A reader opens a file by storage.Open, and fails if the
// file has changed since it was listed, at the latest when the last byte is read. Once ctx is done, a method soon
// returns its error. The argument of see is valid until see returns; an error of see ends the reading and is returned,
// except for ErrStop.
type RecordReader interface {
	// Inspect completes file, whose path, source, size, identity and format are known, with what its readers need:
	// Compression, Header, Positions, Sequential. If the file lacks a column of o, the error names the column.
	Inspect(ctx context.Context, file *blocks.File, o Options) error

	// Cut returns the ascending positions above 0 at which to cut file into spans of about size listed bytes; none for a
	// Sequential file. It depends only on the inspected file and does not open it.
	Cut(file *blocks.File, size int64) []int64

	// Read calls see with each record of spans, in ascending order. The spans must ascend and not overlap. Read unpacks
	// only once what several spans share.
	Read(ctx context.Context, file *blocks.File, spans []blocks.Span, o Options, see func(*Record) error) (Progress, error)

	// ReadSome calls see with the records of a span at positions, which must ascend, and skips the records between as far
	// as the format allows. A position where no record begins is an error.
	ReadSome(ctx context.Context, file *blocks.File, span blocks.Span, positions []int64, o Options,
		see func(*Record) error) error

	// Copy writes to w a file of the same format with all records of a span, unchanged except for c. It returns how many
	// it wrote, and how many of those to be edited could not be and are unchanged. The copies of all spans of a file
	// together have each record once. A position where no record begins is an error.
	Copy(ctx context.Context, w io.Writer, file *blocks.File, span blocks.Span, c Changes,
		o Options) (kept, unedited int64, err error)
}

// Changes are what a copy changes: at ascending positions, it omits records, and replaces the text columns of others.
// Only a TextEditor replaces texts.
type Changes struct {
	Dropped, Edited []int64
	Edit            Edit
}

// TextEditor is a RecordReader that can also replace the texts of records it writes.
type TextEditor interface {
	// Edits reports whether Copy may edit texts.
	Edits(o Options) bool
}

// Edit returns the new text of a column, which begins at byte begin of the text of the record at position. It may be
// called more than once for a column.
type Edit func(position int64, begin int, text []byte) []byte

// ContentError says that the content of a file could not be read to its end, because it is damaged or does not have the
// format.
type ContentError struct{ Err error }

func (e *ContentError) Error() string { return e.Err.Error() }

func (e *ContentError) Unwrap() error { return e.Err }

// OneByOne reads spans one after another, for a Read that need not unpack anything for several spans at once. If read
// returns ErrStop, it ends without an error.
func OneByOne(spans []blocks.Span, read func(blocks.Span) (Progress, error)) (progress Progress, err error) {
	for _, span := range spans {
		p, err := read(span)
		progress.Content += p.Content
		progress.Stored += p.Stored
		switch {
		case errors.Is(err, ErrStop):
			return progress, nil
		case err != nil:
			return progress, err
		}
	}
	return progress, nil
}
