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

// Inputs is what a run reads, fixed by the planner before anything is read in earnest: every
// step that needs to know where a document comes from, or where its rows go, asks it.
//
// It is made for millions of files: about 50 bytes for each, in tables that are looked up by number. What else is known
// of a file is in Details, which only those load who open it. MarshalBinary has the layout that processes share.
type Inputs struct {
	// Root is the folder that all sources are relative to. It is set before files are added.
	Root string
	// Shards is the number of files of each output table, at least 1.
	Shards int
	// Splits in input order. Together they hold each record once.
	Splits Spans
	// Pieces are the files of the corpus to be written, in input order; references have none.
	Pieces Spans

	// Of each file, by its ordinal: where it ends in the listed bytes of all, and what is true of it.
	ends  []int64
	flags []byte
	names names
	// references is how many files are; they come first.
	references int
	// preferences of all files, or none.
	preferences []uint32
	// rows are the Positions of files, by ordinal, which are in rowFiles.
	rowFiles []uint32
	rows     []int64
	// elsewhere are the paths of files that are not at their source below the root, by ordinal.
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

// Standing says what becomes of the documents of a file. In the order of preference a higher one comes first.
type Standing int

// The standings.
const (
	// Input: a document is removed if it resembles one that is kept.
	Input Standing = iota
	// Settled: as Reference, but it is named by similarity as any kept document, and by what its id holds (Named). Such
	// are the documents that an index has kept.
	Settled
	// Recalled: a document that an index has removed. It is compared with none, and its copies fall to the document
	// that it fell to; what that is its id holds (Removed).
	Recalled
	// Protected: a document is kept whatever it resembles.
	Protected
	// Reference: a document is kept whatever it resembles, it is compared with none of a reference, and it is not
	// written: it is there already. Such files are named by their whole paths, and come before all others.
	Reference
)

// There reports whether documents are there already: they are compared with those of inputs only, and not written.
func (s Standing) There() bool { return s == Reference || s == Settled || s == Recalled }

// File is one input file.
type File struct {
	Path        string
	Source      string // path below the common root, with slashes
	Format      string
	Compression string // of all its content: gzip, zstd or none
	Encoding    string // of its text, if that is not UTF-8 as it stands
	Detected    string // the encoding that its text tells, if it was looked for; Encoding, if that is sure enough
	Percent     int    // how sure Detected is
	Window      int64  // bytes that its decompression holds, if the format tells
	Size        int64  // bytes as listed (compressed)
	Offset      int64  // bytes of all files before this one
	Version     string // what must not change while the run lasts
	// Spool is where the first to read a compressed file leaves its plain bytes for those who
	// read it again; "" if nobody is to.
	Spool  string
	Header []byte // bytes before the first record
	// Sequential: the file can only be read from its start.
	Sequential bool
	// Positions is the number of positions, where they are not bytes of the file as listed but spread
	// over these: the rows of a file of row groups. 0: a position is as many bytes.
	Positions int64
	// IDIsSource: a document without an id of its own is named by its source alone (one
	// document a file) rather than by source and position.
	IDIsSource bool
	Standing   Standing
}

// UnknownEncoding is what Detected is where none is likely.
const UnknownEncoding = records.UnknownEncoding

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

// OffsetAt returns where a position lies in the file as listed, at its
// end for those that lie beyond: of a compressed file, for most.
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

// Place says where a record begins: "SOURCE at byte N", or "at row N" where positions are rows.
func (f *File) Place(position int64) string {
	unit := "byte"
	if f.Positions > 0 {
		unit = "row"
	}
	return fmt.Sprintf("%s at %s %d", f.Source, unit, position)
}

// Span is a range of one file: the records at the positions from Start to before End. A split is a span to be read by
// one call, a piece one to be written as one corpus file.
type Span struct {
	File       int
	Start, End int64
}

// Spans is a table of spans, which ascend and leave no position of a file out.
type Spans struct {
	files  []uint32
	starts []int64
	end    int64 // of the last
}

// Len is the number of spans.
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

// add adds those of a file that is cut at positions.
func (s *Spans) add(file int, cuts []int64) {
	s.files, s.starts = append(s.files, uint32(file)), append(s.starts, 0)
	for _, at := range cuts {
		s.files, s.starts = append(s.files, uint32(file)), append(s.starts, at)
	}
	s.end = End
}

// truncate leaves the first n spans, and of the last what is before end.
func (s *Spans) truncate(n int, end int64) { s.files, s.starts, s.end = s.files[:n], s.starts[:n], end }

// of returns the last span that begins at or before key.
func (s *Spans) of(key Key) int {
	after := sort.Search(len(s.files), func(i int) bool {
		// Not as keys: a span may begin where no key reaches, in a file too large to be read.
		file := int(s.files[i])
		return file > key.File() || file == key.File() && s.starts[i] > key.Position()
	})
	return after - 1
}

// part returns which of the spans of its file span i is, and how many these are.
func (s *Spans) part(i int) (part, parts int) {
	first := sort.Search(i, func(j int) bool { return s.files[j] == s.files[i] })
	n := sort.Search(len(s.files)-i, func(j int) bool { return s.files[i+j] > s.files[i] })
	return i - first, i - first + n
}

// Add adds a file behind the others, with the positions, ascending and above 0, at which it is cut into splits and
// pieces. It sets the file's Offset. What of the file is not told by its number is for Details.
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

// Truncate ends the input with the record that begins at last in a split.
func (in *Inputs) Truncate(split int, last int64) {
	key := NewKey(in.Splits.At(split).File, last)
	in.Pieces.truncate(in.Piece(key)+1, last+1)
	in.Splits.truncate(split+1, last+1)
}

// Prefer orders documents of one standing before anything else, by
// what of says of the sources of their files: lower is kept rather.
func (in *Inputs) Prefer(of func(source string) int) {
	in.preferences = make([]uint32, in.Len())
	for i, source := range in.Names() {
		if i >= in.references {
			in.preferences[i] = uint32(of(source))
		}
	}
}

// Protect has all documents kept of the files whose source is.
func (in *Inputs) Protect(is func(source string) bool) {
	for i, source := range in.Names() {
		if i >= in.references && is(source) {
			in.flags[i] |= flagProtected
		}
	}
}

// Settle makes all references those of an index: recalled reports which are of documents that it has removed.
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

// Standing is that of a file.
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

// References is how many files are references, the first ones.
func (in *Inputs) References() int { return in.references }

// Kept reports whether a document is to be kept whatever it resembles.
func (in *Inputs) Kept(key Key) bool {
	standing := in.Standing(key.File())
	return standing != Input && standing != Recalled
}

// IsReference reports whether a document is of a reference.
func (in *Inputs) IsReference(key Key) bool { return key.File() < in.references }

// Apart says which documents are not compared with one another; nil: all are compared.
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

// Spool has the plain bytes of a file kept by the first to read it.
func (in *Inputs) Spool(file int) { in.flags[file] |= flagSpool }

// Spooled reports whether they are to be.
func (in *Inputs) Spooled(file int) bool { return in.flags[file]&flagSpool != 0 }

// Len is the number of files.
func (in *Inputs) Len() int { return len(in.ends) }

// File returns what the tables have of a file.
func (in *Inputs) File(file int) File {
	offset := in.offset(file)
	source := in.Name(file)
	return File{
		Path: in.path(file, source), Source: source, Offset: offset, Size: in.ends[file] - offset,
		Positions: in.positions(file), IDIsSource: in.OneDocument(file), Standing: in.Standing(file),
	}
}

// OneDocument reports whether a file is one document.
func (in *Inputs) OneDocument(file int) bool { return in.flags[file]&flagIDIsSource != 0 }

// Elsewhere reports whether a file is not at its source below the root, as standard input is.
func (in *Inputs) Elsewhere(file int) bool {
	_, ok := in.elsewhere[file]
	return ok
}

// below returns the path of a source below the root.
func (in *Inputs) below(source string) string { return strings.TrimSuffix(in.Root, "/") + "/" + source }

// Size is that of a file as listed, in bytes.
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

// Pieces of small files are written in batches, which saves a call for each. A
// batch is small, since on an object store its files are one request after another.
const (
	batchPieces = 16
	batchBytes  = 64 << 10 // a larger file's pieces are batches of their own
)

// Batch returns the number of the batch that has the piece that holds key.
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

// PieceName returns the name below corpus/ of the file that a piece becomes: its source's, with
// the part before its ending if the source is cut.
func (in *Inputs) PieceName(piece int) string {
	name := in.Name(in.Pieces.At(piece).File)
	part, parts := in.Pieces.part(piece)
	if parts == 1 {
		return name
	}
	ending := path.Ext(name)
	return fmt.Sprintf("%s-%05d-of-%05d%s", strings.TrimSuffix(name, ending), part, parts, ending)
}

// Shard returns the table shard of key's rows: the slice of the listed bytes of the inputs it lies in, so that shards
// read one after another are in input order. References are spread in the same way, and come first in each shard.
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

// ShardAt returns in which of the shards of so many listed bytes one of these lies.
func ShardAt(at, total int64, shards int) int {
	if total == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(at), uint64(shards))
	shard, _ := bits.Div64(hi, lo, uint64(total))
	return min(int(shard), shards-1) // an empty file may end the list
}

