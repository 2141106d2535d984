package dedup

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
)

// Names in an output that only a running job has.
const (
	lockFile   = ".lock"
	tempPrefix = ".tmp-"
)

// stagingDir is the folder where workers write tables and corpus. They come to their place in the
// output when all is done, and no worker that outlives its run can reach them there.
func (r *run) stagingDir() string { return filepath.Join(r.work, "out") }

// checkOutput refuses an output that is not to be filled.
func (r *run) checkOutput() error {
	if err := job.CheckOutputNotInInput(r.config.Inputs, r.output); err != nil {
		return err
	}
	return checkFolder(r.output, r.config.Overwrite)
}

// claimOutput makes the output this run's own: empty of what an earlier run left, and marked.
func (r *run) claimOutput(ctx context.Context) error {
	if err := clean(r.output, r.work); err != nil {
		return err
	}
	r.begun = true
	return r.writeRecord(ctx)
}

// checkFolder refuses a folder that is not ours to fill.
func checkFolder(folder string, overwrite bool) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names := map[string]bool{}
	others := false
	for _, e := range entries {
		names[e.Name()] = true
		others = others || !strings.HasPrefix(e.Name(), lockFile) && !strings.HasPrefix(e.Name(), tempPrefix)
	}
	switch {
	case names[output.SuccessFile] && !overwrite:
		return &job.OutputExistsError{Reason: folder + " holds a finished output; give --overwrite to replace it, or another --output"}
	case others && !names[output.RunFile]:
		return &job.OutputExistsError{Reason: folder + " is not empty and no output of neardup; give another --output"}
	}
	return nil
}

// clean removes earlier output but the folder work: _SUCCESS first and run.json last, so that an
// interrupted clean is still recognised as ours.
func clean(folder, work string) error {
	names := []string{output.SuccessFile, output.ManifestFile}
	for _, part := range output.Parts() {
		names = append(names, string(part))
	}
	for _, name := range append(names, output.RunFile) {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if left := filepath.Join(folder, e.Name()); strings.HasPrefix(e.Name(), tempPrefix) && left != work {
			if err := os.RemoveAll(left); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish moves parts of the output from the staging folder, where workers wrote them, to their place.
func publish(staging, folder string, parts ...output.Part) error {
	for _, part := range parts {
		err := os.Rename(filepath.Join(staging, string(part)), filepath.Join(folder, string(part)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// writeMark writes an empty file.
func writeMark(ctx context.Context, file string) error {
	_, err := storage.WriteFile(ctx, file, func(io.Writer) error { return nil })
	return err
}
