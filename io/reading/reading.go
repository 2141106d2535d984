// Package reading is the seam between file formats and those who read: all that a run does with an
// input file goes through a RecordReader.
//
// A format that is a codec of bytes is read by package bytefile, which has the compression, the
// windows and the spool. A format with a layout of its own, such as row groups, implements
// RecordReader in a package beside it. Package readertest holds the suite each implementation passes.
package reading

import (
	"context"
	"errors"
	"io"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
)

// Options say how records are read.
type Options struct {
	Fields codec.Fields
	// Encoding is the name of that of text files, "auto" for that of each file's byte order mark; "": UTF-8.
	Encoding string
	// MaxRecord is the size in bytes above which a record is Long.
	MaxRecord int
	// MaxWindow is the size in bytes above which the window of a compressed file is refused; 0: there is none.
	MaxWindow int64
	// Room is how many bytes all readers of this process may hold at a
	// time; 0: there is no bound. Results do not depend on it.
	Room int64
}

// Record is a document as it is read, or why it is none.
type Record struct {
	// Position is where the record begins. Positions ascend within a file, and a span is a range of
	// them: bytes of the decompressed content, bytes of the stored file where each record is compressed by itself, or row
	// numbers, as the format says.
	Position int64
	// Doc is what the record holds; of an unreadable one at most the id, of a Long one nothing.
	Doc *codec.Document
	// Err says why the record is unreadable, mostly as a *codec.Error.
	Err error
	// Raw is the record as it stands, unless it is Long. A format whose records are no text sets it
	// only beside Err, and renders the record.
	Raw []byte
	// Long: the record has more than MaxRecord bytes and was not decoded.
	Long bool
}

// Progress is how much was read.
type Progress struct {
	Content int64 // bytes of the decompressed content
	Stored  int64 // bytes of the stored file, as listed
}

// ErrStop is what a caller's function returns to end reading early and without an error.
var ErrStop = errors.New("stop")

// RecordReader reads the files of one format. It is immutable: all methods may be called concurrently.
//
// Each record belongs to the span its position lies in. A reader opens a file by storage.Open, and
// fails if the file is not what was listed, or no longer is when the last byte is read. Once ctx is
// done, a method soon returns its error. What see is called with is valid until it returns; its error
// ends the reading and is returned, but for ErrStop.
type RecordReader interface {
	// Inspect completes file, of which path, source, size, identity and format are known, with what
	// all who read it need: Compression, Header, Positions, Sequential. It refuses a file that lacks
	// a column of o, by name.
	Inspect(ctx context.Context, file *blocks.File, o Options) error

	// Cut returns the positions, ascending and above 0, at which file is best cut into spans of about
	// size listed bytes; none for a Sequential file. It depends on the inspected file alone and does not
	// open it.
	Cut(file *blocks.File, size int64) []int64

	// Read calls see with each record of spans, which ascend and do not overlap, in ascending order. What the format has
	// to unpack for several spans is unpacked once.
	Read(ctx context.Context, file *blocks.File, spans []blocks.Span, o Options, see func(*Record) error) (Progress, error)

	// ReadSome calls see with the records of a span that are at positions, which ascend, and skips
	// what lies between as far as the format allows. A position where no record begins is an error.
	ReadSome(ctx context.Context, file *blocks.File, span blocks.Span, positions []int64, o Options,
		see func(*Record) error) error

	// CopyExcept writes to w a file of the same format, with all records of a span, unchanged, but
	// those at the positions dropped, which ascend, and returns how many it wrote. The copies of all
	// spans of a file have each record once. A position where no record begins is an error.
	CopyExcept(ctx context.Context, w io.Writer, file *blocks.File, span blocks.Span, dropped []int64,
		o Options) (kept int64, err error)
}

// TextEditor is a RecordReader that may also write records with other texts.
type TextEditor interface {
	// Edits reports whether CopyEdited can be called.
	Edits(o Options) bool

	// CopyEdited is CopyExcept that also replaces the text columns of the records at the positions edited, which ascend.
	// It returns how many of these could not be edited, and stand as they are.
	CopyEdited(ctx context.Context, w io.Writer, file *blocks.File, span blocks.Span, dropped, edited []int64,
		edit Edit, o Options) (kept, unedited int64, err error)
}

// Edit returns what replaces the text of a column that begins at byte begin of the text of the record at a position. It
// may be called more than once for a column.
type Edit func(position int64, begin int, text []byte) []byte

// ContentError says that the content of a file could not be read to its end: it is broken, or not
// of its format.
type ContentError struct{ Err error }

func (e *ContentError) Error() string { return e.Err.Error() }

func (e *ContentError) Unwrap() error { return e.Err }

// OneByOne reads spans one after another, for a Read that has nothing to
// unpack for several of them. ErrStop of read ends it, without an error.
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
