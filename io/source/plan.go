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
	"github.com/neardup/neardup/records"
)

// Options say how inputs are read.
type Options struct {
	Format string // a name of Formats; "": by each file's name
	Fields codec.Fields
	Rank   Rank
	// Encoding is the encoding of text files; see reading.Options.
	Encoding string
	// Include and Exclude are patterns of the files to read and not to read; no Include: all. A pattern without a slash
	// matches any name in a file's path below its input folder, another pattern that path or a folder on it.
	Include, Exclude []string
	// MaxDocument is the size in bytes above which a text is not compared.
	MaxDocument int64
	// KeepInvalid accepts texts that are not UTF-8.
	KeepInvalid bool
	// MaxWindow is the maximum window of a compressed file in bytes; 0: no limit.
	MaxWindow int64
	// Room is how many bytes all readers in a process may hold at a time; 0: no limit. Results do not depend on it.
	Room int64
	// SplitBytes is the size of a split of a file that can be split; 0: the default, or less for a small input on a disk.
	SplitBytes int64
	// SplitRows is about the maximum number of rows per split in a file of rows; 0: no limit.
	SplitRows int64
	// AllowEmpty accepts folders and patterns without a file to read.
	AllowEmpty bool
	// Limit ends the input after this many readable documents; 0: no limit.
	Limit int64
	// Stdin is the file that holds a copy of standard input, the argument "-".
	Stdin string
	// References are the paths of files that are compared only with inputs. Their names tell their formats, and they have
	// fields of their own.
	References      []string
	ReferenceFields codec.Fields
	ofReferences    bool // these options are for references
	// Indexed says that references are files of an index, whose texts were accepted and decoded when they were added.
	Indexed bool
	// Sought says that few documents of references are read: those found by keys.
	Sought bool
}

// of returns the options for files of a standing.
func (o Options) of(standing blocks.Standing) Options {
	if standing.There() {
		o.Fields, o.Rank = o.ReferenceFields, nil
		o.Format, o.Include, o.Exclude, o.AllowEmpty, o.ofReferences = "", nil, nil, true, true
		if o.Indexed {
			o.Encoding, o.KeepInvalid = "", true
		}
	}
	return o
}

// Rank is the order by which Fetch ranks documents: each key decides between documents that are equal in the keys
// before it. The zero Rank leaves them in input order. At most one key has a column.
type Rank []RankKey

// RankKey is one key of a Rank: a column, the length or a list of patterns.
type RankKey struct {
	Column  string   // by its value
	Length  bool     // by the length of the text in bytes
	Largest bool     // the largest first instead of the smallest
	Globs   []string // by the first of these patterns that matches the file
}

// Column returns the column of the key that has one, or "".
func (r Rank) Column() string {
	for _, k := range r {
		if k.Column != "" {
			return k.Column
		}
	}
	return ""
}

// Matches reports whether glob matches source or a folder above it: as an input, such a pattern would read source.
func Matches(glob, source string) bool {
	for ; source != ""; source = source[:max(strings.LastIndexByte(source, '/'), 0)] { // not path.Dir: URLs have "//"
		if ok, err := storage.Match(glob, source); ok && err == nil {
			return true
		}
	}
	return false
}

// FirstMatch returns the index of the first glob that matches source, or len(globs) if none does.
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
	// A small input on a disk has smaller splits, up to this many, so that no worker waits long for the last one.
	smallSplits = 64
	leastSplit  = 1 << 20
	// leastRows is leastSplit for files of rows: a split that begins inside a row group unpacks its first pages again.
	leastRows = 8 << 20
	// PieceBytes is the size of the input of one piece of the corpus, unless its file is smaller.
	PieceBytes = 256 << 20
	shardBytes = 64 << 20 // listed input bytes per table shard
	maxShards  = 4096
	// MaxID is the size in bytes above which an id keeps its document from being compared; URLs and paths are shorter.
	MaxID = 4 << 10
)

// MaxRecord returns the size in bytes above which a record is read only in part: an escaped text may be six times as
// long as the text, and a record has other fields.
func (o Options) MaxRecord() int { return int(8*o.MaxDocument + 1<<20) }

