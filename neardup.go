// Package neardup finds near-duplicate documents. It verifies each pair that it reports exactly, and the caller chooses
// the recall. It is the program neardup as a library:
//
//	spec := neardup.Default()
//	spec.Inputs = []string{"news/"}
//	result, err := neardup.Run(ctx, spec, neardup.How{Output: "out"})
//
// A run reads files and writes a folder: tables as Parquet, the corpus without removed documents, and run.json. It
// works in this process, on local files. Import io/storage/s3 or io/storage/gcs for paths in buckets.
//
// Runs log to slog's default logger. This package and the types that it names are stable. The packages below it belong
// to the program, and change with it.
package neardup

import (
	"cmp"
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

// Spec holds the settings: a field for each flag of neardup dedup that affects the results, as described in
// docs/reference.md. Begin with Default, or with the Parameters of a Record: the zero Spec is not valid.
type Spec = records.Spec

// Record is the content of run.json.
type Record = records.Run

// Rows of the tables (docs/tables.md).
type (
	// Pair is a pair of similar documents.
	Pair = records.Pair
	// Clustered is a document in a cluster.
	Clustered = records.Clustered
	// Removed is a document that is not in the corpus, with the kept one in its place.
	Removed = records.Removed
	// Rejected is an unreadable record, or a document that was not compared.
	Rejected = records.Rejected
)

// Default returns the Spec of a command line without flags.
func Default() Spec { return records.Default() }

// How says how a run works, which does not affect its results. The zero How has the defaults of the program.
type How struct {
	// Output is the folder for the results. It must be new, empty or left by an unfinished run.
	Output string
	// Overwrite replaces a finished output once the new one is complete.
	Overwrite bool
	// Workers is the number of parallel workers; 0 means one for each core.
	Workers int
	// Memory is the memory limit of the process in bytes, at least 256 MB; 0 means half of what there is. If Go's memory
	// limit is higher, the run lowers it, and restores it at the end unless Process is set.
	Memory int64
	// TempDir is the folder for temporary files; "" means one in or beside the output or, for an output in a bucket, for
	// Plan and for the file of RunDocuments, the system's.
	TempDir string
	// Resume says whether a failed run keeps its finished work, so that a run with the same Spec can continue it:
	// "always", "never", or "auto" (or "") for large input.
	Resume string
	// From is a finished output whose documents are decided again, with the Spec's settings of the decision. Other fields
	// of the Spec, if they have their default, are taken from the run that made it.
	From string
	// Process lets the run change settings of the whole process, as the program does: GOMAXPROCS and the memory limit.
	Process bool
}

// config returns the config of the job.
func (h How) config(s Spec) (dedup.Config, error) {
	s.Inputs, s.NamedInputs = slices.Concat(s.Inputs, s.NamedInputs), nil
	switch {
	case slices.Contains(s.Inputs, "-"):
		return dedup.Config{}, job.Usage("standard input is read by the program only; give files, or call RunDocuments")
	case s.InputsFrom != "":
		return dedup.Config{}, job.Usage("only the program reads InputsFrom; leave it empty, and give the paths as Inputs")
	}
	resume, err := job.ParseResume(h.Resume)
	if err != nil {
		return dedup.Config{}, err
	}
	c := dedup.Config{Spec: s, From: h.From, Draw: report.Page}
	c.Output, c.Overwrite, c.Resume = h.Output, h.Overwrite, resume
	c.Runner, c.Workers, c.Memory, c.TempDir = job.Local, h.Workers, records.Bytes(h.Memory), h.TempDir
	limit := int64(math.MaxInt64)
	if !h.Process {
		limit = debug.SetMemoryLimit(-1) // -1 only reads it
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

// Run removes near-duplicates as the Spec says, and returns the output. An error has a method Status if its exit status
// in the program is not 1: 2 for what a person must change, 3 for an output that exists or is locked, 4 for too many
// unreadable records, 5 for a limit of removed documents. If ctx ends, so does the run, with the cause of ctx.
func Run(ctx context.Context, s Spec, h How) (_ *Result, err error) {
	defer func() { err = job.Cause(ctx, err) }()
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
		return nil, err
	}
	return Open(ctx, h.Output)
}

// Plan returns the record of a run without running it: what it would choose and, in Record.Forecast, what it is
// expected to read, send and need.
func Plan(ctx context.Context, s Spec, h How) (_ *Record, err error) {
	defer func() { err = job.Cause(ctx, err) }()
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
		return nil, err
	}
	return run, nil
}

// Document is a document for RunDocuments. Each needs a unique ID, and a text in UTF-8.
type Document struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// RunDocuments is Run for documents instead of files. It writes them to a temporary file first, as JSON Lines, because
// they are read more than once. The corpus is that file without removed documents. Fields of the Spec about the form of
// files, such as Format, do not apply; Text and ID do only to Against. An error from documents ends the run, which
// cannot be continued.
func RunDocuments(
	ctx context.Context, s Spec, h How, documents iter.Seq2[Document, error],
) (result *Result, err error) {
	if len(s.Inputs)+len(s.NamedInputs)+len(s.Include)+len(s.Exclude) > 0 || s.InputsFrom != "" {
		return nil, job.Usage("the documents are given; leave empty the fields that choose files")
	}
	if resume, err := job.ParseResume(h.Resume); err != nil || resume == job.ResumeAlways {
		return nil, cmp.Or(err, job.Usage("--resume always: the documents cannot be read again; leave Resume empty"))
	}
	defer func() { err = job.Cause(ctx, err) }()
	err = job.InTempFolder(ctx, h.TempDir, func(temp string) error {
		file := storage.Join(temp, "documents.jsonl")
		_, err := storage.WriteFile(ctx, file, func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetEscapeHTML(false)
			for document, err := range documents {
				if err == nil && (!utf8.ValidString(document.ID) || !utf8.ValidString(document.Text)) {
					// JSON would replace invalid bytes.
					err = fmt.Errorf("document %q is not UTF-8; convert its id and text first", document.ID)
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
			return err
		}
		usual := records.Default()
		if len(s.Against) > 0 { // before Text and ID become those of the temporary file
			if len(s.AgainstText) == 0 && !slices.Equal(s.Text, usual.Text) {
				s.AgainstText = s.Text
			}
			if s.AgainstID == "" && s.ID != usual.ID {
				s.AgainstID = s.ID
			}
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
	// Record is the content of its run.json.
	Record Record

	finished *output.Finished
}

// Open opens a finished output of Run or of the program.
func Open(ctx context.Context, dir string) (*Result, error) {
	finished, err := output.Open(ctx, dir)
	if err != nil {
		return nil, job.Cause(ctx, err)
	}
	return &Result{finished.Run, finished}, nil
}

// rows yields the rows of a table, and the cause of ctx if that ends.
func rows[T any](ctx context.Context, r *Result, table output.Part) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range output.Rows[T](ctx, r.finished, table) {
			if !yield(row, job.Cause(ctx, err)) {
				return
			}
		}
	}
}

// Pairs yields the pairs of similar documents. Each iteration reads the files of the table again, in their order; an
// error ends it. It yields nothing for a table that Spec.Write leaves out.
func (r *Result) Pairs(ctx context.Context) iter.Seq2[Pair, error] {
	return rows[Pair](ctx, r, output.Pairs)
}

// Clusters yields the documents of clusters.
func (r *Result) Clusters(ctx context.Context) iter.Seq2[Clustered, error] {
	return rows[Clustered](ctx, r, output.Clusters)
}

// Removed yields the documents that are not in the corpus, each with the kept one in its place.
func (r *Result) Removed(ctx context.Context) iter.Seq2[Removed, error] {
	return rows[Removed](ctx, r, output.Removed)
}

// Rejected yields the unreadable records, and the documents that were not compared.
func (r *Result) Rejected(ctx context.Context) iter.Seq2[Rejected, error] {
	return rows[Rejected](ctx, r, output.Rejected)
}
