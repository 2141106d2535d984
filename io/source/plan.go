package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
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
	// Before leaves out files that were modified at that time or later; the zero Time leaves out none.
	Before time.Time
	// SkipUnknown: of a folder with data of several formats, that with the most bytes is read.
	SkipUnknown bool
	// MaxDocument is the size in bytes above which a text is not compared.
	MaxDocument int64
	// KeepInvalid: a text that is not UTF-8 is as good as any.
	KeepInvalid bool
	// MaxID is the size in bytes above which a document is not compared for its id; 0: there is none.
	MaxID int64
	// MaxWindow is the size in bytes above which the window of a compressed file is refused; 0: there is none.
	MaxWindow int64
	// Memory is what the process is kept to, in bytes; 0: not known. Results do not depend on it.
	Memory int64
	// SplitBytes is the size of a split of a file that can be split; 0: the usual.
	SplitBytes int64
	// Limit ends the input after that many readable documents; 0: no limit.
	Limit int64
	// Stdin is the file that standard input, the argument "-", was copied to.
	Stdin string
}

// Rank says what Fetch ranks documents by. The zero Rank gives them none: input order is all.
type Rank struct {
	Column  string // its value
	Length  bool   // bytes of text
	Largest bool   // the largest first, not the smallest
}

const (
	usualSplit = 16 << 20
	pieceBytes = 256 << 20 // a larger file's corpus is written in pieces of so much input
	shardBytes = 64 << 20  // listed input bytes of a table shard
	maxShards  = 4096
)

// MaxRecord is the size in bytes above which a record is read in parts only: an escaped text
// may be six times as long as it is, and a record has other fields.
func (o Options) MaxRecord() int { return int(8*o.MaxDocument + 1<<20) }

// longID reports whether the id of doc is too long for the document to be compared: then it does not
// travel, and in its stead goes the name of a document without one.
func (o Options) longID(doc *codec.Document) bool {
	return o.MaxID > 0 && int64(len(doc.ID)) > o.MaxID
}

// id returns what doc is called in the output.
func (o Options) id(in *blocks.Inputs, key blocks.Key, doc *codec.Document) string {
	return in.ID(key, doc.ID, doc.HasID && !o.longID(doc))
}

// reading are the options of a read.
func (o Options) reading() reading.Options {
	return reading.Options{Fields: o.Fields, Encoding: o.Encoding, MaxRecord: o.MaxRecord(), MaxWindow: o.MaxWindow, Memory: o.Memory}
}

// ranked are those of a read that has the column to rank by.
func (o Options) ranked() reading.Options {
	ranked := o.reading()
	ranked.Fields.Value = o.Rank.Column
	return ranked
}

// Listing is what Plan found.
type Listing struct {
	Inputs *blocks.Inputs
	// Skipped are files in input folders whose names are of no asked format.
	Skipped []string
	// Repeated are files that were named more than once, and are read once.
	Repeated []string
	// Links are files that are the same as one before them, by another path, and are not read.
	Links []Link
}

// Link is a file by two paths.
type Link struct{ Path, First string }

// Plan lists the files that args name, in input order: the order of args, then by path. It
// looks into each file for compression and header, and cuts the input into splits and pieces.
func Plan(ctx context.Context, args []string, o Options) (*Listing, error) {
	listing := &Listing{Inputs: &blocks.Inputs{}}
	var roots []string
	seen := map[string]bool{}
	paths := map[string]string{} // by identity
	for _, arg := range args {
		if arg == "-" {
			if slices.ContainsFunc(listing.Inputs.Files, func(f blocks.File) bool { return f.Path == o.Stdin }) {
				return nil, errors.New("standard input (-) is given twice")
			}
			file, err := stdin(ctx, o)
			if err != nil {
				return nil, err
			}
			listing.Inputs.Files = append(listing.Inputs.Files, file)
			continue
		}
		entries, err := storage.List(ctx, arg)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such file or folder; check the path, or quote a pattern", cmp.Or(arg, `""`))
		}
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			return nil, fmt.Errorf("%s: no files in it", arg)
		}
		if entries, err = o.pick(entries); err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			continue
		}
		files, skipped, err := o.choose(ctx, arg, entries)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s: no file of a known format among %d; give --format (%s)", arg, len(entries), strings.Join(Formats(), ", "))
		}
		listing.Skipped = append(listing.Skipped, skipped...)
		for _, f := range files {
			if f.Path, err = storage.Abs(f.Path); err != nil {
				return nil, err
			}
			if seen[f.Path] {
				listing.Repeated = append(listing.Repeated, f.Path)
				continue
			}
			seen[f.Path] = true
			if first, ok := paths[f.identity]; ok && f.identity != "" {
				listing.Links = append(listing.Links, Link{f.Path, first})
				continue
			}
			paths[f.identity] = f.Path
			listing.Inputs.Files = append(listing.Inputs.Files, f.File)
			root := storage.Dir(f.Path)
			if f.folder != "" {
				if root, err = storage.Abs(f.folder); err != nil {
					return nil, err
				}
			}
			roots = append(roots, root)
		}
	}
	if len(args) > 0 && len(listing.Inputs.Files) == 0 {
		return nil, errors.New("--include, --exclude and --modified-before leave no input file")
	}
	if n := len(listing.Inputs.Files); n > blocks.MaxFiles {
		return nil, fmt.Errorf("%d input files, at most %d can be read; join small ones, or run on parts", n, blocks.MaxFiles)
	}
	return listing, layOut(ctx, listing.Inputs, commonRoot(roots), o)
}

