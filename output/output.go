// Package output defines the layout of an output folder: the names of its parts and files, and the options of its
// Parquet files. It also reads finished outputs.
package output

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/records"
)

// Part is a table, or the corpus: a folder of an output.
type Part string

// Parts of the output of dedup.
const (
	Pairs    Part = "pairs"
	Clusters Part = "clusters"
	Removed  Part = "removed"
	Rejected Part = "rejected"
	Corpus   Part = "corpus"
	// Documents has a row for each record; it is written only on request.
	Documents Part = "documents"
)

// Tables of a comparison, besides Pairs.
const (
	Buckets    Part = "buckets"
	Candidates Part = "candidates"
)

// Kept is a table of an index, besides Removed.
const Kept Part = "kept"

// Tables of passages.
const (
	Passages Part = "passages"
	Coverage Part = "coverage"
	Repeats  Part = "repeats"
	// Contaminated is written instead of these in a search for items.
	Contaminated Part = "contaminated"
)

// Parts returns all parts of the output of dedup.
func Parts() []Part { return []Part{Pairs, Clusters, Removed, Rejected, Corpus, Documents} }

// PartOf returns the part that a file of the manifest belongs to.
func PartOf(file string) Part {
	part, _, _ := strings.Cut(file, "/")
	return Part(part)
}

// Names of files of an output, besides those of its parts.
const (
	RunFile      = "run.json"
	ManifestFile = "manifest.json"
	ReportFile   = "report.html"
	SuccessFile  = "_SUCCESS" // a Success; exists once all others are complete
	LockFile     = ".lock"    // exists while a run writes
)

// Success is the content of SuccessFile.
type Success struct {
	Run      string `json:"run"`      // the run that wrote the output
	Manifest string `json:"manifest"` // the SHA-256 of ManifestFile
}

// Folder is the folder where the files of an output are published, or staged until then.
type Folder struct {
	Dir string
	// Opaque means that files have opaque names, so that no reader takes them for those of a finished output.
	Opaque bool
}

