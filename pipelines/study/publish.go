package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/transforms/signature"
)

// Run does the study, and publishes tables, drawings and results, if there is an output, once all of it is complete.
func (r *Job) Run(ctx context.Context, launch job.Launch) (study *records.Study, err error) {
	r.launch = launch
	record := &records.Run{Version: dedup.Version(), Parameters: r.asked.Spec,
		Formats: job.Formats(r.asked.Texts, signature.Classic)}
	record.Parameters.Method, record.Parameters.Write = "study", []string{}
	to := job.Publishing{Dir: r.config.Output, Inputs: r.config.Inputs, Running: r.config.Running,
		Replacing: r.config.Replacing}
	warnings, err := to.Publish(ctx, record, func(temp string, staged output.Folder) (*records.Manifest, error) {
		r.temp, r.staged = temp, staged
		if study, err = r.do(ctx); err != nil || r.config.Output == "" {
			return nil, err
		}
		if err := r.drawAndTell(ctx); err != nil {
			return nil, err
		}
		record.Input, record.Chosen, record.Warnings = r.plan.Input(), r.plan.Chosen(), study.Warnings
		slices.SortFunc(r.files, func(a, b records.ManifestFile) int { return strings.Compare(a.Path, b.Path) })
		return &records.Manifest{Version: 1, Files: r.files}, nil
	})
	if err != nil {
		return nil, err
	}
	study.Warnings = append(study.Warnings, warnings...)
	return study, nil
}

// drawAndTell writes the drawings and reports, and StudyFile.
func (r *Job) drawAndTell(ctx context.Context) error {
	if r.config.Draw != nil {
		err := r.config.Draw(&r.study, func(name string, content func(io.Writer) error) error {
			return r.stage(ctx, name, func(w io.Writer) (int64, error) { return 0, content(w) })
		})
		if err != nil {
			return err
		}
	}
	return r.stage(ctx, StudyFile, func(w io.Writer) (int64, error) { return 0, output.JSON(w, &r.study) })
}

// stage writes a file of the output; write returns the number of its rows, if it is a table.
func (r *Job) stage(ctx context.Context, name string, write func(io.Writer) (rows int64, err error)) error {
	sum := sha256.New()
	var rows int64
	file, err := storage.WriteBelow(ctx, r.staged.Dir, r.staged.Path(name), func(w io.Writer) (err error) {
		rows, err = write(io.MultiWriter(w, sum))
		return err
	})
	if err != nil {
		return err
	}
	r.files = append(r.files, records.ManifestFile{Path: name, Bytes: file.Size, Rows: rows,
		SHA256: hex.EncodeToString(sum.Sum(nil))})
	return nil
}