// stdin is the file that stands for standard input.
func stdin(ctx context.Context, o Options) (blocks.File, error) {
	f, err := formatNamed(o.Format)
	if err != nil {
		return blocks.File{}, fmt.Errorf("standard input has no name to tell its format; give --format (%s)", strings.Join(Formats(), ", "))
	}
	copied, err := storage.Stat(ctx, o.Stdin)
	if err != nil {
		return blocks.File{}, err
	}
	ending := ".txt"
	if f.extensions != nil {
		ending = f.extensions[0]
	}
	return blocks.File{
		Path: o.Stdin, Source: "stdin" + ending, Size: copied.Size, Version: copied.Version,
		Format: f.name, IDIsSource: f.idIsSource,
	}, nil
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

// layOut fills in what follows from the files and their order.
func layOut(ctx context.Context, in *blocks.Inputs, root string, o Options) error {
	in.Root = root
	var offset int64
	for i := range in.Files {
		file := &in.Files[i]
		if file.Source == "" {
			source, ok := storage.Rel(root, file.Path)
			if !ok {
				return fmt.Errorf("%s: not in one folder with the other inputs, which the names of sources are relative to; read it in a run of its own", file.Path)
			}
			file.Source = source
		}
		file.Offset = offset
		offset += file.Size
		if !utf8.ValidString(file.Path) {
			return fmt.Errorf("%q: the name is not UTF-8, and could not be told apart in the output; rename it", file.Path)
		}
		r, err := readerOf(file)
		if err != nil {
			return err
		}
		if err := r.Inspect(ctx, file, o.ranked()); err != nil {
			return err
		}
		in.Splits = append(in.Splits, spans(i, r.Cut(file, cmp.Or(o.SplitBytes, usualSplit)))...)
		pieces := spans(i, r.Cut(file, pieceBytes))
		number(pieces)
		in.Pieces = append(in.Pieces, pieces...)
	}
	in.Shards = int(min(max(1, (offset+shardBytes-1)/shardBytes), maxShards))
	if o.Limit > 0 {
		if err := limit(ctx, in, o); err != nil {
			return err
		}
	}
	return checkPieceNames(in)
}

// checkPieceNames refuses two corpus files of one name, of which one would be lost: a large file's
// piece may be called what another file is called.
func checkPieceNames(in *blocks.Inputs) error {
	seen := map[string]int{}
	for i, piece := range in.Pieces {
		name := in.PieceName(i)
		if other, ok := seen[name]; ok {
			return fmt.Errorf("%s and %s would both be written as corpus/%s; rename one",
				in.Files[in.Pieces[other].File].Path, in.Files[piece.File].Path, name)
		}
		seen[name] = i
	}
	return nil
}

// number numbers the pieces of one file.
func number(pieces []blocks.Span) {
	for i := range pieces {
		pieces[i].Part, pieces[i].Parts = i, len(pieces)
	}
	if len(pieces) == 1 {
		pieces[0].Parts = 0
	}
}

// spans are those of a file that is cut at positions.
func spans(ordinal int, cuts []int64) (spans []blocks.Span) {
	start := int64(0)
	for _, end := range cuts {
		spans = append(spans, blocks.Span{File: ordinal, Start: start, End: end})
		start = end
	}
	return append(spans, blocks.Span{File: ordinal, Start: start, End: blocks.End})
}

// limit ends the input after the first o.Limit readable documents.
func limit(ctx context.Context, in *blocks.Inputs, o Options) error {
	left := o.Limit
	for i, split := range in.Splits {
		var last int64
		_, err := Records(ctx, in, []blocks.Span{split}, o, func(record *reading.Record) error {
			if record.Err == nil {
				last = record.Position
				left--
			}
			if left == 0 {
				return reading.ErrStop
			}
			return nil
		})
		if err != nil {
			return err
		}
		if left == 0 {
			truncateAt(in, i, last)
			return nil
		}
	}
	return nil
}

// truncateAt ends the input with the record that begins at last in a split.
func truncateAt(in *blocks.Inputs, split int, last int64) {
	in.Splits = in.Splits[:split+1]
	in.Splits[split].End = last + 1
	in.Pieces = in.Pieces[:in.Piece(blocks.NewKey(in.Splits[split].File, last))+1]
	piece := &in.Pieces[len(in.Pieces)-1]
	piece.End = last + 1
	number(in.Pieces[len(in.Pieces)-1-piece.Part:])
}