// Bytes is the listed size of all files.
func (in *Inputs) Bytes() int64 { return in.offset(in.Len()) }

// BytesOfReferences is that of the references.
func (in *Inputs) BytesOfReferences() int64 { return in.offset(in.references) }

// BytesOfInputs is that of all other files.
func (in *Inputs) BytesOfInputs() int64 { return in.Bytes() - in.BytesOfReferences() }

// BytesOfSplits is the listed size of what the splits are of: of all files, unless Truncate left some out.
func (in *Inputs) BytesOfSplits() int64 {
	if in.Splits.Len() == 0 {
		return 0
	}
	last := in.Splits.At(in.Splits.Len() - 1)
	file := in.File(last.File)
	return file.Offset + file.OffsetAt(last.End)
}

// Name returns the path below the root of a file.
func (in *Inputs) Name(file int) string { return in.names.at(file) }

// Names yields the paths below the root of all files, in order.
func (in *Inputs) Names() iter.Seq2[int, string] { return in.names.all() }

// Finder returns what finds a file by its path below the root. It is for one goroutine, and takes 4 bytes a file.
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
	last, found := "", -1 // rows have the same file again and again
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

// path is that of a file, whose source is given.
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

// preference is the place of a file in the order of Prefer.
func (in *Inputs) preference(file int) uint32 {
	if in.preferences == nil {
		return 0
	}
	return in.preferences[file]
}

// ID returns the document's own id, or where it has none its source and position.
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
