package blocks

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/neardup/neardup/records"
)

// Inputs describes what a run reads. The planner fixes it before the first read; the steps ask it where a document
// comes from and where its rows go.
//
// It is made for millions of files: it takes about 50 bytes per file, in tables indexed by number. Details has the
// rest, which only the steps that open a file load. MarshalBinary writes the layout that processes share.
type Inputs struct {
	// Root is the folder that all sources are relative to. It must be set before files are added.
	Root string
	// Shards is the number of files of each output table, at least 1.
	Shards int
	// Splits are in input order. Together they cover each record once.
	Splits Spans
	// Pieces are the corpus files to write, in input order; references have none.
	Pieces Spans

	// By the file's ordinal: where the file ends in the listed bytes of all files, and its flags.
	ends  []int64
	flags []byte
	names names
	// references is the number of reference files, which come first.
	references int
	// preferences has one value per file, or is empty.
	preferences []uint32
	// rows holds the Positions of the files whose ordinals are in rowFiles.
	rowFiles []uint32
	rows     []int64
	// elsewhere maps ordinals to the paths of files that are not at their source below the root.
	elsewhere map[int]string
}

// Flags of a file.
const (
	flagIDIsSource = 1 << iota
	flagSpool
	flagProtected
	flagSettled
	flagRecalled
	flagsKnown = flagIDIsSource | flagSpool | flagProtected | flagSettled | flagRecalled
)

// Standing says how the documents of a file are treated. Higher standings come first in the order of preference.
type Standing int

// The standings.
const (
	// Input documents are removed if they are similar to a kept one.
	Input Standing = iota
	// Settled documents are those that an index has kept. They are treated like Reference, except that a removed
	// document names one of them only if it is the most similar kept document, and that their ids hold their names
	// (StoredName).
	Settled
	// Recalled documents are those that an index has removed. They are compared with none. Their copies are removed in
	// favour of the document that they were removed for, which the id holds (StoredName.Fell).
	Recalled
	// Protected documents are kept whatever they are similar to.
	Protected
	// Reference documents are kept whatever they are similar to, are not compared with each other, and are not written,
	// since they exist already. Their files are named by their whole paths, and come before all others.
	Reference
)

// There reports whether the documents exist already: they are compared with inputs only, and not written.
func (s Standing) There() bool { return s == Reference || s == Settled || s == Recalled }

// File is one input file.
type File struct {
	Path        string
	Source      string // path below the common root, with slashes
	Format      string
	Compression string // of the whole file: gzip, zstd or none
	Encoding    string // of the text, if it is not plain UTF-8
	Detected    string // encoding detected from the text, if that was tried; Encoding has it if Percent is high enough
	Percent     int    // confidence of Detected
	Window      int64  // bytes that decompression holds, if the format says so
	Size        int64  // bytes as listed (compressed)
	Offset      int64  // total size of the files before this one
	Version     string // must stay the same during the run
	// Spool is where the first reader of a compressed file leaves its plain bytes for later readers, or "" if it must
	// not.
	Spool  string
	Header []byte // bytes before the first record
	// Sequential reports that the file can only be read from its start.
	Sequential bool
	// Positions is the number of positions if they are not bytes but spread over the listed size, such as the rows of a
	// file of row groups. 0 means that positions are bytes.
	Positions int64
	// IDIsSource reports that a document without an id is named by its source alone (one document per file) rather than
	// by source and position.
	IDIsSource bool
	Standing   Standing
}

// UnknownEncoding is the value of Detected if no encoding is likely.
const UnknownEncoding = records.UnknownEncoding

// End is the end of a span that reaches to the end of its file.
const End = math.MaxInt64

// PositionAt returns the first position at or after an offset of the file as listed.
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

// OffsetAt returns the offset of a position in the file as listed, or the file's size for positions beyond it, as most
// of a compressed file are.
func (f *File) OffsetAt(position int64) int64 {
	switch {
	case f.Positions == 0:
		return min(position, f.Size)
	case position >= f.Positions:
		return f.Size
	}
	hi, lo := bits.Mul64(uint64(f.Size), uint64(position))
	quotient, _ := bits.Div64(hi, lo, uint64(f.Positions))
	return int64(quotient)
}

// Place returns where a record begins: "SOURCE at byte N", or "SOURCE at row N" if positions are rows.
func (f *File) Place(position int64) string {
	unit := "byte"
	if f.Positions > 0 {
		unit = "row"
	}
	return fmt.Sprintf("%s at %s %d", f.Source, unit, position)
}

