// Package neardup finds near-duplicate documents: each pair that it reports is verified exactly, and the recall is the
// caller's to choose. It is what the program neardup does, as a library:
//
//	spec := neardup.Default()
//	spec.Inputs = []string{"news/"}
//	result, err := neardup.Run(ctx, spec, neardup.How{Output: "out"})
//
// A run reads files and writes a folder: tables as Parquet, the corpus without what was removed, and run.json. It works
// in this process, on local files. Import io/storage/s3 or io/storage/gcs for paths in buckets.
//
// Runs log by slog's default logger. This package is stable, with the types that it names. The packages below it are
// the program's own, and change with it.
package neardup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/internal/here"
	"github.com/neardup/neardup/internal/memory"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

// Spec is what is asked: a field for each flag of neardup dedup that decides what is found. docs/reference.md says what
// each means. Begin with Default, or with the Parameters of a Record: the zero Spec asks for nothing that can be meant.
type Spec = records.Spec

// Record is run.json.
type Record = records.Run

// Rows of the tables (docs/tables.md).
type (
	// Pair is two similar documents.
	Pair = records.Pair
	// Clustered is a document of a cluster.
	Clustered = records.Clustered
	// Removed is a document that is not in the corpus, with the kept one in its place.
	Removed = records.Removed
	// Rejected is a record that was not compared.
	Rejected = records.Rejected
)

// Default is the Spec of a command line without flags.
func Default() Spec { return records.Default() }

// How says how a run is done, which decides nothing of what it finds. The zero How is the program's without flags.
type How struct {
	// Output is the folder for the results, which must be new, empty or left by an unfinished run.
	Output string
	// Overwrite replaces a finished output once the new one is whole.
	Overwrite bool
	// Workers is how many there are; 0 is one for each core.
	Workers int
	// Memory is how many bytes the process is to take, 256 MB or more; 0 is half of what there is. Go's memory limit is
	// no higher while the run lasts, and stays so if Process is set.
	Memory int64
	// TempDir is the folder for temporary files; "" is one beside the output.
	TempDir string
	// Resume says whether what is done stays if the run fails, for a run of the same Spec to continue: "always",
	// "never", or "auto" or "", for large input.
	Resume string
	// From is a finished output whose documents are decided again, as the Spec asks of the decision. Fields of the Spec at
	// their default are those of the run that made it.
	From string
	// Process lets the run set what holds for the whole process, as the program does: GOMAXPROCS and the memory limit.
	Process bool
}

// config is How with what is asked.
func (h How) config(s Spec) (dedup.Config, error) {
	s.Inputs, s.NamedInputs = slices.Concat(s.Inputs, s.NamedInputs), nil
	switch {
	case slices.Contains(s.Inputs, "-"):
		return dedup.Config{}, job.Usage("standard input is read by the program only; give files, or call RunDocuments")
	case len(s.Inputs) == 0 && s.InputsFrom != "":
		return dedup.Config{}, job.Usage("a list of inputs is read by the program only; give the paths as Inputs")
	}
	c := dedup.Config{Spec: s, From: h.From, Draw: report.Page}
	c.Output, c.Overwrite, c.Resume = h.Output, h.Overwrite, job.Resume(h.Resume)
	c.Runner, c.Workers, c.Memory, c.TempDir = job.Local, h.Workers, records.Bytes(h.Memory), h.TempDir
	limit := int64(math.MaxInt64)
	if !h.Process {
		limit = debug.SetMemoryLimit(-1) // which it reads
	}
	budget, _ := c.KeepTo(memory.Usual(os.DirFS("/"), limit))
	if h.Process {
		debug.SetMemoryLimit(budget.Heap())
		if h.Workers > 0 {
			runtime.GOMAXPROCS(min(h.Workers, runtime.GOMAXPROCS(0)))
		}
	}
	c.InForce = here.InForce(c.Running)
	return c, nil
}