// longID reports whether the id of doc is too long for the document to be compared. Such an id is not carried along;
// the name of a document without an id takes its place.
func longID(doc *codec.Document) bool { return len(doc.ID) > MaxID }

// id returns the name of doc in the output.
func (o Options) id(in *blocks.Inputs, key blocks.Key, doc *codec.Document) string {
	return in.ID(key, doc.ID, doc.HasID && !longID(doc))
}

// SplitSize returns the maximum size of a split in bytes.
func (o Options) SplitSize() int64 { return cmp.Or(o.SplitBytes, usualSplit) }

// reading returns the options of a read.
func (o Options) reading() reading.Options {
	return reading.Options{Fields: o.Fields, Encoding: o.Encoding, MaxRecord: o.MaxRecord(),
		MaxWindow: o.MaxWindow, Room: o.Room}
}

// ranked returns the options of a read of file that includes the column to rank by. If the path contains a folder named
// for the column, partition is the column's value for the whole file, and the read leaves the column out. In Parquet
// files a column precedes the folder, and their reader decides.
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

// Listing is the result of Plan.
type Listing struct {
	Inputs *Inputs
	// Skipped are the files in input folders that are not read because of their names.
	Skipped []string
	// Repeated are the files that were named more than once. Each is read once.
	Repeated []string
	// Links are files that are not read because they are other paths of files already listed.
	Links []Link
	// Both is the number of files that are named both as inputs and as references. They are inputs.
	Both int
	// Idle are the paths of references that add no file, not even one that is an input.
	Idle []string
}

// Link is a file found under two paths.
type Link struct{ Path, First string }

// listed is a file to be read.
type listed struct {
	path, version, format string
	size                  int64
	source                string // "": it is relative to the root
	standing              blocks.Standing
	both                  bool // an input that is also named as a reference
}

// Plan lists the files that args name, in input order: references first, then the order of args, then by path. It cuts
// the input into splits and pieces. It inspects only files that are large enough to be cut and some files of rows; the
// others are inspected when they are read.
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
		return nil, errors.New("--include or --exclude leaves no input file; change the pattern")
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
	l.Skipped = skipped // keep only those of the inputs
	files := slices.Concat(l.files[inputs:], l.files[:inputs])
	if n := len(files); n > blocks.MaxFiles {
		return nil, fmt.Errorf("%s are too many (maximum: %s); merge small files, or divide the input between "+
			"several runs", records.Plural(n, "input file"), records.Count(blocks.MaxFiles))
	}
	in, err := layOut(ctx, files, commonRoot(l.roots), o)
	l.Inputs = in
	return l.Listing, err
}

// chooser chooses the files to read.
type chooser struct {
	*Listing
	options Options
	files   []listed
	roots   []string       // of the inputs
	seen    map[string]int // indexes in files, by identity where a store has links, else by path
}

func (l *chooser) addStdin(ctx context.Context) error {
	if slices.ContainsFunc(l.files, func(f listed) bool { return f.path == l.options.Stdin }) {
		return errors.New("standard input (-) is given twice; give it once")
	}
	file, err := stdin(ctx, l.options)
	l.files = append(l.files, file)
	return err
}

