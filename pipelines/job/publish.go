package job

import (
	"context"
	"fmt"
	"time"

	"github.com/neardup/neardup/internal/usage"
	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/records"
)

// Publishing is an output that appears once it is complete; a failed run leaves none of it.
type Publishing struct {
	Dir    string // "" if there is no output
	Inputs []string
	Running
	Replacing
}

// Fill writes the files of an output to staged, and lists them; temp is for temporary files.
type Fill func(temp string, staged output.Folder) (*records.Manifest, error)

// Publish calls fill, and publishes the files of its manifest. fill adds its results to record; warnings are about
// publishing only.
func (p Publishing) Publish(ctx context.Context, record *records.Run, fill Fill) (warnings []string, err error) {
	if p.Dir == "" {
		return nil, InTempFolder(ctx, p.TempDir, func(temp string) error {
			_, err := fill(temp, output.Folder{})
			return err
		})
	}
	record.Runner = string(p.Runner)
	record.Running = How{Running: p.Running, Output: p.Dir, Replacing: p.Replacing}.Record()
	dir, err := OutputPath(p.Dir)
	if err != nil {
		return nil, err
	}
	if err := CheckOutputNotInInput(ctx, p.Inputs, dir); err != nil {
		return nil, err
	}
	record.Job, record.Started = commit.NewRun(), time.Now().UTC()
	temp, err := RunTemp(ctx, p.TempDir, record.Job)
	if err != nil {
		return nil, err
	}
	ending, done := commit.Ending(ctx)
	defer done()
	c, err := Begin(ctx, p.TempDir, commit.Options{
		Dir: dir, Run: record.Job, Overwrite: p.Replaces(), Weak: p.WeakOverwrite, Temp: temp,
		Private: !p.Runner.Traits().OnCluster,
		Warn:    func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) },
	})
	if err != nil {
		return nil, err
	}
	err = p.publish(ctx, c, record, fill)
	return warnings, Refused(c.Close(ending, Cause(ctx, err)))
}

func (p Publishing) publish(ctx context.Context, c *commit.Commit, record *records.Run, fill Fill) error {
	// This publishes an output that an earlier run had almost published; a run of these commands never continues another.
	if _, err := c.Recovered(record.Job); err != nil {
		return err
	}
	manifest, err := fill(c.Temporary(), c.Staged())
	if err != nil {
		return err
	}
	record.Status, record.Seconds = "done", time.Since(record.Started).Seconds()
	record.CPU, record.Peak = usage.Process()
	record.Retries = storage.Retries()
	return c.Publish(ctx, record.Job, manifest, record)
}
