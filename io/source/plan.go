package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/codec"
	"github.com/neardup/neardup/io/reading"
	"github.com/neardup/neardup/io/storage"
)

// Options say how inputs are read.
type Options struct {
	Format string // a name of Formats, or "": by each file's name
	Fields codec.Fields
	Rank   Rank
	// Encoding is that of text files; see reading.Options.
	Encoding string
	// Include and Exclude are patterns of files that are read, and that are not; no Include: all are. A pattern
	// without a slash is matched with the names of which a file's path below its input folder consists, another
	// with the path and the folders on it.
	Include, Exclude []string
	// MaxDocument is the size in bytes above which a text is not compared.
	MaxDocument int64
	// KeepInvalid: a text that is not UTF-8 is as good as any.
	KeepInvalid bool
	// MaxWindow is the size in bytes above which the window of a compressed file is refused; 0: there is none.
	MaxWindow int64
	// Room is how many bytes all who read in a process may hold at a
	// time; 0: there is no bound. Results do not depend on it.
	Room int64
	// SplitBytes is the size of a split of a file that can be split; 0:
	// the usual, or less where the input has few of those.
	SplitBytes int64
	// SplitRows is how many rows a split of a file of rows has at most, or a few more; 0: there is no bound.
	SplitRows int64
	// AllowEmpty: folders and patterns may have no file to read.
	AllowEmpty bool
	// Limit ends the input after that many readable documents; 0: no limit.
	Limit int64
	// Stdin is the file that standard input, the argument "-", was copied to.
	Stdin string
	// References are the paths of files that are compared with the inputs, and only with these. Their format follows from
	// their names, and they have fields of their own.
	References      []string
	ReferenceFields codec.Fields
	ofReferences    bool // these options are
	// Sought: few documents of references are read, those that are found by keys.
	Sought bool
}

// of are the options for files of a standing.
func (o Options) of(standing blocks.Standing) Options {
	if standing.There() {
		o.Fields, o.Rank = o.ReferenceFields, nil
		o.Format, o.Include, o.Exclude, o.AllowEmpty, o.ofReferences = "", nil, nil, true, true
	}
	return o
}

// Rank says what Fetch ranks documents by: each key decides between equals of those before it. The zero Rank gives
// them none: input order is all. At most one key has a column.
type Rank []RankKey

// RankKey is one of these.
type RankKey struct {
	Column  string   // its value
	Length  bool     // bytes of text
	Largest bool     // the largest first, not the smallest
	Globs   []string // the first of these that the file matches
}

// Column is that of the key which has one.
func (r Rank) Column() string {
	for _, k := range r {
		if k.Column != "" {
			return k.Column
		}
	}
	return ""
}

// Matches reports whether glob matches source or a folder that it is in: as an input, such a pattern would read it.
func Matches(glob, source string) bool {
	for ; source != ""; source = source[:max(strings.LastIndexByte(source, '/'), 0)] { // no path: URLs have "//"
		if ok, err := storage.Match(glob, source); ok && err == nil {
			return true
		}
	}
	return false
}

// FirstMatch is the first of globs that matches source, or how many there are.
func FirstMatch(globs []string, source string) int {
	for i, glob := range globs {
		if Matches(glob, source) {
			return i
		}
	}
	return len(globs)
}

const (
	usualSplit = 16 << 20
	// Little input of a disk has smaller splits, up to this many, so that no worker waits long for the one with the last.
	smallSplits = 64
	leastSplit  = 1 << 20
	// leastRows is leastSplit of a file of rows: a split that begins inside a row group unpacks its first pages again.
	leastRows = 8 << 20
	// PieceBytes is how much input a piece of the corpus is of, unless its file is smaller.
	PieceBytes = 256 << 20
	shardBytes = 64 << 20 // listed input bytes of a table shard
	maxShards  = 4096
	// MaxID is the size in bytes above which a document is not compared for its id: above what URLs and paths take.
	MaxID = 4 << 10
)