// Span is a range of one file: the records at positions from Start up to but not including End. A split is a span that
// one call reads; a piece is a span that becomes one corpus file.
type Span struct {
	File       int
	Start, End int64
}

// Spans is a table of ascending spans that cover every position of each of their files.
type Spans struct {
	files  []uint32
	starts []int64
	end    int64 // of the last span
}

// Len returns the number of spans.
func (s *Spans) Len() int { return len(s.files) }

// At returns span i.
func (s *Spans) At(i int) Span {
	span := Span{File: int(s.files[i]), Start: s.starts[i], End: End}
	switch {
	case i == len(s.files)-1:
		span.End = s.end
	case s.files[i+1] == s.files[i]:
		span.End = s.starts[i+1]
	}
	return span
}

// add adds the spans of a file that is cut at these positions.
func (s *Spans) add(file int, cuts []int64) {
	s.files, s.starts = append(s.files, uint32(file)), append(s.starts, 0)
	for _, at := range cuts {
		s.files, s.starts = append(s.files, uint32(file)), append(s.starts, at)
	}
	s.end = End
}

// truncate keeps the first n spans, and ends the last one at end.
func (s *Spans) truncate(n int, end int64) { s.files, s.starts, s.end = s.files[:n], s.starts[:n], end }

// of returns the index of the last span that begins at or before key.
func (s *Spans) of(key Key) int {
	after := sort.Search(len(s.files), func(i int) bool {
		// Do not compare keys: in a file too large to be read, a span may begin where no key reaches.
		file := int(s.files[i])
		return file > key.File() || file == key.File() && s.starts[i] > key.Position()
	})
	return after - 1
}

// part returns the index of span i among the spans of its file, and their number.
func (s *Spans) part(i int) (part, parts int) {
	first := sort.Search(i, func(j int) bool { return s.files[j] == s.files[i] })
	n := sort.Search(len(s.files)-i, func(j int) bool { return s.files[i+j] > s.files[i] })
	return i - first, i - first + n
}

// Add appends a file that is cut into splits and pieces at these positions, which ascend from above 0. It sets the
// file's Offset. The caller adds the file to Details, too.
func (in *Inputs) Add(f *File, splits, pieces []int64) {
	i := in.Len()
	f.Offset = in.Bytes()
	in.ends = append(in.ends, f.Offset+f.Size)
	flags := byte(0)
	if f.IDIsSource {
		flags |= flagIDIsSource
	}
	in.flags = append(in.flags, flags)
	in.names.add(f.Source)
	if f.Positions > 0 {
		in.rowFiles, in.rows = append(in.rowFiles, uint32(i)), append(in.rows, f.Positions)
	}
	in.Splits.add(i, splits)
	if f.Standing == Reference {
		in.references++
		return
	}
	if f.Path != in.below(f.Source) {
		if in.elsewhere == nil {
			in.elsewhere = map[int]string{}
		}
		in.elsewhere[i] = f.Path
	}
	in.Pieces.add(i, pieces)
}

// Truncate ends the input with the record that begins at position last of a split.
func (in *Inputs) Truncate(split int, last int64) {
	key := NewKey(in.Splits.At(split).File, last)
	in.Pieces.truncate(in.Piece(key)+1, last+1)
	in.Splits.truncate(split+1, last+1)
}

// Prefer orders documents of one standing first of all by of(source) of their files: documents with lower values are
// preferred.
func (in *Inputs) Prefer(of func(source string) int) {
	in.preferences = make([]uint32, in.Len())
	for i, source := range in.Names() {
		if i >= in.references {
			in.preferences[i] = uint32(of(source))
		}
	}
}

// Protect protects all documents of the files whose sources satisfy is.
func (in *Inputs) Protect(is func(source string) bool) {
	for i, source := range in.Names() {
		if i >= in.references && is(source) {
			in.flags[i] |= flagProtected
		}
	}
}

// Settle declares all references to be files of an index; recalled reports whether a file lists documents that the
// index removed.
func (in *Inputs) Settle(recalled func(path string) bool) {
	for i, path := range in.Names() {
		switch {
		case i >= in.references:
			return
		case recalled(path):
			in.flags[i] |= flagRecalled
		default:
			in.flags[i] |= flagSettled
		}
	}
}

// Standing returns the standing of a file.
func (in *Inputs) Standing(file int) Standing {
	switch {
	case in.flags[file]&flagSettled != 0:
		return Settled
	case in.flags[file]&flagRecalled != 0:
		return Recalled
	case file < in.references:
		return Reference
	case in.flags[file]&flagProtected != 0:
		return Protected
	default:
		return Input
	}
}

