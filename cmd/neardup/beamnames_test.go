package main

import (
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/internal/beamcli"
	"github.com/neardup/neardup/runners/dataflow"
)

// passed returns the settings of a command line of dedup, and the options that are passed on to Beam.
func passed(t *testing.T, args ...string) (c *dedupCmd, options []string, err error) {
	t.Helper()
	var cli commands
	parser, err := newParser(&cli, nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	args, options, err = passedOn(parser.Model, hyphens(args))
	if err == nil {
		_, _, err = parse(parser, args)
	}
	return &cli.Dedup, options, err
}

// asked returns the settings of a command line of dedup.
func asked(t *testing.T, args ...string) *dedupCmd {
	t.Helper()
	c, _, err := passed(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBeamsOwn: an option that neardup does not know but the SDK's runner does is passed on, whatever it is, unless it
// is only for workers, or has no use here.
func TestBeamsOwn(t *testing.T) {
	noVariables(t)
	app := func() *kong.Application {
		parser, err := newParser(&commands{}, nil, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return parser.Model
	}()
	ours := 0
	flag.VisitAll(func(f *flag.Flag) {
		known, needs := beamcli.Takes(f.Name)
		if strings.HasPrefix(f.Name, "environment_") { // see TestBeamNames
			return
		}
		if strings.Contains(f.Name, ".") || slices.Contains([]string{"worker", "id", "logging_endpoint", "control_endpoint", "semi_persist_dir", "options"}, f.Name) {
			if known {
				t.Errorf("--%s is an option", f.Name)
			}
			return
		}
		args := []string{"--runner=DataflowRunner", "--" + f.Name}
		if needs {
			args = append(args, "7")
		}
		own, options, err := passedOn(app, hyphens(args))
		value := map[bool]string{true: "7", false: "true"}[needs]
		if want := "--" + f.Name + "=" + value; err != nil || !known || len(own) == 1 && !slices.Equal(options, []string{want}) {
			t.Errorf("--%s: %q and %q, error %v", f.Name, own, options, err)
		} else if len(own) == 1 {
			ours++
		}
	})
	if ours < 8 { // zone, teardown_policy, worker_harness_container_image, resource_hints, cpu_profiling, ...
		t.Errorf("%d options are passed on", ours)
	}
	for line, want := range map[string]bool{
		"--runner=dataflow --zone=z": true, "plan --runner=dataflow --zone=z": true, "--zone=z": false, "--runner=flink --zone=z": false,
		"--runner=flink --worker-binary=b": true,
	} {
		var cli commands
		parser, err := newParser(&cli, nil, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		own, options, err := passedOn(parser.Model, strings.Fields(line))
		if err == nil {
			_, _, err = parse(parser, own)
		}
		if err = errors.Join(err, cli.heeds(options)); (err == nil) != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestBeamNames: on the command line, Beam's names are accepted; elsewhere they are refused with what to give instead.
func TestBeamNames(t *testing.T) {
	noVariables(t)
	want := map[string]string{"temp-location": "gs://b/temp"}
	line := []string{"--runner=DataflowRunner", "--temp_location=gs://b/temp"}
	for _, name := range dataflow.Names() {
		_, value := dataflow.Takes(name)
		switch {
		case name == "temp-location":
			continue
		case name == "labels":
			want[name] = `{"team":"data"}`
			line = append(line, "--labels="+want[name])
		case name == "autoscaling-algorithm", name == "flexrs-goal":
			want[name] = map[string]string{"autoscaling-algorithm": "NONE", "flexrs-goal": "FLEXRS_SPEED_OPTIMIZED"}[name]
			line = append(line, "--"+name, want[name])
		case name == "use-public-ips":
			want[name] = "false"
			line = append(line, "--use_public_ips=false")
		case !value:
			want[name] = "true"
			line = append(line, "--"+name)
		default:
			want[name] = "7"
			line = append(line, "--"+name, "7")
		}
		t.Run(name, func(t *testing.T) {
			const instead = ": no longer supported; set it with --dataflow-option"
			path := filepath.Join(t.TempDir(), "job.toml")
			if err := os.WriteFile(path, []byte(name+" = 7\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := passed(t, "--config="+path); err == nil || !strings.HasSuffix(err.Error(), name+instead) {
				t.Errorf("job file: %v", err)
			}
			variable := "NEARDUP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
			t.Setenv(variable, "7")
			if _, _, err := passed(t); err == nil || err.Error() != variable+instead {
				t.Errorf("environment: %v", err)
			}
		})
	}
	options := asked(t, line...).DataflowOption
	if !maps.Equal(options, want) {
		t.Errorf("command line: %v, want %v", options, want)
	}
	if err := setNamed(&dataflow.Options{}, options); err != nil {
		t.Error(err)
	}
	for kind, want := range map[string]string{"LOOPBACK": "loopback", "PROCESS": `process:{"command":"/b"}`} {
		args := []string{"--runner=FlinkRunner", "--environment_type=" + kind, "--worker_binary", "neardup"}
		if kind == "PROCESS" {
			args = append(args, `--environment_config={"command":"/b"}`)
		}
		c, options, err := passed(t, args...)
		if err != nil || c.Environment != want || c.DataflowOption != nil || !slices.Equal(options, []string{"--worker_binary=neardup"}) {
			t.Errorf("%s: %q, %v, %v, %v", kind, c.Environment, c.DataflowOption, options, err)
		}
	}
}
