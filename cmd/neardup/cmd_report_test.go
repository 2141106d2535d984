package main

import (
	"io"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/neardup/neardup/pipelines/dedup"
	"github.com/neardup/neardup/records"
	"github.com/neardup/neardup/report"
)

// What a run of dedup notes as defaults is what the page is drawn with later, whatever the run is asked.
func TestUnasked(t *testing.T) {
	var unasked dedup.Config
	if err := kong.ApplyDefaults(&unasked, expanded(dedup.Vars())); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NEARDUP_SEED", "11")
	for _, args := range [][]string{{"dedup"}, {"dedup", "in", "-o", "out", "-t", ".75", "--text", "body", "--write", "pairs"}} {
		var cli commands
		parser, err := newParser(&cli, nil, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(args); err != nil {
			t.Fatal(err)
		}
		if got, want := cli.Dedup.Unasked, unasked.Parameters(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: unasked\n%+v\nwant\n%+v", args, got, want)
		}
		if cli.Dedup.Seed != 11 {
			t.Errorf("%q: seed %d, want 11", args, cli.Dedup.Seed)
		}
	}
}

// The command on the page asks what the run was asked, as a shell reads it.
func TestCommandRepeats(t *testing.T) {
	parsed := func(args ...string) records.Parameters {
		t.Helper()
		var cli commands
		parser, err := newParser(&cli, nil, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(append([]string{"dedup"}, args...)); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return cli.Dedup.Parameters()
	}
	var unasked dedup.Config
	if err := kong.ApplyDefaults(&unasked, expanded(dedup.Vars())); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"in", "-o", "out"},
		{"it's", "a b", "$(x)", "*.csv", "new\nline", "-o", "o\"ut"},
		{"-o", "out", "--", "-dash", "in"},
		{"in", "-o", "out", "-t", ".75", "--text", "title", "--text", "the body", "--id", "key", "--delimiter", ";", "--no-text", "--no-header", "--format", "csv"},
		{"in", "-o", "out", "--method", "simhash", "--bits", "128", "--pieces", "5", "--weights", "tf", "--seed", "7", "--memory", "2GB", "--workers", "3"},
		{"in", "-o", "out", "--method", "exact", "--same", "tokens", "--write", "pairs,corpus", "--max-rejected", "1.5%", "--max-removed", "20%"},
		{"in", "-o", "out", "--keep", "prefer:a/*,b", "--protect", "x/*", "--protect", "y", "--exclude", "tmp", "--modified-before", "2026-11-20", "--wait-lock", "90s", "--labels", `{"team":"it's"}`},
		{"in", "-o", "out", "--shingle", "char:5", "--normalize", "nfkc,lower", "--tokens", "stem:en", "--bands", "9", "--rows", "3", "--limit", "10", "--max-doc-bytes", "1MB"},
		{"in", "-o", "out", "--method", "complete", "--compare", "cosine", "--cluster", "components", "--pair-budget", "5"},
	} {
		want := parsed(args...)
		line, ok := strings.CutPrefix(report.Command(want, unasked.Parameters()), "neardup dedup ")
		if !ok {
			t.Fatalf("%q is no command", line)
		}
		read, err := exec.CommandContext(t.Context(), "sh", "-c", `f() { printf '%s\0' "$@"; }; f `+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := parsed(strings.Split(strings.TrimSuffix(string(read), "\x00"), "\x00")...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nasks %+v\nwant %+v", line, got, want)
		}
	}
}
