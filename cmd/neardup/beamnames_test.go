package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/runners/dataflow"
)

// asked is what a command line of dedup asks.
func asked(t *testing.T, args ...string) *dedupCmd {
	t.Helper()
	var cli commands
	parser, err := newParser(&cli, nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := parse(parser, hyphens(args)); err != nil {
		t.Fatal(err)
	}
	return &cli.Dedup
}

// TestBeamNames: Beam's names mean the same on the command line, in the environment and in a job file, and come together.
func TestBeamNames(t *testing.T) {
	noVariables(t)
	want := map[string]string{"temp-location": "gs://b/temp"}
	line := []string{"--runner=DataflowRunner", "--temp_location=gs://b/temp"}
	file := "runner = 'dataflow'\ntemp_location = 'gs://b/temp'\n"
	for _, name := range dataflow.Names() {
		switch name {
		case "temp-location":
			continue
		case "autoscaling-algorithm", "flexrs-goal":
			want[name] = map[string]string{"autoscaling-algorithm": "NONE", "flexrs-goal": "FLEXRS_SPEED_OPTIMIZED"}[name]
			line, file = append(line, "--"+name, want[name]), file+name+" = '"+want[name]+"'\n"
			continue
		case "use-public-ips":
			want[name] = "false"
			line, file = append(line, "--use_public_ips=false"), file+name+" = false\n"
			continue
		case "no-use-public-ips":
			want[name] = "true"
			line, file = append(line, "--"+name), file+name+" = true\n"
			continue
		}
		want[name] = "7"
		line, file = append(line, "--"+name, "7"), file+name+" = 7\n"
	}
	path := filepath.Join(t.TempDir(), "job.toml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	options := asked(t, line...).DataflowOption
	if !maps.Equal(options, want) {
		t.Errorf("command line: %v, want %v", options, want)
	}
	if err := setNamed(&dataflow.Options{}, options); err != nil {
		t.Error(err)
	}
	for kind, want := range map[string]string{"LOOPBACK": "loopback", "PROCESS": `process:{"command":"/b"}`} {
		args := []string{"--runner=FlinkRunner", "--environment_type=" + kind}
		if kind == "PROCESS" {
			args = append(args, `--environment_config={"command":"/b"}`)
		}
		if c := asked(t, args...); c.Environment != want || c.DataflowOption != nil {
			t.Errorf("%s: %q, %v", kind, c.Environment, c.DataflowOption)
		}
	}
	t.Setenv("NEARDUP_NUM_WORKERS", "8")
	t.Setenv("NEARDUP_NETWORK", "there")
	want["num-workers"], want["network"] = "9", "there"
	if got := asked(t, "--num_workers=9", "--config="+path).DataflowOption; !maps.Equal(got, want) {
		t.Errorf("all: %v, want %v", got, want)
	}
}
