package dedup

import (
	"context"
	"errors"
	"io/fs"
	"slices"
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
func (r *run) stagingDir() string { return storage.Join(r.work, "out") }

// checkOutput refuses an output that is not to be filled.
func (r *run) checkOutput(ctx context.Context) error {
	if err := job.CheckOutputNotInInput(ctx, r.config.Inputs, r.output); err != nil {
		return err
	}
	return checkFolder(ctx, r.output, r.config.Overwrite)
}

// claimOutput makes the output this run's own: empty of what an earlier run left, and marked.
func (r *run) claimOutput(ctx context.Context) error {
	r.begun = true
	// What was begun to be removed is removed, interrupted or not: half an output is none.
	if err := clean(context.WithoutCancel(ctx), r.output, r.work); err != nil {
		return err
	}
	return r.writeRecord(ctx)
}

// checkFolder refuses a folder that is not ours to fill.
func checkFolder(ctx context.Context, folder string, overwrite bool) error {
	names, err := storage.Names(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	others := slices.ContainsFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, lockFile) && !strings.HasPrefix(name, tempPrefix) && !storage.BeingWritten(name)
	})
	switch {
	case slices.Contains(names, output.SuccessFile) && !overwrite:
		return &job.OutputExistsError{Reason: folder + " holds a finished output; give --overwrite to replace it, or another --output"}
	case others && !slices.Contains(names, output.RunFile):
		return &job.OutputExistsError{Reason: folder + " is not empty and no output of neardup; give another --output"}
	}
	return nil
}

// clean removes earlier output but the folder work: _SUCCESS first and run.json last, so that an
// interrupted clean is still recognised as ours.
func clean(ctx context.Context, folder, work string) error {
	remove := []string{output.SuccessFile, output.ManifestFile}
	for _, part := range output.Parts() {
		remove = append(remove, string(part))
	}
	remove = append(remove, output.RunFile)
	names, err := storage.Names(ctx, folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, tempPrefix) && storage.Join(folder, name) != work {
			remove = append(remove, name)
		}
	}
	for _, name := range remove {
		if err := storage.RemoveAll(ctx, storage.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// publish moves parts of the output from the staging folder, where workers wrote them, to their place.
// A part that nothing was written of is not there.
func publish(ctx context.Context, staging, folder string, parts ...output.Part) error {
	for _, part := range parts {
		err := storage.Move(ctx, storage.Join(staging, string(part)), storage.Join(folder, string(part)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