// Run removes near-duplicates as a Spec asks, and returns what it has written. An error has a method Status if it has
// an exit status of the program other than 1: 2 for what a person must change, 3 for an output that exists or is
// locked, 4 for too many unreadable records, 5 for a guard. If ctx ends, so does the run, with the cause of ctx.
func Run(ctx context.Context, s Spec, h How) (*Result, error) {
	c, err := h.config(s)
	if err != nil {
		return nil, err
	}
	task, err := dedup.New(ctx, c)
	if err != nil {
		return nil, err
	}
	beamcli.Ready()
	if _, err := task.Run(ctx, here.Launch(c.Running, nil)); err != nil {
		return nil, cause(ctx, err)
	}
	return Open(ctx, h.Output)
}

// Plan returns the record of a run that has not begun: what it would choose, and in Record.Forecast what it is expected
// to read, send and need.
func Plan(ctx context.Context, s Spec, h How) (*Record, error) {
	c, err := h.config(s)
	if err != nil {
		return nil, err
	}
	c.DryRun = true
	task, err := dedup.New(ctx, c)
	if err != nil {
		return nil, err
	}
	run, err := task.Run(ctx, nil)
	if err != nil {
		return nil, cause(ctx, err)
	}
	return run, nil
}

// cause is err, or that of ctx if it has ended the run.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Join(job.Cause(ctx, err))
	}
	return err
}

// Document is a document of RunDocuments. Each needs an ID of its own, and a text that is UTF-8.
type Document struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// RunDocuments is Run of documents instead of files: they are written to a temporary file first, as JSON Lines, for
// they are read more than once. The corpus is that file without what was removed. What the Spec says of the form of
// files, such as Format, Text and ID, is that of this file. An error of the documents ends the run.
func RunDocuments(
	ctx context.Context, s Spec, h How, documents iter.Seq2[Document, error],
) (result *Result, err error) {
	if len(s.Inputs)+len(s.NamedInputs)+len(s.Include)+len(s.Exclude) > 0 || s.InputsFrom != "" {
		return nil, job.Usage("the documents are given; leave the fields empty that choose files")
	}
	err = job.InTempFolder(ctx, h.TempDir, func(temp string) error {
		file := storage.Join(temp, "documents.jsonl")
		_, err := storage.WriteFile(ctx, file, func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetEscapeHTML(false)
			for document, err := range documents {
				if err == nil && (!utf8.ValidString(document.ID) || !utf8.ValidString(document.Text)) {
					err = fmt.Errorf("document %q is not UTF-8", document.ID) // JSON would change it
				}
				if err == nil {
					err = errors.Join(ctx.Err(), encoder.Encode(document))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return cause(ctx, err)
		}
		usual := records.Default()
		if len(s.Against) > 0 && len(s.AgainstText) == 0 {
			s.AgainstText = s.Text // that of documents is another
		}
		s.Inputs, s.Format, s.Text, s.ID, s.Encoding = []string{file}, "jsonl", usual.Text, usual.ID, usual.Encoding
		s.Delimiter, s.NoHeader, h.Resume = usual.Delimiter, false, string(job.ResumeNever)
		result, err = Run(ctx, s, h)
		return err
	})
	return result, err
}

// Result is a finished output.
type Result struct {
	// Record is its run.json.
	Record Record

	finished *output.Finished
}

// Open opens a finished output, be it of Run or of the program.
func Open(ctx context.Context, dir string) (*Result, error) {
	finished, err := output.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Result{finished.Run, finished}, nil
}

// Pairs are the pairs of similar documents. Each iteration reads the files of the table again, in their order, and an
// error ends it. There are no rows of a table that Spec.Write leaves out.
func (r *Result) Pairs(ctx context.Context) iter.Seq2[Pair, error] {
	return output.Rows[Pair](ctx, r.finished, output.Pairs)
}

// Clusters are the documents of clusters.
func (r *Result) Clusters(ctx context.Context) iter.Seq2[Clustered, error] {
	return output.Rows[Clustered](ctx, r.finished, output.Clusters)
}

// Removed are the documents that are not in the corpus, each with the kept one in its place.
func (r *Result) Removed(ctx context.Context) iter.Seq2[Removed, error] {
	return output.Rows[Removed](ctx, r.finished, output.Removed)
}

// Rejected are the records that were not compared.
func (r *Result) Rejected(ctx context.Context) iter.Seq2[Rejected, error] {
	return output.Rows[Rejected](ctx, r.finished, output.Rejected)
}