// References returns the number of reference files, which come first.
func (in *Inputs) References() int { return in.references }

// Kept reports whether a document must be kept whatever it is similar to.
func (in *Inputs) Kept(key Key) bool {
	standing := in.Standing(key.File())
	return standing != Input && standing != Recalled
}

// IsReference reports whether a document is in a reference file.
func (in *Inputs) IsReference(key Key) bool { return key.File() < in.references }

// Apart reports which documents are not compared with one another, or returns nil if all are compared.
func (in *Inputs) Apart(keys []Key) (apart []bool) {
	for i, key := range keys {
		if !in.IsReference(key) {
			continue
		}
		if apart == nil {
			apart = make([]bool, len(keys))
		}
		apart[i] = true
	}
	return apart
}

// Spool asks the first reader of a file to keep its plain bytes.
func (in *Inputs) Spool(file int) { in.flags[file] |= flagSpool }

// Spooled reports whether Spool was called for a file.
func (in *Inputs) Spooled(file int) bool { return in.flags[file]&flagSpool != 0 }

// Len returns the number of files.
func (in *Inputs) Len() int { return len(in.ends) }

// File returns the fields of a file that Inputs holds.
func (in *Inputs) File(file int) File {
	offset := in.offset(file)
	source := in.Name(file)
	return File{
		Path: in.path(file, source), Source: source, Offset: offset, Size: in.ends[file] - offset,
		Positions: in.positions(file), IDIsSource: in.OneDocument(file), Standing: in.Standing(file),
	}
}

// OneDocument reports whether a file is a single document.
func (in *Inputs) OneDocument(file int) bool { return in.flags[file]&flagIDIsSource != 0 }

// Elsewhere reports whether a file, such as standard input, is not at its source below the root.
func (in *Inputs) Elsewhere(file int) bool {
	_, ok := in.elsewhere[file]
	return ok
}

// below returns the path of a source below the root.
func (in *Inputs) below(source string) string { return strings.TrimSuffix(in.Root, "/") + "/" + source }

// Size returns a file's listed size in bytes.
func (in *Inputs) Size(file int) int64 { return in.ends[file] - in.offset(file) }

func (in *Inputs) offset(file int) int64 {
	if file == 0 {
		return 0
	}
	return in.ends[file-1]
}

func (in *Inputs) positions(file int) int64 {
	i := sort.Search(len(in.rowFiles), func(i int) bool { return int(in.rowFiles[i]) >= file })
	if i == len(in.rowFiles) || int(in.rowFiles[i]) != file {
		return 0
	}
	return in.rows[i]
}

// Split returns the index of the split that holds key.
func (in *Inputs) Split(key Key) int { return in.Splits.of(key) }

// Piece returns the index of the corpus piece that holds key.
func (in *Inputs) Piece(key Key) int { return in.Pieces.of(key) }

// Small files' pieces are written in batches, which saves a call for each. Batches are small, because on an object
// store their files cost one request each, one after another.
const (
	batchPieces = 16
	batchBytes  = 64 << 10 // pieces of larger files are batches of their own
)

// Batch returns the number of the batch with the piece that holds key.
func (in *Inputs) Batch(key Key) int64 { return in.batch(in.Piece(key)) }

func (in *Inputs) batch(piece int) int64 {
	if in.batched(piece) {
		return int64(piece/batchPieces) << 1
	}
	return int64(piece)<<1 | 1
}

func (in *Inputs) batched(piece int) bool { return in.Size(in.Pieces.At(piece).File) <= batchBytes }

// Batches yields the numbers of all batches.
func (in *Inputs) Batches() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		last := int64(-1)
		for piece := range in.Pieces.Len() {
			batch := in.batch(piece)
			if in.batched(piece) {
				if batch == last {
					continue
				}
				last = batch
			}
			if !yield(batch) {
				return
			}
		}
	}
}

// Batched yields the pieces of a batch, in order.
func (in *Inputs) Batched(batch int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		first := int(batch >> 1)
		if batch&1 == 1 {
			yield(first)
			return
		}
		first *= batchPieces
		for piece := first; piece < min(first+batchPieces, in.Pieces.Len()); piece++ {
			if in.batched(piece) && !yield(piece) {
				return
			}
		}
	}
}

// PieceName returns the name below corpus/ of a piece's file: its source, with the number of the part before the
// extension if the source is cut. A store's key may have empty elements and "..", which no path in the output has.
func (in *Inputs) PieceName(piece int) string {
	name := strings.TrimPrefix(path.Clean("/"+in.Name(in.Pieces.At(piece).File)), "/")
	part, parts := in.Pieces.part(piece)
	if parts == 1 {
		return name
	}
	ending := path.Ext(name)
	return fmt.Sprintf("%s-%05d-of-%05d%s", strings.TrimSuffix(name, ending), part, parts, ending)
}

