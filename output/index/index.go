// Package index defines the layout of an index: what earlier runs kept and removed, in segments of one run each.
//
//	current.json               number of the generation in force, and SHA-256 of its file; the only file that changes
//	generations/N.json         a Generation
//	segments/RUN/kept/         Parquet files of what the run kept, in input order
//	segments/RUN/removed/      what it removed as near-duplicates
//	segments/RUN/keys/         the band keys of both, sorted, a file for each shard of a band
//	pending/RUN.json           a segment that becomes part of the index if the output of its run is published
//	.lock                      exists while a run writes
package index

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

const (
	currentFile = "current.json"
	generations = "generations"
	segments    = "segments"
	pendings    = "pending"
)

// PageBytes is the approximate size of a page of documents. Reading a document reads its page.
const PageBytes = 4 << 10

// Pages returns options for files of documents. They omit the bounds of a page, which would be two whole texts.
func Pages() []parquet.WriterOption {
	return []parquet.WriterOption{parquet.PageBufferSize(PageBytes), parquet.DataPageStatistics(false)}
}

// Format is the version of the layout.
const Format = "index-2"

// Generation is the state of an index at one time.
type Generation struct {
	Format string    `json:"format"`
	Number int       `json:"generation"`
	Made   time.Time `json:"made"`
	// Expect is the number of documents that the bands were chosen for, or 0 if there are none.
	Expect int64 `json:"expect,omitempty"`
	// Asked holds the parameters that all runs share, by their names in run.json, and Formats their formats.
	Asked   map[string]json.RawMessage `json:"parameters"`
	Formats records.Formats            `json:"formats"`
	// Segments is in the order of the runs.
	Segments []Segment `json:"segments"`
}

// Segment holds what some runs added, in their order: one run, unless Prune has merged several segments.
type Segment struct {
	Name string  `json:"name"` // name of its folder: the run that wrote it
	Runs []Added `json:"runs"`
	// ShardBits means that the keys of a band are in 1<<ShardBits files, by their first bits.
	ShardBits int `json:"shard_bits,omitempty"`
	// Files lists the files of both tables, and then those of keys, with paths below the index, in order.
	Files []records.ManifestFile `json:"files"`
}

// Added describes what one run added. Its rows follow those of the runs before it in the same segment.
type Added struct {
	Run    string    `json:"run"`
	Output string    `json:"output"`
	Made   time.Time `json:"made"`
	// Batch is a hash of the paths, sizes and versions of the files that the run read.
	Batch string `json:"batch"`
	// Input is the input of the run, as in its run.json.
	Input records.RunInput `json:"input"`
	// Kept and Removed are the numbers of rows.
	Kept    int64 `json:"kept"`
	Removed int64 `json:"removed"`
}

// rows returns the numbers of rows of the segment.
func (s *Segment) rows() (kept, removed int64) {
	for i := range s.Runs {
		kept, removed = kept+s.Runs[i].Kept, removed+s.Runs[i].Removed
	}
	return kept, removed
}

// current is the content of currentFile.
type current struct {
	Generation int    `json:"generation"`
	SHA256     string `json:"sha256"`
}

// Index is an index at one generation.
type Index struct {
	Dir string
	Generation

	version string // of currentFile
}

// Is reports whether an index is at dir.
func Is(ctx context.Context, dir string) (bool, error) {
	return storage.Exists(ctx, storage.Join(dir, currentFile))
}

// noIndex returns the error for a folder without an index.
func noIndex(ctx context.Context, dir string) error {
	const next = "create an index with neardup index create"
	if err := output.CheckFolder(ctx, dir, next); err != nil {
		return err
	}
	return fmt.Errorf("%s is not an index: it has no %s; %s", dir, currentFile, next)
}