// MaxRecord is the size in bytes above which a record is read in parts only: an escaped text
// may be six times as long as it is, and a record has other fields.
func (o Options) MaxRecord() int { return int(8*o.MaxDocument + 1<<20) }

// longID reports whether the id of doc is too long for the document to be compared: then it does not
// travel, and in its stead goes the name of a document without one.
func longID(doc *codec.Document) bool { return len(doc.ID) > MaxID }

// id returns what doc is called in the output.
func (o Options) id(in *blocks.Inputs, key blocks.Key, doc *codec.Document) string {
	return in.ID(key, doc.ID, doc.HasID && !longID(doc))
}

// SplitSize is the size of a split, at most.
func (o Options) SplitSize() int64 { return cmp.Or(o.SplitBytes, usualSplit) }

// reading are the options of a read.
func (o Options) reading() reading.Options {
	return reading.Options{Fields: o.Fields, Encoding: o.Encoding, MaxRecord: o.MaxRecord(),
		MaxWindow: o.MaxWindow, Room: o.Room}
}

// ranked are those of a read of file that has the column to rank by, unless partition
// is its value in all of the file: the path goes through a folder with the column's
// name. In Parquet files the column goes before that, and their reader sees to it.
func (o Options) ranked(file *blocks.File) (ranked reading.Options, partition *codec.Value) {
	ranked = o.reading()
	column := o.Rank.Column()
	if column == "" {
		return ranked, nil
	}
	format, err := formatNamed(file.Format)
	if value, ok := reading.Partition(file.Path, column); ok && err == nil && !format.rows {
		v := codec.Untyped([]byte(value))
		return ranked, &v
	}
	ranked.Fields.Value = column
	return ranked, nil
}

// Listing is what Plan found.
type Listing struct {
	Inputs *Inputs
	// Skipped are files in input folders whose names are of no asked format.
	Skipped []string
	// Repeated are files that were named more than once, and are read once.
	Repeated []string
	// Links are files that are the same as one before them, by another path, and are not read.
	Links []Link
	// Both are how many files are named as inputs and as references, and are inputs.
	Both int
	// Idle are the paths of references that have no file, but for inputs.
	Idle []string
}

// Link is a file by two paths.
type Link struct{ Path, First string }

// listed is a file to be read.
type listed struct {
	path, version, format string
	size                  int64
	source                string // "": it follows from path and the root
	standing              blocks.Standing
	both                  bool // an input that is named as a reference, too
}