// Shard returns the table shard of key's rows. Shards are equal ranges of the listed bytes of the inputs, so that
// reading them in order gives input order. References are spread in the same way, and come first in each shard.
// Positions beyond a file's listed size (it is compressed) count as its last byte.
func (in *Inputs) Shard(key Key) int {
	file, position := key.File(), key.Position()
	size := in.Size(file)
	if rows := in.positions(file); rows > 0 {
		hi, lo := bits.Mul64(uint64(min(position, rows)), uint64(size))
		quotient, _ := bits.Div64(hi, lo, uint64(rows))
		position = int64(quotient)
	}
	at := in.offset(file) + min(position, max(size-1, 0))
	if file < in.references {
		return ShardAt(at, in.BytesOfReferences(), in.Shards)
	}
	return ShardAt(at-in.BytesOfReferences(), in.BytesOfInputs(), in.Shards)
}

// ShardAt returns the shard that contains byte at of total listed bytes.
func ShardAt(at, total int64, shards int) int {
	if total == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(at), uint64(shards))
	shard, _ := bits.Div64(hi, lo, uint64(total))
	return min(int(shard), shards-1) // empty files may end the list
}

// Bytes returns the listed size of all files.
func (in *Inputs) Bytes() int64 { return in.offset(in.Len()) }

// BytesOfReferences returns the listed size of the references.
func (in *Inputs) BytesOfReferences() int64 { return in.offset(in.references) }

// BytesOfInputs returns the listed size of all other files.
func (in *Inputs) BytesOfInputs() int64 { return in.Bytes() - in.BytesOfReferences() }

// BytesOfSplits returns the listed size of the splits, which is that of all files unless Truncate shortened the input.
func (in *Inputs) BytesOfSplits() int64 {
	if in.Splits.Len() == 0 {
		return 0
	}
	last := in.Splits.At(in.Splits.Len() - 1)
	file := in.File(last.File)
	return file.Offset + file.OffsetAt(last.End)
}

// Name returns a file's path below the root.
func (in *Inputs) Name(file int) string { return in.names.at(file) }

// Names yields the files' paths below the root, in order.
func (in *Inputs) Names() iter.Seq2[int, string] { return in.names.all() }

// Finder returns a function that finds a file by its path below the root. The function is not safe for concurrent use,
// and takes 4 bytes per file.
func (in *Inputs) Finder() func(source string) (file int, ok bool) {
	sorted := make([]uint32, in.Len())
	for i := range sorted {
		sorted[i] = uint32(i)
	}
	names := make([]string, 0, in.Len())
	for _, name := range in.Names() {
		names = append(names, name)
	}
	slices.SortFunc(sorted, func(a, b uint32) int { return strings.Compare(names[a], names[b]) })
	last, found := "", -1 // consecutive rows mostly name the same file
	return func(source string) (int, bool) {
		if found >= 0 && source == last {
			return found, true
		}
		at, ok := slices.BinarySearchFunc(sorted, source, func(i uint32, s string) int {
			return strings.Compare(in.Name(int(i)), s)
		})
		if ok {
			last, found = source, int(sorted[at])
			return found, true
		}
		return 0, false
	}
}

// Paths yields the paths of all files, in order.
func (in *Inputs) Paths() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, source := range in.Names() {
			if !yield(in.path(i, source)) {
				return
			}
		}
	}
}

// path returns the path of a file, given its source.
func (in *Inputs) path(file int, source string) string {
	if path, ok := in.elsewhere[file]; ok {
		return path
	}
	if file < in.references {
		return source
	}
	return in.below(source)
}

// Source returns the path below the root of key's file.
func (in *Inputs) Source(key Key) string { return in.Name(key.File()) }

// preference returns a file's place in the order of Prefer.
func (in *Inputs) preference(file int) uint32 {
	if len(in.preferences) == 0 {
		return 0
	}
	return in.preferences[file]
}

// ID returns the document's own id or, if it has none, its source and position.
func (in *Inputs) ID(key Key, id []byte, hasID bool) string {
	switch {
	case hasID:
		return string(id)
	case in.flags[key.File()]&flagIDIsSource != 0:
		return in.Source(key)
	default:
		return in.Source(key) + "@" + strconv.FormatInt(key.Position(), 10)
	}
}
