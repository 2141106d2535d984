// Package deduptest makes finished outputs for tests of code that reads them.
package deduptest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/runners/local"
)

// Finished returns the output folder of a run of dedup with the given arguments.
func Finished(t *testing.T, args ...string) string {
	t.Helper()
	var config dedup.Config
	parser, err := kong.New(&config, kong.Vars(job.Vars()))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := parser.Parse(append(args, "--output", dir)); err != nil {
		t.Fatal(err)
	}
	config.Stdin = strings.NewReader("")
	task, err := dedup.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := task.Run(t.Context(), beamtest.Launch(string(config.Runner), local.Options{})); err != nil {
		t.Fatal(err)
	}
	return dir
}
