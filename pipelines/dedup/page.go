package dedup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// TextsOf reads the texts of some documents, each up to a limit. Texts that could not be read are missing; the error
// says why.
type TextsOf = func(context.Context, []records.Place) (map[records.Place]string, error)

// Draw writes the HTML report of an output, whose texts it may read.
type Draw func(ctx context.Context, w io.Writer, f *output.Finished, texts TextsOf) error

// Reading texts for the page takes at most a twentieth of the run's time so far, or two seconds.
const (
	textShare = 20
	textTime  = 2 * time.Second
)

// WritePage writes the HTML report of a run beside its tables, unless draw is nil. The run does not promise it: if it
// cannot be written, the run warns. Reading texts takes at most limit.
func WritePage(
	ctx context.Context, run *records.Run, staged output.Folder, files *records.Manifest, draw Draw,
	texts TextsOf, limit time.Duration,
) {
	if draw == nil {
		return
	}
	page, err := page(ctx, &output.Finished{Folder: staged, Run: *run, Manifest: *files}, draw, texts, limit)
	if err == nil {
		_, err = storage.WriteBelow(ctx, staged.Dir, staged.Path(output.ReportFile), page)
	}
	run.Page = err == nil
	if err != nil {
		run.Warnings = append(run.Warnings, fmt.Sprintf("%s could not be written: %v; run neardup report to write it",
			output.ReportFile, err))
	}
}

// page draws the page in memory, and returns a function that writes it. Reading texts takes at most limit.
func page(
	ctx context.Context, f *output.Finished, draw Draw, texts TextsOf, limit time.Duration,
) (write func(io.Writer) error, err error) {
	defer func() { // parquet-go may panic on a file that it cannot read
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	var page bytes.Buffer
	err = draw(ctx, &page, f, func(ctx context.Context, of []records.Place) (map[records.Place]string, error) {
		late := fmt.Errorf("reading them took longer than %v; run neardup report to include them all",
			limit.Round(time.Second/10))
		limited, cancel := context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
		found, err := texts(limited, of)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = late
		}
		return found, err
	})
	return func(w io.Writer) error {
		_, err := w.Write(page.Bytes())
		return err
	}, err
}

// Paging holds the arguments of Page.
type Paging struct {
	Output    string // a finished output
	File      string // path of the page; "" writes it to W
	W         io.Writer
	Overwrite bool // replace an existing File
	NoText    bool
	Draw      Draw
}

// PageTexts limits the time for reading texts when nothing waits for them.
const PageTexts = 10 * time.Minute

// Page draws the HTML report of a finished output again.
func Page(ctx context.Context, p Paging) error {
	dir, err := job.OutputPath(p.Output)
	if err != nil {
		return err
	}
	if p.File != "" && !p.Overwrite {
		store, err := storage.At(p.File)
		if err != nil {
			return &job.UsageError{Reason: err}
		}
		switch _, err := store.Stat(ctx, p.File); {
		case err == nil:
			return &job.OutputExistsError{Reason: p.File + " already exists; use --overwrite to replace it, or choose " +
				"another --output"}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	for {
		f, err := job.OpenOutput(ctx, dir, "dedup", "passages")
		if err != nil {
			return err
		}
		f.Run.Parameters.NoText = f.Run.Parameters.NoText || p.NoText
		write, err := page(ctx, f, p.Draw, Texts(f), PageTexts)
		if same, markErr := f.Unchanged(ctx); markErr == nil && !same {
			continue // another output replaced it meanwhile
		} else if err = errors.Join(err, markErr); err != nil {
			return err
		}
		if p.File == "" {
			return write(p.W)
		}
		_, err = storage.WriteFile(ctx, p.File, write)
		return err
	}
}
