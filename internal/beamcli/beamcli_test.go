package beamcli

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/grpclog"
)

func TestSplit(t *testing.T) {
	for line, want := range map[string][2]string{
		"dedup in -o out":             {"dedup in -o out", ""},
		"dedup in -- --endpoint=x":    {"dedup in", "--endpoint=x"},
		"dedup -- --a -- --b":         {"dedup", "--a -- --b"},
		"--":                          {"", ""},
		"dedup in --o=out --parallel": {"dedup in --o=out --parallel", ""},
	} {
		own, options := Split(strings.Fields(line))
		if !slices.Equal(own, strings.Fields(want[0])) || !slices.Equal(options, strings.Fields(want[1])) {
			t.Errorf("%q is split into %q and %q, want %q", line, own, options, want)
		}
	}
}

// A runner's container starts the binary with only Beam's flags; a user's command line begins with a subcommand,
// whatever follows.
func TestIsWorker(t *testing.T) {
	for line, want := range map[string]bool{
		"--worker=true --id=1-1 --control_endpoint=localhost:1": true,
		"-worker --id=1-1":             true,
		"--id=1-1 --worker=true":       true,
		"--worker=false":               false,
		"--workers=2":                  false,
		"dedup worker -o --worker":     false,
		"dedup in.jsonl -- --worker=1": false,
		"":                             false,
	} {
		if got := IsWorker(strings.Fields(line)); got != want {
			t.Errorf("%q: worker is %v, want %v", line, got, want)
		}
	}
}

// A worker removes the copy of itself that boot made, and no other binary.
func TestBootCopy(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/bin1003573624/worker":         true,
		"/tmp/binaries/worker":              false,
		"/tmp/bin1003573624/neardup":        false,
		"/tmp/bin1/deeper/worker":           false,
		"/home/user/tmp/bin10/worker":       false,
		"/opt/neardup/bin1/worker":          false,
		"/tmp/bin/worker":                   false,
		"/usr/local/bin/neardup/bin/worker": false,
	} {
		if got := bootCopy(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// gRPC's errors are logged, and its warnings are not.
func TestLogGRPC(t *testing.T) {
	var out strings.Builder
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	logGRPC()
	grpclog.Warning("retrying")
	grpclog.Error("broken")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"level":"INFO"`) || !strings.Contains(got, "broken") {
		t.Errorf("%q", got)
	}
}