// add adds the files that arg names.
func (l *chooser) add(ctx context.Context, arg string, standing blocks.Standing) error {
	o := l.options.of(standing)
	entries, err := storage.List(ctx, arg)
	// An object store has no empty folders.
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
		return fmt.Errorf("%s: the folder contains no files; choose another", arg)
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
		o.Format = l.options.Format // no name tells the format
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
		if e.Path, err = storage.Abs(e.Path); err != nil {
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
			if root, err = storage.Abs(e.Folder); err != nil {
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

// repeated records that a file is named again.
func (l *chooser) repeated(path string, first *listed, standing blocks.Standing) {
	switch {
	case standing == blocks.Reference && first.standing != blocks.Reference && !first.both:
		l.Both++
		first.both = true
	case standing == blocks.Reference: // which changes nothing
	case first.path == path:
		l.Repeated = append(l.Repeated, path)
	default:
		l.Links = append(l.Links, Link{path, first.path})
	}
}

// stdin returns the file that stands for standard input.
func stdin(ctx context.Context, o Options) (listed, error) {
	f, err := formatNamed(o.Format)
	if err != nil {
		return listed{}, fmt.Errorf("cannot tell the format of standard input; use --format %s", records.Or(Formats()...))
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

// commonRoot returns the deepest folder that is, or contains, each of folders; "" if there is none.
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

// lists are the formats whose values may be lists.
var lists = []string{"json", "jsonl", "parquet"}

// layOut makes the inputs from the files in their order.
func layOut(ctx context.Context, files []listed, root string, o Options) (*Inputs, error) {
	in := &Inputs{Inputs: &blocks.Inputs{Root: root}}
	var total, references int64
	for i := range files {
		f := &files[i]
		if f.standing == blocks.Reference {
			references += f.size
		}
		if total += f.size; o.Fields.Items && !slices.Contains(lists, f.format) {
			return nil, fmt.Errorf("%s: --shingle item compares the elements of lists, but files in the %s format "+
				"have no lists; use --format json, jsonl or parquet", f.path, f.format)
		}
		if f.source == "" {
			var ok bool
			if f.source, ok = storage.Rel(root, f.path); !ok {
				return nil, fmt.Errorf("%s: it shares no parent folder with the other inputs, so its source cannot be a "+
					"relative path; read it in a separate run", f.path)
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
	splitting := func(f *listed) Options { // on a store, each split costs a request to open the file
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
		file, isInspected := inspected[i], inspected[i] != nil
		var splits, pieces []int64
		if !isInspected {
			if file, _, err = files[i].file(o); err != nil {
				return nil, err
			}
		} else {
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

// splitSize returns the split size of a file. It bounds the rows, because a file of few bytes may have millions.
func (o Options) splitSize(file *blocks.File) int64 {
	if o.SplitRows == 0 || file.Positions <= o.SplitRows {
		return o.SplitSize()
	}
	return min(o.SplitSize(), max(1, file.Size/(file.Positions/o.SplitRows+1)))
}

// file returns what the listing says of a file, and its format.
func (f *listed) file(o Options) (*blocks.File, format, error) {
	format, err := formatNamed(f.format)
	return &blocks.File{
		Path: f.path, Source: f.source, Format: f.format, Size: f.size, Version: f.version,
		IDIsSource: format.oneDocument != nil && format.oneDocument(o.of(f.standing).Fields),
		Standing:   f.standing,
	}, format, err
}

// fewRowFiles is the maximum number of files of rows that Plan inspects only to bound the rows of their splits.
const fewRowFiles = 1000

// inspect inspects the files of which the plan needs more than the listing, and returns nil for the others: it inspects
// files that may be cut, files of rows that cross a shard's end, since only the rows tell where a record is, and all
// files of rows if they are few. The files have total bytes, of which the first are those of references.
func inspect(
	ctx context.Context, files []listed, references, total int64, shards int, options func(*listed) Options,
) ([]*blocks.File, error) {
	inspected := make([]*blocks.File, len(files))
	var numbers, ofRows []int
	var offset int64
	for i := range files {
		size, first, of := files[i].size, offset, references // within the files that share their shards
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
		return inspected, nil
	}
	return inspected, each(ctx, len(numbers), inFlight(files[numbers[0]].path), func(i int) error {
		o := options(&files[numbers[i]])
		file, format, err := files[numbers[i]].file(o)
		if err != nil {
			return err
		}
		inspected[numbers[i]] = file
		ctx, done := storage.Once(ctx)
		defer done()
		return o.of(file.Standing).inspect(ctx, format.reader, file)
	})
}

// checkPieceNames refuses two corpus files of the same name, since one would be lost: a piece of a large file, or
// standard input, may have the name of another file.
func checkPieceNames(in *blocks.Inputs) error {
	seen := map[string]int{} // names of the former two, which are few
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
