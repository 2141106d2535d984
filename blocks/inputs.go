package blocks

import (
	"fmt"
	"math"
	"math/bits"
	"path"
	"sort"
	"strconv"
	"strings"
)

// Inputs is what a run reads, fixed by the planner before anything is read in earnest: every
// step that needs to know where a document comes from, or where its rows go, asks it.
type Inputs struct {
	// Root is the folder that all sources are relative to.
	Root string `json:"root"`
	// Files in input order; a file's index is its ordinal.
	Files []File `json:"files"`
	// Splits in input order. Together they hold each record once.
	Splits []Span `json:"splits"`
	// Pieces are the files of the corpus to be written, in input order.
	Pieces []Span `json:"pieces"`
	// Shards is the number of files of each output table, at least 1.
	Shards int `json:"shards"`
}

// File is one input file.
type File struct {
	Path        string `json:"path"`
	Source      string `json:"source"` // path below the common root, with slashes
	Format      string `json:"format"`
	Compression string `json:"compression,omitempty"` // of all its content: gzip, zstd or none
	Encoding    string `json:"encoding,omitempty"`    // of its text, if that is not UTF-8 as it stands
	Window      int64  `json:"window,omitempty"`      // bytes that its decompression holds, if the format tells
	Size        int64  `json:"size"`                  // bytes as listed (compressed)
	Offset      int64  `json:"offset"`                // bytes of all files before this one
	Version     string `json:"version"`               // what must not change while the run lasts
	// Spool is where the first to read a compressed file leaves its plain bytes for those who
	// read it again; "" if nobody is to.
	Spool  string `json:"spool,omitempty"`
	Header []byte `json:"header,omitempty"` // bytes before the first record
	// Sequential: the file can only be read from its start.
	Sequential bool `json:"sequential,omitempty"`
	// Positions is the number of positions, where they are not bytes of the file as listed but spread
	// over these: the rows of a file of row groups. 0: a position is as many bytes.
	Positions int64 `json:"positions,omitempty"`
	// IDIsSource: a document without an id of its own is named by its source alone (one
	// document a file) rather than by source and position.
	IDIsSource bool `json:"id_is_source,omitempty"`
	// Preference orders documents for the decision before anything else: lower is kept rather.
	Preference int `json:"preference,omitempty"`
}

// End of a span that reaches to the end of its file.
const End = math.MaxInt64

// PositionAt returns the first position that lies at or behind an offset of the file as listed.
func (f *File) PositionAt(offset int64) int64 {
	if f.Positions == 0 {
		return offset
	}
	hi, lo := bits.Mul64(uint64(offset), uint64(f.Positions))
	quotient, rest := bits.Div64(hi, lo, uint64(max(f.Size, 1)))
	if rest > 0 {
		quotient++
	}
	return int64(quotient)
}

// offsetOf returns where a position lies in the file as listed.
func (f *File) offsetOf(position int64) int64 {
	if f.Positions > 0 {
		hi, lo := bits.Mul64(uint64(min(position, f.Positions)), uint64(f.Size))
		quotient, _ := bits.Div64(hi, lo, uint64(f.Positions))
		position = int64(quotient)
	}
	return min(position, max(f.Size-1, 0))
}

// Span is a range of one file: the records at the positions from Start to before End. A split is a span to be read by one call, a piece one to
// be written as one corpus file.
type Span struct {
	File  int   `json:"file"`
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// Part and Parts number the pieces of a file that is written as several; 0 of 0 otherwise.
	Part  int `json:"part,omitempty"`
	Parts int `json:"parts,omitempty"`
}

// Split returns the index of the split that holds key.
func (in *Inputs) Split(key Key) int { return find(in.Splits, key) }

// Piece returns the index of the corpus piece that holds key.
func (in *Inputs) Piece(key Key) int { return find(in.Pieces, key) }

// PieceName returns the name below corpus/ of the file that a piece becomes: its source's, with
// the part before its ending if the source is cut.
func (in *Inputs) PieceName(piece int) string {
	span := in.Pieces[piece]
	name := in.Files[span.File].Source
	if span.Parts == 0 {
		return name
	}
	ending := path.Ext(name)
	return fmt.Sprintf("%s-%05d-of-%05d%s", strings.TrimSuffix(name, ending), span.Part, span.Parts, ending)
}

// find returns the last span that begins at or before key.
func find(spans []Span, key Key) int {
	after := sort.Search(len(spans), func(i int) bool {
		// Not as keys: a span may begin where no key reaches, in a file too large to be read.
		s := spans[i]
		return s.File > key.File() || s.File == key.File() && s.Start > key.Position()
	})
	return after - 1
}

// Shard returns the table shard of key's rows: the slice of the listed input bytes it lies in,
// so that shards read one after another are in input order. Positions beyond a file's listed
// size (it is compressed) count as its last byte.
func (in *Inputs) Shard(key Key) int {
	total := in.Bytes()
	if total == 0 {
		return 0
	}
	file := &in.Files[key.File()]
	at := file.Offset + file.offsetOf(key.Position())
	hi, lo := bits.Mul64(uint64(at), uint64(in.Shards))
	shard, _ := bits.Div64(hi, lo, uint64(total))
	return min(int(shard), in.Shards-1) // an empty file may end the list
}

// Bytes is the listed size of all files.
func (in *Inputs) Bytes() int64 {
	last := in.Files[len(in.Files)-1]
	return last.Offset + last.Size
}

// Source returns the path below the root of key's file.
func (in *Inputs) Source(key Key) string { return in.Files[key.File()].Source }

// Place says where a record begins: "SOURCE at byte N", or "at row N" where positions are rows.
func (in *Inputs) Place(key Key) string {
	unit := "byte"
	if in.Files[key.File()].Positions > 0 {
		unit = "row"
	}
	return fmt.Sprintf("%s at %s %d", in.Source(key), unit, key.Position())
}

// ID returns the document's own id, or where it has none its source and position.
func (in *Inputs) ID(key Key, id []byte, hasID bool) string {
	switch file := in.Files[key.File()]; {
	case hasID:
		return string(id)
	case file.IDIsSource:
		return file.Source
	default:
		return file.Source + "@" + strconv.FormatInt(key.Position(), 10)
	}
}
