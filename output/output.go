// Package output reads the output of a finished job back.
package output

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/source"
	"github.com/neardup/neardup/records"
)

// Finished is a finished output folder.
type Finished struct {
	Dir      string
	Run      records.Run
	Manifest records.Manifest
}

// Open opens the output folder dir. An output without _SUCCESS is not finished, and refused.
func Open(dir string) (*Finished, error) {
	r := &Finished{Dir: dir}
	if _, err := os.Stat(filepath.Join(dir, records.SuccessFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is no finished output: it has no %s", dir, records.SuccessFile)
		}
		return nil, err
	}
	for name, into := range map[string]any{records.RunFile: &r.Run, records.ManifestName: &r.Manifest} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
	}
	return r, nil
}

// Rows reads the rows of a table in their order, from the files that the manifest lists.
func Rows[T any](r *Finished, table string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, file := range r.Manifest.Files {
			if name, _, _ := strings.Cut(file.Path, "/"); name != table {
				continue
			}
			if !fileRows(filepath.Join(r.Dir, file.Path), yield) {
				return
			}
		}
	}
}

func fileRows[T any](path string, yield func(T, error) bool) bool {
	var none T
	f, err := os.Open(path)
	if err != nil {
		return yield(none, err)
	}
	defer f.Close()
	reader := parquet.NewGenericReader[T](f)
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
			return yield(none, fmt.Errorf("%s: %w", path, err))
		}
		rows = make([]T, 256) // the reader reuses what it filled
	}
}

// An example should be short enough to be read and long enough to be a document.
const (
	exampleShingles = 60
	exampleRows     = 100_000 // of pairs/ that are looked at
)

// Example returns the pair that shows best what a near-duplicate is here, with its texts: a near
// pair of about 60 shingles whose similarity is midway between the threshold and 1. It returns
// nil if there is no near pair.
func (r *Finished) Example(ctx context.Context) (*records.Example, error) {
	threshold, _ := r.Run.Parameters["threshold"].(float64)
	best := math.Inf(1)
	var example *records.Example
	looked := 0
	for pair, err := range Rows[records.Pair](r, "pairs") {
		if err != nil {
			return nil, err
		}
		if looked++; looked > exampleRows {
			break
		}
		if pair.Similarity == 1 {
			continue
		}
		off := math.Abs(math.Log(float64(pair.SizeA)/exampleShingles)) + 4*math.Abs(pair.Similarity-(threshold+1)/2)
		if off < best {
			best, example = off, &records.Example{Pair: pair}
		}
	}
	if example == nil {
		return nil, nil
	}
	var err error
	if example.TextA, err = r.text(ctx, example.Pair.SourceA, example.Pair.PositionA); err != nil {
		return nil, err
	}
	example.TextB, err = r.text(ctx, example.Pair.SourceB, example.Pair.PositionB)
	return example, err
}

// text reads the text of one document again.
func (r *Finished) text(ctx context.Context, from string, position int64) (string, error) {
	var options source.Options
	if err := r.parameters(&options); err != nil {
		return "", err
	}
	listing, err := source.Plan(ctx, []string{filepath.Join(r.Run.Input.Root, from)}, options)
	if err != nil {
		return "", err
	}
	return source.Text(ctx, listing.Inputs, blocks.NewKey(0, position), options)
}

// parameters fills in how the job's inputs were read.
func (r *Finished) parameters(o *source.Options) error {
	data, err := json.Marshal(r.Run.Parameters)
	if err != nil {
		return err
	}
	var p struct {
		Format      string   `json:"format"`
		Text        []string `json:"text"`
		ID          string   `json:"id"`
		MaxDocBytes int64    `json:"max_doc_bytes"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	o.Format, o.Fields.Text, o.Fields.ID, o.MaxDocument = p.Format, p.Text, p.ID, p.MaxDocBytes
	return nil
}