// Name returns the name in the folder of a file of the output.
func (f Folder) Name(name string) string {
	if !f.Opaque {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// Path returns the path of a file of the output.
func (f Folder) Path(name string) string { return storage.Join(f.Dir, f.Name(name)) }

// Write writes a file of the output below the folder, and returns its entry of the manifest, without rows. If synced,
// the file survives a loss of power. It fails once storage.End has ended the folder.
func (f Folder) Write(
	ctx context.Context, name string, synced bool, write func(io.Writer) error,
) (records.ManifestFile, error) {
	hash := sha256.New()
	path := f.Path(name)
	info, err := storage.WriteStaged(ctx, f.Dir, path, func(w io.Writer) error {
		// Hashing whole buffers is cheaper than hashing records.
		return storage.Buffered(io.MultiWriter(w, hash), write)
	})
	if err == nil && synced {
		err = storage.Sync(ctx, path)
	}
	if err != nil {
		return records.ManifestFile{}, err
	}
	return records.ManifestFile{Path: name, Bytes: info.Size, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

// Sum returns the SHA-256 of data in the form that manifests use.
func Sum(data []byte) string {
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}

// Intact reports whether there is a file with a SHA-256, in the form that manifests use. It reads all of the file.
func Intact(ctx context.Context, path, sum string) (bool, error) {
	content, err := storage.OpenFile(ctx, path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	defer content.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, content)
	return hex.EncodeToString(hash.Sum(nil)) == sum, err
}

// TableFile returns the name below the output of a shard of a table.
func TableFile(table Part, shard int64, shards int) string {
	return fmt.Sprintf("%s/part-%05d-of-%05d.parquet", table, shard, shards)
}

// DocumentsFile returns the name below the output of the documents of an input file, which may be a key with "..".
func DocumentsFile(source string) string {
	return path.Join(string(Documents), path.Clean("/"+source)+".parquet")
}

// CorpusFile returns the name below the output of a corpus file.
func CorpusFile(name string) string { return path.Join(string(Corpus), name) }

// WriterOptions returns the options of every Parquet file, with its key-value metadata.
func WriterOptions(metadata map[string]string) []parquet.WriterOption {
	options := []parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.CreatedBy("neardup", records.Tables, "")}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		options = append(options, parquet.KeyValueMetadata(key, metadata[key]))
	}
	return options
}

// JSON writes a value as JSON for people: indented, and without HTML escapes.
func JSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// WriteJSON writes run.json or the manifest below the folder root, and returns its SHA-256.
func WriteJSON(ctx context.Context, root, file string, v any) (sum string, err error) {
	hash := sha256.New()
	_, err = storage.WriteBelow(ctx, root, file, func(w io.Writer) error {
		return JSON(io.MultiWriter(w, hash), v)
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}

// Finished is a finished output.
type Finished struct {
	Folder
	Run      records.Run
	Manifest records.Manifest

	mark string // content of SuccessFile
}

// Open opens the output folder dir. It returns an error for an unfinished output, which has no _SUCCESS or another
// manifest than that names, and for tables of another format.
func Open(ctx context.Context, dir string) (*Finished, error) {
	for {
		f := &Finished{Folder: Folder{Dir: dir}}
		mark, err := storage.ReadFile(ctx, f.Path(SuccessFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, unfinished(ctx, dir)
		}
		if err != nil {
			return nil, err
		}
		f.mark = string(mark)
		err = f.read(ctx)
		// Another output may have replaced it meanwhile.
		if same, markErr := f.Unchanged(ctx); markErr != nil || same {
			err = errors.Join(err, markErr)
			if err != nil {
				return nil, err
			}
			return f, nil
		}
	}
}

// NoFolderError says that a folder does not exist, and what to do then.
type NoFolderError struct{ Dir, Next string }

func (e *NoFolderError) Error() string { return "folder " + e.Dir + " does not exist; " + e.Next }

// Status returns the exit status.
func (*NoFolderError) Status() int { return 2 }

// StatusError is an error that decides the exit status of the program.
type StatusError struct {
	Exit   int
	Reason string
}

func (e *StatusError) Error() string { return e.Reason }

// Status returns the exit status.
func (e *StatusError) Status() int { return e.Exit }

// CheckFolder returns a *NoFolderError if there is no folder dir.
func CheckFolder(ctx context.Context, dir, next string) error {
	there, err := storage.Exists(ctx, dir)
	if err == nil && !there {
		return &NoFolderError{dir, next}
	}
	return err
}

// unfinished returns the error for a folder without a mark of success.
func unfinished(ctx context.Context, dir string) error {
	const next = "name the --output folder of a run"
	if err := CheckFolder(ctx, dir, next); err != nil {
		return err
	}
	return &StatusError{2, fmt.Sprintf("%s is not a finished output: it has no %s file; %s, or run dedup "+
		"again to finish it",
		dir, SuccessFile, next)}
}

// OpenRejected is Open, but also opens the record of a failed run: run.json, and the table rejected.
func OpenRejected(ctx context.Context, dir string) (*Finished, error) {
	f := &Finished{Folder: Folder{Dir: dir}}
	run, err := storage.ReadFile(ctx, f.Path(RunFile))
	if err != nil || json.Unmarshal(run, &f.Run) != nil || len(f.Run.Files) == 0 {
		return Open(ctx, dir)
	}
	if err := f.checkFormat(); err != nil {
		return nil, err
	}
	for _, file := range f.Run.Files {
		f.Manifest.Files = append(f.Manifest.Files, records.ManifestFile{Path: file})
	}
	return f, nil
}

// Input returns the path of an input file by its source, or of a reference, whose source is its whole path.
func (f *Finished) Input(source string) (path string, reference bool) {
	if f.Run.References != nil && (strings.HasPrefix(source, "/") || !storage.IsLocal(source)) {
		return source, true
	}
	return storage.Join(f.Run.Input.Root, source), false
}

// read reads the manifest and run.json, and checks that they are what the mark of success names.
func (f *Finished) read(ctx context.Context) error {
	var success Success
	if json.Unmarshal([]byte(f.mark), &success) != nil || success.Manifest == "" {
		return fmt.Errorf("%s was written by an older version; run again with --overwrite", f.Dir)
	}
	sum := ""
	for name, into := range map[string]any{RunFile: &f.Run, ManifestFile: &f.Manifest} {
		data, err := storage.ReadFile(ctx, f.Path(name))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing; run again with --overwrite", f.Path(name))
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("%s is damaged; run again with --overwrite", f.Path(name))
		}
		if name == ManifestFile {
			sum = Sum(data)
		}
	}
	if sum != success.Manifest || f.Run.Job != success.Run {
		return fmt.Errorf("%s is not a finished output: its file %s belongs to another run; run again with "+
			"--overwrite", f.Dir, SuccessFile)
	}
	return f.checkFormat()
}

// checkFormat returns an error unless this version can read the tables.
func (f *Finished) checkFormat() error {
	if tables := f.Run.Formats.Tables; tables != records.Tables {
		return fmt.Errorf("%s has tables in the format %q, but this version reads %q; run dedup again with --overwrite",
			f.Dir, tables, records.Tables)
	}
	return nil
}

// Unchanged reports whether the output is still the one that was opened. Call it after reading, to know that all was
// read from one output.
func (f *Finished) Unchanged(ctx context.Context) (bool, error) {
	mark, err := storage.ReadFile(ctx, f.Path(SuccessFile))
	if errors.Is(err, fs.ErrNotExist) {
		return f.mark == "", nil // OpenRejected opened a failed run
	}
	return string(mark) == f.mark, err
}

// CheckUnchanged returns an error if another output has replaced this one.
func (f *Finished) CheckUnchanged(ctx context.Context) error {
	same, err := f.Unchanged(ctx)
	if err == nil && !same {
		err = fmt.Errorf("%s was replaced while being read; run the same command again", f.Dir)
	}
	return err
}

// Rows yields the rows of a table in their order, from the files that the manifest lists. T is a struct of strings,
// bytes, numbers, booleans, pointers to these, and slices of strings and float64, which are lists. Each field has the
// column that its tag names; it is zero if there is no such column, or its value is null.
func Rows[T any](ctx context.Context, f *Finished, table Part) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, file := range f.Manifest.Files {
			yield := func(row T, err error) bool {
				if errors.Is(err, fs.ErrNotExist) {
					err = f.missing(ctx, file.Path)
				}
				return yield(row, err)
			}
			if PartOf(file.Path) == table && !fileRows(ctx, f.Path(file.Path), yield) {
				return
			}
		}
	}
}

// missing returns the error for a file that does not exist: another output may have replaced this one.
func (f *Finished) missing(ctx context.Context, file string) error {
	return cmp.Or(f.CheckUnchanged(ctx), error(&StatusError{2, fmt.Sprintf("%s is missing; %s", f.Path(file), again)}))
}

// FileRows yields the rows of one file of a table, as Rows does.
func FileRows[T any](ctx context.Context, file string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { fileRows(ctx, file, yield) }
}
