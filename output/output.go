// Package output is the layout of an output folder: the names of its parts and files, the options of
// its Parquet files, and reading a finished one back.
package output

import (
	"context"
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

// The parts.
const (
	Pairs    Part = "pairs"
	Clusters Part = "clusters"
	Removed  Part = "removed"
	Rejected Part = "rejected"
	Corpus   Part = "corpus"
)

// Parts are all of them.
func Parts() []Part { return []Part{Pairs, Clusters, Removed, Rejected, Corpus} }

// PartOf returns the part that a file of the manifest belongs to.
func PartOf(file string) Part {
	part, _, _ := strings.Cut(file, "/")
	return Part(part)
}

// Files of an output, besides those of its parts.
const (
	RunFile      = "run.json"
	ManifestFile = "manifest.json"
	SuccessFile  = "_SUCCESS" // there once all others are whole
)

// TableFile is the name below the output of a shard of a table.
func TableFile(table Part, shard int64, shards int) string {
	return fmt.Sprintf("%s/part-%05d-of-%05d.parquet", table, shard, shards)
}

// CorpusFile is the name below the output of a corpus file.
func CorpusFile(name string) string { return path.Join(string(Corpus), name) }

// WriterOptions are those of every Parquet file, with its key-value metadata.
func WriterOptions(metadata map[string]string) []parquet.WriterOption {
	options := []parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.CreatedBy("neardup", records.Tables, "")}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		options = append(options, parquet.KeyValueMetadata(key, metadata[key]))
	}
	return options
}

// WriteJSON writes run.json or the manifest.
func WriteJSON(ctx context.Context, file string, v any) error {
	_, err := storage.WriteFile(ctx, file, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(v)
	})
	return err
}

// Finished is a finished output folder.
type Finished struct {
	Dir      string
	Run      records.Run
	Manifest records.Manifest
}

// Open opens the output folder dir. An output without _SUCCESS is not finished, and refused.
func Open(ctx context.Context, dir string) (*Finished, error) {
	f := &Finished{Dir: dir}
	if _, err := storage.ReadFile(ctx, storage.Join(dir, SuccessFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is no finished output: it has no %s", dir, SuccessFile)
		}
		return nil, err
	}
	for name, into := range map[string]any{RunFile: &f.Run, ManifestFile: &f.Manifest} {
		file := storage.Join(dir, name)
		data, err := storage.ReadFile(ctx, file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return f, nil
}

// Rows reads the rows of a table in their order, from the files that the manifest lists.
func Rows[T any](ctx context.Context, f *Finished, table Part) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, file := range f.Manifest.Files {
			if PartOf(file.Path) == table && !fileRows(ctx, storage.Join(f.Dir, file.Path), yield) {
				return
			}
		}
	}
}

func fileRows[T any](ctx context.Context, file string, yield func(T, error) bool) bool {
	var none T
	content, err := storage.OpenFile(ctx, file)
	if err != nil {
		return yield(none, err)
	}
	defer content.Close()
	opened, err := parquet.OpenFile(content, content.Size())
	if err != nil {
		return yield(none, fmt.Errorf("%s: %w", file, err))
	}
	reader := parquet.NewGenericReader[T](opened)
	defer reader.Close()
	for rows := make([]T, 256); ; {
		n, err := reader.Read(rows)
		for _, row := range rows[:n] {
			if !yield(row, nil) {
				return false
			}
		}
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return yield(none, fmt.Errorf("%s: %w", file, err))
		}
		rows = make([]T, 256) // the reader reuses what it filled
	}
}