// Plan lists the files that args name, in input order: the order of args, then by
// path. References come before them. It cuts the input into splits and pieces, and looks into those files only
// that are large enough to be cut: the others are inspected by who reads them.
func Plan(ctx context.Context, args []string, o Options) (*Listing, error) {
	l := chooser{Listing: &Listing{}, options: o, seen: map[string]int{}}
	for _, arg := range args {
		var err error
		if arg == "-" {
			err = l.addStdin(ctx)
		} else {
			err = l.add(ctx, arg, blocks.Input)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(args) > 0 && len(l.files) == 0 && !o.AllowEmpty {
		return nil, errors.New("--include and --exclude match no input file; change them")
	}
	inputs, skipped := len(l.files), l.Skipped
	for i, path := range o.References {
		before, both := len(l.files), l.Both
		if err := l.add(ctx, path, blocks.Reference); err != nil {
			return nil, fmt.Errorf("--against %w", err)
		}
		if len(l.files) == before && l.Both == both && !slices.Contains(o.References[:i], path) {
			l.Idle = append(l.Idle, path)
		}
	}
	l.Skipped = skipped // of the inputs
	files := slices.Concat(l.files[inputs:], l.files[:inputs])
	if n := len(files); n > blocks.MaxFiles {
		return nil, fmt.Errorf("%d input files are too many (maximum: %d); join small ones, or run on parts", n,
			blocks.MaxFiles)
	}
	in, err := layOut(ctx, files, commonRoot(l.roots), o)
	l.Inputs = in
	return l.Listing, err
}

// chooser chooses files.
type chooser struct {
	*Listing
	options Options
	files   []listed
	roots   []string       // of the inputs
	seen    map[string]int // by identity, where a store has links, or else by path
}

func (l *chooser) addStdin(ctx context.Context) error {
	if slices.ContainsFunc(l.files, func(f listed) bool { return f.path == l.options.Stdin }) {
		return errors.New("standard input (-) is given twice")
	}
	file, err := stdin(ctx, l.options)
	l.files = append(l.files, file)
	return err
}

// add adds the files that arg names.
func (l *chooser) add(ctx context.Context, arg string, standing blocks.Standing) error {
	o, abs := l.options.of(standing), storage.Absolute()
	entries, err := storage.List(ctx, arg)
	// a store has no empty folders
	if errors.Is(err, fs.ErrNotExist) && o.AllowEmpty && (storage.IsPattern(arg) || !storage.IsLocal(arg)) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no such file or folder, and no file matches it; check the path", cmp.Or(arg, `""`))
	}
	if err != nil {
		return err
	}
	if len(entries) == 0 && !o.AllowEmpty {
		return fmt.Errorf("%s: the folder has no files; give one that has some", arg)
	}
	if entries, err = o.pick(entries); err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	if err := refuseTables(entries); err != nil {
		return err
	}
	if standing == blocks.Reference && !slices.ContainsFunc(entries, named) {
		o.Format = l.options.Format // their names tell none
	}
	chosen, skipped, err := o.choose(ctx, arg, entries)
	if err != nil {
		return err
	}
	if len(chosen) == len(skipped) && !o.AllowEmpty {
		return unread(arg, skipped...)
	}
	l.Skipped = append(l.Skipped, skipped...)
	for i, e := range entries {
		if chosen[i] == "" || e.Size == 0 && standing == blocks.Reference {
			continue
		}
		if e.Path, err = abs(e.Path); err != nil {
			return err
		}
		same := cmp.Or(e.Identity, e.Path)
		if first, ok := l.seen[same]; ok {
			l.repeated(e.Path, &l.files[first], standing)
			continue
		}
		l.seen[same] = len(l.files)
		file := listed{path: e.Path, version: e.Version, format: chosen[i], size: e.Size, standing: standing}
		if standing == blocks.Reference {
			file.source = file.path
			l.files = append(l.files, file)
			continue
		}
		l.files = append(l.files, file)
		root := storage.Dir(e.Path)
		if e.Folder != "" {
			if root, err = abs(e.Folder); err != nil {
				return err
			}
		}
		if len(l.roots) == 0 || l.roots[len(l.roots)-1] != root {
			l.roots = append(l.roots, root)
		}
	}
	return nil
}

// named reports whether a file's name tells its format.
func named(e storage.Entry) bool {
	_, ok := formatOf(e.Path)
	return ok
}

// repeated notes that a file is named again.
func (l *chooser) repeated(path string, first *listed, standing blocks.Standing) {
	switch {
	case standing == blocks.Reference && first.standing != blocks.Reference && !first.both:
		l.Both++
		first.both = true
	case standing == blocks.Reference: // which is the same as once
	case first.path == path:
		l.Repeated = append(l.Repeated, path)
	default:
		l.Links = append(l.Links, Link{path, first.path})
	}
}

// stdin is the file that stands for standard input.
func stdin(ctx context.Context, o Options) (listed, error) {
	f, err := formatNamed(o.Format)
	if err != nil {
		return listed{}, fmt.Errorf("standard input has no name to tell its format; give --format (%s)",
			strings.Join(Formats(), ", "))
	}
	copied, err := storage.Stat(ctx, o.Stdin)
	if err != nil {
		return listed{}, err
	}
	ending := ".txt"
	if f.extensions != nil {
		ending = f.extensions[0]
	}
	return listed{path: o.Stdin, source: "stdin" + ending, size: copied.Size, version: copied.Version, format: f.name}, nil
}

// commonRoot is the longest folder that is, or is above, every one of folders; "" if there is none.
func commonRoot(folders []string) string {
	if len(folders) == 0 {
		return ""
	}
	root := folders[0]
	for _, folder := range folders[1:] {
		for {
			if _, ok := storage.Rel(root, folder); ok {
				break
			}
			above := storage.Dir(root)
			if above == root {
				return "" // inputs of several stores have no folder in common
			}
			root = above
		}
	}
	return root
}

// lists are the formats that have these.
var lists = []string{"json", "jsonl", "parquet"}

// layOut makes the inputs that follow from the files and their order.
func layOut(ctx context.Context, files []listed, root string, o Options) (*Inputs, error) {
	in := &Inputs{Inputs: &blocks.Inputs{Root: root}}
	var total, references int64
	for i := range files {
		f := &files[i]
		if f.standing == blocks.Reference {
			references += f.size
		}
		if total += f.size; o.Fields.Items && !slices.Contains(lists, f.format) {
			return nil, fmt.Errorf("%s: --shingle item compares the elements of lists, which files of the format %s "+
				"do not have; give json, jsonl or parquet", f.path, f.format)
		}
		if f.source == "" {
			var ok bool
			if f.source, ok = storage.Rel(root, f.path); !ok {
				return nil, fmt.Errorf("%s: it has no folder in common with the other inputs, and the names of sources "+
					"are relative to that; read it in a separate run", f.path)
			}
		}
		if !utf8.ValidString(f.path) {
			return nil, fmt.Errorf("%q: the name is not UTF-8, so the output could not identify the file; rename it", f.path)
		}
	}
	in.Shards = int(min(max(1, (total-references+shardBytes-1)/shardBytes), maxShards))
	large, small := o.SplitSize(), o
	small.SplitBytes = cmp.Or(o.SplitBytes, min(max(leastSplit, total/smallSplits), usualSplit))
	rows := small
	rows.SplitBytes = cmp.Or(o.SplitBytes, max(leastRows, small.SplitBytes))
	splitting := func(f *listed) Options { // each split is opened once more, which is a request on a store
		format, err := formatNamed(f.format)
		switch {
		case !storage.IsLocal(f.path) || f.standing == blocks.Reference && o.Sought:
			return o
		case err == nil && format.rows:
			return rows
		default:
			return small
		}
	}
	inspected, err := inspect(ctx, files, references, total, in.Shards, splitting)
	if err != nil {
		return nil, err
	}
	for i := range files {
		file, isInspected := inspected[i]
		if !isInspected {
			if file, _, err = files[i].file(o); err != nil {
				return nil, err
			}
		}
		var splits, pieces []int64
		if isInspected {
			r, err := readerOf(file)
			if err != nil {
				return nil, err
			}
			splits, pieces = r.Cut(file, splitting(&files[i]).splitSize(file)), r.Cut(file, PieceBytes)
		}
		in.Add(file, splits, pieces)
		if file.Compression != "" && file.Size > large && file.Standing != blocks.Reference {
			in.LargeCompressed = true
		}
		if n := len(in.details); n == 0 || in.details[n-1].Full() {
			in.details = append(in.details, &blocks.Details{})
		}
		in.details[len(in.details)-1].Add(file, isInspected)
	}
	if o.Limit > 0 {
		if err := limit(ctx, in, o); err != nil {
			return nil, err
		}
	}
	return in, checkPieceNames(in.Inputs)
}

// splitSize is SplitSize of a file: one of a few bytes may have millions of rows.
func (o Options) splitSize(file *blocks.File) int64 {
	if o.SplitRows == 0 || file.Positions <= o.SplitRows {
		return o.SplitSize()
	}
	return min(o.SplitSize(), max(1, file.Size/(file.Positions/o.SplitRows+1)))
}

// file is what the listing says of a file, and its format.
func (f *listed) file(o Options) (*blocks.File, format, error) {
	format, err := formatNamed(f.format)
	return &blocks.File{
		Path: f.path, Source: f.source, Format: f.format, Size: f.size, Version: f.version,
		IDIsSource: format.oneDocument != nil && format.oneDocument(o.of(f.standing).Fields),
		Standing:   f.standing,
	}, format, err
}

// fewRowFiles is up to how many files of rows are inspected here, and else by who reads them.
const fewRowFiles = 1000

// inspect inspects the files, by number, of which the plan needs to know more than the listing says: they may be cut,
// or they are of rows and do not lie in one of the shards, so that only their rows tell where a record is. The
// files are of so many bytes, of which those of references come first.
func inspect(
	ctx context.Context, files []listed, references, total int64, shards int, options func(*listed) Options,
) (map[int]*blocks.File, error) {
	var numbers, ofRows []int
	var offset int64
	for i := range files {
		size, first, of := files[i].size, offset, references // of the files that are spread over shards with this one
		if files[i].standing != blocks.Reference {
			first, of = offset-references, total-references
		}
		crosses := blocks.ShardAt(first, of, shards) != blocks.ShardAt(first+max(size-1, 0), of, shards)
		offset += size
		f, err := formatNamed(files[i].format)
		switch {
		case size > options(&files[i]).SplitSize():
			numbers = append(numbers, i)
		case err != nil:
			return nil, err
		case f.rows && crosses:
			numbers = append(numbers, i)
		case f.rows:
			ofRows = append(ofRows, i)
		}
	}
	if len(ofRows) > 0 && len(ofRows) <= fewRowFiles && options(&files[0]).SplitRows > 0 {
		numbers = append(numbers, ofRows...)
		slices.Sort(numbers)
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	found := make([]*blocks.File, len(numbers))
	err := each(ctx, len(numbers), inFlight(files[numbers[0]].path), func(i int) error {
		o := options(&files[numbers[i]])
		file, format, err := files[numbers[i]].file(o)
		if err != nil {
			return err
		}
		found[i] = file
		ctx, done := storage.Once(ctx)
		defer done()
		return o.of(file.Standing).inspect(ctx, format.reader, file)
	})
	inspected := make(map[int]*blocks.File, len(numbers))
	for i, file := range found {
		inspected[numbers[i]] = file
	}
	return inspected, err
}

// checkPieceNames refuses two corpus files of one name, of which one would be lost: a large file's
// piece, or standard input, may be called what another file is called.
func checkPieceNames(in *blocks.Inputs) error {
	seen := map[string]int{} // the former two, which are few
	for _, few := range []bool{true, false} {
		for i := range in.Pieces.Len() {
			file := in.Pieces.At(i).File
			name := in.PieceName(i)
			if (name != in.Name(file) || in.Elsewhere(file)) != few {
				continue
			}
			if other, ok := seen[name]; ok {
				return fmt.Errorf("%s and %s would both be written as corpus/%s; rename one",
					in.File(in.Pieces.At(min(i, other)).File).Path, in.File(in.Pieces.At(max(i, other)).File).Path, name)
			}
			if few {
				seen[name] = i
			}
		}
		if len(seen) == 0 {
			break
		}
	}
	return nil
}

// limit ends the input after the first o.Limit readable documents.
func limit(ctx context.Context, in *Inputs, o Options) error {
	remaining := o.Limit
	for i := range in.Splits.Len() {
		split := in.Splits.At(i)
		if split.File < in.References() {
			continue
		}
		var last int64
		_, err := Records(ctx, in, []blocks.Span{split}, o, func(record *reading.Record) error {
			if record.Err == nil {
				last = record.Position
				remaining--
			}
			if remaining == 0 {
				return reading.ErrStop
			}
			return nil
		})
		if err != nil {
			return err
		}
		if remaining == 0 {
			in.Truncate(i, last)
			return nil
		}
	}
	return nil
}
