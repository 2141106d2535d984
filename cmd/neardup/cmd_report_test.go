package main

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

// Without flags, a command has the default settings.
func TestNoFlagsAreDefault(t *testing.T) {
	for _, command := range []string{"dedup", "plan"} {
		cli := parsed(t, command)
		got := map[string]records.Spec{"dedup": cli.Dedup.Spec, "plan": cli.Plan.Spec}[command]
		if want := records.Default(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s asks\n%+v\nwant\n%+v", command, got, want)
		}
	}
}

// The command on the page, as a shell parses it, has the settings of the run.
func TestCommandRepeats(t *testing.T) {
	asked := func(args ...string) *records.Run {
		t.Helper()
		config := flagged(t, append([]string{"dedup"}, args...)...).Dedup.Config
		asked, err := job.Compile(config.Spec, config.Given...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return &records.Run{Parameters: asked.Spec, Given: asked.Given, Running: config.Record()}
	}
	for _, args := range [][]string{
		{"in", "-o", "out"},
		{"it's", "a b", "$(x)", "*.csv", "new\nline", "-o", "o\"ut"},
		{"in", "-o", "out", "-t", ".75", "--text", "title", "--text", "the body", "--id", "key", "--delimiter", ";", "--no-text", "--no-header", "--format", "csv"},
		{"in", "-o", "out", "--method", "simhash", "--bits", "128", "--pieces", "5", "--weights", "tf", "--seed", "7", "--memory", "2GB", "--workers", "3"},
		{"in", "-o", "out", "--method", "exact", "--same", "tokens", "--write", "pairs,corpus", "--max-rejected", "1.5%", "--max-removed", "20%"},
		{"in", "-o", "out", "--keep", "prefer:a/*,b", "--protect", "x/*", "--protect", "y", "--exclude", "tmp", "--wait-lock", "90s", "--dataflow-option", `labels={"team":"it's"}`},
		{"in", "-o", "out", "--shingle", "char:5", "--normalize", "nfkc,stem:en,lower", "--bands", "9", "--rows", "3", "--limit", "10", "--max-doc-bytes", "1MB"},
		{"in", "-o", "out", "--method", "simhash", "--recall", "0.999", "--runner", "FlinkRunner", "--flink-option", "a=b", "--flink-option", "c=d=e"},
		{"in", "-o", "out", "--method", "complete", "--compare", "cosine", "--cluster", "components", "--pair-budget", "5"},
	} {
		want := asked(args...)
		line, ok := strings.CutPrefix(report.Command(want), "neardup dedup ")
		if !ok {
			t.Fatalf("%q is no command", line)
		}
		read, err := exec.CommandContext(t.Context(), "sh", "-c", `f() { printf '%s\0' "$@"; }; f `+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := asked(strings.Split(strings.TrimSuffix(string(read), "\x00"), "\x00")...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nasks %+v\nwant %+v", line, got, want)
		}
	}
}

// An input that begins with a hyphen is no flag, and what follows -- are options of Beam.
func TestCommandOfHyphen(t *testing.T) {
	run := &records.Run{Parameters: records.Default()}
	run.Parameters.Inputs = []string{"-dash", "-", "in"}
	if got := report.Command(run); !strings.HasSuffix(got, " ./-dash - in") {
		t.Errorf("%s", got)
	}
}
