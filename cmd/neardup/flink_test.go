package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/neardup/neardup/internal/beamtest"
	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/runners/jobserver"
	"github.com/neardup/neardup/runners/local"
)

// A job on Flink reads an object store and writes to it, the same bytes as the local runner: its workers are told by the launcher how the
// store is reached. .ci/flink says where Flink is.
func TestFlinkStore(t *testing.T) {
	binary, server, environment := os.Getenv("NEARDUP_BINARY"), os.Getenv("NEARDUP_FLINK"), os.Getenv("NEARDUP_FLINK_ENVIRONMENT")
	if server == "" {
		t.Skip("NEARDUP_FLINK is not set: .ci/flink runs this")
	}
	store := fakes3.New("lake")
	listening := httptest.NewServer(store)
	defer listening.Close()
	inputs, err := filepath.Glob("../../testdata/tldr/*.jsonl")
	if err != nil || len(inputs) == 0 {
		t.Fatal("no inputs", err)
	}
	for _, path := range inputs {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		store.Put("lake", "in/"+filepath.Base(path), string(content), nil)
	}
	dedup := func(output string, flags ...string) {
		command := exec.Command(binary, append([]string{"dedup", "s3://lake/in/", "--output", output, "--store-endpoint", "s3=" + listening.URL}, flags...)...)
		command.Env = append(os.Environ(), "AWS_REGION=us-east-1")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command.Args, err, out)
		}
	}
	get := func(key string) string {
		content, _, ok := store.Get("lake", key)
		if !ok {
			t.Errorf("%s is not there", key)
		}
		return content
	}
	dedup("s3://lake/local")
	dedup("s3://lake/flink", "--runner", "flink", "--job-server", server, "--environment", environment, "--workers", "2", "--flink-option", "sdk_worker_parallelism=2")

	var manifest records.Manifest
	if err := json.Unmarshal([]byte(get("local/manifest.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	files := []string{"manifest.json"}
	for _, f := range manifest.Files {
		files = append(files, f.Path)
	}
	if len(files) < 10 {
		t.Errorf("%d files: %v", len(files), files)
	}
	for _, f := range files {
		if get("flink/"+f) != get("local/"+f) {
			t.Errorf("%s has other bytes", f)
		}
	}
}

// A graph that no call holds, and keys that no job does, are done on Flink in rounds and in cuts, with the bytes of the local runner.
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
	var chain strings.Builder // each document resembles the next
	for first := range 600 {
		for word := first; word < first+40; word++ {
			fmt.Fprint(&chain, word, " ")
		}
		chain.WriteString("\n")
	}
	in := filepath.Join(t.TempDir(), "chain.txt")
	if err := os.WriteFile(in, []byte(chain.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	parts := map[string]bool{}
	launches := map[string]job.Launch{
		"local": beamtest.Launch("local", local.Options{}),
		"flink": func(ctx context.Context, p *beam.Pipeline, _ string) (beam.PipelineResult, []records.Stage, error) {
			parts[job.PartOf(ctx)] = true
			result, err := flink.Execute(ctx, p, job.PartOf(ctx))
			return result, nil, err
		},
	}
	written := map[string][]byte{}
	for runner, launch := range launches {
		var config dedup.Config
		parser, err := kong.New(&config, kong.Vars(job.Vars()))
		if err == nil {
			_, err = parser.Parse([]string{in, "--output", filepath.Join(t.TempDir(), "out"), "--runner", runner})
		}
		if err != nil {
			t.Fatal(err)
		}
		if runner == "flink" {
			config.Resume, config.Workers, config.Cuts, config.ConnectDocuments = job.ResumeAlways, 2, 2, 100
		}
		task, err := dedup.New(t.Context(), config)
		if err == nil {
			_, err = task.Run(t.Context(), launch)
		}
		if err == nil {
			written[runner], err = os.ReadFile(filepath.Join(config.Output, "manifest.json"))
		}
		if err != nil {
			t.Fatal(runner, err)
		}
	}
	for _, part := range []string{"edges-0001of0002", "round-0001", "roots-0001"} {
		if !parts[part] {
			t.Errorf("%s was no job: %v", part, slices.Sorted(maps.Keys(parts)))
		}
	}
	if !bytes.Equal(written["local"], written["flink"]) {
		t.Errorf("here %s, on Flink %s", written["local"], written["flink"])
	}
}
