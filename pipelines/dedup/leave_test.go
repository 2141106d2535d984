package dedup_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/io/storage/storagetest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/output/commit"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// TestLeft: a run whose job continues without it leaves its output to neardup finish if that can finish it. Otherwise
// the run fails, says so, and leaves nothing.
func TestLeft(t *testing.T) {
	storage.Register("left://", &storagetest.Memory{})
	in := archiveAtRandom(t, rand.New(rand.NewPCG(1, 51)), []string{"a few words"}, 1).dir
	continues := func(context.Context, *beam.Pipeline, string) (beam.PipelineResult, []records.Stage, error) {
		return nil, nil, &job.LeftError{Job: "jobs/1", Err: errors.New("lost contact with the job")}
	}
	for name, tt := range map[string]struct {
		output string
		flags  []string
		left   bool
	}{
		"one job":                   {"left://b/one", nil, true},
		"where folders are swapped": {filepath.Join(t.TempDir(), "out"), nil, false},
		"the first of two jobs":     {"left://b/two", []string{"--signature=classic"}, false},
		"with a job behind it":      {"left://b/behind", []string{"--measure-recall=5"}, false},
		"a night":                   {"left://b/night", []string{"--append", "--against=" + indexOf(t, specs()["minhash"])}, false},
	} {
		config := ask(t, append(tt.flags, in)...)
		config.Output = tt.output
		task, err := dedup.New(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		run, err := task.Run(t.Context(), continues)
		if is := errors.As(err, new(*job.LeftError)); err == nil || is != tt.left {
			t.Errorf("%s: error %v", name, err)
		}
		if said := strings.Contains(strings.Join(run.Warnings, "\n"), "jobs/1 continues, but cannot be finished"); said == tt.left {
			t.Errorf("%s: warnings %q", name, run.Warnings)
		}
		left, err := commit.FindLeft(t.Context(), tt.output)
		if err != nil || (left != nil) != tt.left {
			t.Errorf("%s: left %t, error %v", name, left != nil, err)
		}
		locked, err := storage.Exists(t.Context(), storage.Join(tt.output, output.LockFile))
		if err != nil || locked != tt.left {
			t.Errorf("%s: locked %v, error %v", name, locked, err)
		}
	}
}
