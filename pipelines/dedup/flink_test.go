package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/jobserver"
	"github.com/neardup/neardup/runners/local"
)

// On Flink, components too large for one call are found in rounds, and sets too large for one job go through files,
// with the same bytes as on the local runner. .ci/flink says where Flink is. With --kills it runs this again and again
// in NEARDUP_FLINK_DIR: a killed run continues.
func TestFlinkRounds(t *testing.T) {
	server := os.Getenv("NEARDUP_FLINK")
	if server == "" {
		t.Skip("NEARDUP_FLINK is not set: .ci/flink runs this")
	}
	environment, err := jobserver.ParseEnvironment(os.Getenv("NEARDUP_FLINK_ENVIRONMENT"))
	if err != nil {
		t.Fatal(err)
	}
	flink, err := jobserver.Connect(t.Context(), jobserver.Options{
		Address: server, Environment: environment, Worker: os.Getenv("NEARDUP_BINARY"), Name: "rounds", Parallelism: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	var chain strings.Builder // each document is similar to the next
	for first := range 600 {
		for word := first; word < first+40; word++ {
			fmt.Fprint(&chain, word, " ")
		}
		chain.WriteString("\n")
	}
	dir, again := os.LookupEnv("NEARDUP_FLINK_DIR")
	if !again {
		dir = t.TempDir()
	}
	in := filepath.Join(dir, "chain.txt")
	if _, err := os.Stat(in); err != nil { // a new modification time would make it another input
		if err := os.WriteFile(in, []byte(chain.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := phasedRun(t, ask(t, in, "--format=lines"), beamtest.Launch("local", local.Options{}))
	config := ask(t, in, "--format=lines", "--resume=always", "--runner=flink", "--job-server="+server, "--workers=2")
	config.Output, config.TaskBytes, config.ConnectDocuments = filepath.Join(dir, "out"), 100<<10, 200
	if finished, err := output.Open(t.Context(), config.Output); err == nil { // it was killed after that
		sameOutput(t, "on Flink", want, promised(t, finished))
		return
	}
	parts := map[string]bool{}
	launch := func(ctx context.Context, p *beam.Pipeline, _ string) (beam.PipelineResult, []records.Stage, error) {
		parts[job.PartOf(ctx)] = true
		result, err := flink.Execute(ctx, p, job.PartOf(ctx))
		return result, nil, err
	}
	_, err = runJob(t.Context(), config, launch)
	if usage := (*job.UsageError)(nil); errors.As(err, &usage) { // the sets have their own job, and a later one is refused
		config.TaskBytes = 0
		_, err = runJob(t.Context(), config, launch)
	}
	if err != nil {
		t.Fatal(err)
	}
	sameOutput(t, "on Flink", want, promised(t, opened(t, config.Output)))
	for _, part := range []string{"forests", "round-0001", "roots-0001", "joined"} {
		if !parts[part] && !again {
			t.Errorf("%s was no job: %v", part, slices.Sorted(maps.Keys(parts)))
		}
	}
}
