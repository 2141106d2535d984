package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/internal/fakes3"
	"github.com/neardup/neardup/records"
)

// A job on Flink reads from and writes to an object store, with the same bytes as the local runner: the launcher tells
// its workers how to reach the store. .ci/flink says where Flink is.
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