// Open opens the index at dir.
func Open(ctx context.Context, dir string) (*Index, error) {
	x := &Index{Dir: dir}
	file := storage.Join(dir, currentFile)
	info, err := storage.Stat(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noIndex(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	data, err := storage.ReadFile(ctx, file)
	if err != nil {
		return nil, err
	}
	var now current
	if err := json.Unmarshal(data, &now); err != nil {
		return nil, fmt.Errorf("%s is damaged; restore it so that it names the last file in %s", file,
			storage.Join(dir, generations))
	}
	x.version = info.Version
	path := x.generationFile(now.Generation)
	if data, err = storage.ReadFile(ctx, path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing; restore it", path)
	} else if err != nil {
		return nil, err
	}
	if output.Sum(data) != now.SHA256 {
		return nil, fmt.Errorf("%s is not the file that %s names: its SHA-256 differs; restore it", path, file)
	}
	if err := json.Unmarshal(data, &x.Generation); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for name, value := range x.Asked { // they are indented in the file
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		x.Asked[name] = compact.Bytes()
	}
	if x.Format != Format {
		return nil, &output.StatusError{Exit: 2, Reason: fmt.Sprintf("%s has the format %q, but this version "+
			"reads %q; create "+
			"another index with neardup index create", dir, x.Format, Format)}
	}
	return x, nil
}

func (x *Index) generationFile(number int) string {
	return storage.Join(x.Dir, generations, fmt.Sprintf("%06d.json", number))
}

// Folder returns the folder of a run's segment.
func (x *Index) Folder(run string) output.Folder {
	return output.Folder{Dir: storage.Join(x.Dir, segments, run)}
}

// FileOf returns the path below an index of a file of a run's segment.
func FileOf(run, file string) string { return storage.Join(segments, run, file) }

// pendingFile returns the path of the file that describes the segment of a run until it is part of the index, or
// removed.
func (x *Index) pendingFile(run string) string { return storage.Join(x.Dir, pendings, run+".json") }

// Paths returns the paths of all files of documents, in order.
func (x *Index) Paths() (paths []string) {
	for i := range x.Segments {
		for _, f := range x.Segments[i].documentFiles() {
			paths = append(paths, storage.Join(x.Dir, f.Path))
		}
	}
	return paths
}

// isKeys reports whether a file of a run's segment has keys.
func isKeys(run, path string) bool { return storage.Dir(path) == FileOf(run, "keys") }

// HasKeys reports whether documents of the index are found by keys, so that they are not read.
func (x *Index) HasKeys() bool { return x.Expect > 0 }

// Recalled reports whether a file of a segment has removed documents.
func (x *Index) Recalled(path string) bool {
	table := storage.Dir(path)
	return table == storage.Join(storage.Dir(table), string(output.Removed))
}

// Added yields what each run added, in their order.
func (x *Index) Added() iter.Seq[Added] {
	return func(yield func(Added) bool) {
		for i := range x.Segments {
			for _, of := range x.Segments[i].Runs {
				if !yield(of) {
					return
				}
			}
		}
	}
}

// Rows returns the numbers of documents that were kept and removed.
func (x *Index) Rows() (kept, removed int64) {
	for of := range x.Added() {
		kept, removed = kept+of.Kept, removed+of.Removed
	}
	return kept, removed
}

// Has returns what the run of a batch added, and whether there is one.
func (x *Index) Has(batch string) (Added, bool) {
	for of := range x.Added() {
		if of.Batch == batch {
			return of, true
		}
	}
	return Added{}, false
}

// Vacant returns an error unless dir is empty, except for what a killed Create leaves, so that an index can be
// made there.
func Vacant(ctx context.Context, dir string) error {
	names, err := storage.NamesIn(ctx, dir)
	if info, other := storage.Stat(ctx, dir); other == nil && info.Type.IsRegular() && storage.IsLocal(dir) {
		return &output.StatusError{Exit: 3, Reason: dir + " is not a folder; use another folder"}
	}
	if err != nil {
		return err
	}
	switch {
	case slices.Contains(names, currentFile):
		return &output.StatusError{Exit: 3, Reason: dir + " is already an index; use another folder"}
	case slices.ContainsFunc(names, func(name string) bool {
		return name != generations && name != segments && !storage.BeingWritten(name)
	}):
		return &output.StatusError{Exit: 3, Reason: dir + " is not empty; use another folder"}
	}
	return nil
}

// Create makes an index with its first generation, whose segments already exist, in a folder that is Vacant.
func Create(ctx context.Context, dir string, first Generation) (*Index, error) {
	if err := Vacant(ctx, dir); err != nil {
		return nil, err
	}
	first.Format, first.Number, first.Made = Format, 1, time.Now().UTC()
	x := &Index{Dir: dir, Generation: first}
	for i := range first.Segments {
		if err := x.finish(ctx, &first.Segments[i]); err != nil {
			return nil, err
		}
	}
	return x, x.write(ctx, storage.If{Absent: true})
}

// write writes the generation, with the next number that is free, and then, on condition, the file that names it. It
// replaces no generation: another writer, or a change that seemed to fail, may have put that in force.
func (x *Index) write(ctx context.Context, cond storage.If) error {
	for ; ; x.Number++ {
		data, err := json.MarshalIndent(&x.Generation, "", "  ")
		if err != nil {
			return err
		}
		err = put(ctx, x.generationFile(x.Number), data, storage.If{Absent: true})
		if errors.Is(err, storage.ErrPrecondition) {
			continue
		}
		if err != nil {
			return err
		}
		now, err := json.Marshal(current{x.Number, output.Sum(data)})
		if err != nil {
			return err
		}
		return put(ctx, storage.Join(x.Dir, currentFile), now, cond)
	}
}

// put writes a file atomically, and syncs it.
func put(ctx context.Context, path string, data []byte, cond storage.If) error {
	store, err := storage.At(path)
	if err != nil {
		return err
	}
	_, err = store.Create(ctx, path, cond, func(w io.Writer) error {
		_, err := w.Write(data)
		if f, ok := w.(interface{ Sync() error }); ok && err == nil { // else the name may survive without the bytes
			err = f.Sync()
		}
		return err
	})
	if errors.Is(err, storage.ErrPrecondition) { // or the request had succeeded, and its repetition was refused
		if there, readErr := storage.ReadFile(ctx, path); readErr == nil && bytes.Equal(there, data) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return sync(ctx, path, storage.Dir(path), storage.Dir(storage.Dir(path)))
}

// sync syncs files and folders, in this order.
func sync(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		if err := storage.Sync(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// Check reads all files, and returns their number. The error is a *DamagedError for the first file that differs from
// what the generation lists.
func (x *Index) Check(ctx context.Context) (files int, err error) {
	for i := range x.Segments {
		s := &x.Segments[i]
		if err := x.checkFiles(ctx, s, s.Files); err != nil {
			return files, err
		}
		files += len(s.Files)
	}
	return files, nil
}

// Missing returns a *DamagedError for the first missing file of documents.
func (x *Index) Missing(ctx context.Context) error {
	for i := range x.Segments {
		for _, f := range x.Segments[i].documentFiles() {
			there, err := storage.Exists(ctx, storage.Join(x.Dir, f.Path))
			if err != nil {
				return err
			}
			if !there {
				return x.damaged(&x.Segments[i], f)
			}
		}
	}
	return nil
}

func (x *Index) damaged(s *Segment, f records.ManifestFile) *DamagedError {
	return &DamagedError{Path: storage.Join(x.Dir, f.Path), Dir: x.Dir, Generation: x.Number, Runs: s.Runs}
}

// checkFiles reads files of a segment, as Check does.
func (x *Index) checkFiles(ctx context.Context, s *Segment, files []records.ManifestFile) error {
	for _, f := range files {
		if err := x.checkFile(ctx, s, f); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) checkFile(ctx context.Context, s *Segment, f records.ManifestFile) error {
	damaged := x.damaged(s, f)
	intact, err := output.Intact(ctx, damaged.Path, f.SHA256)
	if err == nil && !intact {
		return damaged
	}
	return err
}

// DamagedError says that a file is not what a generation lists.
type DamagedError struct {
	Path, Dir  string
	Generation int
	Runs       []Added // the runs in its segment
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s differs from the file that generation %d lists; restore it, or remove its run with "+
		"neardup index drop %s "+
		"--run %s and add its batch again", e.Path, e.Generation, e.Dir, e.Runs[0].Run)
}
